//! What a real kernel's UBI and UBIFS find on a flash that was written elsewhere.
//!
//! Layer: beside all others. Main types: [`Written`], a flash to look at, [`Flashes`], several of a kind, and [`Inspection`], what was found.
//! The kernel checks itself meanwhile: all of UBIFS' self-checks (the files `chk_*` of its debugfs) and
//! UBI's are on, so that a wrong index, a wrong LPT or a wrong count of free space is an error in its log even
//! where it would not be seen in a listing.

use crate::guest::{Guest, Share};
use crate::nandsim::Flash;
use std::fmt::Write;

/// A flash that holds UBI with a UBIFS.
#[derive(Debug, Clone)]
pub struct Written {
    /// A name of its own among those that are looked at together: letters, digits, hyphens.
    pub name: String,
    /// All pages, each with its spare bytes, of a flash of the size that [`Flashes`] says.
    pub dump: Vec<u8>,
    /// The name of the volume with the UBIFS.
    pub volume: String,
    /// Options for `ubiattach`, for example `-O 2048` without sub-pages.
    pub attach: &'static str,
    /// Options for the mount that writes, for example `compr=zlib`.
    pub mount: &'static str,
}

/// What the kernel found.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The manifest of a mount for reading; empty if it was refused.
    pub manifest: String,
    /// The manifest after [`MORE`] was carried out, of a further mount for reading; empty if one was refused.
    pub after: String,
    /// The steps that failed, a line each.
    pub failed: String,
    /// The kernel's log.
    pub log: String,
    /// The flash at the end.
    pub dump: Vec<u8>,
}

/// What the kernel does on the flash: it changes, deletes and renames, in several commits.
pub const MORE: &str = "mkdir more 0755\nfile more/one 0644\nwrite more/one 0 200000 percent:50 1 32768\nsync\n\
    file more/two 0600\nwrite more/two 100 5000 text 2 1000\nunlink more/one\nrename more/two more/three\n\
    setxattr more/three user.more 6d6f7265\nsync\nwrite more/three 0 9000 text 3 4096\ntruncate more/three 7000\n";

/// In the guest: looks at one flash.
const INSPECT: &str = r#"
attempt() { "$@" >/tmp/said 2>&1 || { echo "$*: $(cat /tmp/said)" >>/tmp/failed; return 1; }; }
read_only() { # DEVICE RESULT
  attempt mount -t ubifs -o ro $1 /mnt || return 1
  guest-files manifest /mnt >$2
  umount /mnt
}
write_on() { # DEVICE OPTIONS
  attempt mount -t ubifs -o $2 $1 /mnt || return 1
  attempt guest-files run /mnt </h/more.list || true
  umount /mnt
}
inspect() { # NAME VOLUME MOUNT-OPTIONS ATTACH-OPTION...
  name=$1 device=ubi0:$2 options=$3; shift 3
  : >/tmp/failed; : >/tmp/manifest; : >/tmp/after
  flash_erase -q /dev/mtd0 0 0
  cp /h/$name.ours /tmp/dump
  nandwrite -q -k -n -o /dev/mtd0 /tmp/dump >/dev/null
  dmesg -c >/dev/null
  if attempt ubiattach -m 0 -d 0 "$@"; then
    for check in gen io; do echo 1 >/sys/kernel/debug/ubi/ubi0/chk_$check; done
    read_only $device /tmp/manifest && write_on $device $options && read_only $device /tmp/after || true
    ubidetach -d 0
  fi
  dmesg >/h/$name.dmesg
  nanddump -q --bb=dumpbad -o -n -f /tmp/dump /dev/mtd0
  cp /tmp/dump /h/$name.dump; cp /tmp/manifest /h/$name.manifest; cp /tmp/after /h/$name.after
  cp /tmp/failed /h/$name.failed; rm /tmp/dump
}
modprobe ubi; modprobe ubifs
for check in general index orphans lprops fs; do echo 1 >/sys/kernel/debug/ubifs/chk_$check; done
"#;

