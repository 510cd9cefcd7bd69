//! Help, man pages and completions: all of them know every command.

use crate::bench::{Scratch, commands, run, run_by, run_in};
use std::path::Path;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

#[test]
fn the_help_lists_the_commands() {
    let names = commands();
    let expected = [
        "list",
        "explain",
        "doctor",
        "run",
        "reproduce",
        "tune",
        "life",
        "powercut",
        "advise",
        "sweep",
        "report",
        "compare",
        "image",
        "measure",
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

/// Every line of advice begins with `boardlab`, and what is said to be a command is one.
#[test]
fn without_a_command_boardlab_says_what_to_try() {
    let words = run(&[]).success();
    let commands = commands();
    let tried: Vec<_> = words.lines().filter_map(|line| line.strip_prefix("  boardlab ")).collect();
    assert!(tried.len() >= 8, "{words}");
    for line in tried {
        let command = line.split(' ').next().unwrap().to_owned();
        assert!(command == "COMMAND" || commands.contains(&command), "{line}");
    }
    for arguments in [&["--json"][..], &["--out", "o"]] {
        let refused = run(arguments);
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(
            refused.stderr.contains("name a command, such as: boardlab list --json"),
            "{refused:?}"
        );
    }
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
    expected.extend(
        ["parts", "boards", "scenarios", "keys"].map(|name| format!("boardlab-list-{name}.1")),
    );
    expected.extend(
        [
            "info", "ls", "extract", "check", "create", "convert", "diff", "cat", "stat", "mount",
            "apply",
        ]
        .map(|name| format!("boardlab-image-{name}.1")),
    );
    expected
        .extend(["plan", "run", "read", "agent"].map(|name| format!("boardlab-measure-{name}.1")));
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
fn the_completions_of_every_shell_know_commands_scenarios_keys_and_values() {
    for shell in SHELLS {
        let script = run(&["completions", shell]).success();
        assert!(script.contains("BOARDLAB_COMPLETE") && script.contains("boardlab"), "{shell}");
        let offered = |line: &[&str]| completed(shell, line);
        let first = offered(&[""]);
        for name in commands() {
            assert!(first.contains(&name), "{shell}: {name}: {first}");
        }
        assert!(offered(&["run", "--no-wall"]).contains("--no-wall-time"), "{shell}");
        assert!(offered(&["run", "nor"]).contains("nor-write"), "{shell}");
        assert!(offered(&["reproduce", "nan"]).contains("nandfs"), "{shell}");
        assert!(
            offered(&["run", "nor-write", "--set", "linux.w"]).contains("linux.wait="),
            "{shell}"
        );
        let values = offered(&["run", "nor-write", "--set", "part=s29"]);
        assert!(values.contains("s29gl01gs") && !values.contains("w25n01gv"), "{shell}: {values}");
        let grid = offered(&["sweep", "nor-write", "--grid", "linux.wait=none,t"]);
        assert!(grid.contains("none,tuned"), "{shell}: {grid}");
        assert!(offered(&["explain", "over-p"]).contains("over-provisioning"), "{shell}");
        // Where the scenario is wrong or absent, nothing is offered and nothing fails.
        for wrong in [&["run", "none", "--set", "l"][..], &["run", "--set", "l"]] {
            assert!(!offered(wrong).contains("linux"), "{shell}: {wrong:?}");
        }
    }
}

/// What `shell` is offered for the last word of `line`.
fn completed(shell: &str, line: &[&str]) -> String {
    let (last, before) = line.split_last().expect("a line has a word");
    let text = format!("boardlab {} ", before.join(" "));
    let words = [&["boardlab"], line].concat();
    let passed = if shell == "bash" { &[&text, *last][..] } else { &words };
    let script = format!(
        "export BOARDLAB_COMPLETE={shell} _CLAP_COMPLETE_INDEX={}; exec \"$0\" -- \"$@\"",
        line.len()
    );
    run_by("sh", &script, Scratch::new().path(), passed).success()
}

#[test]
fn tune_life_and_powercut_complete_to_the_scenarios_that_have_them() {
    let scratch = Scratch::new();
    scratch.write("own-nand.toml", "experiment = \"nand-filesystems\"\ntitle = \"x\"\n");
    let script = "export BOARDLAB_COMPLETE=bash; exec \"$0\" -- \"boardlab $1 \" \"$2\"";
    for (action, word, offered) in [
        ("tune", "", "nor-write\n"),
        ("life", "", "sd-life\n"),
        ("powercut", "", "nand-filesystems\nown-nand.toml\n"),
        (
            "advise",
            "",
            "card-advise\nnand-advise\nnor-advise\nproduct-files\nproduct-start\nproduct-stream\n",
        ),
        (
            "run",
            "n",
            "nand-advise\nnand-filesystems\nnand-steps\nnand-wear\nnor-advise\nnor-write\n",
        ),
        ("run", "o", "own-nand.toml\n"),
        ("list keys", "o", "own-nand.toml\nos\n"),
    ] {
        let outcome = run_by("sh", script, scratch.path(), &[action, word]);
        let values = outcome
            .success()
            .lines()
            .filter(|line| !line.starts_with('-'))
            .fold(String::new(), |all, line| all + line + "\n");
        assert_eq!(values, offered, "{action} {word}");
    }
}

#[test]
fn commands_without_a_scenario_complete_to_their_keys_which_list_keys_shows() {
    for (line, offered) in [
        (&["os", "run", "a.elf", "--set", "board.core.da"][..], "board.core.data_cache=\n"),
        (
            &["os", "trace", "a.elf", "--set", "board.core.tlb_index=l"],
            "board.core.tlb_index=low\n",
        ),
        (&["os", "debug", "a.elf", "--set", "board.mem"], "board.memory.size=\n"),
        (&["sata", "console", "--set", "board.sata_host.lat"], "board.sata_host.latency=\n"),
        (&["list", "keys", "os", "--set", "board.core.clo"], "board.core.clock=\n"),
    ] {
        let first = completed("bash", line).lines().next().unwrap_or_default().to_owned() + "\n";
        assert_eq!(first, offered, "{line:?}");
    }
    // The keys are those of the drive on the line.
    let drive = ["sata", "console", "transcend-ts32gssd25s-m", "--set", "part.mapping.l"];
    assert_ne!(
        completed("bash", &drive),
        completed("bash", &["sata", "console", "--set", "part.mapping.l"])
    );
    for name in ["os", "sata-console"] {
        assert!(run(&["list", "keys", name]).success().contains("Keys of the command"), "{name}");
    }
}

/// Words are shown as the shell passes them to a command, after it has completed them on a terminal.
#[test]
fn words_with_spaces_and_quotes_are_completed_on_a_terminal() {
    for (shell, start, setup) in [
        ("bash", "bash --noprofile --rcfile setup -i", "complete -o bashdefault -F _boardlab show"),
        ("zsh", "env ZDOTDIR=. zsh -d -i", "compdef _boardlab show"),
        (
            "fish",
            "fish --no-config -i -C \"source setup\"",
            "complete --keep-order --exclusive --command show --arguments \"(_boardlab)\"",
        ),
    ] {
        let has = run_by("sh", &format!("command -v {shell}"), Scratch::new().path(), &[]);
        if has.status != 0 {
            eprintln!("skipped: needs {shell}");
            continue;
        }
        let scratch = Scratch::new();
        for name in ["my file", "it's $5", "a*b", "c@d:e"] {
            scratch.write(name, "");
        }
        std::fs::create_dir(scratch.path().join("my-dir s")).unwrap();
        scratch.write("my-dir s/in side", "");
        let show = match shell {
            "fish" => "function show; printf \"<%s>\" $argv; echo; end",
            "zsh" => {
                "autoload -U compinit; compinit -u -D; show() { printf \"<%s>\" \"$@\"; echo; }"
            }
            _ => "show() { printf \"<%s>\" \"$@\"; echo; }",
        };
        scratch.write("setup", format!("{show}\nsource script\n{setup}\n"));
        let typed = [
            (r"image info my\ fi", "<image><info><my file>"),
            ("image info \"my fi", "<image><info><my file>"),
            ("image info 'my fi", "<image><info><my file>"),
            ("image info it", "<image><info><it's $5>"),
            ("image info \"it", "<image><info><it's $5>"),
            ("image info ~/it", "<image><info><HOME/it's $5>"),
            ("image info a", "<image><info><a*b>"),
            ("image info c@", "<image><info><c@d:e>"),
            ("image info \"my-d\tin", "<image><info><my-dir s/in side>"),
            (r"image info my-dir\ s/i", "<image><info><my-dir s/in side>"),
            ("run nor-write --set linux.wait=tu", "<run><nor-write><--set><linux.wait=tuned>"),
            ("run nor-write --set \"linux.w\ttu", "<run><nor-write><--set><linux.wait=tuned>"),
        ];
        let lines: String = typed.iter().map(|(line, _)| format!("show {line}\t\n")).collect();
        scratch.write("typed", format!("{lines}exit\n"));
        let script = format!(
            "ln -s \"$0\" boardlab; cp setup .zshrc; ./boardlab completions {shell} > script
            export PATH=\"$PWD:$PATH\" TERM=dumb LC_ALL=C.UTF-8 HOME=\"$PWD\"
            script -qec '{start}' /dev/null < typed | grep -a '^<' | tr -d '\\r' | sed \"s|$PWD|HOME|\""
        );
        let shown = run_by("sh", &script, scratch.path(), &[]).success();
        let expected: Vec<_> = typed.iter().map(|(_, shown)| *shown).collect();
        assert_eq!(shown.lines().collect::<Vec<_>>(), expected, "{shell}");
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
    for (shell, name) in
        [("bash", "boardlab.bash"), ("fish", "boardlab.fish"), ("zsh", "_boardlab")]
    {
        assert_eq!(scratch.names(shell), [name], "the packages of setup/dist.sh take this name");
    }
}

/// How an option of a command shows.
enum Shows {
    /// Both arguments end well, and standard output, standard error or the folder differs.
    Differs(&'static [&'static str], &'static [&'static str]),
    /// It is refused as one without effect.
    Refused(&'static [&'static str]),
    /// This test shows it.
    Test(&'static str),
}

use Shows::{Differs, Refused, Test};

/// Mounts images, and applies what was changed.
const MOUNTS: &str = "crates/cli/tests/mount/mod.rs";
const IMAGES: &str = "crates/cli/tests/bad_input/image.rs";
/// Holds that the limits of an image are kept.
const LIMITS: &str = "crates/cli/tests/image.rs";
/// Holds that the volume that was asked for is read.
const VOLUMES: &str = "crates/image/tests/ubi.rs";
/// Holds that the commit that was asked for is shown.
const COMMITS: &str = "crates/image/tests/older/mod.rs";
/// Holds that the older state of YAFFS that was asked for is shown.
const PAST: &str = "crates/image/tests/yaffs2/past.rs";
/// Holds that the bytes of a volume are written.
const RAW: &str = "crates/cli/tests/volumes.rs";
/// Holds what is made of a folder or an .ini with each option.
const MAKE: &str = "crates/image/tests/make.rs";
/// Holds what is made of a folder with each place of the tags and both byte orders.
const MADE: &str = "crates/image/tests/yaffs2/made.rs";
/// Holds what is done with the files of an image as a whole.
const TREES: &str = "crates/cli/tests/trees.rs";
/// Holds what JFFS2 is made of a folder with each option.
const CREATED: &str = "crates/image/tests/created/jffs2.rs";
/// Holds what a check finds.
const CHECK: &str = "crates/image/tests/check.rs";
/// Holds that a layout and a code are taken, or refused with what was found.
const LAYOUTS: &str = "crates/image/tests/layouts.rs";
/// Holds what is found by looking.
const LOOKS: &str = "crates/cli/tests/looks.rs";
const OS: &str = "crates/cli/tests/os";
/// Holds what each option of an advice stands for.
const ADVISE: &str = "crates/cli/tests/advise.rs";
/// Holds how measurements are made and read.
const MEASURE: &str = "crates/cli/tests/measure";
const NOR: [&str; 5] = ["run", "nor-write", "--set", "workload.bytes=4KiB", "--no-wall-time"];

/// Options that a command may have nothing to do for: it is quiet, without colours and without a time already.
/// `--json` is [`json_is_the_form_json`]'s.
const SATISFIED: [&str; 6] = ["quiet", "no-quiet", "no-wall-time", "color", "json", "no-pager"];

/// Every option of every command, but [`SATISFIED`] ones; of those the commands that follow them.
#[rustfmt::skip]
const OPTIONS: &[(&str, &str, Shows)] = &[
    ("list", "format", Differs(&["list"], &["list", "--format", "csv"])),
    ("list", "out", Differs(&["list"], &["list", "--out", "o"])),
    ("list", "seed", Refused(&["list", "--seed", "2"])),
    ("list", "color", Differs(&["list"], &["list", "--color", "always"])),
    ("list", "quiet", Differs(&["list", "--out", "o"], &["list", "--out", "o", "--quiet"])),
    ("list parts", "format", Differs(&["list", "parts"], &["list", "parts", "--format", "csv"])),
    ("list parts", "out", Differs(&["list", "parts"], &["list", "parts", "--out", "o"])),
    ("list parts", "seed", Refused(&["list", "parts", "--seed", "2"])),
    ("list boards", "format", Differs(&["list", "boards"], &["list", "boards", "--format", "csv"])),
    ("list boards", "out", Differs(&["list", "boards"], &["list", "boards", "--out", "o"])),
    ("list boards", "seed", Refused(&["list", "boards", "--seed", "2"])),
    ("list scenarios", "format", Differs(&["list", "scenarios"], &["list", "scenarios", "--format", "csv"])),
    ("list scenarios", "out", Differs(&["list", "scenarios"], &["list", "scenarios", "--out", "o"])),
    ("list scenarios", "seed", Refused(&["list", "scenarios", "--seed", "2"])),
    ("list keys", "format", Differs(&["list", "keys", "nor-write"], &["list", "keys", "nor-write", "--format", "csv"])),
    ("list keys", "out", Differs(&["list", "keys", "nor-write"], &["list", "keys", "nor-write", "--out", "o"])),
    ("list keys", "seed", Refused(&["list", "keys", "nor-write", "--seed", "2"])),
    ("list keys", "set", Differs(&["list", "keys", "nor-write"], &["list", "keys", "nor-write", "--set", "part=s29gl01gs"])),
    ("explain", "format", Differs(&["explain", "GC"], &["explain", "GC", "--format", "csv"])),
    ("explain", "out", Differs(&["explain", "GC"], &["explain", "GC", "--out", "o"])),
    ("explain", "seed", Refused(&["explain", "GC", "--seed", "2"])),
    ("doctor", "format", Differs(&["doctor"], &["doctor", "--format", "csv"])),
    ("doctor", "out", Differs(&["doctor"], &["doctor", "--out", "o"])),
    ("doctor", "seed", Refused(&["doctor", "--seed", "2"])),
    ("run", "format", Differs(&NOR, &["run", "nor-write", "--set", "workload.bytes=4KiB", "--no-wall-time", "--format", "json"])),
    ("run", "out", Differs(&NOR, &["run", "nor-write", "--set", "workload.bytes=4KiB", "--no-wall-time", "--out", "o"])),
    ("run", "seed", Differs(&NOR, &["run", "nor-write", "--set", "workload.bytes=4KiB", "--no-wall-time", "--seed", "2"])),
    ("run", "no-wall-time", Differs(&NOR, &["run", "nor-write", "--set", "workload.bytes=4KiB"])),
    ("run", "set", Differs(&NOR, &["run", "nor-write", "--set", "workload.bytes=8KiB", "--no-wall-time"])),
    ("run", "on", Test(MEASURE)),
    ("run", "destroy", Test(MEASURE)),
    ("run", "destroy-data", Test(MEASURE)),
    ("run", "max-cycles", Test(MEASURE)),
    ("run", "agent", Test(MEASURE)),
    ("reproduce", "format", Test("crates/cli/tests/results.rs")),
    ("reproduce", "out", Test("crates/cli/tests/results.rs")),
    ("reproduce", "seed", Test("crates/lab/tests/verdicts.rs")),
    ("reproduce", "full", Differs(&["reproduce", "nor", "--no-wall-time"], &["reproduce", "nor", "--no-wall-time", "--full"])),
    ("reproduce", "no-full", Test("crates/cli/tests/defaults.rs")),
    ("report", "full", Test("crates/report/tests/renders_text.rs")),
    ("report", "no-full", Test("crates/cli/tests/defaults.rs")),
    ("tune", "format", Test("crates/cli/tests/results.rs")),
    ("tune", "out", Test("crates/cli/tests/results.rs")),
    ("tune", "seed", Test("crates/lab/tests/nor.rs")),
    ("tune", "set", Test("crates/lab/tests/keys/mod.rs")),
    ("life", "format", Test("crates/cli/tests/results.rs")),
    ("life", "out", Test("crates/cli/tests/results.rs")),
    ("life", "seed", Test("crates/lab/tests/life.rs")),
    ("life", "set", Test("crates/lab/tests/keys/mod.rs")),
    ("powercut", "format", Test("crates/cli/tests/results.rs")),
    ("powercut", "out", Test("crates/cli/tests/results.rs")),
    ("powercut", "seed", Test("crates/lab/tests/nandfs.rs")),
    ("powercut", "set", Test("crates/lab/tests/keys/mod.rs")),
    ("advise", "format", Test("crates/cli/tests/results.rs")),
    ("advise", "out", Test("crates/cli/tests/results.rs")),
    ("advise", "seed", Test(ADVISE)),
    ("advise", "part", Test(ADVISE)),
    ("advise", "board", Test(ADVISE)),
    ("advise", "tree", Test(ADVISE)),
    ("advise", "level", Test(ADVISE)),
    ("advise", "boot", Test(ADVISE)),
    ("advise", "ram", Test(ADVISE)),
    ("advise", "life", Test(ADVISE)),
    ("advise", "writes", Test(ADVISE)),
    ("advise", "room", Test(ADVISE)),
    ("advise", "throughput", Test(ADVISE)),
    ("advise", "latency", Test(ADVISE)),
    ("advise", "mainline", Test(ADVISE)),
    ("advise", "power-cuts", Test(ADVISE)),
    ("advise", "set", Test("crates/lab/tests/keys/mod.rs")),
    ("sweep", "format", Test("crates/cli/tests/sweep.rs")),
    ("sweep", "out", Test("crates/cli/tests/sweep.rs")),
    ("sweep", "seed", Test("crates/cli/tests/sweep.rs")),
    ("sweep", "set", Test("crates/cli/tests/sweep.rs")),
    ("sweep", "grid", Test("crates/cli/tests/sweep.rs")),
    ("sweep", "cell", Test("crates/cli/tests/sweep.rs")),
    ("sweep", "threads", Test("crates/cli/tests/sweep.rs")),
    ("sweep", "restart", Refused(&["sweep", "nor-write", "--grid", "seed=1,2", "--restart"])),
    ("report", "format", Test("crates/cli/tests/results.rs")),
    ("report", "out", Test("crates/cli/tests/results.rs")),
    ("report", "seed", Refused(&["report", "a.json", "--seed", "2"])),
    ("compare", "format", Test("crates/cli/tests/results.rs")),
    ("compare", "out", Test("crates/cli/tests/results.rs")),
    ("compare", "seed", Refused(&["compare", "a.json", "b.json", "--seed=2"])),
    ("image info", "format", Test(IMAGES)),
    ("image info", "out", Test(IMAGES)),
    ("image info", "seed", Refused(&["image", "info", "a.bin", "--seed", "2"])),
    ("image info", "volume", Test(RAW)),
    ("image info", "blocks", Test(LOOKS)),
    ("image info", "page", Test(LOOKS)),
    ("image info", "oob", Test(LOOKS)),
    ("image info", "spare", Test(LAYOUTS)),
    ("image info", "ecc", Test(LAYOUTS)),
    ("image extract", "format", Test(IMAGES)),
    ("image extract", "out", Test(IMAGES)),
    ("image extract", "seed", Refused(&["image", "extract", "a.bin", "b", "--seed", "2"])),
    ("image extract", "page", Test(IMAGES)),
    ("image extract", "oob", Test(IMAGES)),
    ("image extract", "spare", Test(LAYOUTS)),
    ("image extract", "ecc", Test(LAYOUTS)),
    ("image extract", "block", Test(IMAGES)),
    ("image extract", "endian", Test(IMAGES)),
    ("image extract", "partial", Test(IMAGES)),
    ("image extract", "volume", Test(VOLUMES)),
    ("image extract", "commit", Test(COMMITS)),
    ("image extract", "as-of", Test(PAST)),
    ("image extract", "raw", Test(RAW)),
    ("image extract", "tar", Test(TREES)),
    ("image extract", "metadata", Test(TREES)),
    ("image extract", "deleted", Test(TREES)),
    ("image ls", "deleted", Test(TREES)),
    ("image extract", "max-names", Test(LIMITS)),
    ("image extract", "max-size", Test(LIMITS)),
    ("image ls", "format", Test(IMAGES)),
    ("image ls", "out", Test(IMAGES)),
    ("image ls", "seed", Refused(&["--seed", "2", "image", "ls", "a.bin"])),
    ("image ls", "page", Test(IMAGES)),
    ("image ls", "oob", Test(IMAGES)),
    ("image ls", "spare", Test(LAYOUTS)),
    ("image ls", "ecc", Test(LAYOUTS)),
    ("image ls", "block", Test(IMAGES)),
    ("image ls", "endian", Test(IMAGES)),
    ("image ls", "partial", Test(IMAGES)),
    ("image ls", "volume", Test(VOLUMES)),
    ("image ls", "commit", Test(COMMITS)),
    ("image ls", "as-of", Test(PAST)),
    ("image ls", "max-names", Test(LIMITS)),
    ("image mount", "format", Refused(&["image", "mount", "a.bin", "m", "--format", "csv"])),
    ("image mount", "out", Refused(&["image", "mount", "a.bin", "m", "--out", "o"])),
    ("image mount", "seed", Refused(&["image", "mount", "a.bin", "m", "--seed", "2"])),
    ("image mount", "rw", Test(MOUNTS)),
    ("image mount", "apply", Test(MOUNTS)),
    ("image mount", "page", Test(IMAGES)),
    ("image mount", "oob", Test(IMAGES)),
    ("image mount", "spare", Test(LAYOUTS)),
    ("image mount", "ecc", Test(LAYOUTS)),
    ("image mount", "block", Test(IMAGES)),
    ("image mount", "endian", Test(IMAGES)),
    ("image mount", "partial", Test(IMAGES)),
    ("image mount", "volume", Test(VOLUMES)),
    ("image mount", "commit", Test(COMMITS)),
    ("image mount", "as-of", Test(PAST)),
    ("image apply", "format", Test(MOUNTS)),
    ("image apply", "out", Test(MOUNTS)),
    ("image apply", "output", Test(MOUNTS)),
    ("image apply", "seed", Refused(&["image", "apply", "a.bin", "--seed", "2"])),
    ("image check", "format", Test(LIMITS)),
    ("image check", "out", Test(LIMITS)),
    ("image check", "seed", Refused(&["image", "check", "a.bin", "--seed", "2"])),
    ("image check", "page", Test(LIMITS)),
    ("image check", "oob", Test(LIMITS)),
    ("image check", "spare", Test(LAYOUTS)),
    ("image check", "ecc", Test(LAYOUTS)),
    ("image check", "endian", Test(LIMITS)),
    ("image check", "block", Test(CHECK)),
    ("image check", "partial", Test(CHECK)),
    ("image check", "volume", Test(CHECK)),
    ("image check", "repair", Test(TREES)),
    ("image create", "format", Test(LIMITS)),
    ("image create", "out", Test(LIMITS)),
    ("image create", "seed", Test(MAKE)),
    ("image create", "tar", Test(TREES)),
    ("image create", "metadata", Test(TREES)),
    ("image create", "page", Test(MAKE)),
    ("image create", "block", Test(MAKE)),
    ("image create", "sub-page", Test(MAKE)),
    ("image create", "vid-offset", Test(MAKE)),
    ("image create", "erase-counter", Test(MAKE)),
    ("image create", "image-seq", Test(MAKE)),
    ("image create", "oob", Test(MAKE)),
    ("image create", "ecc", Test(MAKE)),
    ("image create", "fs", Test(MAKE)),
    ("image create", "tags", Test(MADE)),
    ("image create", "big-endian", Test(MADE)),
    ("image create", "max-blocks", Test(MAKE)),
    ("image create", "compression", Test(MAKE)),
    ("image create", "volume-name", Test(MAKE)),
    ("image create", "volume-only", Test(MAKE)),
    ("image create", "fix-up", Test(MAKE)),
    ("image create", "squash-uids", Test(MAKE)),
    ("image create", "squash-perms", Test(CREATED)),
    ("image create", "summary", Test(CREATED)),
    ("image create", "no-cleanmarkers", Test(CREATED)),
    ("image create", "devtable", Test("crates/image/tests/created/devices.rs")),
    ("image create", "pad", Test("crates/image/tests/created/placing.rs")),
    ("image create", "bad-blocks", Test("crates/image/tests/created/placing.rs")),
    ("image convert", "format", Test(TREES)),
    ("image convert", "out", Test(TREES)),
    ("image convert", "from-page", Test(TREES)),
    ("image convert", "from-oob", Test(TREES)),
    ("image convert", "from-block", Test(TREES)),
    ("image convert", "from-endian", Test(TREES)),
    ("image convert", "from-volume", Test(TREES)),
    ("image convert", "from-commit", Test(TREES)),
    ("image convert", "from-as-of", Test(TREES)),
    ("image convert", "from-partial", Test(TREES)),
    ("image convert", "max-names", Test(TREES)),
    ("image convert", "seed", Test(TREES)),
    ("image convert", "correct", Test(TREES)),
    ("image convert", "strip", Test(TREES)),
    ("image convert", "protect", Test(TREES)),
    ("image convert", "page", Test(MAKE)),
    ("image convert", "block", Test(MAKE)),
    ("image convert", "sub-page", Test(MAKE)),
    ("image convert", "vid-offset", Test(MAKE)),
    ("image convert", "erase-counter", Test(MAKE)),
    ("image convert", "image-seq", Test(MAKE)),
    ("image convert", "oob", Test(MAKE)),
    ("image convert", "from-spare", Test(LAYOUTS)),
    ("image convert", "from-ecc", Test(LAYOUTS)),
    ("image convert", "ecc", Test(MAKE)),
    ("image convert", "fs", Test(TREES)),
    ("image convert", "tags", Test(MADE)),
    ("image convert", "big-endian", Test(MADE)),
    ("image convert", "max-blocks", Test(MAKE)),
    ("image convert", "compression", Test(MAKE)),
    ("image convert", "volume-name", Test(MAKE)),
    ("image convert", "volume-only", Test(MAKE)),
    ("image convert", "fix-up", Test(MAKE)),
    ("image convert", "squash-uids", Test(MAKE)),
    ("image convert", "squash-perms", Test(CREATED)),
    ("image convert", "summary", Test(CREATED)),
    ("image convert", "no-cleanmarkers", Test(CREATED)),
    ("image convert", "devtable", Test("crates/image/tests/created/devices.rs")),
    ("image convert", "pad", Test("crates/image/tests/created/placing.rs")),
    ("image convert", "bad-blocks", Test("crates/image/tests/created/placing.rs")),
    ("image diff", "format", Test(TREES)),
    ("image diff", "out", Test(TREES)),
    ("image diff", "seed", Refused(&["image", "diff", "a.bin", "b.bin", "--seed", "2"])),
    ("image diff", "page", Test(TREES)),
    ("image diff", "oob", Test(TREES)),
    ("image diff", "spare", Test(LAYOUTS)),
    ("image diff", "ecc", Test(LAYOUTS)),
    ("image diff", "block", Test(TREES)),
    ("image diff", "endian", Test(TREES)),
    ("image diff", "partial", Test(TREES)),
    ("image diff", "volume", Test(TREES)),
    ("image diff", "commit", Test(TREES)),
    ("image diff", "as-of", Test(TREES)),
    ("image diff", "max-names", Test(TREES)),
    ("image cat", "format", Refused(&["image", "cat", "a.bin", "x", "--format", "json"])),
    ("image cat", "out", Refused(&["image", "cat", "a.bin", "x", "--out", "o"])),
    ("image cat", "seed", Refused(&["image", "cat", "a.bin", "x", "--seed", "2"])),
    ("image cat", "page", Test(TREES)),
    ("image cat", "oob", Test(TREES)),
    ("image cat", "spare", Test(LAYOUTS)),
    ("image cat", "ecc", Test(LAYOUTS)),
    ("image cat", "block", Test(TREES)),
    ("image cat", "endian", Test(TREES)),
    ("image cat", "partial", Test(TREES)),
    ("image cat", "volume", Test(TREES)),
    ("image cat", "commit", Test(TREES)),
    ("image cat", "as-of", Test(TREES)),
    ("image cat", "max-size", Test(TREES)),
    ("image stat", "format", Test(TREES)),
    ("image stat", "out", Test(TREES)),
    ("image stat", "seed", Refused(&["image", "stat", "a.bin", "x", "--seed", "2"])),
    ("image stat", "page", Test(TREES)),
    ("image stat", "oob", Test(TREES)),
    ("image stat", "spare", Test(LAYOUTS)),
    ("image stat", "ecc", Test(LAYOUTS)),
    ("image stat", "block", Test(TREES)),
    ("image stat", "endian", Test(TREES)),
    ("image stat", "partial", Test(TREES)),
    ("image stat", "volume", Test(TREES)),
    ("image stat", "commit", Test(TREES)),
    ("image stat", "as-of", Test(TREES)),
    ("measure plan", "format", Refused(&["measure", "plan", "nor-write", "--format", "json"])),
    ("measure plan", "out", Refused(&["measure", "plan", "nor-write", "--out", "o"])),
    ("measure plan", "seed", Test(MEASURE)),
    ("measure plan", "set", Test(MEASURE)),
    ("measure plan", "device", Test(MEASURE)),
    ("measure plan", "path", Test(MEASURE)),
    ("measure plan", "max-cycles", Test(MEASURE)),
    ("measure run", "format", Test(MEASURE)),
    ("measure run", "out", Test(MEASURE)),
    ("measure run", "seed", Refused(&["measure", "run", "p", "--save", "s", "--seed", "2"])),
    ("measure run", "over", Test(MEASURE)),
    ("measure run", "destroy", Test(MEASURE)),
    ("measure run", "destroy-data", Test(MEASURE)),
    ("measure run", "max-cycles", Test(MEASURE)),
    ("measure run", "agent", Test(MEASURE)),
    ("measure run", "save", Test(MEASURE)),
    ("measure read", "format", Test(MEASURE)),
    ("measure read", "out", Test(MEASURE)),
    ("measure read", "seed", Refused(&["measure", "read", "a", "--seed", "2"])),
    ("measure agent", "format", Refused(&["measure", "agent", "a", "--format", "json"])),
    ("measure agent", "out", Refused(&["measure", "agent", "a", "--out", "o"])),
    ("measure agent", "seed", Refused(&["measure", "agent", "a", "--seed", "2"])),
    ("sata console", "format", Test("crates/cli/tests/console.rs")),
    ("sata console", "out", Test("crates/cli/tests/console.rs")),
    ("sata console", "seed", Test("crates/lab/tests/sata_console.rs")),
    ("sata console", "set", Test("crates/lab/tests/sata_console.rs")),
    ("os run", "format", Test(OS)),
    ("os run", "out", Test(OS)),
    ("os run", "seed", Refused(&["os", "run", "a.elf", "--seed", "2"])),
    ("os trace", "format", Test(OS)),
    ("os trace", "out", Test(OS)),
    ("os trace", "seed", Refused(&["os", "trace", "a.elf", "--seed", "2"])),
    ("os debug", "format", Test(OS)),
    ("os debug", "out", Test(OS)),
    ("os debug", "seed", Refused(&["os", "debug", "a.elf", "--seed", "2"])),
    ("completions", "format", Refused(&["completions", "bash", "--format", "json"])),
    ("completions", "out", Test("completions_can_be_written_under_the_name_that_the_shell_expects")),
    ("completions", "seed", Refused(&["completions", "bash", "--seed", "2"])),
    ("man", "format", Refused(&["man", "--format", "json"])),
    ("man", "out", Test("every_command_has_a_man_page")),
    ("man", "seed", Refused(&["man", "--seed", "2"])),
];

/// The options in the help of a command or an action.
fn options(path: &str) -> Vec<String> {
    let arguments: Vec<&str> = path.split(' ').chain(["--help"]).collect();
    let help = run(&arguments).success();
    let options = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let name = |line: &str| line.split([' ', '[', '.']).next().unwrap_or_default().to_owned();
    options.map(name).filter(|name| name != "help" && name != "version").collect()
}

#[test]
fn every_option_of_every_command_shows_or_is_refused() {
    let with_actions = [
        ("image", "info ls cat stat extract check diff create convert mount apply"),
        ("measure", "plan run read agent"),
        ("sata", "console"),
        ("os", "run trace debug"),
    ];
    let listed = ["parts", "boards", "scenarios", "keys"].map(|topic| format!("list {topic}"));
    let mut paths = Vec::from(listed);
    for command in commands() {
        match with_actions.iter().find(|(name, _)| *name == command) {
            Some((_, actions)) => {
                paths.extend(actions.split(' ').map(|action| format!("{command} {action}")));
            }
            None => paths.push(command),
        }
    }
    for path in paths {
        for option in options(&path) {
            let listed = OPTIONS.iter().any(|(of, name, _)| *of == path && *name == option);
            // Options of the machine and its program alone are for the tests of `os`.
            let of_machine = path.starts_with("os ");
            assert!(
                listed || of_machine || SATISFIED.contains(&option.as_str()),
                "boardlab {path} --{option}: say in OPTIONS how it shows"
            );
        }
    }
}

#[test]
fn options_differ_or_are_refused_as_listed() {
    for (path, option, shows) in OPTIONS {
        match shows {
            Differs(without, with) => {
                let [without, with] = [without, with].map(|arguments| {
                    let scratch = Scratch::new();
                    let outcome = run_in(scratch.path(), arguments);
                    assert_eq!(outcome.status, 0, "{arguments:?}: {}", outcome.stderr);
                    (outcome.stdout, outcome.stderr, scratch.path().join("o").exists())
                });
                assert_ne!(without, with, "boardlab {path} --{option}");
            }
            Refused(arguments) => {
                let outcome = run(arguments);
                assert_eq!(outcome.status, 2, "{arguments:?}: {}", outcome.stderr);
                let says = format!("`--{option}` has no effect on `boardlab {path}`: ");
                assert!(outcome.stderr.contains(&says), "{arguments:?}: {}", outcome.stderr);
            }
            Test(name) if name.contains('/') => {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
                assert!(root.join(name).exists(), "boardlab {path} --{option}: {name}");
            }
            Test(name) => assert!(include_str!("definitions.rs").contains(&format!("fn {name}"))),
        }
    }
}

#[test]
fn json_is_the_form_json() {
    for command in [&["list"][..], &NOR, &["list", "keys", "nor-write"], &["explain", "GC"]] {
        let short = run(&[command, &["--json"]].concat()).success();
        assert_eq!(short, run(&[command, &["--format", "json"]].concat()).success());
    }
    let both = run(&["list", "--json", "--format", "json"]);
    assert!(both.status == 2 && both.stderr.contains("cannot be used with"), "{}", both.stderr);
    for without in [&["man"][..], &["completions", "bash"]] {
        let refused = run(&[without, &["--json"]].concat());
        assert!(refused.stderr.contains("`--json` has no effect"), "{}", refused.stderr);
    }
}

#[test]
fn full_is_refused_where_the_form_is_always_whole() {
    for option in ["--full", "--no-full"] {
        let outcome = run(&["reproduce", "nor", option, "--format", "json"]);
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
        let says = format!("`{option}` has no effect");
        assert!(outcome.stderr.contains(&says), "{}", outcome.stderr);
    }
}

#[test]
fn forms_of_fio_are_refused_before_a_run_that_has_none() {
    for command in
        [&["reproduce", "sdwear"][..], &["life", "sd-life"], &["list"], &["compare", "a", "b"]]
    {
        let outcome = run(&[command, &["--format", "fio-json"]].concat());
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("fio's own forms are for jobs of fio"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn forms_of_fio_are_refused_before_a_scenario_without_its_jobs_is_run() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-jobs-of-fio");
    let folder = folder.to_str().unwrap();
    for form in ["fio", "fio-json", "fio-terse"] {
        let outcome = run(&["run", "sata-ssd", "--format", form, "--out", folder]);
        assert_eq!(outcome.status, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("has no output of fio"), "{}", outcome.stderr);
        assert!(!Path::new(folder).exists(), "the run has saved something");
    }
}
