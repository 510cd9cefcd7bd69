//! What Linux' JFFS2 does wrong and ours does not: shown on the real kernel, so that a difference that we
//! make on purpose stays one.
//!
//! Each comes with both sides on the same flash: where a cut made the state, the dump is made here, and the
//! kernel and ours mount the same bytes.

use crate::flash::{chip, dump, load, manifest_of_dump, mounted_and_run};
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::nandsim::{self, Flash};
use boardlab_jffs2::format::crc;
use boardlab_mtd::Mtd;
use boardlab_nand::Nand;
use boardlab_sim::{Bytes, Clock};
use boardlab_workload::tree;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The flash that is used, and its size in MiB.
const FLASH: Flash = nandsim::ALL[0];
const SIZE: usize = 2;

const REPLACE_AND_REMOVE: &str = "file f 0644\nsetxattr f user.a 4141\nsync\n\
    setxattr f user.a 4242\nsync\nremovexattr f user.a\nsync\n";
const CHANGE_AND_FSYNC: &str = "file f 0644\nsync\nchmod f 0600\nfsync f\n";
const SET_AND_FSYNC: &str = "setxattr f user.a 4141\nfsync f\n";
const NEXT: &str = "file next 0644\nsync\n";

/// In the guest. The write buffer is not flushed by age: 5 s of this machine mean nothing.
const JOB: &str = r#"
echo 100000 >/proc/sys/vm/dirty_writeback_centisecs
again() { if grep -q " /mnt " /proc/mounts; then umount /mnt; fi; mount -t jffs2 mtd0 /mnt; }
look() { guest-files manifest /mnt >/h/$1; }
run() { guest-files run /mnt </h/$1.list >/dev/null; }
power_fails() { # NAME: what lies on the flash now is what is found
  nanddump -q --bb=dumpbad -o -n -f /tmp/dump /dev/mtd0; cp /tmp/dump /h/$1.dump; }
restore() { # NAME
  if grep -q " /mnt " /proc/mounts; then umount /mnt; fi
  flash_erase -q /dev/mtd0 0 0
  cp /h/$1.dump /tmp/dump; nandwrite -q -n -o /dev/mtd0 /tmp/dump >/dev/null; again; look $1; }
flash_erase -q -j /dev/mtd0 0 0

again; run replace; look replaced-before; again; look replaced-after
guest-files run /mnt </h/clean.list
run change; power_fails changed; run set; power_fails set; sync; power_fails synced
restore changed; restore set; restore synced
restore torn-name; run next; again; look torn-name-after
restore torn-rename
restore one-copy; restore torn-copy
umount /mnt
"#;

/// What the kernel showed, by name.
fn linux() -> Option<&'static BTreeMap<&'static str, String>> {
    static SEEN: OnceLock<Option<BTreeMap<&'static str, String>>> = OnceLock::new();
    SEEN.get_or_init(|| {
        let guest = Guest::find()?;
        let share = Share::new();
        for (name, list) in [
            ("replace", REPLACE_AND_REMOVE),
            ("clean", "unlink f\nsync\n"),
            ("change", CHANGE_AND_FSYNC),
            ("set", SET_AND_FSYNC),
            ("next", NEXT),
        ] {
            share.write(&format!("{name}.list"), list);
        }
        share.write("torn-name.dump", torn_name());
        share.write("torn-rename.dump", torn_rename());
        share.write("one-copy.dump", left_of(&set_a_long_one()));
        share.write("torn-copy.dump", torn_copy());
        guest.run(&share, &(FLASH.load(&[SIZE]) + JOB));
        let names = [
            "replaced-before",
            "replaced-after",
            "changed",
            "set",
            "synced",
            "torn-name",
            "torn-name-after",
            "torn-rename",
            "one-copy",
            "torn-copy",
        ];
        Some(names.into_iter().map(|name| (name, share.text_of(name))).collect())
    })
    .as_ref()
}

/// A flash with the bytes of a dump.
fn flash_with(dump: &[u8]) -> Nand {
    let mut nand = chip(FLASH, SIZE);
    load(&mut nand, dump);
    nand
}

/// The dump of a flash when the power fails after the operations.
fn left_of(operations: &str) -> Vec<u8> {
    let mut nand = mounted_and_run(chip(FLASH, SIZE), operations).into_fs().into_device();
    dump(&mut nand)
}

/// Where in a dump a node of this type begins that has this number behind its header.
fn node(dump: &[u8], kind: u16, number: u32) -> usize {
    let magic = [&0x1985_u16.to_le_bytes()[..], &kind.to_le_bytes()].concat();
    let is_it = |node: &[u8]| node[..4] == magic && node[12..16] == number.to_le_bytes();
    dump.windows(16).position(is_it).expect("the node lies within a page")
}

/// A cut tore the page of a new file so that the header of its inode is not whole, and its name is.
fn torn_name() -> Vec<u8> {
    torn_inode(left_of("file kept 0644\nsync\nfile lost 0644\nsync\n"))
}

/// The same of a new file that was renamed over a durable one.
fn torn_rename() -> Vec<u8> {
    torn_inode(left_of("file kept 0644\nsync\nfile new 0600\nrename new kept\nsync\n"))
}

