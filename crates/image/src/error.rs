//! Why an image is not opened, read or written.
//!
//! Layer: rank 7. Main type: [`Error`]: where, what was found, what was expected, and as
//! [`Error::help`] what would fit. Images are untrusted: whoever shows a message escapes texts from
//! them.

mod code;
mod pages;
mod path;
mod volume;

pub use code::CodeError;
pub use pages::PagesProblem;
pub use path::PathProblem;
pub use volume::{RawDamage, RawFault, VolumeContent, VolumeError};

use crate::date::date;
use crate::detection::{Detection, Kind};
use crate::shape::{BLOCK_SIZES, OOB_SIZES, PAGE_SIZE_MAX, Shape, ShapeError};
use boardlab_codec::ByteOrder;
use boardlab_mtd::Error as MtdError;
use boardlab_result::foreign::{PATH_SHOWN, shown_at_most, shown_path};
use boardlab_sim::Bytes;
use std::path::Path;
use std::{fmt, io};

/// The error of a filesystem.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why an image is not opened, read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// It is a directory, a named pipe or a device.
    NotAFile,
    /// The operating system cannot read it.
    Unreadable {
        /// The cause.
        problem: io::Error,
    },
    /// The operating system cannot write it.
    Unwritable {
        /// The cause.
        problem: io::Error,
    },
    /// The folder for the files is not empty.
    NotEmpty,
    /// An extraction into this folder was interrupted.
    Unfinished,
    /// The folder for the files is a symbolic link.
    TargetIsALink,
    /// It is empty.
    Empty,
    /// It has more blocks or pages than the index types can represent.
    TooLarge {
        /// The length.
        length: Bytes,
        /// The shape.
        shape: Shape,
    },
    /// Page size, OOB size and erase block size do not fit together.
    Unsound {
        /// Which of them is wrong.
        problem: ShapeError,
    },
    /// It contains no supported filesystem.
    OtherContent {
        /// What it contains instead.
        found: Box<Detection>,
        /// The supported filesystems.
        expected: String,
    },
    /// The nodes are in the other byte order.
    WrongByteOrder {
        /// The expected one.
        expected: ByteOrder,
        /// The byte order of the nodes.
        found: ByteOrder,
        /// The offset of the first node.
        at: Bytes,
    },
    /// Fewer nodes are valid with these page and OOB sizes than with others.
    WrongPages {
        /// The expected page layout, and the number of valid nodes with it.
        expected: (Shape, usize),
        /// The best page layout, and the number of valid nodes with it.
        found: (Shape, usize),
        /// The number of nodes checked.
        checked: usize,
        /// The offset of the first node that is valid with only one of them.
        at: Bytes,
    },
    /// The erase block size is wrong.
    WrongBlock {
        /// The expected one.
        expected: Bytes,
        /// The shape that fits.
        found: Shape,
        /// The evidence.
        because: Misfit,
    },
    /// The headers contradict the expected flash.
    WrongShape {
        /// The expected one.
        expected: Shape,
        /// The one that the headers show.
        found: Shape,
    },
    /// The file ends too early.
    Truncated {
        /// The length.
        length: Bytes,
        /// The minimum length.
        needed: Bytes,
        /// What is cut off.
        cut: TruncatedPart,
    },
    /// The tags of YAFFS are not in the file.
    NoTags {
        /// Data bytes of a page.
        page: Bytes,
        /// The offset of the first object header.
        at: Bytes,
    },
    /// The older state of YAFFS is not there.
    NoState {
        /// The sequence number.
        wanted: u64,
        /// The oldest and the newest block.
        found: (u32, u32),
    },
    /// The older state of JFFS2 is not there.
    NoTime {
        /// The time, in seconds since 1970.
        wanted: u64,
        /// The earliest and the latest time of a node.
        found: (u32, u32),
    },
    /// The flash of the dump returned an error.
    Device(MtdError),
    /// The filesystem cannot be mounted.
    Mount(Cause),
    /// A UBI volume, or a commit of the UBIFS in it, is not there or not whole.
    Volume(VolumeError),
    /// The pages have another layout or another code.
    Code(CodeError),
    /// An option is of no use for an image.
    NotFor {
        /// The option.
        option: &'static str,
        /// The image.
        what: &'static str,
    },
    /// No image like it can be made.
    NoRecipe {
        /// Why.
        why: String,
    },
    /// Deleted files are not found in this filesystem.
    NoDeleted {
        /// The filesystem, and why.
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// Pages are not written in another form.
    Pages(PagesProblem),
    /// A path or a pattern does not lead to what was asked for.
    Path(PathProblem),
    /// A file of this name exists.
    Exists,
    /// The flash cannot be read completely.
    Audit {
        /// What the filesystem says.
        problem: Cause,
    },
    /// A backslash in a path does not begin a valid escape.
    Escape {
        /// Its byte offset in the path.
        at: usize,
    },
    /// The filesystem refuses.
    FileSystem {
        /// The cause.
        problem: boardlab_vfs::Error,
        /// The path of the operation.
        path: Vec<u8>,
    },
}

