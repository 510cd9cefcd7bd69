//! The scripts in `setup/`, run in a copy of the tree with stand-ins for the tools of the machine.
//!
//! The stand-ins write down how they were called, and take the machine's state from files; nothing is
//! installed and nothing is fetched.

mod dist;
mod machine;

use machine::{Machine, Run};
use std::fs;
use std::path::Path;

/// The crates of the fuzz targets have a lock file of their own.
const FETCH_FUZZ: &str = "cargo fetch --locked --manifest-path fuzz/Cargo.toml";

/// The Python packages are pinned by their digests.
const FETCH_WHEELS: &str = "pip install -q --disable-pip-version-check --no-deps --require-hashes \
                            -r setup/python-packages.txt";

#[test]
fn set_up_installs_what_is_missing_and_the_second_time_does_nothing() {
    let machine = Machine::new();
    let first = machine.run("setup/setup.sh", &[]);
    assert_eq!(first.status, 0, "{}{}", first.out, first.err);
    assert!(first.out.contains("chromium                opens the HTML report"), "{}", first.out);
    assert_eq!(
        machine.calls(),
        [
            "apt-get noninteractive -q update",
            "apt-get noninteractive -q install -y --no-install-recommends \
             blktrace busybox-static chromium clang cpio dropbear-bin fio fio-examples fish \
             fonts-dejavu-core g++ gcc-aarch64-linux-gnu gcc-arm-linux-gnueabi \
             gcc-arm-linux-gnueabihf gcc-arm-none-eabi gcc-mips-linux-gnu \
             gcc-mipsel-linux-gnu gdb-multiarch git kmod libc6-dev-arm64-cross \
             libc6-dev-armel-cross libc6-dev-armhf-cross libc6-dev-mips-cross \
             libc6-dev-mipsel-cross libclang-rt-dev mtd-utils musl-tools openssh-client patch python3-venv \
             qemu-system-arm qemu-system-mips qemu-system-x86 qemu-user rsync zsh",
            "cargo fetch --locked",
            FETCH_FUZZ,
            "python3 -m venv .setup/python",
            FETCH_WHEELS,
            "apt-cache show linux-image-amd64",
            "guest.sh prepare .setup/guest amd64",
            "guest.sh prepare .setup/guest-armhf armhf",
            "guest.sh prepare .setup/guest-mipsel mipsel",
        ]
    );
    let second = machine.run("setup/setup.sh", &[]);
    assert_eq!(second.status, 0);
    assert_eq!((second.out.as_str(), second.err.as_str()), ("set-up: nothing to do\n", ""));
    assert_eq!(machine.calls(), [""; 0]);
}

#[test]
fn set_up_to_run_installs_and_fetches_nothing() {
    let machine = Machine { user: "1000", ..Machine::new() };
    let run = machine.run("setup/setup.sh", &["run"]);
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (0, "", ""));
    assert_eq!(machine.calls(), [""; 0]);
}

#[test]
fn set_up_fetches_crates_again_when_the_lock_file_changes() {
    let machine = Machine::new();
    let _ = machine.run("setup/setup.sh", &["test"]);
    machine.write("tree/Cargo.lock", "changed\n");
    let _ = machine.calls();
    let _ = machine.run("setup/setup.sh", &["test"]);
    assert_eq!(machine.calls(), ["cargo fetch --locked", FETCH_FUZZ]);
}

#[test]
fn set_up_without_root_uses_sudo_or_says_what_to_install() {
    let sudo = Machine { user: "1000", sudo: true, ..Machine::new() };
    assert_eq!(sudo.run("setup/setup.sh", &[]).status, 0);
    assert_eq!(sudo.calls().len(), 9);

    let plain = Machine { user: "1000", ..Machine::new() };
    let refused = plain.run("setup/setup.sh", &[]);
    assert_eq!(refused.status, 1);
    let command = "apt-get install --no-install-recommends blktrace busybox-static chromium";
    assert!(refused.err.contains(command), "{}", refused.err);
    assert!(refused.out.contains("opens the HTML report"), "the reason: {}", refused.out);
    assert_eq!(plain.calls(), [""; 0]);
}

#[test]
fn set_up_of_the_guest_renews_missing_package_lists_and_fails_without_a_network() {
    let machine = Machine::new();
    assert_eq!(machine.run("setup/setup.sh", &[]).status, 0);
    let _ = machine.calls();
    fs::remove_file(machine.path("guest")).unwrap();
    machine.write("no-lists", "");
    machine.write("no-network", "");
    let failed = machine.run("setup/setup.sh", &[]);
    assert_eq!(failed.status, 1);
    assert!(failed.err.contains("the guest could not be prepared"), "{}", failed.err);
    assert_eq!(
        machine.calls(),
        [
            "apt-cache show linux-image-amd64",
            "apt-get noninteractive -q update",
            "guest.sh prepare .setup/guest amd64",
        ]
    );
    fs::remove_file(machine.path("no-network")).unwrap();
    assert!(machine.run("setup/setup.sh", &[]).out.contains("preparing the guest"));
}

#[test]
fn set_up_goes_on_without_a_kernel_for_another_machine_and_says_so() {
    let machine = Machine::new();
    assert_eq!(machine.run("setup/setup.sh", &[]).status, 0);
    fs::remove_file(machine.path("guest-mipsel")).unwrap();
    machine.write("no-network", "");
    let run = machine.run("setup/setup.sh", &[]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.err.contains("not every Debian has a kernel for mipsel"), "{}", run.err);
}

