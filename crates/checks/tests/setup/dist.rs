//! `make dist`: what it installs, what it packs and where, and what happens when something is missing.

use crate::machine::{Machine, Run};
use boardlab_checks::Repository;
use std::fs;
use std::process::Command;

const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// Writes its pages into a folder, as boardlab does.
const PROGRAM: &str = r#"#!/bin/sh
for folder; do :; done
mkdir -p "$folder"
case $1 in
man) for page in boardlab boardlab-run; do echo ".TH $page 1" >"$folder/$page.1"; done ;;
completions) case $2 in zsh) name=_boardlab ;; *) name=boardlab.$2 ;; esac; echo "comment $2" >"$folder/$name" ;;
esac
"#;

/// Runs a tool of this machine in `folder`.
fn tool(folder: &std::path::Path, words: &[&str]) -> String {
    let output = Command::new(words[0]).args(&words[1..]).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{words:?}: {error}"));
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Machine {
    /// A machine with a commit of the files that are packed, a page in place of the documents.
    fn with_commit() -> Self {
        let machine = Self::new();
        let repository = Repository::here();
        for folder in ["tree/setup/package", "tree/docs/tasks", "rust/share/doc/rust"] {
            fs::create_dir_all(machine.path(folder)).expect("the scratch folder can be written");
        }
        let kept = repository.files().iter().filter(|file| {
            let top = !file.contains('/') && !file.ends_with(".lock");
            top || file.starts_with("setup/package/")
        });
        for file in kept {
            machine.write(&format!("tree/{file}"), &repository.read(file));
        }
        machine.write("tree/docs/tasks/page.md", "A page\n");
        machine.write("rust/share/doc/rust/COPYRIGHT-library.html", "licences\n");
        machine.script("program", PROGRAM);
        for words in [
            "git init --quiet",
            "git add .",
            "git -c user.name=a -c user.email=a@b.invalid commit --quiet --message=a",
        ] {
            let words: Vec<_> = words.split(' ').collect();
            tool(&machine.path("tree"), &words);
        }
        machine.write("tree/docs/left-over.md", "in no commit\n");
        machine
    }

    fn dist(&self, arguments: &[&str]) -> Run {
        self.run("setup/dist.sh", arguments)
    }

    fn packed(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("tree/dist")).expect("dist/ is there");
        let mut names: Vec<_> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into()).collect();
        names.sort();
        names
    }
}

#[test]
fn set_up_to_pack_says_what_it_adds_and_the_second_time_does_nothing() {
    let machine = Machine::new();
    let run = machine.run("setup/setup.sh", &["dist", "x86_64", "aarch64"]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("gcc-aarch64-linux-gnu  compiles zlib for arm64"), "{}", run.out);
    assert!(run.out.contains("standard library for aarch64-unknown-linux-musl"), "{}", run.out);
    let expected = [
        &*format!("rustup target add {}", TARGETS[0]),
        &*format!("rustup target add {}", TARGETS[1]),
        "apt-get noninteractive -q update",
        "apt-get noninteractive -q install -y --no-install-recommends gcc-aarch64-linux-gnu \
         libc6-dev-arm64-cross",
    ];
    assert_eq!(machine.calls(), expected);
    let again = machine.run("setup/setup.sh", &["dist", "x86_64", "aarch64"]);
    assert_eq!((again.status, again.out.as_str(), again.err.as_str()), (0, "", ""));
    assert_eq!(machine.calls(), [""; 0]);
}

#[test]
fn set_up_to_pack_for_this_machine_needs_no_cross_compiler() {
    let machine = Machine::new();
    assert_eq!(machine.run("setup/setup.sh", &["dist", "x86_64"]).status, 0);
    assert_eq!(machine.calls(), [format!("rustup target add {}", TARGETS[0])]);
}

