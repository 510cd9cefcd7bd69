//! Programs that people use, on a mount: `oracles/mount/programs.sh`.

use super::files::is_usable;
use crate::bench::Scratch;
use std::process::Command;

pub(crate) const SCRIPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracles/mount/programs.sh");

/// Runs the script by a command, to which its arguments are added.
pub(crate) fn run(mut command: Command, filesystems: &[&str]) {
    let output = command.arg(env!("CARGO_BIN_EXE_boardlab")).args(filesystems).output().unwrap();
    let [told, wrong] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{told}{wrong}");
    for fs in filesystems {
        for program in ["git", "rsync", "tar", "fio", "image"] {
            assert!(told.contains(&format!("ok {fs} {program}\n")), "{told}{wrong}");
        }
    }
}

#[test]
fn git_rsync_tar_and_fio_work_in_every_filesystem_and_the_image_keeps_what_they_did() {
    // Where nothing can be mounted, this runs in the guest.
    if !is_usable() {
        return;
    }
    let scratch = Scratch::new();
    let mut command = Command::new(SCRIPT);
    command.env("TMPDIR", scratch.path());
    run(command, &["jffs2", "ubifs", "yaffs2", "logfs"]);
}
