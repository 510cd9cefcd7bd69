//! The file of the user's defaults.

use crate::bench::{Outcome, Scratch, run_by};

/// Runs `boardlab` with `text` as the user's configuration.
fn with(text: &str, arguments: &[&str]) -> Outcome {
    let scratch = Scratch::new();
    scratch.write("config.toml", text);
    let script = "BOARDLAB_CONFIG=config.toml exec \"$0\" \"$@\"";
    run_by("sh", script, scratch.path(), arguments)
}

#[test]
fn a_default_holds_where_its_option_is_left_out() {
    let coloured = with("color = \"always\"", &["list", "boards"]).success();
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");
    let plain = with("color = \"always\"", &["list", "boards", "--color", "never"]).success();
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let full = with("full = true", &["reproduce", "nor"]).success();
    assert!(!full.contains("Left out:"), "{full}");
    let quiet = with("quiet = true", &["list", "boards", "--out", "r"]);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn a_default_is_undone_for_one_call() {
    let defaults = "full = true\nquiet = true";
    let undone = ["reproduce", "nor", "--out", "r", "--no-full", "--no-quiet"];
    let brief = with(defaults, &undone);
    assert!(
        brief.stdout.contains("Left out:") && brief.stderr.contains("r/index.html"),
        "{brief:?}"
    );
    let report = with(defaults, &[&undone[..4], &["--no-full"]].concat());
    assert!(!report.stdout.contains("what-if – "), "{report:?}");
    let both = with(defaults, &["--quiet", "list", "--no-quiet"]);
    assert!(both.status == 2 && both.stderr.contains("contradict"), "{both:?}");
    // The later one of two holds.
    let last = with(defaults, &[&undone[..], &["--quiet", "--full"]].concat());
    assert!(last.stdout.contains("what-if – ") && last.stderr.is_empty(), "{last:?}");
}

#[test]
fn the_file_is_found_in_the_home_of_the_user() {
    let scratch = Scratch::new();
    for folder in [".config/boardlab", "other/boardlab"] {
        std::fs::create_dir_all(scratch.path().join(folder)).unwrap();
    }
    scratch.write(".config/boardlab/config.toml", "color = \"always\"");
    scratch.write("other/boardlab/config.toml", "color = \"sometimes\"");
    let unset = "unset BOARDLAB_CONFIG XDG_CONFIG_HOME; ";
    for (change, status) in [
        ("HOME=$PWD", 0),
        ("HOME=$PWD XDG_CONFIG_HOME=$PWD/other", 2),
        ("HOME=$PWD/none", 0),
        ("HOME= XDG_CONFIG_HOME=", 0),
    ] {
        let script = format!("{unset}{change} exec \"$0\" \"$@\"");
        let outcome = run_by("sh", &script, scratch.path(), &["list", "boards"]);
        assert_eq!(outcome.status, status, "{change}: {}", outcome.stderr);
        assert_eq!(outcome.stdout.contains("\u{1b}[1m"), change == "HOME=$PWD", "{change}");
    }
}

#[test]
fn a_wrong_default_is_an_error_of_every_command_but_doctor() {
    let outcome = with("\ncolour = \"never\"", &["list"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("config.toml:2:1"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("color"), "{}", outcome.stderr);
    let doctor = with("\ncolour = \"never\"", &["doctor"]);
    assert_eq!(doctor.status, 1, "{}", doctor.stderr);
    let json = with("colour = \"never\"", &["doctor", "--json"]).stdout;
    assert!(json.contains("config.toml:1:1") && json.contains("broken"), "{json}");
    assert!(json.contains("did you mean `color`?"), "the hint: {json}");
    assert!(json.contains("`configuration` is broken: commands such as `boardlab list`"), "{json}");
    assert!(!json.contains("\\n"), "in one line: {json}");
    for arguments in [&["completions", "bash"][..], &[]] {
        with("colour = \"never\"", arguments).success();
    }
    // Whoever names a file means it.
    let missing = "BOARDLAB_CONFIG=none.toml exec \"$0\" \"$@\"";
    let outcome = run_by("sh", missing, Scratch::new().path(), &["list"]);
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("none.toml"), "{}", outcome.stderr);
}
