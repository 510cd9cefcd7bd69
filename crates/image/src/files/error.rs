//! Why an image is not made.
//!
//! Layer: rank 7. Main types: [`MakeError`], [`IniProblem`]: what was found, what was expected, and as
//! [`MakeError::help`] what would fit.

use super::archive::problem::ArchiveProblem;
use super::problem::FileProblem;
use boardlab_ubi::create::CreateError;
use boardlab_ubifs::mkfs::MkfsError;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The keys of a section in a configuration of volumes.
pub(crate) const KEYS: [&str; 8] =
    ["mode", "image", "vol_id", "vol_type", "vol_name", "vol_size", "vol_alignment", "vol_flags"];

/// Why an image is not made.
#[derive(Debug)]
#[non_exhaustive]
pub enum MakeError {
    /// The operating system cannot read the input.
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The cause.
        problem: io::Error,
    },
    /// The input is neither a folder nor a file.
    NoInput,
    /// The image would be a file of its own folder.
    Within,
    /// No image of this filesystem can be made.
    FileSystem {
        /// Its name.
        found: String,
        /// Those that can be made.
        expected: Vec<String>,
    },
    /// The value of an option does not fit.
    Value {
        /// The option, with its dashes.
        option: &'static str,
        /// The value.
        found: String,
        /// What would fit.
        expected: String,
    },
    /// An option is missing.
    Missing {
        /// The option with its value.
        option: &'static str,
        /// What it is needed for.
        why: &'static str,
    },
    /// An option has no effect.
    Useless {
        /// The option, with its dashes.
        option: &'static str,
        /// Why.
        why: &'static str,
    },
    /// The files need more LEBs than the filesystem may have.
    NoSpace {
        /// The LEBs that are needed.
        needed: u32,
        /// The most.
        max: u32,
    },
    /// There are more files than the filesystem can number.
    TooMany {
        /// The files.
        found: usize,
        /// The most.
        most: u32,
    },
    /// The files do not fit on the flash.
    Full {
        /// The files that did.
        files: u64,
    },
    /// The filesystem does not fit the flash.
    Unfit(String),
    /// The filesystem cannot be made.
    Mkfs(MkfsError),
    /// UBI cannot be made.
    Ubi(CreateError),
    /// The flash with spare bytes cannot be made.
    Flash(crate::Error),
    /// The input is no whole tar archive.
    Archive {
        /// The offset of the header that is wrong.
        at: u64,
        /// What is wrong.
        problem: ArchiveProblem,
    },
    /// The image that was made cannot be opened.
    Unread(Box<crate::Error>),
    /// What the image is made of has no folder to begin with.
    NoRoot,
    /// The configuration of the volumes is wrong.
    Ini {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong.
        problem: IniProblem,
    },
    /// The operating system cannot read a table or a list.
    UnreadableTable {
        /// The path.
        path: PathBuf,
        /// The cause.
        problem: io::Error,
    },
    /// A table or a list is wrong.
    InFile {
        /// The path.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong.
        problem: Box<FileProblem>,
    },
}

