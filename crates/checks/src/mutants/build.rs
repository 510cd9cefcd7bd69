//! Compiles a crate with all of its mutants, without those that the compiler refuses.
//!
//! Layer: inside `checks`. Main types: [`Tree`], a clone of the repository that may be spoiled; [`Built`], the test
//! binaries.

use super::rewrite::{SWITCH, SwitchedSource, rewrite};
use super::targets::Tests;
use super::{Mutant, Site, Target};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

/// A clone of the repository whose sources are overwritten, and put back when this is dropped.
#[derive(Debug)]
pub struct Tree {
    path: PathBuf,
}

/// What was compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The mutants that compile.
    pub mutants: Vec<Mutant>,
    /// The test binaries.
    pub binaries: Vec<Binary>,
}

/// A test binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// The program.
    pub program: PathBuf,
    /// The folder to run it in.
    pub folder: PathBuf,
    /// How the names of its tests begin that are wanted.
    pub begin: &'static str,
}

/// Compilations until no mutant is refused any more.
const ROUNDS_MAX: u32 = 12;

impl Tree {
    /// Takes a clone.
    ///
    /// # Errors
    /// A folder that git does not know, or with changes that are not committed.
    pub fn new(path: PathBuf) -> io::Result<Self> {
        let status = git(&path, &["status", "--porcelain"])?;
        if !status.is_empty() {
            let message = format!(
                "{} has changes: give a clone that may be spoiled, git clone . FOLDER",
                path.display()
            );
            return Err(io::Error::other(message));
        }
        Ok(Self { path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the mutants in and compiles the tests.
    ///
    /// # Errors
    /// An error of the compiler that no mutant explains.
    pub fn build(&self, target: &Target, mut mutants: Vec<Mutant>) -> io::Result<Built> {
        for _ in 0..ROUNDS_MAX {
            git(&self.path, &["checkout", "--quiet", "--", "crates"])?;
            let sources = self.write(target, &mutants)?;
            let mut refused = BTreeSet::new();
            let mut binaries = Vec::new();
            for tests in target.tests {
                let messages = self.compile(tests)?;
                refused.extend(blamed(&messages, &sources)?);
                binaries.extend(messages.iter().filter_map(|message| binary(message, tests)));
                if !refused.is_empty() {
                    break;
                }
            }
            if refused.is_empty() {
                return Ok(Built { mutants, binaries });
            }
            mutants.retain(|mutant| !refused.contains(&mutant.number));
        }
        Err(io::Error::other(format!("still refused by the compiler after {ROUNDS_MAX} rounds")))
    }

    /// Overwrites the sources; gives them by their path in the repository.
    fn write(
        &self,
        target: &Target,
        mutants: &[Mutant],
    ) -> io::Result<BTreeMap<String, SwitchedSource>> {
        let mut sources = BTreeMap::new();
        for file in target.files {
            let file = format!("{}/src/{file}", target.folder);
            let of_file = mutants.iter().filter(|mutant| mutant.file == file);
            let mut sites: Vec<(u32, &Site)> =
                of_file.map(|mutant| (mutant.number, &mutant.site)).collect();
            sites.sort_by_key(|(number, site)| (site.start, Reverse(site.end), *number));
            let path = format!("crates/{file}");
            let switched = rewrite(&fs::read_to_string(self.path.join(&path))?, &sites);
            fs::write(self.path.join(&path), &switched.text)?;
            sources.insert(path, switched);
        }
        let root = self.path.join("crates").join(target.folder).join("src/lib.rs");
        let text = fs::read_to_string(&root)?;
        fs::write(root, format!("#![allow(warnings)]\n{text}{SWITCH}"))?;
        Ok(sources)
    }

    fn compile(&self, tests: &Tests) -> io::Result<Vec<Value>> {
        let mut cargo = Command::new("cargo");
        cargo.args(["test", "--locked", "--no-run", "--message-format", "json"]);
        cargo.args(["--package", tests.package]).args(tests.binaries);
        let output = cargo.current_dir(&self.path).stderr(Stdio::null()).output()?;
        let lines = output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // Nothing can be done where git fails now; the next use says that there are changes.
        let _ = git(&self.path, &["checkout", "--quiet", "--", "crates"]);
    }
}

fn git(folder: &Path, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// The test binary that a message of cargo tells of.
fn binary(message: &Value, tests: &Tests) -> Option<Binary> {
    let program = message["executable"].as_str()?.into();
    let manifest = message["manifest_path"].as_str()?;
    message["profile"]["test"].as_bool()?.then_some(())?;
    let folder = Path::new(manifest).parent()?.into();
    Some(Binary { program, folder, begin: tests.begin })
}

/// The mutants that errors of the compiler point at.
fn blamed(
    messages: &[Value],
    sources: &BTreeMap<String, SwitchedSource>,
) -> io::Result<BTreeSet<u32>> {
    let mut refused = BTreeSet::new();
    let errors = messages.iter().filter(|message| message["message"]["level"] == "error");
    for error in errors.map(|message| &message["message"]) {
        let spans = error["spans"].as_array().into_iter().flatten();
        let found: Vec<u32> = spans.flat_map(|span| at(span, sources)).collect();
        let summary = error["message"].as_str().unwrap_or_default();
        if found.is_empty() && !summary.starts_with("aborting") && !summary.starts_with("could not")
        {
            let text = error["rendered"].as_str().unwrap_or(summary);
            return Err(io::Error::other(text.to_owned()));
        }
        refused.extend(found);
    }
    Ok(refused)
}

fn at(span: &Value, sources: &BTreeMap<String, SwitchedSource>) -> Vec<u32> {
    let source = span["file_name"].as_str().and_then(|name| sources.get(name));
    let byte = |name: &str| span[name].as_u64().and_then(|byte| usize::try_from(byte).ok());
    match (source, byte("byte_start"), byte("byte_end")) {
        (Some(source), Some(start), Some(end)) => source.blamed(start..end),
        _ => Vec::new(),
    }
}
