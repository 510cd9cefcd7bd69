//! Images that `boardlab image mount --rw` has changed: the kernel finds in them what the mount showed, has nothing
//! to say against them, and writes on; ours reads that.
//!
//! The changes are system calls ([`LISTS`]) and programs (`mounted.sh`). The same ones give the same tree on the kernel's
//! own UBIFS. One image is always mounted in the guest, which has FUSE on every machine; the others are mounted here if
//! this machine can, else in the guest too.
//!
//! Debian's kernel has no LogFS, which left Linux with 4.10, and no YAFFS, which was never in it. LogFS is read by
//! `oracles/logfs/read.py` instead, which was written from the specification alone. For YAFFS2 there is no reader but
//! ours: that ours does the same operations on the flash as YAFFS' sources is shown by `oracles/yaffs`.

use crate::images::guest_files;
use crate::writes::{MORE, complaints};
use crate::{assert_none, difference};
use boardlab_checks::Repository;
use boardlab_checks::binary::{Boardlab, Scratch};
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::inspection;
use boardlab_checks::nandsim::{self, Flash};
use boardlab_checks::trees;
use boardlab_image::{Contents, Damage, Hints, open};
use boardlab_sim::Seed;
use boardlab_vfs::Mount;
use boardlab_vfs::script::content;
use boardlab_workload::tree;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// In host and guest: changes of an image.
pub(crate) const CHANGE: &str =
    concat!(include_str!("../../../../oracles/mount/mount.sh"), include_str!("mounted.sh"));

/// In the guest: the kernel looks at a filesystem, writes on, and looks again.
const LOOK: &str = r#"
look() { # NAME TYPE DEVICE
  mount -t $2 -o ro $3 /mnt
  guest-files manifest /mnt >/h/$1.kernel
  mount -o remount,rw /mnt
  guest-files run /mnt </h/more.list
  umount /mnt
  mount -t $2 -o ro $3 /mnt
  guest-files manifest /mnt >/h/$1.after
  umount /mnt
  dmesg >/h/$1.dmesg
}
attach() { # Nothing in a dump says that its chip has more blocks, for which UBI would reserve some.
  ubiattach -m 0 -d 0 -b 4 >/dev/null
  for check in gen io; do echo 1 >/sys/kernel/debug/ubi/ubi0/chk_$check; done
}
keep() { nanddump -q --bb=dumpbad -o -n -f /tmp/dump /dev/mtd0; cp /tmp/dump $1; }
modprobe fuse; modprobe ubi; modprobe ubifs
for check in general index orphans lprops fs; do echo 1 >/sys/kernel/debug/ubifs/chk_$check; done
WORK=/tmp FILES=guest-files BOARDLAB=boardlab
"#;

/// In the guest: the same changes of the kernel's own UBIFS.
const REFERENCE: &str = "ubiformat -q -y /dev/mtd0\nattach\nubimkvol /dev/ubi0 -N own -m >/dev/null\n\
    mount -t ubifs ubi0:own /mnt\nLISTS=/h/lists\nby_system_calls /mnt\nby_programs /mnt\n\
    guest-files manifest /mnt >/h/reference\numount /mnt\nubidetach -d 0\nrmmod nandsim\n";

/// The trees whose operations are carried out in a mount; what they show is in their names.
const LISTS: [&str; 14] = [
    "sizes-half-random",
    "tiny",
    "hard-links",
    "symbolic-links",
    "nodes",
    "long-names",
    "strange-names",
    "attributes",
    "shared-attributes",
    "owners-and-modes",
    "times",
    "truncates",
    "renames",
    "churn",
];

/// Pages of 2048 bytes.
const FLASH: Flash = nandsim::ALL[1];
/// MiB of the flash on which UBI gets a volume.
const SIZE: usize = 9;
/// The bad blocks of the flash with JFFS2.
const BAD: &str = "3,17";

/// The least blocks that are erased for what is in them: garbage is collected.
const RECLAIMED: usize = 10;

/// Where an image is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On this machine, if it can.
    Here,
    Guest,
}

/// Who reads an image besides ours.
enum Reader {
    /// The kernel, by these lines in the guest, with the image in `$image`.
    Kernel(String),
    /// `oracles/logfs/read.py`.
    Script,
}

/// An image.
struct Case {
    name: &'static str,
    /// Options of `image create`.
    create: String,
    /// Its erase blocks: behind those that it needs, erased ones follow.
    blocks: usize,
    /// Bytes of each in the image.
    block: usize,
    place: Place,
    reader: Reader,
}

