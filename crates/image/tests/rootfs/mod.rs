//! A root filesystem of several thousand files as a JFFS2 image of 64 MiB, made by mkfs.jffs2.

use boardlab_image::{Damage, Limits, extract};
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::{MemoryFs, Mount};
use boardlab_workload::tree::generate::rootfs_of;
use boardlab_workload::tree::{Line, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the tree, of about 9 KiB each: with them the image has 64 MiB.
pub(crate) const FILES: u64 = 9_500;

/// The image, made once for each build folder; `None` without mkfs.jffs2.
pub(crate) fn image() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("rootfs-{FILES}.jffs2"));
    if path.exists() {
        return Some(path);
    }
    let tree = folder.join(format!("rootfs-{}", std::process::id()));
    let made = make(&tree, &path.with_extension("part"));
    std::fs::remove_dir_all(&tree).expect("the tree was made here");
    made?;
    // Under its name there is only ever a whole image.
    std::fs::rename(path.with_extension("part"), &path).expect("the image was made here");
    Some(path)
}

fn make(tree: &Path, image: &Path) -> Option<()> {
    let lines = (1..).zip(rootfs_of(FILES, Seed::new(1)).into_iter().map(Line::from));
    let (mut mount, mut clock) = (Mount::new(MemoryFs::new()), Clock::new());
    let lines: Vec<_> = lines.collect();
    run(&mut mount, &mut clock, &lines, &mut |_| {}).expect("memory takes the tree");
    mount.sync(&mut clock).expect("memory takes the tree");
    let (nothing, limits) = (Damage::default(), Limits::default());
    extract(&mut mount.into_fs(), &mut clock, b"/", tree, nothing, limits)
        .expect("the folder takes the tree");
    let mkfs = Command::new("mkfs.jffs2")
        .args(["--little-endian", "--eraseblock=128KiB", "--pad", "--root"])
        .arg(tree)
        .arg("--output")
        .arg(image)
        .status();
    mkfs.is_ok_and(|status| status.success()).then_some(())
}