/// Why an erase block size does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// A node at this place of the file crosses its border.
    Crossed(Bytes),
    /// Cleanmarkers or summaries contradict it.
    Marked,
    /// The sequence numbers of YAFFS contradict it.
    Sequence,
}

/// What the end of a truncated file cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncatedPart {
    /// A node.
    Node,
    /// An erase block with its OOB bytes.
    Block {
        /// The shape of the flash.
        shape: Shape,
        /// The block.
        block: u64,
    },
    /// A page with its OOB bytes.
    Page {
        /// The shape of the flash.
        shape: Shape,
        /// The block.
        block: u64,
    },
    /// LEBs of a single volume.
    Lebs {
        /// Those that are whole.
        found: u64,
        /// Those that there should be.
        needed: u64,
    },
}

/// A path as a word of a shell.
fn word(path: &Path) -> String {
    let shown = shown_path(path);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.+,:@%".contains(c);
    if shown.chars().all(is_plain) { shown } else { format!("'{}'", shown.replace('\'', r"'\''")) }
}

impl Error {
    /// What is wrong with the file at `path`, and what to try, as every face shows it.
    #[must_use]
    pub fn told(&self, path: &Path) -> (String, String) {
        let title = match self {
            Self::NotAFile | Self::Unreadable { .. } => {
                format!("cannot read `{}`: {self}", shown_path(path))
            }
            Self::Unwritable { .. } => format!("cannot write `{}`: {self}", shown_path(path)),
            _ => shown_at_most(&self.to_string(), PATH_SHOWN),
        };
        let help = match self {
            Self::Volume(_) => self.help().replace(" IMAGE ", &format!(" {} ", word(path))),
            _ => self.help(),
        };
        (title, help)
    }

    /// Whether it is about what was to be written, and not about the image.
    #[must_use]
    pub const fn is_of_target(&self) -> bool {
        matches!(
            self,
            Self::NotEmpty
                | Self::Exists
                | Self::Unfinished
                | Self::TargetIsALink
                | Self::Unwritable { .. }
        )
    }

    /// A hint what to try.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NotAFile => "dump the flash into a file first".into(),
            Self::Unreadable { .. } => "name an image file that can be read".into(),
            Self::Unwritable { .. } => "name another place, on a disk with room".into(),
            Self::NotEmpty => "name a new folder, so that nothing in it can lead elsewhere".into(),
            Self::Unfinished => "remove the folder and extract again, or name a new one".into(),
            Self::TargetIsALink => "name the folder itself, or a new one".into(),
            Self::Empty => "the dump has failed; take it again".into(),
            Self::TooLarge { .. } => "give a larger page or erase block".into(),
            Self::Unsound { problem } => expected(*problem),
            Self::OtherContent { found, expected } => other_help(found, expected),
            Self::WrongByteOrder { found, .. } => format!(
                "leave out --endian, or give --endian {}",
                if *found == ByteOrder::Little { "little" } else { "big" }
            ),
            Self::WrongPages { found: (shape, _), .. } => match shape.oob.get() {
                0 => "leave out --page and --oob: there are no spare bytes in this file".into(),
                oob => {
                    let page = option(shape.page);
                    format!("leave out --page and --oob, or give --page {page} --oob {oob}")
                }
            },
            Self::WrongBlock { found, .. } => {
                format!("leave out --block, or give --block {}", option(found.block))
            }
            Self::WrongShape { found, .. } => format!("leave out --page, --oob and --block: {found}"),
            Self::Truncated { .. } => {
                "take the dump again, or read what there is with --partial".into()
            }
            Self::Volume(problem) => problem.help(),
            Self::Code(problem) => problem.help(),
            Self::NoTags { .. } => {
                "dump the flash with its spare bytes, as `nanddump --oob` does; or say what you know with --page and --oob".into()
            }
            Self::NoState { found: (first, last), .. } => {
                format!("give a number from {first} to {last}, or leave out --as-of")
            }
            Self::NoTime { found: (first, last), .. } => {
                let [first, last] = [*first, *last].map(|time| date(time.into()));
                format!("give a time from \"{first}\" to \"{last}\", or leave out --as-of")
            }
            Self::NotFor { option, .. } => format!("leave out {option}"),
            Self::NoRecipe { .. } => {
                "`boardlab image convert` makes an image of its files for a flash that you name".into()
            }
            Self::NoDeleted { instead, .. } => (*instead).into(),
            Self::Pages(problem) => problem.help(),
            Self::Path(problem) => problem.help(),
            Self::Exists => "name a new file, so that nothing is overwritten".into(),
            Self::Mount(_) => "`boardlab image info FILE` says what is known of the image".into(),
            Self::Device(_) | Self::Audit { .. } => "the flash or its dump is damaged there".into(),
            Self::Escape { .. } => {
                "write a path as `boardlab image ls` shows it: \\u{5c} for a backslash, \\xff for a byte".into()
            }
            Self::FileSystem { .. } => "`boardlab image ls FILE` lists what there is".into(),
        }
    }
}

