//! The arguments of `boardlab image ls`, `extract`, `convert`, `diff`, `cat` and `stat`.
//!
//! Layer: rank 12. Main types: [`Ls`], [`Extract`], [`Convert`], [`Diff`], [`Cat`], [`Stat`].

use super::{Endian, NewImage, State, layouts, size};
use boardlab_image::controller::CodePattern;
use boardlab_image::date::state;
use boardlab_image::{Hints, Limits};
use boardlab_sim::Bytes;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

pub(super) const LS: &str = "\
Examples:
  boardlab image ls dump.bin
  boardlab image ls dump.bin /etc --format csv
  boardlab image ls dump.bin '/etc/**/*.conf'
  boardlab image ls dump.bin --volume rootfs --commit 17
  boardlab image ls phone.bin --as-of 4711
  boardlab image ls nor.bin --deleted
  boardlab image ls nor.bin --as-of 2024-05-01T12:00:00
  boardlab image ls dump.bin --page 2KiB --oob 64 --block 128KiB --endian little";

pub(super) const EXTRACT: &str = "\
Everything that is left out is listed with its reason. Exit status 1: names or content are missing. Status 0, \
though told: devices, pipes, sockets, owners, extended attributes and bits such as set-user-ID stay behind.

Examples:
  boardlab image extract dump.bin files
  boardlab image extract dump.bin configuration /etc --partial
  boardlab image extract dump.bin files --metadata files.json
  boardlab image extract nor.bin files --deleted
  boardlab image extract dump.bin files.tar --tar
  boardlab image extract dump.bin kernel.bin --volume kernel --raw";

pub(super) const CONVERT: &str = "\
All files of an image go into a new one, of another filesystem or for another flash, with owners, devices, times, hard \
links, extended attributes and holes. Then the new image is read again and compared with the first: every name, \
attribute and byte. With --correct, --strip or --protect the pages are written in another form, whatever is in \
them; FILE and OUTPUT may then be -. Exit status 1: something is left out, damaged or different; the tables say what.

Examples:
  boardlab image convert old.jffs2 new.ubi --fs ubifs --page 2KiB --block 128KiB --max-blocks 1000
  boardlab image convert nand.bin nor.img --fs yaffs2 --oob 64
  boardlab image convert raw.bin corrected.bin --correct
  boardlab image convert raw.bin data.bin --strip --from-page 2KiB --from-oob 64
  boardlab image convert data.bin raw.bin --protect --from-page 2KiB --from-oob 0 --oob 64 --ecc 4/512
  boardlab image convert dump.bin small.logfs --fs logfs --page 2KiB --oob 64 --block 128KiB --max-blocks 512";

pub(super) const DIFF: &str = "\
Compares names, kinds, permissions, owners, times, targets, extended attributes, content and, where both files have \
erase blocks of one size, the bytes of the blocks. Exit status 1: something differs.

Examples:
  boardlab image diff before.bin after.bin
  boardlab image diff before.bin after.bin /etc --format json";

pub(super) const CAT: &str = "\
Exit status 1: a part cannot be read, and zeros are in its place; standard error says which.

Examples:
  boardlab image cat dump.bin /etc/hostname
  boardlab image cat dump.bin /etc/passwd --as-of 4711";

pub(super) const STAT: &str = "\
Examples:
  boardlab image stat dump.bin /bin/busybox
  boardlab image stat dump.bin /etc/passwd /etc/shadow --format json";

/// What is listed.
#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// Image file; it stays as it is
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Folder, file or pattern (* ? [a-z] ** {a,b}), with escapes as shown; links are not followed
    #[arg(value_name = "PATH", default_value = "/")]
    pub(crate) path: OsString,
    /// List deleted files instead, as far as still on the flash (not of YAFFS1)
    #[arg(long)]
    pub(crate) deleted: bool,
    /// Names to list at most
    #[arg(long, value_name = "N", default_value_t = Limits::default().names)]
    pub(crate) max_names: u64,
    /// The flash, and the state of it.
    #[command(flatten)]
    pub(crate) state: State,
}

/// What is written out, and where to.
#[derive(Debug, Args)]
pub(crate) struct Extract {
    /// Image file; it stays as it is
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Folder, new or empty; nothing is written outside of it. With --tar or --raw, a new file
    #[arg(value_name = "DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) target: PathBuf,
    /// Folder or file in the image, with escapes as `ls` shows them
    #[arg(value_name = "PATH", default_value = "/")]
    pub(crate) path: OsString,
    /// Write a tar archive, with owners, devices and attributes; as DIR - is standard output
    #[arg(long, conflicts_with = "raw")]
    pub(crate) tar: bool,
    /// New file for owners, devices, times and attributes of all names, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["raw", "tar"])]
    pub(crate) metadata: Option<PathBuf>,
    /// Write what is left of deleted files instead, into the new folder `deleted` in DIR, or with --tar
    #[arg(long, conflicts_with = "raw")]
    pub(crate) deleted: bool,
    /// Write the bytes of a UBI volume to a new file, whatever is in it
    #[arg(long, conflicts_with_all = ["path", "commit", "as_of", "max_names"])]
    pub(crate) raw: bool,
    /// Names to extract at most
    #[arg(long, value_name = "N", default_value_t = Limits::default().names)]
    pub(crate) max_names: u64,
    /// Bytes of content to write at most, holes not counted
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16GiB")]
    pub(crate) max_size: Bytes,
    /// The flash, and the state of it.
    #[command(flatten)]
    pub(crate) state: State,
}

