//! The manifest of a folder of `--out`: the files of a run with their sizes and digests.
//!
//! Layer: rank 12. Main types: [`Manifest`] and [`Difference`]. It is renamed before the files are,
//! so that it reveals a folder in which a kill or a full disk left files of two runs. A manifest
//! that is read back is untrusted input.

use crate::error::ReadProblem;
use crate::folder;
use crate::saved;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};
use std::io::ErrorKind;
use std::path::Path;

/// The file name.
pub(crate) const NAME: &str = "manifest.json";
/// The schema version.
const SCHEMA: u32 = 1;
/// The largest number of differences in a message.
const TOLD: usize = 8;

/// The files of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    schema: u32,
    /// The version of boardlab that wrote them.
    version: String,
    /// The files, without this one.
    pub(crate) files: Vec<Entry>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Its name in the folder.
    pub(crate) name: String,
    bytes: u64,
    /// SHA-256 in hexadecimal, as `sha256sum` prints it.
    sha256: String,
}

/// How a file differs from its manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It is not there.
    Missing(String),
    /// It has another size.
    Size { name: String, found: usize, expected: u64 },
    /// It has other content of the same size.
    Content(String),
    /// It cannot be read.
    Unreadable { name: String, problem: String },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "{name} is missing"),
            Self::Size { name, found, expected } => {
                write!(f, "{name} has {found} bytes in place of {expected}")
            }
            Self::Content(name) => write!(f, "{name} has other content"),
            Self::Unreadable { name, problem } => write!(f, "{name} cannot be read: {problem}"),
        }
    }
}

/// The text of `differences`, or of as many as fit into a message.
pub(crate) fn told(differences: &[Difference]) -> String {
    let told = differences.iter().take(TOLD).map(ToString::to_string);
    let mut told = told.collect::<Vec<_>>().join("; ");
    if let Some(more) = differences.len().checked_sub(TOLD).filter(|more| *more > 0) {
        told += &format!("; and {more} more");
    }
    told
}

impl Entry {
    /// The entry of a file with this content.
    pub(crate) fn of(name: &str, content: &[u8]) -> Self {
        let bytes = u64::try_from(content.len()).expect("u64 holds usize");
        Self { name: name.into(), bytes, sha256: digest(content) }
    }

    /// Reads the file in `folder`, if it agrees with the manifest.
    pub(crate) fn read(&self, folder: &Path) -> Result<Vec<u8>, Difference> {
        let name = self.name.clone();
        let content = match saved::read_bytes(&folder.join(&name)) {
            Ok(content) => content,
            Err(ReadProblem::System(error)) if error.kind() == ErrorKind::NotFound => {
                return Err(Difference::Missing(name));
            }
            Err(problem) => {
                return Err(Difference::Unreadable { name, problem: problem.to_string() });
            }
        };
        let found = Self::of(&name, &content);
        if found.bytes != self.bytes {
            let (found, expected) = (content.len(), self.bytes);
            return Err(Difference::Size { name, found, expected });
        }
        if found == *self { Ok(content) } else { Err(Difference::Content(name)) }
    }
}

impl Manifest {
    /// A manifest of `files` by this version.
    pub(crate) fn of(files: Vec<Entry>) -> Self {
        Self { schema: SCHEMA, version: boardlab_experiment::VERSION.into(), files }
    }

    /// The text of the manifest.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a manifest has text keys") + "\n"
    }

    /// Parses `text`; the error is a description.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        /// The field that every schema has.
        #[derive(Deserialize)]
        struct Any {
            schema: u32,
        }
        let broken = |error: serde_json::Error| error.to_string();
        let Any { schema } = serde_json::from_slice(text).map_err(broken)?;
        if schema != SCHEMA {
            return Err(format!("`schema`: found {schema}, expected {SCHEMA}"));
        }
        let manifest: Self = serde_json::from_slice(text).map_err(broken)?;
        let hostile = manifest.files.iter().find(|file| !folder::is_ours(&file.name));
        match hostile {
            Some(file) => Err(format!("`{}` is not the name of a plain file", file.name)),
            None => Ok(manifest),
        }
    }
}

/// The SHA-256 of `content` in hexadecimal.
fn digest(content: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(content) {
        write!(text, "{byte:02x}").expect("memory takes what is written to it");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let manifest = Manifest::of(vec![Entry::of("result.json", b"abc"), Entry::of("a", b"")]);
        assert_eq!(Manifest::parse(manifest.text().as_bytes()), Ok(manifest.clone()));
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((manifest.files[0].bytes, manifest.files[0].sha256.as_str()), (3, abc));
    }

    #[test]
    fn a_manifest_cannot_lead_out_of_its_folder() {
        for name in ["../x", "/etc/passwd", "a/b", "", ".x", NAME] {
            let manifest = Manifest::of(vec![Entry::of(name, b"")]);
            let refused = Manifest::parse(manifest.text().as_bytes()).unwrap_err();
            assert!(refused.contains("plain file"), "{refused}");
        }
        for (text, says) in
            [("", "EOF"), ("{\"schema\": 2, \"more\": 1}", "found 2"), ("[]", "invalid")]
        {
            let refused = Manifest::parse(text.as_bytes()).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
    }
}