/// Tears the header of the second inode that was made.
fn torn_inode(mut dump: Vec<u8>) -> Vec<u8> {
    let at = node(&dump, 0xE002, 3);
    // Not programmed. An even number of bits: Hamming cannot take them for one, and changes nothing.
    let torn = &mut dump[at + 8..at + 16];
    let zeros: u32 = torn[..4].iter().map(|byte| byte.count_zeros()).sum();
    torn[..4].fill(0xFF);
    torn[7] ^= if zeros.is_multiple_of(2) { 0 } else { 0x80 };
    dump
}

/// A value that does not fit a page.
fn long_value() -> String {
    "5a".repeat(700)
}

fn set_a_long_one() -> String {
    format!("file f 0644\nsync\nsetxattr f user.a {}\nsync\n", long_value())
}

/// A cut between two pages of the copy of an attribute that garbage collection was making.
fn torn_copy() -> Vec<u8> {
    let dump = left_of(&set_a_long_one());
    let pages: Vec<_> = dump.chunks_exact(FLASH.raw_page()).collect();
    let written = pages.iter().rposition(|page| page[..FLASH.page].iter().any(|b| *b != 0xFF));
    let next = written.unwrap() + 1;
    assert!(!next.is_multiple_of(FLASH.pages_per_block), "the copy begins behind the original");
    let at = node(&dump, 0xE008, 1);
    let data: Vec<u8> = pages.iter().flat_map(|page| &page[..FLASH.page]).copied().collect();
    let from = at / FLASH.raw_page() * FLASH.page + at % FLASH.raw_page();
    let mut copy = data[from..from + FLASH.page].to_vec();
    let version = u32::from_le_bytes(copy[16..20].try_into().unwrap()) + 1;
    copy[16..20].copy_from_slice(&version.to_le_bytes());
    let checksum = crc(0, &copy[..28]);
    copy[28..32].copy_from_slice(&checksum.to_le_bytes());
    let mut nand = flash_with(&dump);
    let place = Bytes::new(u64::try_from(next * FLASH.page).unwrap());
    nand.program(&mut Clock::default(), place, &copy).unwrap();
    super::flash::dump(&mut nand)
}

/// What ours shows of a flash, after the operations and a second mount.
fn ours(dump: &[u8], operations: &str) -> String {
    let mut mount = mounted_and_run(flash_with(dump), operations);
    mount.unmount(&mut Clock::default()).unwrap();
    let mut mount = mounted_and_run(mount.into_fs().into_device(), "");
    tree::manifest(&mut mount, &mut Clock::default()).unwrap()
}

/// The line of a path.
fn line<'a>(manifest: &'a str, path: &str) -> Option<&'a str> {
    manifest.lines().find(|line| line.split(' ').next() == Some(path))
}

#[test]
fn linux_brings_a_replaced_attribute_back_that_was_removed_and_ours_does_not() {
    assert!(!ours(&[], REPLACE_AND_REMOVE).contains("user.a"));
    let Some(linux) = linux() else { return };
    assert!(!linux["replaced-before"].contains("user.a"));
    assert!(linux["replaced-after"].contains("user.a=4141"), "Linux was repaired: follow it");
}

#[test]
fn linux_does_not_wait_for_an_attribute_at_an_fsync_and_ours_does() {
    let dump = left_of(&[CHANGE_AND_FSYNC, SET_AND_FSYNC].concat());
    let found = manifest_of_dump(FLASH, dump).unwrap();
    assert!(found.contains("f f 0600") && found.contains("user.a=4141"), "{found}");
    let Some(linux) = linux() else { return };
    let changed = line(&linux["changed"], "f").unwrap();
    assert!(changed.starts_with("f f 0600"), "an fsync waits for a mode: {changed}");
    assert!(linux["synced"].contains("user.a=4141"), "a sync waits for an attribute");
    assert!(!linux["set"].contains("user.a"), "Linux was repaired: follow it");
}

#[test]
fn linux_gives_the_number_of_a_torn_inode_again_and_ours_does_not() {
    let after = ours(&torn_name(), NEXT);
    assert_eq!(line(&after, "lost"), None);
    assert!(line(&after, "kept").is_some() && line(&after, "next").is_some());
    let Some(linux) = linux() else { return };
    assert_eq!(line(&linux["torn-name"], "lost"), None);
    let links = |path| line(&linux["torn-name-after"], path).unwrap().split(' ').nth(5);
    let foreign = line(&linux["torn-name-after"], "lost");
    assert!(foreign.is_some() && links("next") == Some("2"), "Linux was repaired: follow it");
}

#[test]
fn linux_loses_a_durable_file_that_a_torn_one_was_to_replace_and_ours_does_not() {
    let found = ours(&torn_rename(), "");
    assert!(line(&found, "kept").is_some_and(|kept| kept.starts_with("kept f 0644")), "{found}");
    assert_eq!(line(&found, "new"), None);
    let Some(linux) = linux() else { return };
    assert_eq!(line(&linux["torn-rename"], "kept"), None, "Linux was repaired: follow it");
}

#[test]
fn linux_loses_an_attribute_whose_copy_was_torn_and_ours_does_not() {
    let whole = format!("user.a={}", long_value());
    assert!(ours(&torn_copy(), "").contains(&whole));
    let Some(linux) = linux() else { return };
    assert!(linux["one-copy"].contains(&whole), "without the copy the attribute is there");
    let found = line(&linux["torn-copy"], "f").unwrap();
    assert!(!found.contains("user.a"), "Linux was repaired: follow it: {found}");
}