/// The possible values.
fn expected(problem: ShapeError) -> String {
    match problem {
        ShapeError::Page(_) => format!("expected 1 B (NOR) to {PAGE_SIZE_MAX}"),
        ShapeError::Oob(_) => {
            let [fewest, most] = OOB_SIZES;
            format!("expected 0, or {fewest} to {most} after pages of more than a byte")
        }
        ShapeError::Block(_) => {
            let [smallest, largest] = BLOCK_SIZES;
            format!("expected whole pages, {smallest} to {largest}")
        }
    }
}

/// How to access an image of another kind.
fn other_help(found: &Detection, expected: &str) -> String {
    let text = match found.kind {
        Kind::FileSystem("SquashFS") => {
            let at = found.at.get();
            return format!("expected {expected}; unsquashfs reads it: unsquashfs -o {at} FILE");
        }
        Kind::Compressed | Kind::Archive => "unpack the file first",
        Kind::AndroidSparse => "turn it into a raw image with simg2img first",
        Kind::Text => "turn the text into the bytes of the flash first",
        Kind::Erased => "was the right partition dumped?",
        Kind::Zeros => "did the reading of the flash work?",
        Kind::Ubi => "no block of it has a volume header: it is empty, or the dump ends too early",
        Kind::Unknown => "no node of it has a right checksum: is the dump encrypted, or swapped?",
        _ => "`boardlab image info FILE` says what else is in the file",
    };
    format!("expected {expected}; {text}")
}

/// A size as an option takes it, without a space.
fn option(size: Bytes) -> String {
    size.to_string().replace(' ', "")
}

/// The pages of a shape in words.
struct Pages(Shape);

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.oob.get() {
            0 => f.write_str("pages without spare bytes"),
            oob => write!(f, "pages of {} with {oob} spare bytes", self.0.page),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::Unreadable { problem } | Self::Unwritable { problem } => {
                let text = problem.to_string();
                f.write_str(&text.split(" (os error").next().unwrap_or(&text).to_lowercase())
            }
            Self::NotEmpty => f.write_str("the folder is not empty"),
            Self::Unfinished => f.write_str(
                "an earlier extraction into this folder did not come to its end: what is in it is not whole",
            ),
            Self::TargetIsALink => f.write_str("the folder is a symbolic link"),
            Self::Empty => f.write_str("the image is empty"),
            Self::TooLarge { length, shape } => {
                write!(f, "{length} are more blocks or pages than can be counted: {shape}")
            }
            Self::Unsound { problem } => unsound(f, *problem),
            Self::OtherContent { found, expected } => other_content(f, found, expected),
            Self::WrongByteOrder { expected, found, at } => {
                write!(f, "the node at {:#x} is {found}, not {expected}", at.get())
            }
            Self::WrongPages { expected, found, checked, at } => {
                let ((wrong, few), (right, many)) = (expected, found);
                write!(
                    f,
                    "found {}, not {}: the node at {:#x} is right with the first only, and so \
                     {many} of {checked} nodes are right instead of {few}",
                    Pages(*right),
                    Pages(*wrong),
                    at.get()
                )
            }
            Self::WrongBlock { expected, found, because } => {
                write!(f, "found erase blocks of {}, not {expected}: {because}", found.block)
            }
            Self::WrongShape { expected, found } => {
                write!(f, "found {found}, not {expected}: the headers say so")
            }
            Self::Truncated { length, needed, cut } => truncated(f, *length, *needed, *cut),
            Self::NoTags { page, at } => no_tags(f, *page, *at),
            Self::NoState { wanted, found: (first, last) } => {
                write!(f, "the blocks have the sequence numbers {first} to {last}, not {wanted}")
            }
            Self::NoTime { wanted, found: (first, last) } => {
                let [first, last] = [*first, *last].map(|time| date(time.into()));
                let wanted = i64::try_from(*wanted).map_or_else(|_| wanted.to_string(), date);
                write!(f, "the nodes were written from {first} to {last}, and none by {wanted}")
            }
            Self::Device(problem) => problem.fmt(f),
            Self::Mount(problem) | Self::Audit { problem } => problem.fmt(f),
            Self::Volume(problem) => problem.fmt(f),
            Self::Code(problem) => problem.fmt(f),
            Self::NotFor { option, what } => write!(f, "{option} is not for {what}"),
            Self::NoRecipe { why } => write!(f, "no image like it can be made: {why}"),
            Self::NoDeleted { what, .. } => write!(f, "deleted files are not found in {what}"),
            Self::Pages(problem) => problem.fmt(f),
            Self::Path(problem) => problem.fmt(f),
            Self::Exists => f.write_str("the file exists"),
            Self::Escape { at } => {
                write!(f, "the backslash at byte {at} of the path begins no escape")
            }
            Self::FileSystem { problem, path } => {
                write!(f, "`{}`: {problem}", crate::names::shown(path))
            }
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crossed(at) => write!(f, "the node at {:#x} would cross a border", at.get()),
            Self::Marked => f.write_str("cleanmarkers or summaries say so"),
            Self::Sequence => f.write_str("the sequence numbers say so"),
        }
    }
}

