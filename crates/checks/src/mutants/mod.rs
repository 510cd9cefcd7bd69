//! Mutation testing: small mistakes put into the source, each of which a test must find.
//!
//! Layer: inside `checks`; the program `mutants` is its command line. In reading order: [`targets`] (which files,
//! which tests), [`sites`] (where a mistake can be made, and which), [`rewrite`] (all mistakes in one source, each
//! behind a switch), [`build`] (compiling them), [`run`] (which test finds which). Main types: [`Target`],
//! [`Mutant`], [`Outcome`](run::Outcome).
//!
//! All mutants are compiled at once, so that each costs the time of its tests and none of compilation: every
//! changed expression becomes `if on(NUMBER) { changed } else { original }`, and the environment says which
//! number is on. A mutant meets the tests that reach it, the quickest first, until one fails. Source: Untch,
//! Offutt and Harrold, "Mutation analysis using mutant schemata" (1993). Left out: mistakes in constants, patterns,
//! types and macros, where no expression can be switched.

pub mod build;
pub mod rewrite;
pub mod run;
pub mod sites;
pub mod targets;

pub use sites::Site;
pub use targets::{TARGETS, Target};

use boardlab_sim::Seed;
use std::path::Path;
use std::{fmt, fs, io};

/// A mistake in a file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// Switches it on.
    pub number: u32,
    /// The file, below the folder of the crates.
    pub file: String,
    /// The mistake.
    pub site: Site,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, file, site } = self;
        write!(f, "{number} crates/{file}:{}: {}", site.line, site.what)
    }
}

/// A sample of the mistakes that can be made in the files of `target`, at most `count`, in the order in which they
/// are drawn: the first of them are a sample too.
///
/// # Errors
/// A file that cannot be read or is not Rust.
pub fn choose(tree: &Path, target: &Target, count: usize, seed: Seed) -> io::Result<Vec<Mutant>> {
    let mut all = Vec::new();
    for file in target.files {
        let file = format!("{}/src/{file}", target.folder);
        let text = fs::read_to_string(tree.join("crates").join(&file))?;
        let sites =
            sites::find(&text).map_err(|error| io::Error::other(format!("{file}: {error}")))?;
        all.extend(sites.into_iter().map(|site| (file.clone(), site)));
    }
    let mut stream = seed.stream(&format!("mutants of {}", target.folder));
    let mut drawn = Vec::new();
    while drawn.len() < count && !all.is_empty() {
        let at = stream.below(u64::try_from(all.len()).expect("few sites"));
        drawn.push(all.remove(usize::try_from(at).expect("few sites")));
    }
    let numbered = (1..=rewrite::NUMBER_MAX).zip(drawn);
    Ok(numbered.map(|(number, (file, site))| Mutant { number, file, site }).collect())
}
