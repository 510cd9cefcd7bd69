//! What the kernel wrote is read here: every tree, every compressor, three page sizes.

use crate::flash::manifest_of_dump;
use crate::{Case, Writer, assert_none, cases, device, difference, on_their_flash};
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::trees;
use boardlab_sim::Seed;
use std::collections::BTreeSet;

/// In the guest: make a tree, look at it after a second mount, dump the flash.
const MAKE: &str = r#"
make() { # NAME DEVICE OPTION TREE
  flash_erase -q -j /dev/$2 0 0
  mount -t jffs2 -o $3 $2 /mnt
  guest-files run /mnt </h/$4.list >/dev/null
  umount /mnt
  mount -t jffs2 -o ro $2 /mnt
  guest-files manifest /mnt >/tmp/manifest
  umount /mnt
  nanddump -q --bb=dumpbad -o -n -f /tmp/dump /dev/$2
  cp /tmp/dump /h/$1.dump; cp /tmp/manifest /h/$1.manifest; rm /tmp/dump
}
"#;

fn write_and_compare(cases: &[Case]) {
    let Some(guest) = Guest::find() else { return };
    let share = Share::new();
    for case in cases {
        share.write(&format!("{}.list", case.tree.name), &case.tree.operations);
    }
    let make = |case: &Case| {
        let (name, device) = (&case.name, device(case.tree.mebibytes));
        format!("make {name} {device} {} {}", case.compression, case.tree.name)
    };
    guest.run(&share, &(MAKE.to_owned() + &on_their_flash(cases, make)));
    let compare = |case: &Case| {
        let dump = share.read(&format!("{}.dump", case.name)).expect("the guest dumped its flash");
        let kernel = share.text_of(&format!("{}.manifest", case.name));
        let ours = manifest_of_dump(case.flash, dump).unwrap_or_else(|error| error);
        let found = difference(&kernel, &ours)?;
        Some(format!("{} with {}: {found}", case.name, case.compression))
    };
    assert_none(&cases.iter().filter_map(compare).collect::<Vec<_>>());
}

/// In parts, so that the dumps of one lie on the disk at a time.
#[test]
fn what_the_kernel_wrote_on_three_sizes_of_pages_is_read_here() {
    for cases in cases(Writer::Kernel).chunks(30) {
        write_and_compare(cases);
    }
}

#[test]
fn the_sample_has_every_tree_once_and_every_compressor_by_either_writer() {
    let mut trees = BTreeSet::new();
    for writer in [Writer::Kernel, Writer::Ours] {
        let sample = cases(writer);
        let compressions: BTreeSet<_> = sample.iter().map(|case| case.compression).collect();
        assert_eq!(compressions.len(), 4);
        trees.extend(sample.iter().map(|case| case.tree.name));
    }
    assert_eq!(trees.len(), trees::all(Seed::new(1)).len());
}