fn unsound(f: &mut fmt::Formatter<'_>, problem: ShapeError) -> fmt::Result {
    match problem {
        ShapeError::Page(page) => write!(f, "no flash has pages of {page}"),
        ShapeError::Oob(oob) => write!(f, "a page cannot have {} spare bytes", oob.get()),
        ShapeError::Block(block) => write!(f, "an erase block of {block} does not fit"),
    }
}

fn no_tags(f: &mut fmt::Formatter<'_>, page: Bytes, at: Bytes) -> fmt::Result {
    let at = at.get();
    write!(
        f,
        "found object headers of YAFFS from {at:#x} on, pages of {page}, and no tags beside them"
    )
}

fn truncated(
    f: &mut fmt::Formatter<'_>,
    length: Bytes,
    needed: Bytes,
    cut: TruncatedPart,
) -> fmt::Result {
    let (length, needed) = (length.get(), needed.get());
    write!(f, "the image is truncated: it ends after {length} bytes, ")?;
    match cut {
        TruncatedPart::Node => write!(f, "within a node that needs {needed}"),
        TruncatedPart::Block { shape, block } => {
            write!(f, "within erase block {block}, which ends at {needed}: {shape}")
        }
        TruncatedPart::Page { shape, block } => {
            write!(f, "within a page of erase block {block}, which ends at {needed}: {shape}")
        }
        TruncatedPart::Lebs { found, needed: lebs } => {
            write!(f, "with {found} of {lebs} LEBs, which need {needed}")
        }
    }
}

fn other_content(f: &mut fmt::Formatter<'_>, found: &Detection, expected: &str) -> fmt::Result {
    write!(f, "found {} instead of {expected}", with_article(found.kind))?;
    if !found.detail.is_empty() {
        write!(f, " ({})", found.detail)?;
    }
    match found.evidence.first() {
        Some(evidence) => write!(f, ": {} at {:#x}", evidence.what, evidence.at.get()),
        None => Ok(()),
    }
}

/// `a UBI image`, `an ext4 filesystem`, `text`.
fn with_article(kind: Kind) -> String {
    let name = kind.to_string();
    match kind {
        Kind::Compressed | Kind::Text | Kind::Zeros | Kind::Unknown | Kind::Erased | Kind::Trx => {
            name
        }
        // The letters F, E and M are spoken with a vowel first.
        Kind::FileSystem("FAT-like" | "F2FS") | Kind::Mbr => format!("an {name}"),
        _ if name.starts_with(['A', 'E', 'a', 'e']) => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

impl From<MtdError> for Error {
    fn from(problem: MtdError) -> Self {
        Self::Device(problem)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { problem } | Self::Unwritable { problem } => Some(problem),
            Self::Device(problem) => Some(problem),
            Self::Mount(problem) | Self::Audit { problem } => Some(&**problem),
            Self::Volume(problem) => Some(problem),
            Self::Code(problem) => Some(problem),
            Self::FileSystem { problem, .. } => Some(problem),
            _ => None,
        }
    }
}
