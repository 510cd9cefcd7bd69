//! New images of folders: JFFS2 beside mkfs.jffs2 and sumtool, and for every filesystem tables of devices, padding,
//! bad blocks and times.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

#[path = "created/devices.rs"]
mod devices;
mod folders;
#[path = "created/jffs2.rs"]
mod jffs2;
#[path = "created/metadata.rs"]
mod metadata;
#[path = "created/mkfs.rs"]
mod mkfs;
#[path = "created/placing.rs"]
mod placing;
mod planted;
mod scratch;
mod tars;

use boardlab_image::make::{FileOptions, Flash, Made, MakeError, of_folder};
use boardlab_image::{Contents, Hints, MountedImage, open};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{FileSystem, Mount};
use std::path::{Path, PathBuf};
use std::process::Command;

const SEED: Seed = Seed::new(1);

/// A flash of so many bytes in a page, in its spare bytes, and in a block.
const fn flash(page: u64, oob: u64, block: u64) -> Flash {
    let oob = if oob == 0 { None } else { Some(Bytes::new(oob)) };
    Flash { image_seq: Some(7), oob, ..Flash::of(Bytes::new(page), Bytes::new(block)) }
}

const LARGE: Flash = flash(2_048, 64, 131_072);
const SMALL: Flash = flash(512, 16, 16_384);
const NOR: Flash = flash(1, 0, 65_536);

fn options(fs: &str) -> FileOptions {
    let max_lebs = match fs {
        "ubifs" => 400,
        "logfs" => 64,
        _ => 0,
    };
    FileOptions { fs: fs.into(), max_lebs, ..FileOptions::default() }
}

fn try_make(folder: &Path, flash: &Flash, options: &FileOptions) -> Result<Made, MakeError> {
    of_folder(folder, flash, options, SEED)
}

fn make(folder: &Path, flash: &Flash, options: &FileOptions) -> Made {
    let made = try_make(folder, flash, options);
    made.unwrap_or_else(|error| panic!("{error}: {}", error.help()))
}

fn mounted_with(bytes: &[u8], hints: &Hints) -> (Mount<impl FileSystem + use<>>, Clock) {
    let image = open(&Contents::of(bytes.to_vec()), hints);
    let image = image.unwrap_or_else(|error| panic!("{error}: {}", error.help()));
    let MountedImage { fs, clock, .. } = image;
    (Mount::new(fs), clock)
}

/// What is told of a file: permission bits, owner, group and time.
fn told(bytes: &[u8], path: &str) -> (boardlab_vfs::Kind, u32, u32, u32, i64) {
    let (mut mount, mut clock) = mounted_with(bytes, &Hints::default());
    let stat = mount.lstat(&mut clock, path).unwrap_or_else(|error| panic!("{path}: {error:?}"));
    (stat.kind, stat.mode, stat.uid, stat.gid, stat.modified.seconds)
}

fn tool(name: &str) -> Option<PathBuf> {
    let found = ["/usr/sbin", "/sbin"].iter().map(|folder| Path::new(folder).join(name));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: needs {name}");
    }
    found
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {message}");
    output.stdout
}