fn cases() -> [Case; 5] {
    let (page, oob, block) = (FLASH.page, FLASH.oob, FLASH.block());
    let nand = format!("--page {page} --block {block}");
    let raw_block = FLASH.raw_page() * FLASH.pages_per_block;
    // Of the 72 blocks of a flash, UBI needs some for itself and for bad ones.
    let (blocks, lebs) = (64, 58);
    let ubi = format!("{nand} --sub-page {}", page / 4);
    [
        Case {
            name: "jffs2-nor",
            create: "--fs jffs2 --page 1 --block 64KiB".into(),
            blocks: 92,
            block: 64 << 10,
            place: Place::Here,
            reader: Reader::Kernel(on_nor(92)),
        },
        Case {
            name: "jffs2-nand",
            create: format!("--fs jffs2 {nand} --oob {oob} --bad-blocks {BAD} --pad 48blocks"),
            blocks: 48,
            block: raw_block,
            place: Place::Here,
            reader: Reader::Kernel(on_nand(48)),
        },
        Case {
            name: "ubi",
            create: format!("{ubi} --oob {oob} --max-blocks {blocks}"),
            blocks,
            block: raw_block,
            place: Place::Here,
            reader: Reader::Kernel(in_ubi(blocks)),
        },
        Case {
            name: "volume",
            create: format!("{ubi} --max-blocks {lebs} --volume-only"),
            blocks: lebs,
            block: block - page,
            place: Place::Guest,
            reader: Reader::Kernel(in_volume(lebs)),
        },
        Case {
            name: "logfs",
            create: format!("--fs logfs {nand} --oob {oob} --max-blocks 144"),
            blocks: 144,
            block: raw_block,
            place: Place::Here,
            reader: Reader::Script,
        },
    ]
}

fn on_nor(blocks: usize) -> String {
    format!(
        "modprobe mtdram total_size={} erase_size=64\ndd if=$image of=/dev/mtd0 bs=64k 2>/dev/null\n\
         look jffs2-nor jffs2 mtd0\ncp /dev/mtd0 /h/jffs2-nor.end\nrmmod mtdram",
        blocks * 64
    )
}

fn on_nand(blocks: usize) -> String {
    let load = FLASH.load_blocks(&[blocks]);
    let load = load.replace("modprobe nandsim", &format!("modprobe nandsim badblocks={BAD}"));
    format!(
        "{load}\nnandwrite -q -n -o -N /dev/mtd0 $image >/dev/null 2>&1\nlook jffs2-nand jffs2 mtd0\n\
         keep /h/jffs2-nand.end\nrmmod nandsim"
    )
}

fn in_ubi(blocks: usize) -> String {
    format!(
        "{}\nnandwrite -q -k -n -o /dev/mtd0 $image >/dev/null\nattach\nlook ubi ubifs ubi0:rootfs\n\
         ubidetach -d 0\nkeep /h/ubi.end\nrmmod nandsim",
        FLASH.load_blocks(&[blocks])
    )
}

fn in_volume(lebs: usize) -> String {
    format!(
        "{}\nubiformat -q -y /dev/mtd0\nattach\nubimkvol /dev/ubi0 -N rootfs -S {lebs} >/dev/null\n\
         ubiupdatevol /dev/ubi0_0 $image\nlook volume ubifs ubi0:rootfs\ncp /dev/ubi0_0 /h/volume.end\n\
         ubidetach -d 0\nrmmod nandsim",
        FLASH.load(&[SIZE])
    )
}

/// The lists, for the folders `lists` and, without extended attributes, `plain` of the share.
fn write_lists(share: &Share) {
    let (all, plain) = (share.path().join("lists"), share.path().join("plain"));
    fs::create_dir(&all).unwrap();
    fs::create_dir(&plain).unwrap();
    let kept = |line: &str, with: bool| {
        // It reaches no FUSE, but all disks of this machine.
        line != "sync" && (with || !line.contains("xattr "))
    };
    for tree in trees::all(Seed::new(1)).iter().filter(|tree| LISTS.contains(&tree.name)) {
        for (folder, with) in [(&all, true), (&plain, false)] {
            let lines = tree.operations.lines().filter(|line| kept(line, with));
            let text: String = lines.flat_map(|line| [line, "\n"]).collect();
            // A request of few bytes takes as long as one of many.
            let text = text.replace(" 100\n", " 4096\n").replace(" 1000\n", " 8192\n");
            fs::write(folder.join(format!("{}.list", tree.name)), text).unwrap();
        }
    }
}

