//! NOR, in both directions: the kernel's mtdram, a NOR in memory, and our JFFS2 on a NOR in memory. JFFS2 there
//! has its cleanmarkers among the data and no write buffer.

use crate::flash::{manifest_of, mounted_and_run};
use crate::writes::{MORE, complaints};
use crate::{assert_none, difference, full};
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::trees::{self, Tree};
use boardlab_image::{Contents, Hints};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_workload::tree;
use std::fmt::Write;

/// KiB of the erase blocks that are tried; a tree in the sample has one of them.
const BLOCKS: [u64; 3] = [16, 64, 128];

/// In the guest: make a tree on an erased flash, keep the flash; then take one that was written here, look at
/// it, write on, look again, keep that.
const JOB: &str = r#"
flash() { modprobe mtdram total_size=$1 erase_size=$2; }
keep() { cp /dev/mtd0 /h/$1; rmmod mtdram; }
look() { mount -t jffs2 -o ro mtd0 /mnt; guest-files manifest /mnt >/h/$1; umount /mnt; }
make() { # NAME KIB KIB-OF-BLOCK
  flash $2 $3
  flash_erase -q -j /dev/mtd0 0 0
  mount -t jffs2 mtd0 /mnt; guest-files run /mnt </h/$1.list >/dev/null; umount /mnt
  look $1.made; keep $1.kernels
}
take() { # NAME KIB KIB-OF-BLOCK
  flash $2 $3
  dd if=/h/$1.ours of=/dev/mtd0 bs=64k 2>/dev/null
  dmesg -c >/dev/null
  look $1.seen
  mount -t jffs2 mtd0 /mnt; guest-files run /mnt </h/more.list >/dev/null; umount /mnt
  look $1.after; dmesg >/h/$1.dmesg; keep $1.changed
}
"#;

/// A tree on a NOR.
struct Case {
    name: String,
    tree: Tree,
    /// KiB of an erase block.
    block: u64,
}

fn cases() -> Vec<Case> {
    let seed = Seed::new(1);
    let mut stream = seed.stream("nor");
    let mut cases = Vec::new();
    for tree in trees::all(seed) {
        let drawn = stream.below(9);
        for (number, block) in (0..).zip(BLOCKS) {
            if full() || drawn == number {
                cases.push(Case {
                    name: format!("{}-{block}", tree.name),
                    tree: tree.clone(),
                    block,
                });
            }
        }
    }
    cases
}

impl Case {
    fn kib(&self) -> u64 {
        u64::try_from(self.tree.mebibytes).unwrap() << 10
    }

    /// The image of the tree that was written here, and its manifest after a second mount.
    fn write(&self) -> (Vec<u8>, String) {
        let mut clock = Clock::default();
        let count = u32::try_from(self.kib() / self.block).unwrap();
        let flash = RamMtd::nor(count, Bytes::kib(self.block));
        let mut mount = mounted_and_run(flash, &self.tree.operations);
        mount.unmount(&mut clock).unwrap();
        let flash = mount.into_fs().into_device();
        let image = flash.image();
        let manifest = tree::manifest(&mut mounted_and_run(flash, ""), &mut clock).unwrap();
        (image, manifest)
    }

    /// What our JFFS2 shows of an image.
    fn read(&self, share: &Share, kind: &str) -> String {
        let image = share.read(&format!("{}.{kind}", self.name)).expect("the guest kept its flash");
        let block = Some(Bytes::kib(self.block));
        let hints = Hints { block, oob: Some(Bytes::ZERO), ..Hints::default() };
        manifest_of(&Contents::of(image), &hints).unwrap_or_else(|error| error)
    }

    fn differences(&self, share: &Share, ours: &str) -> Vec<String> {
        let text = |kind: &str| share.text_of(&format!("{}.{kind}", self.name));
        let mut found = Vec::new();
        let mut told = |what: &str, difference: Option<String>| {
            found.extend(
                difference.map(|difference| format!("{}, {what}: {difference}", self.name)),
            );
        };
        told("written by the kernel", difference(&text("made"), &self.read(share, "kernels")));
        told("written here", difference(&text("seen"), ours));
        told("after the kernel wrote on", difference(&text("after"), &self.read(share, "changed")));
        told("the kernel says", complaints(&text("dmesg")).first().map(ToString::to_string));
        found
    }
}

#[test]
fn a_nor_is_read_in_both_directions_and_the_kernel_writes_on() {
    let Some(guest) = Guest::find() else { return };
    let mut found = Vec::new();
    for cases in cases().chunks(30) {
        let (share, mut job, mut written) = (Share::new(), String::from(JOB), Vec::new());
        share.write("more.list", MORE);
        for case in cases {
            let (image, manifest) = case.write();
            let (name, kib, block) = (&case.name, case.kib(), case.block);
            share.write(&format!("{name}.list"), &case.tree.operations);
            share.write(&format!("{name}.ours"), image);
            written.push(manifest);
            writeln!(job, "make {name} {kib} {block}; take {name} {kib} {block}").unwrap();
        }
        guest.run(&share, &job);
        let each = cases.iter().zip(&written);
        found.extend(each.flat_map(|(case, ours)| case.differences(&share, ours)));
    }
    assert_none(&found);
}

#[test]
fn the_sample_has_every_size_of_block() {
    let cases = cases();
    assert!(BLOCKS.iter().all(|block| cases.iter().any(|case| case.block == *block)));
}
