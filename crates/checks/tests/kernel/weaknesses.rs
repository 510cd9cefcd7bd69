//! What Linux' JFFS2 does wrong and ours does not: shown on the real kernel, so that a difference that we
//! make on purpose stays one.

use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::nandsim;
use boardlab_jffs2::{Jffs2, Options};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::Mount;

const SET: &str = "setxattr f user.a 4141\nsync\n";
const REPLACE: &str = "setxattr f user.a 4242\nsync\n";
const REMOVE: &str = "removexattr f user.a\nsync\n";

const JOB: &str = "
flash_erase -q -j /dev/mtd0 0 0
mount -t jffs2 mtd0 /mnt
echo content >/mnt/f
guest-files run /mnt </h/operations >/dev/null
guest-files manifest /mnt >/h/before
umount /mnt
mount -t jffs2 mtd0 /mnt
guest-files manifest /mnt >/h/after
";

#[test]
fn linux_brings_a_replaced_attribute_back_that_was_removed() {
    let Some(guest) = Guest::find() else { return };
    let share = Share::new();
    share.write("operations", [SET, REPLACE, REMOVE].concat());
    guest.run(&share, &(nandsim::ALL[0].load(&[8]) + JOB));
    assert!(!share.text_of("before").contains("user.a"));
    assert!(share.text_of("after").contains("user.a=4141"), "Linux was repaired: follow it");
}

#[test]
fn ours_does_not_bring_it_back() {
    let mut clock = Clock::new();
    let flash = RamMtd::nand(64, 32, Bytes::new(512), Bytes::new(8));
    let fs = Jffs2::mount(&mut clock, flash, Options::default()).unwrap();
    let mut mount = Mount::new(fs);
    let file = mount.create(&mut clock, "/f", 0o644).unwrap();
    mount.close(&mut clock, file).unwrap();
    mount.set_xattr(&mut clock, "/f", b"user.a", b"AA").unwrap();
    mount.set_xattr(&mut clock, "/f", b"user.a", b"BB").unwrap();
    mount.remove_xattr(&mut clock, "/f", b"user.a").unwrap();
    mount.unmount(&mut clock).unwrap();
    let flash = mount.into_fs().into_device();
    let fs = Jffs2::mount(&mut clock, flash, Options::default()).unwrap();
    let mut mount = Mount::new(fs);
    assert_eq!(mount.xattr_names(&mut clock, "/f").unwrap(), Vec::<Vec<u8>>::new());
}