/// Makes an image in the share, with these options of `image create`, that grows to `size` by erased bytes.
pub(crate) fn create(share: &Share, name: &str, options: &str, size: usize) {
    let scratch = Scratch::new();
    let root = scratch.path().join("root");
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::write(root.join("etc/motd"), "welcome\n").unwrap();
    fs::write(root.join("old"), content(300_000, 7)).unwrap();
    let path = share.path().join(name);
    let mut arguments = vec!["image", "create", "root", path.to_str().unwrap()];
    arguments.extend(options.split(' '));
    let output = Boardlab::built().run(&arguments, scratch.path());
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {message}");
    let mut bytes = fs::read(&path).unwrap();
    bytes.resize(size, 0xFF);
    fs::write(&path, bytes).unwrap();
}

impl Case {
    /// The shell's lines that change the image in a folder.
    fn change(&self, folder: &str, share: &str) -> String {
        let lists = if matches!(self.reader, Reader::Script) { "plain" } else { "lists" };
        format!("LISTS={share}/{lists}\nchange_image {folder}/{0} {folder}/{0}.mount\n", self.name)
    }

    /// What happens in the guest.
    fn in_guest(&self, is_changed: bool) -> String {
        let name = self.name;
        if is_changed && matches!(self.reader, Reader::Script) {
            return String::new();
        }
        let mut job = format!("image=/tmp/{name}; cp /h/{name} $image\n");
        if !is_changed {
            job += &self.change("/tmp", "/h");
            writeln!(job, "image=/tmp/{name}; cp $image $image.live $image.log-[12] /h").unwrap();
        }
        if let Reader::Kernel(look) = &self.reader {
            writeln!(job, "dmesg -c >/dev/null\n{look}").unwrap();
        }
        job + "rm -r $image*\n"
    }
}

/// Runs a job with the functions of [`CHANGE`] on this machine.
fn run_here(share: &Share, job: &str) -> Result<(), String> {
    let work = Scratch::new();
    let program = guest_files(work.path());
    let mut shell = Command::new("busybox");
    shell.args(["sh", "-eu", "-c"]).arg(format!("{CHANGE}{job}")).current_dir(share.path());
    shell.env("BOARDLAB", Boardlab::built().path()).env("FILES", program).env("WORK", work.path());
    let output = shell.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = || text(&output.stdout) + &text(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said()) }
}

/// Whether this machine can mount: as root, with the device of FUSE, where mount(2) is allowed.
fn mounts_here(share: &Share, case: &Case) -> bool {
    let name = case.name;
    let job = format!("[ \"$(id -u)\" = 0 ]\nmount_image {name} {name}.mount\nunmount\n");
    run_here(share, &job).is_ok()
}

/// How many blocks were written and then erased, by an overlay: see `docs/formats/overlay.md`.
fn reclaimed(overlay: &[u8], block: usize) -> usize {
    let number = |at: usize| usize::try_from(u32::from_le_bytes(word(overlay, at))).unwrap();
    let (mut at, mut count, mut written) = (104, 0, BTreeSet::new());
    while at < overlay.len() {
        let (kind, length, place) = (number(at), number(at + 4), number(at + 16));
        match kind {
            1 => count += usize::from(written.remove(&place)),
            2 => _ = written.insert(place / block),
            3 => _ = written.insert(place),
            _ => {}
        }
        at += 28 + length;
    }
    count
}

fn word(bytes: &[u8], at: usize) -> [u8; 4] {
    bytes[at..at + 4].try_into().unwrap()
}

/// What became of a case.
struct Outcome<'s> {
    case: &'s Case,
    share: &'s Share,
    /// The tree of the kernel's own filesystem after the same changes.
    reference: &'s str,
    found: Vec<String>,
}