#[test]
fn packing_puts_every_file_in_its_place_and_gives_the_same_bytes_twice() {
    let machine = Machine::with_commit();
    let run = machine.dist(&[]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    let version = env!("CARGO_PKG_VERSION");
    let archive = format!("boardlab-{version}-aarch64");
    let package = format!("boardlab_{version}-1_arm64.deb");
    let mut expected = vec!["SHA256SUMS".to_string(), format!("{archive}.tar.gz"), package.clone()];
    expected.push(format!("boardlab-{version}-x86_64.tar.gz"));
    expected.push(format!("boardlab_{version}-1_amd64.deb"));
    expected.sort();
    assert_eq!(machine.packed(), expected);

    let dist = machine.path("tree/dist");
    let listed = tool(&dist, &["tar", "-tzf", &format!("{archive}.tar.gz")]);
    for file in ["boardlab", "README.md", "LICENSE-MIT", "THIRD-PARTY.txt", "docs/tasks/page.md"]
        .iter()
        .chain(&["completions/_boardlab", "completions/boardlab.fish", "man/boardlab-run.1"])
    {
        assert!(listed.contains(&format!("{archive}/{file}\n")), "{file}:\n{listed}");
    }
    let listed = tool(&dist, &["dpkg-deb", "--contents", &package]);
    for file in [
        "bin/boardlab",
        "share/bash-completion/completions/boardlab",
        "share/zsh/vendor-completions/_boardlab",
        "share/fish/vendor_completions.d/boardlab.fish",
        "share/man/man1/boardlab.1.gz",
        "share/man/man1/boardlab-run.1.gz",
        "share/doc/boardlab/copyright",
        "share/doc/boardlab/changelog.gz",
        "share/doc/boardlab/changelog.Debian.gz",
        "share/doc/boardlab/docs/tasks/page.md",
    ] {
        assert!(listed.contains(&format!(" ./usr/{file}\n")), "{file}:\n{listed}");
    }
    assert!(!listed.contains("left-over"), "what is in no commit is not packed:\n{listed}");
    let field = ["dpkg-deb", "--field", &package, "Version"];
    assert_eq!(tool(&dist, &field), format!("{version}-1\n"));

    let sums = fs::read_to_string(dist.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 4, "{sums}");
    tool(&dist, &["sha256sum", "--check", "--quiet", "SHA256SUMS"]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(machine.dist(&[]).status, 0);
    assert_eq!(fs::read_to_string(dist.join("SHA256SUMS")).unwrap(), sums);
}

#[test]
fn packing_names_what_is_missing_makes_the_rest_and_fails() {
    let machine = Machine::with_commit();
    fs::create_dir_all(machine.path("rust").join(TARGETS[0])).unwrap();
    machine.write("no-network", "");
    let run = machine.dist(&[]);
    assert_eq!(run.status, 1, "{}{}", run.out, run.err);
    let lacks =
        "for aarch64 this machine lacks: Rust's standard library for aarch64-unknown-linux-musl\n";
    assert!(run.err.contains(lacks), "{}", run.err);
    assert!(run.err.contains("nothing is packed for aarch64"), "{}", run.err);
    assert_eq!(machine.packed().len(), 3, "{:?}", machine.packed());
    assert_eq!(machine.dist(&["x86_64"]).status, 0);
    assert_eq!(machine.dist(&["sparc"]).status, 2);
}

#[test]
fn packing_refuses_a_program_that_needs_something_of_this_machine() {
    let machine = Machine::with_commit();
    machine.write("segments", "  INTERP  0x000318\n");
    let run = machine.dist(&["x86_64"]);
    assert_eq!(run.status, 1);
    assert!(run.err.contains("the program for x86_64 is not static"), "{}", run.err);

    let machine = Machine::with_commit();
    let folder = machine.path("cargo/registry/src");
    machine.script("program", &format!("{PROGRAM}# {}\n", folder.display()));
    let run = machine.dist(&["x86_64"]);
    assert_eq!(run.status, 1);
    assert!(run.err.contains("the program for x86_64 names /"), "{}", run.err);
    assert_eq!(machine.packed(), [""; 0]);
}

/// Licences that allow what a package does, given their texts.
const PERMISSIVE: [&str; 9] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether a licence expression offers a permissive choice, `/` being the old form of `OR`.
fn is_permissive(expression: &str) -> bool {
    let choices = expression.replace('/', " OR ").replace(['(', ')'], "");
    choices
        .split(" AND ")
        .all(|part| part.split(" OR ").any(|licence| PERMISSIVE.contains(&licence.trim())))
}

#[test]
fn the_notice_lists_every_library_of_the_program_with_a_permissive_licence() {
    let root = Repository::here().root().to_path_buf();
    for target in TARGETS {
        let notice =
            tool(&root, &["env", "CARGO_NET_OFFLINE=true", "setup/third-party.py", target]);
        let libraries: Vec<_> = notice
            .lines()
            .skip_while(|line| !line.is_empty())
            .skip(1)
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_once(": "))
            .collect();
        for name in ["clap ", "libz-sys ", "serde_json ", "musl, ", "The standard library of Rust"]
        {
            assert!(libraries.iter().any(|(library, _)| library.starts_with(name)), "{name}");
        }
        assert!(
            !libraries.iter().any(|(library, _)| library.starts_with("jsonschema ")),
            "tests only"
        );
        for (library, licence) in libraries {
            let licence = licence.split([';', '(']).next().unwrap_or_default().trim();
            assert!(licence.is_empty() || is_permissive(licence), "{library}: {licence}");
        }
        for text in ["Jean-loup Gailly", "Rich Felker", "LLVM Exceptions"] {
            assert!(notice.contains(text), "{text}");
        }
    }
}

#[test]
fn a_licence_without_a_permissive_choice_is_found() {
    for expression in ["MIT OR GPL-3.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(is_permissive(expression), "{expression}");
    }
    for expression in ["GPL-3.0", "MIT AND GPL-2.0-only", "LGPL-2.1 OR GPL-2.0"] {
        assert!(!is_permissive(expression), "{expression}");
    }
}