/// Flashes of one kind and size.
#[derive(Debug, Clone)]
pub struct Flashes {
    /// Their kind.
    pub flash: Flash,
    /// The size of each.
    pub mebibytes: usize,
    /// What was written on each.
    pub written: Vec<Written>,
}

/// Lets the kernel look at flashes, in one boot; what it found, in their order.
///
/// # Panics
/// When the guest's job fails as such; what the kernel refuses is in the result.
#[must_use]
pub fn inspect(guest: &Guest, all: &[Flashes]) -> Vec<Inspection> {
    let share = Share::new();
    share.write("more.list", MORE);
    let mut job = String::from(INSPECT);
    for Flashes { flash, mebibytes, written } in all {
        job += &(flash.load(&[*mebibytes]) + "\n");
        for Written { name, dump, volume, attach, mount } in written {
            share.write(&format!("{name}.ours"), dump);
            writeln!(job, "inspect {name} {volume} {mount} {attach}")
                .expect("a string takes everything");
        }
        job += "rmmod nandsim\n";
    }
    guest.run(&share, &job);
    let found = |written: &Written| {
        let text = |kind: &str| share.text_of(&format!("{}.{kind}", written.name));
        let dump = share.read(&format!("{}.dump", written.name)).unwrap_or_default();
        Inspection {
            manifest: text("manifest"),
            after: text("after"),
            failed: text("failed"),
            log: text("dmesg"),
            dump,
        }
    };
    all.iter().flat_map(|flashes| &flashes.written).map(found).collect()
}

impl Inspection {
    /// The steps that failed, and the lines of the kernel's log that say that something was wrong.
    #[must_use]
    pub fn complaints(&self) -> Vec<&str> {
        self.failed.lines().chain(complaints(&self.log)).collect()
    }
}

/// The lines of a kernel's log that say that something is wrong with a UBI or UBIFS, or with a page.
pub fn complaints(log: &str) -> impl Iterator<Item = &str> {
    let wrong = ["error", "warning", "assert", "uncorrectable", "Call Trace", "corrupt"];
    log.lines().filter(move |line| {
        let of_flash = ["UBI", "ubi", "ecc_"].iter().any(|name| line.contains(name));
        // UBI tells at each attach how many blocks are corrupted.
        let counted = line.replace("corrupted PEBs: 0", "");
        of_flash && wrong.iter().any(|word| counted.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_log(log: &str) -> Inspection {
        let text = String::new;
        let dump = Vec::new();
        Inspection { manifest: text(), after: text(), failed: text(), log: log.to_owned(), dump }
    }

    #[test]
    fn an_attach_and_a_recovery_are_no_complaints_but_an_error_and_a_warning_are() {
        let quiet = with_log(
            "[ 1.0] ubi0: good PEBs: 64, bad PEBs: 0, corrupted PEBs: 0\n[ 1.1] UBIFS (ubi0:0): recovery needed\n\
             [ 1.2] [nandsim] warning: read_byte: unexpected data output cycle\n",
        );
        assert_eq!(quiet.complaints(), [""; 0]);
        let loud = with_log(
            "[ 1.0] ubi0: good PEBs: 63, bad PEBs: 0, corrupted PEBs: 1\n\
             [ 1.1] UBIFS error (ubi0:0 pid 1): ubifs_check_node: bad CRC\n[ 1.2] ubi0 warning: ubi_io_read: error -74\n",
        );
        assert_eq!(loud.complaints().len(), 3);
    }

    #[test]
    fn a_step_that_failed_is_a_complaint() {
        let failed = "mount -t ubifs -o ro ubi0:v /mnt: Invalid argument\n".to_owned();
        let inspection = Inspection { failed, ..with_log("") };
        assert_eq!(inspection.complaints().len(), 1);
    }
}
