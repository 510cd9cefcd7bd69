//! What was written here is read by the kernel: our JFFS2 on our NAND, with codes in the spare bytes.

use crate::flash::{chip, dump, manifest_of_dump, options};
use crate::{Case, Writer, assert_none, cases, device, difference, on_their_flash};
use boardlab_checks::guest::{Guest, Share};
use boardlab_jffs2::Jffs2;
use boardlab_sim::Clock;
use boardlab_vfs::Mount;
use boardlab_workload::tree;

/// In the guest: load a dump, look at it, change it, dump it.
const LOOK: &str = r#"
look() { # NAME DEVICE OPTION
  flash_erase -q /dev/$2 0 0
  cp /h/$1.ours /tmp/dump
  nandwrite -q -n -o /dev/$2 /tmp/dump >/dev/null
  dmesg -c >/dev/null
  mount -t jffs2 -o ro $2 /mnt
  guest-files manifest /mnt >/tmp/manifest
  mount -o remount,rw,$3 /mnt
  guest-files run /mnt </h/more.list
  umount /mnt
  mount -t jffs2 -o ro $2 /mnt
  guest-files manifest /mnt >/tmp/after
  umount /mnt
  dmesg >/h/$1.dmesg
  nanddump -q --bb=dumpbad -o -n -f /tmp/dump /dev/$2
  cp /tmp/dump /h/$1.dump; cp /tmp/manifest /h/$1.manifest; cp /tmp/after /h/$1.after; rm /tmp/dump
}
"#;

/// What the kernel does on a flash that was written here.
pub(crate) const MORE: &str = "mkdir more 0755\nfile more/one 0644\nwrite more/one 0 200000 percent:50 1 32768\n\
    file more/two 0600\nwrite more/two 100 5000 text 2 1000\nunlink more/one\nrename more/two more/three\n\
    setxattr more/three user.more 6d6f7265\nsync\n";

/// Carries out a tree on our filesystem; its manifest after a second mount, and the dump.
fn write(case: &Case) -> (String, Vec<u8>) {
    let mut clock = Clock::default();
    let nand = chip(case.flash, case.tree.mebibytes);
    let fs = Jffs2::mount(&mut clock, nand, options(case.compression)).unwrap();
    let mut mount = Mount::new(fs);
    let lines = tree::parse(&case.tree.operations).unwrap();
    tree::run(&mut mount, &mut clock, &lines, &mut |_| {}).unwrap();
    mount.unmount(&mut clock).unwrap();
    let nand = mount.into_fs().into_device();
    let fs = Jffs2::mount(&mut clock, nand, options(case.compression)).unwrap();
    let mut mount = Mount::new(fs);
    let manifest = tree::manifest(&mut mount, &mut clock).unwrap();
    let mut nand = mount.into_fs().into_device();
    (manifest, dump(&mut nand))
}

/// Lines of the kernel's log that say that something was wrong with the flash.
pub(crate) fn complaints(log: &str) -> Vec<&str> {
    let wrong =
        ["CRC", "error", "Error", "warning: (", "Unknown", "magic", "not found", "inconsistent"];
    log.lines()
        .filter(|line| line.contains("jffs2") && wrong.iter().any(|word| line.contains(word)))
        .collect()
}

fn load_and_compare(cases: &[Case]) {
    let Some(guest) = Guest::find() else { return };
    let share = Share::new();
    let mut ours = Vec::new();
    share.write("more.list", MORE);
    for case in cases {
        let (manifest, dump) = write(case);
        share.write(&format!("{}.ours", case.name), dump);
        ours.push(manifest);
    }
    let look = |case: &Case| {
        format!("look {} {} {}", case.name, device(case.tree.mebibytes), case.compression)
    };
    guest.run(&share, &(LOOK.to_owned() + &on_their_flash(cases, look)));
    let compare = |(case, ours): (&Case, &String)| {
        let text = |kind: &str| share.text_of(&format!("{}.{kind}", case.name));
        let log = text("dmesg");
        if let Some(complaint) = complaints(&log).first() {
            return Some(format!("{}: the kernel says: {complaint}", case.name));
        }
        let told = |what: &str| format!("{} with {}, {what}: ", case.name, case.compression);
        if let Some(found) = difference(&text("manifest"), ours) {
            return Some(told("written here") + &found);
        }
        let dump = share.read(&format!("{}.dump", case.name)).expect("the guest dumped its flash");
        let after = manifest_of_dump(case.flash, dump).unwrap_or_else(|error| error);
        difference(&text("after"), &after).map(|found| told("after the kernel wrote on") + &found)
    };
    assert_none(&cases.iter().zip(&ours).filter_map(compare).collect::<Vec<_>>());
}

/// In parts, so that the dumps of one lie on the disk at a time.
#[test]
fn the_kernel_reads_what_was_written_here_on_three_sizes_of_pages_and_writes_on() {
    for cases in cases(Writer::Ours).chunks(30) {
        load_and_compare(cases);
    }
}
