//! Help, man pages and completions: all of them know every command.

use crate::bench::{Scratch, commands, run, run_in};

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

#[test]
fn the_help_lists_the_commands() {
    let names = commands();
    let expected = [
        "list",
        "run",
        "reproduce",
        "tune",
        "life",
        "powercut",
        "sweep",
        "report",
        "compare",
        "image",
        "sata",
        "os",
        "completions",
        "man",
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = run(&["--version"]).success();
    assert_eq!(version, concat!("boardlab ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn without_a_command_the_help_goes_to_standard_error() {
    let outcome = run(&[]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("Commands:"), "{}", outcome.stderr);
}

#[test]
fn every_command_has_a_long_help_with_examples() {
    for command in commands() {
        let help = run(&[&command, "--help"]).success();
        assert!(help.contains(&format!("Usage: boardlab {command}")), "{help}");
        let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
        let example = format!("  boardlab {command}");
        assert!(examples.filter(|line| line.starts_with(&example)).count() >= 2, "{help}");
        assert_eq!(run(&["help", &command]).success(), help);
    }
}

#[test]
fn every_command_takes_the_options_of_every_command() {
    for command in commands() {
        let help = run(&[&command, "--help"]).success();
        for option in ["--format", "--out", "--seed", "--quiet", "--no-wall-time", "--color"] {
            assert!(help.contains(&format!("      {option}")), "{option}:\n{help}");
        }
    }
}

#[test]
fn every_command_has_a_man_page() {
    let scratch = Scratch::new();
    let outcome = run_in(scratch.path(), &["man", "--out", "man/man1"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""), "{}", outcome.stderr);
    let mut expected: Vec<_> =
        commands().iter().map(|command| format!("boardlab-{command}.1")).collect();
    expected.push("boardlab.1".into());
    expected.extend(["info", "ls", "extract"].map(|name| format!("boardlab-image-{name}.1")));
    expected.push("boardlab-sata-console.1".into());
    expected.extend(["run", "trace", "debug"].map(|name| format!("boardlab-os-{name}.1")));
    expected.sort();
    assert_eq!(scratch.names("man/man1"), expected);
    for name in expected {
        let page = scratch.read(&format!("man/man1/{name}"));
        let title = name.trim_end_matches(".1");
        assert!(page.contains(&format!(".TH {title} 1 ")), "{page}");
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES"] {
            assert!(page.contains(&format!("\n.SH {heading}\n")), "{name}: {heading}\n{page}");
        }
        assert!(page.contains(r"\-\-no\-wall\-time"), "{name}:\n{page}");
        assert!(outcome.stderr.contains(&format!("wrote man/man1/{name}\n")), "{name}");
    }
}

#[test]
fn the_main_man_page_goes_to_standard_output() {
    let page = run(&["man"]).success();
    for command in commands() {
        assert!(page.contains(&format!(r"boardlab\-{command}(1)")), "{command}:\n{page}");
    }
    assert!(page.contains("EXIT STATUS"), "{page}");
}

#[test]
fn the_completions_of_every_shell_know_every_command_and_evaluation() {
    for shell in SHELLS {
        let script = run(&["completions", shell]).success();
        for name in commands() {
            assert!(script.contains(&name), "{shell}: {name}");
        }
        assert!(script.contains("no-wall-time"), "{shell}");
        // The other shells complete no arguments.
        if ["bash", "zsh"].contains(&shell) {
            assert!(script.contains("nandfs") && script.contains("scenarios"), "{shell}");
        }
    }
}

#[test]
fn completions_can_be_written_under_the_name_that_the_shell_expects() {
    let scratch = Scratch::new();
    for shell in SHELLS {
        let script = run(&["completions", shell]).success();
        let outcome = run_in(scratch.path(), &["completions", shell, "--out", shell]);
        assert_eq!(outcome.success(), "");
        let names = scratch.names(shell);
        assert_eq!(names.len(), 1, "{names:?}");
        assert_eq!(scratch.read(&format!("{shell}/{}", names[0])), script);
    }
    assert_eq!(scratch.names("zsh"), ["_boardlab"]);
}
