//! The `boardlab` command, built once for all checks that run it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The built command.
#[derive(Debug, Clone)]
pub struct Boardlab {
    path: PathBuf,
}

impl Boardlab {
    /// Builds the command with the profile and into the target folder of the running test, and with the
    /// features that all crates of the workspace ask for together, so that nothing is compiled twice.
    ///
    /// # Panics
    /// When it does not build.
    #[must_use]
    pub fn built() -> &'static Self {
        static BUILT: OnceLock<Boardlab> = OnceLock::new();
        BUILT.get_or_init(Self::build)
    }

    fn build() -> Self {
        let test = env::current_exe().expect("a running test has a path");
        let profile = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
        let target = profile.parent().expect("a profile lies in the target folder");
        let name = profile.file_name().unwrap_or_default().to_string_lossy();
        // The profiles `dev` and `test` share the folder `debug`.
        let name = if name == "debug" { "test" } else { &name };
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["build", "--locked", "--workspace", "--bin", "boardlab"])
            .args(["--profile", name, "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null())
            .output()
            .expect("cargo runs, since it runs this test");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "boardlab does not build:\n{message}");
        Self { path: profile.join(format!("boardlab{}", env::consts::EXE_SUFFIX)) }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs it with `arguments` in `folder`, without input.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn run(&self, arguments: &[&str], folder: &Path) -> Output {
        let mut command = Command::new(&self.path);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.output().unwrap_or_else(|error| panic!("{}: {error}", self.path.display()))
    }

    /// What it prints for `arguments`, which must succeed.
    ///
    /// # Panics
    /// When it fails, with what it says about it.
    #[must_use]
    pub fn stdout(&self, arguments: &[&str]) -> String {
        let scratch = Scratch::new();
        let output = self.run(arguments, scratch.path());
        let message = String::from_utf8_lossy(&output.stderr);
        let status = output.status;
        assert!(status.success(), "boardlab {}: {status}\n{message}", arguments.join(" "));
        String::from_utf8(output.stdout).expect("boardlab prints UTF-8")
    }
}

/// An empty folder that goes away with this value.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new folder.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("boardlab-checks-{}-{number}", std::process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(path)
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system; the checks are not about it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_is_new_and_goes_away() {
        let (first, second) = (Scratch::new(), Scratch::default());
        assert_ne!(first.path(), second.path());
        fs::write(first.path().join("a"), "b").unwrap();
        let path = first.path().to_path_buf();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }
}
