//! A machine with stand-ins for its tools, and a copy of the scripts. [`Machine`] runs them, [`Run`] is what they said.

use boardlab_checks::Repository;
use boardlab_checks::binary::Scratch;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A machine with stand-ins. `installed/NAME` says that a package is there.
pub(crate) struct Machine {
    pub(crate) scratch: Scratch,
    pub(crate) user: &'static str,
    pub(crate) sudo: bool,
    pub(crate) ci: bool,
}

/// Where this machine has a program.
fn program(name: &str) -> std::path::PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(name));
    places.find(|place| place.is_file()).unwrap_or_else(|| panic!("{name} is in no folder of PATH"))
}

/// What a script printed and how it ended.
pub(crate) struct Run {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: i32,
}

const DPKG_QUERY: &str = r#"for name; do :; done
[ -e "$MACHINE/installed/$name" ] && printf installed"#;
const APT_GET: &str = r#"echo "apt-get $DEBIAN_FRONTEND $*" >>"$MACHINE/calls"
case " $* " in *" install "*)
    for name; do case $name in [a-z]*) : >"$MACHINE/installed/$name" ;; esac; done ;;
esac"#;
/// `cargo build` puts the file `program` where the program belongs; its last argument is the target.
const CARGO: &str = r#"echo "cargo $*" >>"$MACHINE/calls"
for target; do :; done
case $1 in
metadata) echo '{"packages": []}'; exit ;;
build) folder=$CARGO_TARGET_DIR/$target/release; mkdir -p "$folder" && cp "$MACHINE/program" "$folder/boardlab" ;;
esac
case " $* " in *" --doc "*) it=documents ;; *) it=cargo ;; esac
if [ -e "$MACHINE/$it-says" ]; then cat "$MACHINE/$it-says"; fi
exit "$(cat "$MACHINE/$it-status" 2>/dev/null || echo 0)""#;
const SUDO: &str = r#"[ "$FAKE_SUDO" = true ] || exit 1
shift
exec "$@""#;

const APT_CACHE: &str = r#"echo "apt-cache $*" >>"$MACHINE/calls"
[ ! -e "$MACHINE/no-lists" ]"#;
/// Makes environments; scripts of the tree are run by the true one.
const PYTHON: &str = r#"case $1 in */test.py | */third-party.py) exec "$TRUE_PYTHON" "$@" ;; esac
echo "python3 $*" >>"$MACHINE/calls"
mkdir -p .setup/python/bin
printf '#!/bin/sh\necho "pip $*" >>"$MACHINE/calls"\n[ ! -e "$MACHINE/no-network" ]\n' >.setup/python/bin/pip
chmod +x .setup/python/bin/pip"#;
const GUEST: &str = r#"guest=$MACHINE/$(basename "$2")
if [ "$1" = ready ]; then [ -e "$guest" ]; exit; fi
echo "guest.sh $*" >>"$MACHINE/calls"
[ ! -e "$MACHINE/no-network" ] && : >"$guest""#;
const RUSTC: &str = r#"for target; do :; done
case $* in
-vV) echo "commit-hash: 0123" ;;
"--print sysroot") echo "$MACHINE/rust" ;;
*target-libdir*) echo "$MACHINE/rust/$target" ;;
esac"#;
const RUSTUP: &str = r#"echo "rustup $*" >>"$MACHINE/calls"
[ ! -e "$MACHINE/no-network" ] && mkdir -p "$MACHINE/rust/$3""#;
/// The segments of a program.
const READELF: &str = r#"cat "$MACHINE/segments" 2>/dev/null"#;

impl Machine {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        let machine = Self { scratch, user: "0", sudo: false, ci: false };
        for folder in ["bin", "installed", "tree/setup", "tree/oracles", "tree/fuzz"] {
            fs::create_dir_all(machine.path(folder)).expect("the scratch folder can be written");
        }
        let tools = [
            ("dpkg-query", DPKG_QUERY),
            ("apt-get", APT_GET),
            ("apt-cache", APT_CACHE),
            ("cargo", CARGO),
            ("cc", ":"),
            ("python3", PYTHON),
            ("id", "echo \"$FAKE_USER\""),
            ("sudo", SUDO),
            ("rustc", RUSTC),
            ("rustup", RUSTUP),
            ("readelf", READELF),
            ("uname", "echo x86_64"),
            ("aarch64-linux-gnu-gcc", ":"),
        ];
        for (name, body) in tools {
            machine.script(&format!("bin/{name}"), &format!("#!/bin/sh\n{body}\n"));
        }
        machine.script("tree/oracles/guest.sh", &format!("#!/bin/sh\n{GUEST}\n"));
        let repository = Repository::here();
        for name in ["setup/setup.sh", "setup/test.py", "setup/dist.sh", "setup/third-party.py"] {
            machine.script(&format!("tree/{name}"), &repository.read(name));
        }
        for name in [
            "setup/debian-packages.txt",
            "setup/dist-packages.txt",
            "setup/python-packages.txt",
            "rust-toolchain.toml",
        ] {
            machine.write(&format!("tree/{name}"), &repository.read(name));
        }
        for name in ["Cargo.lock", "fuzz/Cargo.lock"] {
            machine.write(&format!("tree/{name}"), "");
        }
        machine
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.scratch.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("the scratch folder can be written");
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755))
            .expect("the scratch folder can be written");
    }

    pub(crate) fn run(&self, script: &str, arguments: &[&str]) -> Run {
        let bin = self.path("bin");
        let mut command = Command::new(self.path("tree").join(script));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("MACHINE", self.scratch.path())
            .env("CARGO_HOME", self.path("cargo"))
            .env("TRUE_PYTHON", program("python3"))
            .env("FAKE_USER", self.user)
            .env("FAKE_SUDO", self.sudo.to_string())
            .current_dir(Path::new("/"))
            .stdin(Stdio::null());
        if self.ci {
            command.env("CI", "true");
        }
        let output = command.output().expect("the script starts");
        Run {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code().expect("the script ends by itself"),
        }
    }

    /// The calls of the tools since the last time.
    pub(crate) fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("calls")).unwrap_or_default();
        let _ = fs::remove_file(self.path("calls"));
        text.lines().map(Into::into).collect()
    }
}
