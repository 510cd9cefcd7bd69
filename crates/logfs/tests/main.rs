//! Tests of LogFS on whole flashes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod weaknesses;

use boardlab_logfs::mkfs::Format;
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::Mount;

#[test]
fn a_file_is_there_after_an_unmount() {
    let (mut clock, mut flash) =
        (Clock::new(), RamMtd::nand(64, 64, Bytes::kib(2), Bytes::new(64)));
    Format::default().make(&mut clock, &mut flash).unwrap();
    let fs = Logfs::mount(&mut clock, flash, Options::default()).unwrap();
    let mut mount = Mount::new(fs);
    let fd = mount.create(&mut clock, "/file", 0o644).unwrap();
    let data = vec![7; 300_000];
    assert_eq!(mount.write(&mut clock, fd, 0, &data).unwrap(), data.len());
    mount.close(&mut clock, fd).unwrap();
    mount.unmount(&mut clock).unwrap();

    let flash = mount.into_fs().into_device();
    let mut fs = Logfs::mount(&mut clock, flash, Options::default()).unwrap();
    assert_eq!(fs.audit(&mut clock).unwrap().faults, []);
    let mut mount = Mount::new(fs);
    let fd = mount.open(&mut clock, "/file").unwrap();
    let mut found = vec![0; data.len()];
    assert_eq!(mount.read(&mut clock, fd, 0, &mut found).unwrap(), data.len());
    assert!(found == data);
}
