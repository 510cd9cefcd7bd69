//! The files of the repository, as a contributor sees them: all but what `.gitignore` names.

use crate::source::SourceFile;
use std::fs;
use std::path::{Path, PathBuf};

/// A working tree and the files in it.
#[derive(Debug, Clone)]
pub struct Repository {
    root: PathBuf,
    files: Vec<String>,
}

impl Repository {
    /// The repository that this crate belongs to.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn here() -> Self {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.ancestors().nth(2).expect("this crate lies in crates/checks");
        Self::at(root)
    }

    /// The tree at `root`.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        let ignore = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored = Ignored::parse(&ignore);
        let mut files = Vec::new();
        collect(root, "", &ignored, &mut files);
        files.sort();
        Self { root: root.into(), files }
    }

    /// The root folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All files, relative to the root and sorted.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The files below the folder `under` (empty for all) that end in `.extension`.
    pub fn files_in(&self, under: &str, extension: &str) -> impl Iterator<Item = &str> {
        let prefix = if under.is_empty() { String::new() } else { format!("{under}/") };
        let suffix = format!(".{extension}");
        let files = self.files.iter().map(String::as_str);
        files.filter(move |path| path.starts_with(&prefix) && path.ends_with(&suffix))
    }

    /// Whether `path` is a file of the repository or a folder with such a file.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty() || self.files.iter().any(|file| file == path || file.starts_with(&folder))
    }

    /// The text of `path`.
    ///
    /// # Panics
    /// When the file cannot be read as UTF-8.
    #[must_use]
    pub fn read(&self, path: &str) -> String {
        let text = fs::read_to_string(self.root.join(path));
        text.unwrap_or_else(|error| panic!("{path}: cannot be read: {error}"))
    }

    /// All Rust files below `crates/`, parsed.
    ///
    /// # Panics
    /// When one cannot be parsed.
    #[must_use]
    pub fn sources(&self) -> Vec<SourceFile> {
        let parse = |path: &str| {
            let parsed = SourceFile::parse(path, &self.read(path));
            parsed.unwrap_or_else(|violation| panic!("{violation}"))
        };
        let mut sources: Vec<_> = self.files_in("crates", "rs").map(parse).collect();
        crate::source::mark_test_files(&mut sources);
        sources
    }
}

/// The three forms of a pattern that our `.gitignore` uses: `/path/`, `name` and `*.extension`.
struct Ignored {
    paths: Vec<String>,
    names: Vec<String>,
    suffixes: Vec<String>,
}

impl Ignored {
    fn parse(text: &str) -> Self {
        let mut ignored =
            Self { paths: Vec::new(), names: vec![".git".into()], suffixes: Vec::new() };
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let body = line.trim_end_matches('/');
            match (body.strip_prefix('/'), body.strip_prefix('*')) {
                (Some(path), _) => ignored.paths.push(path.into()),
                (None, Some(suffix)) => ignored.suffixes.push(suffix.into()),
                (None, None) => ignored.names.push(body.into()),
            }
        }
        ignored
    }

    fn covers(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.paths.iter().any(|ignored| ignored == path)
            || self.names.iter().any(|ignored| ignored == name)
            || self.suffixes.iter().any(|suffix| name.ends_with(suffix))
    }
}

fn collect(root: &Path, folder: &str, ignored: &Ignored, files: &mut Vec<String>) {
    let entries = fs::read_dir(root.join(folder))
        .unwrap_or_else(|error| panic!("{folder}: cannot be listed: {error}"));
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        let kind = entry.file_type();
        if ignored.covers(&path) {
            continue;
        }
        match kind {
            Ok(kind) if kind.is_dir() => collect(root, &path, ignored, files),
            Ok(_) => files.push(path),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_are_not_part_of_the_repository() {
        let ignored = Ignored::parse("/target\n/report/\n*.profraw\n# note\nnode_modules\n");
        for path in ["target", "report", "a/b.profraw", ".git", "python/node_modules"] {
            assert!(ignored.covers(path), "{path}");
        }
        for path in ["crates/report", "src/target.rs", "README.md"] {
            assert!(!ignored.covers(path), "{path}");
        }
    }

    #[test]
    fn this_repository_has_its_own_manifest() {
        let here = Repository::here();
        assert!(here.has("crates/checks/Cargo.toml") && here.has("crates/checks"));
        assert!(!here.has("crates/absent") && !here.has("target"));
        assert!(here.files_in("crates", "toml").any(|path| path == "crates/sim/Cargo.toml"));
    }
}