/// What is wrong in a configuration of volumes.
#[derive(Debug)]
#[non_exhaustive]
pub enum IniProblem {
    /// It is no UTF-8 text.
    NotText,
    /// There is no section.
    NoSection,
    /// A line is neither a section, a key nor a comment.
    Line {
        /// The line.
        found: String,
    },
    /// A quoted value does not end.
    Quote,
    /// A key stands before the first section.
    Outside {
        /// The key.
        key: String,
    },
    /// There is no such key.
    Key {
        /// The key.
        found: String,
        /// The one that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A section or a key is there twice.
    Twice {
        /// Its name.
        found: String,
        /// The line of the first one.
        first: usize,
    },
    /// A key is missing in a section.
    Missing {
        /// The section.
        section: String,
        /// What is missing.
        key: &'static str,
    },
    /// A value is not possible.
    Value {
        /// The key.
        key: &'static str,
        /// The value.
        found: String,
        /// What would fit.
        expected: String,
    },
    /// A number or a name is that of another volume.
    Taken {
        /// The key.
        key: &'static str,
        /// The value.
        found: String,
        /// The line of the other volume's.
        first: usize,
    },
    /// The image of a volume cannot be read.
    Image {
        /// Its path.
        path: PathBuf,
        /// The cause.
        problem: io::Error,
        /// Whether it is in the folder of the configuration.
        beside: bool,
    },
    /// The image of a volume is larger than the volume.
    Large {
        /// Bytes of the image.
        image: u64,
        /// Bytes of the volume.
        volume: u64,
    },
}

impl MakeError {
    /// The file with what is wrong, where that is not the input.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::InFile { path, .. } | Self::UnreadableTable { path, .. } => Some(path),
            _ => None,
        }
    }

    /// A hint what to try.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Unreadable { .. } => "name a folder, or an .ini file as ubinize takes it".into(),
            Self::NoInput => {
                "name a folder with the files, or an .ini file as ubinize takes it".into()
            }
            Self::Within => "name a file outside of the folder".into(),
            Self::FileSystem { expected, .. } => format!("expected {}", expected.join(" or ")),
            Self::Value { expected, .. } => format!("expected {expected}"),
            Self::Missing { option, .. } => format!("give {option}"),
            Self::Useless { option, .. } => format!("leave out {option}"),
            Self::NoSpace { needed, .. } => {
                format!("give --max-blocks {needed} or more, another --compression, or fewer files")
            }
            Self::TooMany { .. } => "leave files out, or make an archive of some".into(),
            Self::Full { .. } => "give a larger flash by --max-blocks, or fewer files".into(),
            Self::Unfit(_) => "check --page, --block and --max-blocks".into(),
            Self::Mkfs(_) => "check --page, --block and --max-blocks".into(),
            Self::Ubi(_) => "check --page, --block, --sub-page and --vid-offset".into(),
            Self::Flash(problem) => problem.help(),
            Self::Archive { problem, .. } => problem.help(),
            Self::Unread(problem) => problem.help(),
            Self::NoRoot => "`boardlab image check` lists what is damaged".into(),
            Self::Ini { problem, .. } => problem.help(),
            Self::UnreadableTable { .. } => "name a text file".into(),
            Self::InFile { problem, .. } => problem.help(),
        }
    }

    /// Line and column of a place in the input.
    #[must_use]
    pub const fn place(&self) -> Option<(usize, usize)> {
        match self {
            Self::Ini { line, column, .. } | Self::InFile { line, column, .. } => {
                Some((*line, *column))
            }
            _ => None,
        }
    }
}

