//! Embeds the repository's parts, boards, scenarios and reference tables into the crate.
//!
//! For each folder a table of name, path and text is written, sorted by name, so that the binary
//! needs no files beside it. The name is the file name without `.toml`; it is what users type, so
//! two files of one folder, even in sub-folders, must not share it.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDERS: [&str; 4] = ["parts", "boards", "scenarios", "reference"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let mut code = String::new();
    for folder in FOLDERS {
        let mut files = BTreeMap::new();
        collect(&root.join(folder), &mut files)?;
        writeln!(code, "pub(super) static {}: &[BuiltIn] = &[", folder.to_uppercase())?;
        for (name, path) in files {
            let shown = path.strip_prefix(&root)?.display().to_string();
            let full = fs::canonicalize(&path)?.display().to_string();
            let text = format!("include_str!({full:?})");
            writeln!(code, "    BuiltIn {{ name: {name:?}, path: {shown:?}, text: {text} }},")?;
        }
        writeln!(code, "];")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("built_in.rs"), code)?;
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}

/// Finds the `.toml` files in `folder` and below, by name. A folder that lacks is empty.
fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            println!("cargo:rerun-if-changed={}", path.display());
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(other) = files.insert(name, path.clone()) {
                return Err(format!("{} and {}: one name", other.display(), path.display()).into());
            }
        }
    }
    Ok(())
}
