//! What the kernel wrote is read here: every tree, every compressor, three page sizes.

use crate::flash::manifest_of_dump;
use crate::{Case, assert_none, cases, device, difference};
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::nandsim;
use std::collections::BTreeSet;
use std::fmt::Write;

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
    let Some(first) = cases.first() else { return };
    let share = Share::new();
    let mut job = first.flash.load(&[8, 16]) + MAKE;
    for case in cases {
        share.write(&format!("{}.list", case.tree.name), &case.tree.operations);
        let (name, device) = (&case.name, device(case.tree.mebibytes));
        writeln!(job, "make {name} {device} {} {}", case.compression, case.tree.name).unwrap();
    }
    guest.run(&share, &job);
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
fn write_and_compare_on(flash: nandsim::Flash) {
    for cases in cases(flash, "kernel writes", 1).chunks(30) {
        write_and_compare(cases);
    }
}

#[test]
fn what_the_kernel_wrote_on_pages_of_512_bytes_is_read_here() {
    write_and_compare_on(nandsim::ALL[0]);
}

#[test]
fn what_the_kernel_wrote_on_pages_of_2048_bytes_is_read_here() {
    write_and_compare_on(nandsim::ALL[1]);
}

#[test]
fn what_the_kernel_wrote_on_pages_of_4096_bytes_is_read_here() {
    write_and_compare_on(nandsim::ALL[2]);
}

#[test]
fn the_sample_has_every_tree_and_every_compressor() {
    let sample: Vec<_> =
        nandsim::ALL.into_iter().flat_map(|flash| cases(flash, "kernel writes", 1)).collect();
    let trees: BTreeSet<_> = sample.iter().map(|case| case.tree.name).collect();
    let compressions: BTreeSet<_> = sample.iter().map(|case| case.compression).collect();
    assert!(trees.len() > 20 && compressions.len() == 4);
}