impl Outcome<'_> {
    fn text(&self, kind: &str) -> String {
        self.share.text_of(&format!("{}.{kind}", self.case.name))
    }

    fn bytes(&self, kind: &str) -> Vec<u8> {
        self.share.read(&format!("{}{kind}", self.case.name)).unwrap()
    }

    /// What ours finds in an image, which must be whole.
    fn ours(&mut self, kind: &str) -> String {
        let mut image = open(&Contents::of(self.bytes(kind)), &Hints::default()).unwrap();
        let damage = Damage::of(&mut image).unwrap();
        if !damage.is_whole() {
            let places = &damage.audit.places;
            self.found.push(format!("{}{kind} is damaged: {places:#?}", self.case.name));
        }
        let mut mount = Mount::new(image.fs);
        tree::manifest(&mut mount, &mut image.clock).unwrap()
    }

    fn compare(&mut self, what: &str, other: &str, ours: &str) {
        let found = difference(other, ours);
        self.found.extend(found.map(|found| format!("{}, {what}: {found}", self.case.name)));
    }

    fn problems(mut self) -> Vec<String> {
        let manifest = self.ours("");
        // Only the last entry that came says when a directory of JFFS2 changed.
        self.compare("after the mount", &undated(&self.text("live")), &undated(&manifest));
        let reclaimed =
            [".log-1", ".log-2"].map(|log| reclaimed(&self.bytes(log), self.case.block));
        if reclaimed.iter().sum::<usize>() < RECLAIMED {
            self.found.push(format!("{}: {reclaimed:?} blocks reclaimed", self.case.name));
        }
        match self.case.reader {
            Reader::Kernel(_) => self.by_kernel(&manifest),
            Reader::Script => self.by_script(&manifest),
        }
        self.found
    }

    fn by_kernel(&mut self, manifest: &str) {
        self.compare("of the kernel's own UBIFS", self.reference, &changes(manifest));
        self.compare("read by the kernel", &self.text("kernel"), manifest);
        let end = self.ours(".end");
        self.compare("after the kernel wrote on", &self.text("after"), &end);
        let log = self.text("dmesg");
        let complaints = complaints(&log).into_iter().chain(inspection::complaints(&log));
        self.found.extend(complaints.map(|line| format!("{}: {line}", self.case.name)));
    }

    fn by_script(&mut self, manifest: &str) {
        self.compare("of the kernel's own UBIFS", &of_logfs(self.reference), &changes(manifest));
        let script = Repository::here().root().join("oracles/logfs/read.py");
        let image = self.share.path().join(self.case.name);
        let spare = ["--page", &FLASH.page.to_string(), "--oob", &FLASH.oob.to_string()];
        let read = |action: &str| {
            let mut python = Command::new("python3");
            let read = python.arg(&script).args(spare).arg(action).arg(&image).output().unwrap();
            String::from_utf8([read.stdout, read.stderr].concat()).unwrap()
        };
        self.compare("contradictions", &read("check"), "");
        self.compare("read by the script", &read("manifest"), manifest);
    }
}

/// A manifest without the times of directories.
fn undated(manifest: &str) -> String {
    edited(manifest, |columns| {
        if columns[1] == "d" {
            columns[7] = "-";
        }
    })
}

/// A manifest of another filesystem as that of LogFS, which has no extended attributes, and one link to a directory.
fn of_logfs(manifest: &str) -> String {
    edited(manifest, |columns| {
        columns[10] = "-";
        if columns[1] == "d" {
            columns[5] = "1";
        }
    })
}

/// The part of a manifest that was made by the changes, without the times at which they were made.
fn changes(manifest: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let day = Duration::from_secs(86_400);
    let today = (now - day).as_secs()..(now + day).as_secs();
    let is_change = |line: &&str| ["lists", "programs"].iter().any(|name| line.starts_with(name));
    let kept: String = manifest.lines().filter(is_change).flat_map(|line| [line, "\n"]).collect();
    edited(&kept, |columns| {
        if columns[7].parse().is_ok_and(|time: u64| today.contains(&time)) {
            columns[7] = "now";
        }
    })
}

fn edited(manifest: &str, edit: impl Fn(&mut Vec<&str>)) -> String {
    let line = |line: &str| {
        let mut columns: Vec<&str> = line.split(' ').collect();
        edit(&mut columns);
        columns.join(" ") + "\n"
    };
    manifest.lines().map(line).collect()
}

#[test]
fn what_programs_change_in_a_mount_is_read_by_the_kernel_which_writes_on() {
    let Some(guest) = Guest::find() else { return };
    let (share, cases) = (Share::new(), cases());
    share.write("more.list", MORE);
    write_lists(&share);
    for Case { name, create: options, blocks, block, .. } in &cases {
        create(&share, name, options, blocks * block);
    }
    let can = mounts_here(&share, &cases[0]);
    let is_here = |case: &&Case| can && case.place == Place::Here;
    let path = share.path().to_str().unwrap();
    let job: String = cases.iter().filter(is_here).map(|case| case.change(path, path)).collect();
    run_here(&share, &job).unwrap_or_else(|said| panic!("{said}"));
    let program = share.program(Boardlab::built().path());
    let mut job = format!("{CHANGE}{LOOK}{program}{}\n{REFERENCE}", FLASH.load(&[]));
    job.extend(cases.iter().map(|case| case.in_guest(is_here(&case))));
    guest.run(&share, &job);
    let reference = changes(&share.text_of("reference"));
    let outcome = |case| Outcome { case, share: &share, reference: &reference, found: Vec::new() };
    assert_none(&cases.iter().flat_map(|case| outcome(case).problems()).collect::<Vec<_>>());
}