#[test]
fn set_up_fetches_python_packages_again_when_the_list_changes_or_the_network_failed() {
    let machine = Machine::new();
    machine.write("no-network", "");
    let failed = machine.run("setup/setup.sh", &[]);
    assert_eq!(failed.status, 1);
    assert!(failed.err.contains("pip could not install"), "{}", failed.err);
    fs::remove_file(machine.path("no-network")).unwrap();
    assert!(machine.run("setup/setup.sh", &[]).out.contains("fetching the Python packages"));
    let _ = machine.calls();
    machine.write("tree/setup/python-packages.txt", "changed\n");
    assert_eq!(machine.run("setup/setup.sh", &[]).status, 0);
    assert_eq!(machine.calls(), ["python3 -m venv .setup/python", FETCH_WHEELS]);
}

#[test]
fn set_up_that_fails_is_not_taken_for_done() {
    let machine = Machine::new();
    machine.write("cargo-status", "101");
    let failed = machine.run("setup/setup.sh", &["test"]);
    assert_eq!(failed.status, 1);
    assert!(failed.err.contains("could not fetch"), "{}", failed.err);
    machine.write("cargo-status", "0");
    assert!(machine.run("setup/setup.sh", &["test"]).out.contains("fetching"));
}

#[test]
fn set_up_says_when_rust_is_missing_or_an_argument_is_wrong() {
    let machine = Machine::new();
    fs::remove_file(machine.path("bin/cargo")).unwrap();
    let on_the_machine =
        ["/usr/bin/cargo", "/bin/cargo"].iter().any(|path| Path::new(path).exists());
    if !on_the_machine {
        let failed = machine.run("setup/setup.sh", &[]);
        assert_eq!(failed.status, 1);
        assert!(failed.err.contains("cargo is missing"), "{}", failed.err);
    }
    assert_eq!(machine.run("setup/setup.sh", &["other"]).status, 1);
}

const RESULTS: &str = "\
    test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
    test a ... skipped: needs qemu\n\
    test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s\n";

impl Machine {
    /// A program with tests, which Cargo tells of: `body` is what it does.
    fn suite(&self, name: &str, body: &str) {
        let folder = self.path(&format!("crates/{name}"));
        fs::create_dir_all(&folder).expect("the scratch folder can be written");
        let program = format!("crates/{name}/{name}-0123456789abcdef");
        self.script(&program, &format!("#!/bin/sh\n{body}\n"));
        let line = format!(
            "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"{}/Cargo.toml\",\
             \"profile\":{{\"test\":true}},\"executable\":\"{}\"}}\n",
            folder.display(),
            self.path(&program).display(),
        );
        let before = fs::read_to_string(self.path("cargo-says")).unwrap_or_default();
        self.write("cargo-says", &(before + &line));
    }

    fn test(&self) -> Run {
        self.run("setup/test.py", &[])
    }
}

fn result(passed: u32, failed: u32) -> String {
    format!("echo 'test result: ok. {passed} passed; {failed} failed; 0 ignored; 0 measured;'")
}

#[test]
fn test_closes_with_the_sum_of_all_results() {
    let machine = Machine::new();
    machine.suite("nor", &result(5, 0));
    machine.write("documents-says", RESULTS);
    let run = machine.test();
    assert_eq!(run.out.lines().last(), Some("19 passed, 0 failed, 2 skipped"), "{}", run.err);
    assert_eq!(run.status, 0);
    let calls = ["--no-run --message-format=json-render-diagnostics", "--no-fail-fast --doc"]
        .map(|how| format!("cargo test --locked --workspace {how}"));
    assert_eq!(machine.calls(), calls);
}

#[test]
fn test_runs_each_suite_in_the_folder_of_its_crate_and_tells_how_long_it_took() {
    let machine = Machine::new();
    let says = "echo \"in $(basename \"$PWD\") of $(basename \"$CARGO_MANIFEST_DIR\")\"";
    machine.suite("nor", &format!("{says}\n{}", result(1, 0)));
    machine.suite("ftl", &format!("sleep 0.4\n{}", result(2, 0)));
    let run = machine.test();
    assert!(run.out.contains("in nor of nor\n"), "{}", run.out);
    let times: Vec<_> = run.out.lines().filter(|line| line.contains(" s  ")).collect();
    let names: Vec<_> = times.iter().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!((names.len(), names[0]), (3, "ftl"), "{times:?}");
    assert_eq!(run.out.lines().last(), Some("3 passed, 0 failed, 0 skipped"));
}

#[test]
fn test_fails_under_ci_when_something_was_skipped() {
    let machine = Machine { ci: true, ..Machine::new() };
    machine.write("documents-says", RESULTS);
    let run = machine.test();
    assert_eq!(run.out.lines().last(), Some("14 passed, 0 failed, 2 skipped"));
    assert_eq!(run.status, 1);
}

#[test]
fn test_fails_when_a_test_fails_or_a_suite_dies_or_something_does_not_build() {
    let machine = Machine::new();
    machine.suite("nor", &format!("echo 'test a::b ... FAILED'\n{}\nexit 101", result(2, 1)));
    machine.suite("ftl", "kill -KILL $$");
    machine.suite("sd", &result(1, 0));
    let run = machine.test();
    assert_eq!((run.out.lines().last(), run.status), (Some("3 passed, 2 failed, 0 skipped"), 101));
    for failed in ["failed: nor: a::b\n", "failed: ftl: it did not end: status -9\n"] {
        assert!(run.out.contains(failed), "{}", run.out);
    }
    machine.write("cargo-status", "101");
    let run = machine.test();
    assert_eq!((run.out.lines().last(), run.status), (Some("0 passed, 1 failed, 0 skipped"), 101));
}
