//! Programs that people use, on a mount: `oracles/mount/programs.sh`.

use super::files::is_usable;
use crate::bench::Scratch;
use std::path::Path;
use std::process::Command;

#[test]
fn git_rsync_tar_and_fio_work_in_every_filesystem_and_the_image_keeps_what_they_did() {
    // Where nothing can be mounted, the guest of the tests of the kernel mounts.
    if !is_usable() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scratch = Scratch::new();
    let output = Command::new(root.join("oracles/mount/programs.sh"))
        .arg(env!("CARGO_BIN_EXE_boardlab"))
        .env("TMPDIR", scratch.path())
        .output()
        .unwrap();
    let [told, wrong] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{told}{wrong}");
    for fs in ["jffs2", "ubifs", "yaffs2", "logfs"] {
        for program in ["git", "rsync", "tar", "fio", "image"] {
            assert!(told.contains(&format!("ok {fs} {program}\n")), "{told}{wrong}");
        }
    }
}
