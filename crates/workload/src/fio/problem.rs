//! Diagnostics of job files: the problem, its place, and what would be valid.
//!
//! Layer: rank 6. Main types: [`Diagnostic`], [`Problem`], [`Note`]. The first line of a message
//! follows fio 3.33 where fio has one (`Bad option <rww=write>`, `Did you mean rw?`, `max value out of
//! range`), so that a search for it finds fio's documentation; place and expected value are added.

use std::fmt;

/// A place in a job file, or among arguments (then the line is the argument's number).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the file, or of the command line.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In bytes, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A problem with a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// No option has this name.
    BadOption {
        /// The name as written.
        text: String,
        /// The nearest name.
        nearest: Option<&'static str>,
    },
    /// The option stands without a value.
    NeedsArgument {
        /// Which.
        option: &'static str,
    },
    /// The value is none of the words.
    NotOneOf {
        /// Of which option.
        option: &'static str,
        /// What was found.
        found: String,
        /// The words.
        valid: &'static [&'static str],
    },
    /// The value cannot be read.
    Unreadable {
        /// Of which option.
        option: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The value is too small.
    Below {
        /// Of which option.
        option: &'static str,
        /// What was found.
        found: String,
        /// The smallest.
        minimum: i64,
    },
    /// The value is too large.
    Above {
        /// Of which option.
        option: &'static str,
        /// What was found.
        found: String,
        /// The largest.
        maximum: u64,
    },
    /// The option is known, but not available in a simulation.
    Refused {
        /// The option, with its value if that is the reason.
        option: String,
        /// Why.
        reason: &'static str,
    },
    /// Options that exclude each other, or a meaningless value.
    Contradiction {
        /// In which job.
        job: String,
        /// A problem with a job.
        what: &'static str,
    },
    /// A job waits for one that does not precede it.
    UnknownWaitee {
        /// Which job waits.
        job: String,
        /// For which.
        name: String,
    },
    /// An option before the first section.
    Outside {
        /// The line.
        text: String,
    },
    /// A line that begins like a section but is not one.
    Section {
        /// A problem with a job.
        what: &'static str,
    },
    /// A variable that is not set.
    Variable {
        /// Its name.
        name: String,
    },
    /// An `include` that fails.
    Include {
        /// The file.
        file: String,
        /// Why.
        what: &'static str,
    },
    /// There is no job.
    NoJobs,
    /// The file is not text, or too long.
    Text {
        /// Why.
        what: &'static str,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadOption { text, nearest } => {
                write!(f, "Bad option <{text}>")?;
                nearest.map_or(Ok(()), |nearest| write!(f, "\nDid you mean {nearest}?"))
            }
            Self::NeedsArgument { option } => write!(f, "Option {option} requires an argument"),
            Self::NotOneOf { option, found, valid } => {
                write!(f, "failed parsing {option}={found}\nvalid values: {}", valid.join(", "))
            }
            Self::Unreadable { option, found, expected } => {
                write!(f, "failed parsing {option}={found}\nexpected {expected}")
            }
            Self::Below { option, found, minimum } => {
                write!(f, "{option}: min value out of range: {found} ({minimum} min)")
            }
            Self::Above { option, found, maximum } => {
                write!(f, "{option}: max value out of range: {found} ({maximum} max)")
            }
            Self::Refused { option, reason } => write!(f, "{option} is not simulated: {reason}"),
            Self::Contradiction { job, what } => write!(f, "{job}: {what}"),
            Self::UnknownWaitee { job, name } => write!(f, "{job}: waitee job {name} unknown"),
            Self::Outside { text } => write!(f, "option <{text}> outside of [] job section"),
            Self::Section { what } => write!(f, "bad section: {what}"),
            Self::Variable { name } => write!(f, "the variable {name} is not set"),
            Self::Include { file, what } => write!(f, "unable to include '{file}': {what}"),
            Self::NoJobs => f.write_str("No jobs(s) defined: add a section such as [job1]"),
            Self::Text { what } => write!(f, "cannot be read: {what}"),
        }
    }
}

/// A problem and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for Diagnostic {}

/// All diagnostics of a job file: at least one, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// A note for the user that is not an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// An option of the second tier.
    NoEffect {
        /// Its place.
        place: Place,
        /// Which.
        option: &'static str,
    },
    /// The area of a job does not fit the device and was reduced, as fio does silently.
    Clamped {
        /// Which job.
        job: String,
        /// The requested size in bytes.
        asked: u64,
        /// The reduced size in bytes.
        given: u64,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEffect { place, option } => {
                write!(f, "{place}: {option} has no effect in simulation")
            }
            Self::Clamped { job, asked, given } => write!(
                f,
                "{job}: size {asked} B does not fit the device and was cut down to {given} B"
            ),
        }
    }
}
