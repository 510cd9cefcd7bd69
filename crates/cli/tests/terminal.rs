//! Output on a terminal: its width, the pager, and what `--quiet` leaves.

use crate::bench::{Outcome, Scratch, run_by};

/// Runs `boardlab` on a pseudo-terminal of 24 rows and `columns`, with `set` of its variables.
fn on_terminal(columns: u32, set: &str, arguments: &[&str]) -> Outcome {
    let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "export PROGRAM=\"$0\"; script -qec 'stty rows 24 cols {columns}; {set} exec \"$PROGRAM\" {}' /dev/null",
        words.join(" ").replace('\'', "\"")
    );
    run_by("sh", &script, Scratch::new().path(), arguments)
}

/// A pager that marks each line.
const MARKING: &str = "TERM=xterm PAGER=\"sed s/^/paged:/\"";

#[test]
fn what_is_taller_than_the_terminal_is_paged() {
    let tall = on_terminal(80, MARKING, &["list"]).success();
    assert!(tall.lines().all(|line| line.starts_with("paged:")) && tall.lines().count() > 24);
    let short = on_terminal(80, MARKING, &["list", "boards"]).success();
    assert!(!short.contains("paged:"), "{short}");
}

#[test]
fn nothing_is_paged_where_nobody_wants_it() {
    for set in [
        "TERM=dumb PAGER=\"sed s/^/paged:/\"",
        "TERM=xterm PAGER=\"sed s/^/paged:/\" BOARDLAB_PAGER=",
        "TERM=xterm PAGER=cat",
    ] {
        let text = on_terminal(80, set, &["list"]).success();
        assert!(!text.contains("paged:") && text.contains("w25n01gv"), "{set}: {text}");
    }
    for option in ["--no-pager", "--quiet"] {
        let text = on_terminal(80, MARKING, &["list", option]).success();
        assert!(!text.contains("paged:") && text.contains("w25n01gv"), "{option}: {text}");
    }
    // A pipe is no terminal.
    let script = "PAGER='sed s/^/paged:/' \"$0\" \"$@\" | cat";
    let piped = run_by("sh", script, Scratch::new().path(), &["list"]).success();
    assert!(!piped.contains("paged:"), "{piped}");
}

#[test]
fn a_pager_that_is_missing_or_fails_costs_no_text() {
    for pager in ["none-such", "false", "exit 3", "kill -9 \\$\\$"] {
        let text = on_terminal(80, &format!("TERM=xterm PAGER=\"{pager}\""), &["list"]).success();
        assert!(text.contains("failed; --no-pager does without one"), "{pager}: {text}");
        assert!(text.contains("w25n01gv"), "{pager}: {text}");
    }
}

#[test]
fn a_user_who_leaves_the_pager_early_is_no_error() {
    let text = on_terminal(80, "TERM=xterm PAGER=\"head -n 1\"", &["list", "--full"]);
    assert_ne!(text.status, 0, "`list` has no --full: {}", text.stdout);
    let text = on_terminal(80, "TERM=xterm PAGER=\"head -n 1\"", &["list"]).success();
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn keys_paths_and_commands_are_whole_on_a_narrow_terminal() {
    let path = "a-folder-for-settings/config.toml";
    for columns in [60, 80] {
        let text = on_terminal(columns, "TERM=dumb", &["list", "keys", "nor-write"]).success();
        for key in [
            "improved.check_erased",
            "part.timing.buffer_program_max",
            "linux-6.1-status-register",
            "triangular(169.8 us, 202.9 us",
        ] {
            assert!(text.contains(key), "{key} on {columns} columns:\n{text}");
        }
        // Nothing is installed on an empty path, and the file of defaults is missing.
        let set = format!("TERM=dumb PATH= BOARDLAB_CONFIG={path}");
        let text = on_terminal(columns, &set, &["doctor"]).stdout;
        for words in [path, "`apt-get install gcc-arm-none-eabi`", "`os run --engine compiled`"] {
            assert!(text.contains(words), "{words} on {columns} columns:\n{text}");
        }
    }
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for columns in [60, 80, 120] {
        let list = &["list", "keys", "nor-write"][..];
        for arguments in [&[], list, &["doctor"], &["explain", "page"]] {
            let text = on_terminal(columns, "TERM=dumb NO_COLOR=1", arguments).success();
            let width = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(width <= columns as usize, "{arguments:?} on {columns}: {width}");
        }
    }
}

/// A text broken by hand would leave a few words alone on each second line.
#[test]
fn the_text_of_a_help_fills_its_lines() {
    for command in ["explain", "life", "powercut", "sweep"] {
        let text = on_terminal(70, "TERM=dumb", &["help", command]).success();
        let text = text.replace('\r', "");
        let last = text.split("\n\nExamples:").next().unwrap().rsplit("\n\n").next().unwrap();
        let lines: Vec<_> = last.lines().map(|line| line.trim_end().len()).collect();
        let (_, full) = lines.split_last().unwrap();
        assert!(full.len() > 1 && full.iter().all(|width| *width > 50), "{command}:\n{last}");
    }
}

#[test]
fn quiet_leaves_the_results() {
    let run = |more: &[&str]| {
        let arguments = [&["reproduce", "nor", "--no-wall-time"], more].concat();
        run_by("sh", "exec \"$0\" \"$@\"", Scratch::new().path(), &arguments)
    };
    let (all, quiet) = (run(&[]).success(), run(&["--quiet"]));
    assert_eq!(quiet.stderr, "");
    let note = all.find("\nLeft out:").expect("a text in brief says so");
    assert_eq!(quiet.success(), all[..note]);
}
