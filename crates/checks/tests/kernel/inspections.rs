//! The kernel's own checks of a flash with UBI and UBIFS: they accept what a kernel wrote and find a damage.

use crate::{difference, volume_tables};
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::inspection::{Flashes, Inspection, Written, inspect};
use boardlab_checks::nandsim::{self, Flash};
use boardlab_checks::trees;
use boardlab_sim::Seed;
use std::sync::OnceLock;

/// Pages of 2048 bytes.
const FLASH: Flash = nandsim::ALL[1];
/// The flash that is used, in MiB.
const SIZE: usize = 16;

/// In the guest: a UBIFS in a volume of all space, with a tree, unmounted.
const WRITE: &str = "modprobe ubi; modprobe ubifs\nubiformat -q -y /dev/mtd0\nubiattach -m 0 -d 0 >/dev/null\n\
    ubimkvol /dev/ubi0 -N volume -m >/dev/null\nmount -t ubifs ubi0:volume /mnt\nguest-files run /mnt </h/list\n\
    guest-files manifest /mnt >/h/manifest\numount /mnt\nubidetach -d 0\n\
    nanddump -q --bb=dumpbad -o -n -f /tmp/dump /dev/mtd0\ncp /tmp/dump /h/dump\n";

/// One boot for two tests, as each takes four seconds.
pub(crate) struct Boot {
    /// The manifest of a tree that the kernel wrote.
    manifest: String,
    /// Its flash.
    dump: Vec<u8>,
    /// What is wrong with the sample of [`volume_tables`].
    pub(crate) tables: Vec<String>,
}

impl Boot {
    pub(crate) fn of(guest: &Guest) -> &'static Self {
        static BOOT: OnceLock<Boot> = OnceLock::new();
        BOOT.get_or_init(|| Self::new(guest))
    }

    fn new(guest: &Guest) -> Self {
        let tree = trees::all(Seed::new(1)).into_iter().find(|tree| tree.name == "churn").unwrap();
        let changes = volume_tables::changes();
        let share = Share::new();
        share.write("list", &tree.operations);
        let left = volume_tables::Left::put(&volume_tables::sample(&changes), &share);
        let load = FLASH.load(&[SIZE]);
        guest.run(&share, &format!("{load}\n{WRITE}rmmod nandsim\n{}", left.job()));
        let (manifest, dump) = (share.text_of("manifest"), share.read("dump").unwrap());
        Self { manifest, dump, tables: left.problems(&share) }
    }
}

fn written(name: &str, dump: Vec<u8>) -> Written {
    let volume = "volume".to_owned();
    Written { name: name.to_owned(), dump, volume, attach: "", mount: "compr=zlib" }
}

/// Erases a block that holds contents of files: as if it had never been written.
fn without_a_block(dump: &[u8]) -> Vec<u8> {
    let mut dump = dump.to_vec();
    let size = FLASH.pages_per_block * FLASH.raw_page();
    // The data begin in the second page, with a node: magic, ..., kind, of which 1 is file data.
    let holds_data = |block: &[u8]| {
        let node = &block[FLASH.raw_page()..];
        node.starts_with(&0x0610_1831_u32.to_le_bytes()) && node[20] == 1
    };
    let block = dump.chunks_exact_mut(size).find(|block| holds_data(block)).unwrap();
    block.fill(0xFF);
    dump
}

#[test]
fn the_kernel_accepts_what_it_wrote_itself_and_misses_a_block_that_is_gone() {
    let Some(guest) = Guest::find() else { return };
    let Boot { manifest, dump, .. } = Boot::of(guest);
    let written = vec![written("whole", dump.clone()), written("damaged", without_a_block(dump))];
    let found = inspect(guest, &[Flashes { flash: FLASH, mebibytes: SIZE, written }]);
    let [whole, damaged]: [Inspection; 2] = found.try_into().unwrap();
    assert_eq!(whole.complaints(), [""; 0]);
    assert_eq!(difference(manifest, &whole.manifest), None);
    assert!(whole.after.contains("\nmore/three f 0600"), "{}", whole.after);
    assert!(!damaged.complaints().is_empty(), "{}", damaged.log);
}