impl IniProblem {
    fn help(&self) -> String {
        let keys = || format!("expected one of: {}", KEYS.join(", "));
        match self {
            Self::NotText => "expected UTF-8 text; is this the right file?".into(),
            Self::NoSection => "expected a section such as [rootfs] for each volume".into(),
            Self::Line { .. } => "expected [section], key=value, or a comment after ; or #".into(),
            Self::Quote => "end the value with the quote that it begins with".into(),
            Self::Outside { .. } => "begin a section first, such as [rootfs]".into(),
            Self::Key { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::Key { nearest: None, .. } => keys(),
            Self::Twice { .. } => "leave one of them out".into(),
            Self::Missing { key, .. } => match *key {
                "mode" => "add mode=ubi".into(),
                "image" => "add image=FILE, or vol_size=SIZE for an empty dynamic volume".into(),
                key => format!("add {key}=..."),
            },
            Self::Value { expected, .. } => format!("expected {expected}"),
            Self::Taken { .. } => "give each volume its own number and name".into(),
            Self::Image { beside: true, .. } => {
                "paths count from the folder that the command is run in: run it beside the file"
                    .into()
            }
            Self::Image { .. } => "paths count from the folder that the command is run in".into(),
            Self::Large { image, .. } => format!("give vol_size={image} or more, or no vol_size"),
        }
    }
}

/// What the operating system says, without its number.
pub(super) fn reason(problem: &io::Error) -> String {
    let text = problem.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

impl fmt::Display for MakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, problem } => {
                write!(f, "cannot read `{}`: {}", path.display(), reason(problem))
            }
            Self::NoInput => f.write_str("the input is neither a folder nor a file"),
            Self::Within => {
                f.write_str("the image would be a file within the folder it is made of")
            }
            Self::FileSystem { found, .. } => write!(f, "no image of {found} can be made"),
            Self::Value { option, found, .. } => write!(f, "{option} {found} does not fit"),
            Self::Missing { option, why } => write!(f, "{option} is missing: {why}"),
            Self::Useless { option, why } => write!(f, "{option} has no effect here: {why}"),
            Self::NoSpace { needed, max } => write!(
                f,
                "the files need {needed} logical erase blocks, and --max-blocks allows {max}"
            ),
            Self::TooMany { found, most } => {
                write!(f, "{found} files are more than the {most} that YAFFS2 can number")
            }
            Self::Full { files } => write!(f, "the flash is full after {files} files"),
            Self::Unfit(problem) => f.write_str(problem),
            Self::Mkfs(problem) => problem.fmt(f),
            Self::Ubi(problem) => problem.fmt(f),
            Self::Flash(problem) => problem.fmt(f),
            Self::Archive { at, problem } => write!(f, "at byte {at}: {problem}"),
            Self::Unread(problem) => write!(f, "the new image cannot be read: {problem}"),
            Self::NoRoot => f.write_str("the root directory cannot be read"),
            Self::Ini { problem, .. } => problem.fmt(f),
            Self::UnreadableTable { path, problem } => {
                write!(f, "cannot read `{}`: {}", path.display(), reason(problem))
            }
            Self::InFile { problem, .. } => problem.fmt(f),
        }
    }
}

impl fmt::Display for IniProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText => f.write_str("the configuration is not UTF-8 text"),
            Self::NoSection => f.write_str("the configuration has no section, so no volume"),
            Self::Line { found } => write!(f, "`{found}` is no line of a configuration"),
            Self::Quote => f.write_str("the quoted value does not end on its line"),
            Self::Outside { key } => write!(f, "`{key}` stands before the first section"),
            Self::Key { found, .. } => write!(f, "unknown key `{found}`"),
            Self::Twice { found, first } => {
                write!(f, "`{found}` is there twice, first in line {first}")
            }
            Self::Missing { section, key } => write!(f, "section [{section}] has no `{key}`"),
            Self::Value { key, found, .. } => write!(f, "{key} cannot be `{found}`"),
            Self::Taken { key, found, first } => {
                write!(f, "{key} `{found}` is that of another volume, in line {first}")
            }
            Self::Image { path, problem, .. } => {
                write!(f, "cannot read `{}`: {}", path.display(), reason(problem))
            }
            Self::Large { image, volume } => {
                write!(f, "the image has {image} bytes, the volume {volume}")
            }
        }
    }
}

impl std::error::Error for MakeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { problem, .. } | Self::UnreadableTable { problem, .. } => {
                Some(problem)
            }
            Self::Mkfs(problem) => Some(problem),
            Self::Ubi(problem) => Some(problem),
            Self::Flash(problem) => Some(problem),
            _ => None,
        }
    }
}

impl From<MkfsError> for MakeError {
    fn from(problem: MkfsError) -> Self {
        match problem {
            MkfsError::NoSpace { needed, max } => Self::NoSpace { needed, max },
            problem => Self::Mkfs(problem),
        }
    }
}

impl From<CreateError> for MakeError {
    fn from(problem: CreateError) -> Self {
        Self::Ubi(problem)
    }
}

impl From<crate::Error> for MakeError {
    fn from(problem: crate::Error) -> Self {
        Self::Flash(problem)
    }
}