/// What is converted, and into what.
#[derive(Debug, Args)]
#[command(mut_arg("page", |one| one.required(false).help(PAGE)))]
#[command(mut_arg("block", |one| one.required(false).help(BLOCK)))]
pub(crate) struct Convert {
    /// Image file; it stays as it is
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// New file for the new image
    #[arg(value_name = "OUTPUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Write the same pages with their flipped bits corrected, and read no filesystem
    #[arg(long, group = "form")]
    pub(crate) correct: bool,
    /// Write the corrected data of the pages alone, without spare bytes
    #[arg(long, group = "form")]
    pub(crate) strip: bool,
    /// Write the corrected data of the pages with the spare bytes that --oob and --ecc say
    #[arg(long, group = "form", requires = "oob")]
    pub(crate) protect: bool,
    /// The first image.
    #[command(flatten)]
    pub(crate) from: From,
    /// The new one.
    #[command(flatten)]
    pub(crate) new: NewImage,
}

/// Help of `--page`.
const PAGE: &str = "Bytes of a page, such as 2KiB; 1 for NOR [default: those of the first image]";
/// Help of `--block`.
const BLOCK: &str = "Bytes of an erase block, such as 128KiB [default: those of the first image]";

/// The user's knowledge of the first image.
#[derive(Debug, Args)]
#[command(next_help_heading = "The first image, found out where left out")]
pub(crate) struct From {
    /// Data bytes of its pages
    #[arg(long, value_name = "SIZE", value_parser = size)]
    from_page: Option<Bytes>,
    /// Spare bytes after each of its pages; 0 for none
    #[arg(long, value_name = "SIZE", value_parser = size)]
    from_oob: Option<Bytes>,
    /// Layout of its spare bytes, as `image info` names it
    #[arg(long, value_name = "LAYOUT", value_parser = PossibleValuesParser::new(layouts()))]
    from_spare: Option<String>,
    /// Its code, such as 8/512 or 8/512:lsb
    #[arg(long, value_name = "CODE")]
    from_ecc: Option<CodePattern>,
    /// Data bytes of its erase blocks
    #[arg(long, value_name = "SIZE", value_parser = size)]
    from_block: Option<Bytes>,
    /// Its byte order
    #[arg(long, value_name = "ORDER")]
    from_endian: Option<Endian>,
    /// Name or number of its UBI volume, where there are several with UBIFS
    #[arg(long, value_name = "NAME")]
    from_volume: Option<String>,
    /// Number of an older commit of UBIFS
    #[arg(long, value_name = "N")]
    from_commit: Option<u64>,
    /// Older state: of YAFFS2 by the number of its newest block, of JFFS2 by a time in UTC
    #[arg(long, value_name = "STATE", value_parser = state, conflicts_with = "from_commit")]
    from_as_of: Option<u64>,
    /// Read what there is of a truncated image
    #[arg(long)]
    from_partial: bool,
    /// Names to convert at most
    #[arg(long, value_name = "N", default_value_t = Limits::default().names)]
    pub(crate) max_names: u64,
}

impl From {
    /// A given option that is for the files of the first image only.
    pub(crate) fn for_files(&self) -> Option<&'static str> {
        let given = [
            (self.from_endian.is_some(), "--from-endian"),
            (self.from_volume.is_some(), "--from-volume"),
            (self.from_commit.is_some(), "--from-commit"),
            (self.from_as_of.is_some(), "--from-as-of"),
            (self.from_partial, "--from-partial"),
            (self.max_names != Limits::default().names, "--max-names"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }
}

impl std::convert::From<&From> for Hints {
    fn from(from: &From) -> Self {
        Self {
            page: from.from_page,
            oob: from.from_oob,
            block: from.from_block,
            order: from.from_endian.map(Into::into),
            partial: from.from_partial,
            volume: from.from_volume.clone(),
            commit: from.from_commit,
            as_of: from.from_as_of,
            spare: from.from_spare.clone(),
            ecc: from.from_ecc.clone(),
            ..Self::default()
        }
    }
}

/// What is compared.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Image file; it stays as it is
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) a: PathBuf,
    /// The other one
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub(crate) b: PathBuf,
    /// Folder or file in both images, with escapes as `ls` shows them
    #[arg(value_name = "PATH", default_value = "/")]
    pub(crate) path: OsString,
    /// Names to compare at most
    #[arg(long, value_name = "N", default_value_t = Limits::default().names)]
    pub(crate) max_names: u64,
    /// The flash of both, and the state of it.
    #[command(flatten)]
    pub(crate) state: State,
}

/// Whose content is written.
#[derive(Debug, Args)]
pub(crate) struct Cat {
    /// Image file; it stays as it is
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// File in the image, with escapes as `ls` shows them; symbolic links are not followed
    #[arg(value_name = "PATH")]
    pub(crate) path: OsString,
    /// Bytes to write at most, holes counted
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16GiB")]
    pub(crate) max_size: Bytes,
    /// The flash, and the state of it.
    #[command(flatten)]
    pub(crate) state: State,
}

/// What is described.
#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// Image file; it stays as it is
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Files in the image, with escapes as `ls` shows them; symbolic links are not followed
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<OsString>,
    /// The flash, and the state of it.
    #[command(flatten)]
    pub(crate) state: State,
}
