//! Why a UBI volume, or a commit of the UBIFS in it, is not read or written.
//!
//! Layer: rank 7. Main type: [`VolumeError`].

use super::Cause;
use crate::names::shown;
use boardlab_sim::Bytes;
use std::fmt;

/// Why a UBI volume, or a commit in it, is not read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum VolumeError {
    /// There is no such UBI volume, or it holds no filesystem, or there are several and none was named.
    Choice {
        /// The volume that was asked for.
        wanted: Option<String>,
        /// The name of the volume that was asked for, if it exists.
        named: Option<String>,
        /// The volumes.
        found: Vec<VolumeContent>,
    },
    /// A UBI volume is damaged, so that its bytes are not whole.
    Damaged {
        /// Its name.
        name: String,
        /// The damaged places; at least one.
        damage: Vec<RawDamage>,
    },
    /// A UBI volume is longer than the limit.
    Limit {
        /// Its length.
        length: Bytes,
        /// The limit.
        limit: Bytes,
    },
    /// No master node of UBIFS names this commit.
    NoCommit {
        /// Its number.
        wanted: u64,
        /// The numbers of the others, in order.
        found: Vec<u64>,
    },
    /// Nothing stands any more of the index of a commit.
    CommitGone {
        /// Its number.
        commit: u64,
        /// What is at the place of its root.
        problem: Cause,
    },
}

/// A UBI volume, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeContent {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// What is in it.
    pub content: String,
    /// Whether that can be mounted.
    pub is_mountable: bool,
    /// Whether nothing is in it.
    pub is_empty: bool,
}

/// What of a volume is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDamage {
    /// The LEB.
    pub leb: u32,
    /// Its block; `None` when there is none.
    pub block: Option<u32>,
    /// What is wrong with it.
    pub what: RawFault,
}

/// What can be wrong with a LEB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawFault {
    /// No block holds it.
    Missing,
    /// Its bit errors could not be corrected, or the operating system could not read it.
    Unreadable,
    /// Its header cannot be read, so nothing says how long it is.
    NoHeader,
    /// Its checksum is another one.
    Checksum {
        /// That of its bytes.
        found: u32,
        /// That in its header.
        expected: u32,
    },
    /// Its bytes are fewer or more than belong there.
    Length {
        /// Those that its header names.
        found: u32,
        /// Those of a LEB of the volume.
        expected: u32,
    },
}

impl VolumeError {
    /// A hint what to try.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Choice { named, found, .. } => help_to_choose(named.as_deref(), found),
            Self::Damaged { .. } => {
                "take the dump again, or write what there is with --partial".into()
            }
            Self::Limit { .. } => "raise the limit with --max-size".into(),
            Self::NoCommit { found, .. } if found.is_empty() => {
                "`boardlab image info FILE` says what is known of the image".into()
            }
            Self::NoCommit { .. } | Self::CommitGone { .. } => {
                "`boardlab image info FILE` says which commits still stand".into()
            }
        }
    }
}

impl fmt::Display for VolumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice { wanted, named, found } => {
                no_volume(f, wanted.as_deref(), named.as_deref(), found)
            }
            Self::Damaged { name, damage } => {
                write!(f, "the volume `{name}` is damaged: {}", damage[0])?;
                match damage.len() {
                    1 => Ok(()),
                    more => write!(f, "; and {} more", more - 1),
                }
            }
            Self::Limit { length, limit } => {
                write!(f, "the volume has {length}, the limit is {limit}")
            }
            Self::NoCommit { wanted, found } => match found.as_slice() {
                [] => write!(f, "no master node names commit {wanted}, nor any other"),
                found => {
                    write!(f, "no master node names commit {wanted}, but these: {}", runs(found))
                }
            },
            Self::CommitGone { commit, problem } => {
                write!(f, "nothing stands any more of commit {commit}: {problem}")
            }
        }
    }
}

impl std::error::Error for VolumeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::CommitGone { problem, .. } => Some(&**problem),
            _ => None,
        }
    }
}

impl From<VolumeError> for super::Error {
    fn from(problem: VolumeError) -> Self {
        Self::Volume(problem)
    }
}

fn no_volume(
    f: &mut fmt::Formatter<'_>,
    wanted: Option<&str>,
    named: Option<&str>,
    found: &[VolumeContent],
) -> fmt::Result {
    let content = |name: &str| {
        let volume = found.iter().find(|volume| volume.name == name);
        volume.map_or(String::new(), |volume| volume.content.clone())
    };
    match (wanted, named) {
        (_, Some(name)) => write!(f, "the volume `{name}` holds no UBIFS ({})", content(name))?,
        (Some(name), None) => {
            write!(f, "no volume is called `{}`", shown(name.as_bytes()))?;
        }
        (None, None) => f.write_str("the UBI image has not one UBIFS volume")?,
    }
    let words = |volume: &VolumeContent| format!("{} ({})", volume.name, volume.content);
    match (named, found) {
        (Some(_), [_]) => Ok(()),
        (_, []) => f.write_str(": it has no volumes"),
        (_, volumes) => {
            let volumes: Vec<_> = volumes.iter().map(words).collect();
            write!(f, ", but these: {}", volumes.join(", "))
        }
    }
}

/// What can be done with the volumes that there are.
fn help_to_choose(named: Option<&str>, found: &[VolumeContent]) -> String {
    let mountable: Vec<_> =
        found.iter().filter(|one| one.is_mountable).map(|one| one.name.as_str()).collect();
    let other = found.iter().find(|one| !one.is_mountable && !one.is_empty);
    let of_use = named.filter(|name| !found.iter().any(|one| one.is_empty && one.name == *name));
    let of_use = of_use.or(other.filter(|_| mountable.is_empty()).map(|one| one.name.as_str()));
    match (of_use, mountable.as_slice()) {
        (Some(name), _) => {
            let name = option_value(name, found);
            format!(
                "write out what is in it: boardlab image extract IMAGE {name}.bin --volume {name} --raw"
            )
        }
        (None, []) => "`boardlab image info FILE` lists the volumes".into(),
        (None, names) => format!("give --volume with one of: {}", names.join(", ")),
    }
}

/// A volume as `--volume` takes it in any shell: by its number where its name has unusual characters.
fn option_value(name: &str, found: &[VolumeContent]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        return name.into();
    }
    let volume = found.iter().find(|volume| volume.name == name);
    volume.map_or_else(String::new, |volume| volume.id.to_string())
}

/// Ascending numbers in words: `3, 5 to 9`.
fn runs(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if number == *last || Some(number) == last.checked_add(1) => {
                *last = number;
            }
            _ => runs.push((number, number)),
        }
    }
    let words = |(first, last)| {
        if first == last { format!("{first}") } else { format!("{first} to {last}") }
    };
    runs.into_iter().map(words).collect::<Vec<_>>().join(", ")
}

/// `LEB 3 in block 17: its checksum is 0x1, not 0x2`.
impl fmt::Display for RawDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LEB {}", self.leb)?;
        if let Some(block) = self.block {
            write!(f, " in block {block}")?;
        }
        match self.what {
            RawFault::Missing => f.write_str(": no block holds it"),
            RawFault::Unreadable => f.write_str(": its bit errors cannot be corrected"),
            RawFault::NoHeader => f.write_str(": its header cannot be read"),
            RawFault::Checksum { found, expected } => {
                write!(f, ": the checksum is {found:#010x}, its header says {expected:#010x}")
            }
            RawFault::Length { found, expected } => {
                write!(f, ": it has {found} bytes instead of {expected}")
            }
        }
    }
}
