//! What `image` tells of damage and of what it leaves out, and the exit status.

use crate::bench::{Scratch, run_in};

/// An image of mkfs.jffs2 without spare bytes.
const BOARD: &[u8] = include_bytes!("../../image/tests/data/board.jffs2");

/// The second node of `/bin/busybox`, whose data begin 68 bytes later: bytes 4,096 and on.
fn second_node() -> usize {
    let is_one = |at: &usize| {
        let node = &BOARD[*at..];
        node.starts_with(&[0x19, 0x85, 0xE0, 0x02]) && node[44..48] == [0, 0, 0x10, 0]
    };
    (0..BOARD.len() - 68).step_by(4).find(is_one).unwrap()
}

#[test]
fn every_command_tells_damage_and_gives_status_one() {
    let (scratch, mut damaged) = (Scratch::new(), BOARD.to_vec());
    damaged[second_node() + 70] ^= 1;
    scratch.write("whole.jffs2", BOARD);
    scratch.write("damaged.jffs2", damaged);
    let commands: [&[&str]; 4] =
        [&["info"], &["ls"], &["ls", "/bin/busybox"], &["extract", "out", "/bin"]];
    for command in commands {
        for (image, status) in [("whole.jffs2", 0), ("damaged.jffs2", 1)] {
            let folder = format!("{status}-out");
            let rest = command[1..].iter().map(|word| if *word == "out" { &folder } else { *word });
            let fixed = ["--format", "json", "image", command[0], image];
            let arguments: Vec<_> = fixed.into_iter().chain(rest).collect();
            let outcome = run_in(scratch.path(), &arguments);
            assert_eq!(outcome.status, status, "{arguments:?}: {}", outcome.stdout);
            let told = outcome.stdout.contains("data with a wrong checksum, bytes 4096");
            assert_eq!(told, status == 1, "{arguments:?}: {}", outcome.stdout);
        }
    }
    // What is not touched is whole.
    let etc = run_in(scratch.path(), &["image", "ls", "damaged.jffs2", "/etc"]);
    assert_eq!(etc.status, 0, "{}", etc.stdout);
    let written = std::fs::read(scratch.path().join("1-out/busybox")).unwrap();
    assert_eq!(written.len(), 9_000);
}

#[test]
fn a_path_is_taken_as_it_is_shown_and_a_limit_is_told_with_its_option() {
    let scratch = Scratch::new();
    scratch.write("board.jffs2", BOARD);
    let motd = run_in(scratch.path(), &["image", "ls", "board.jffs2", "/etc/\\x6dot\\u{64}"]);
    assert!(motd.success().contains("/etc/motd"));
    let wrong = run_in(scratch.path(), &["image", "ls", "board.jffs2", "/etc\\motd"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("the backslash at byte 4 of the path"), "{}", wrong.stderr);
    for (limits, status) in [(["--max-names", "5"], 1), (["--max-names", "18"], 0)] {
        let fixed = ["--format", "json", "image", "ls", "board.jffs2"];
        let arguments = [&fixed[..], &limits].concat();
        let outcome = run_in(scratch.path(), &arguments);
        assert_eq!(outcome.status, status, "{}", outcome.stdout);
        assert_eq!(outcome.stdout.contains("with --max-names"), status == 1, "{}", outcome.stdout);
    }
    let fixed = ["--format", "json", "image", "extract", "board.jffs2", "out"];
    let arguments = [&fixed[..], &["--max-size", "4 KiB"]].concat();
    let outcome = run_in(scratch.path(), &arguments);
    assert_eq!(outcome.status, 1, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("--max-size raises it"), "{}", outcome.stdout);
}

#[test]
fn a_folder_of_an_interrupted_extraction_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    scratch.write("board.jffs2", BOARD);
    std::fs::create_dir(scratch.path().join("out")).unwrap();
    scratch.write("out/.boardlab-extract-unfinished", "");
    let outcome = run_in(scratch.path(), &["image", "extract", "board.jffs2", "out"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("did not come to its end"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("remove the folder"), "{}", outcome.stderr);
    let arguments = ["--format", "json", "image", "extract", "board.jffs2", "new"];
    let done = run_in(scratch.path(), &arguments).success();
    assert!(done.contains("a character device"), "{done}");
    assert!(!scratch.names("new").iter().any(|name| name.starts_with(".boardlab")));
}
