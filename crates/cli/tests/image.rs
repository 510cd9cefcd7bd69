//! What `image` tells of damage and of what it leaves out, and the exit status.

use crate::bench::{Scratch, full, limited, run_in, spawn};
use boardlab_sim::Seed;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

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
    let written = fs::read(scratch.path().join("1-out/busybox")).unwrap();
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
    fs::create_dir(scratch.path().join("out")).unwrap();
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

#[test]
fn a_file_for_which_the_disk_has_no_room_is_told_and_removed_and_the_others_are_written() {
    let scratch = Scratch::new();
    scratch.write("board.jffs2", BOARD);
    let outcome = limited(8, scratch.path(), &["image", "extract", "board.jffs2", "out"]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    let told = outcome.stdout.lines().find(|line| line.contains("/bin/busybox")).unwrap();
    assert!(told.contains("file too large"), "{told}");
    assert_eq!(scratch.names("out/bin").iter().find(|name| *name == "busybox"), None);
    assert_eq!(scratch.read("out/etc/motd"), "Welcome to the board.\n");
    assert!(!scratch.names("out").iter().any(|name| name.starts_with(".boardlab")));
}

/// Every file below `folder` with its content; of a link where it leads.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        if metadata.is_dir() {
            all.extend(files(&path));
        } else if metadata.is_symlink() {
            all.push((
                path.clone(),
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            ));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_kill_at_any_instant_leaves_all_files_or_a_folder_that_is_refused() {
    let scratch = Scratch::new();
    scratch.write("board.jffs2", BOARD);
    let arguments = ["image", "extract", "board.jffs2", "out"];
    let out = scratch.path().join("out");
    let start = Instant::now();
    run_in(scratch.path(), &arguments);
    let took = start.elapsed();
    let whole = files(&out);
    let mut instants = Seed::new(5).stream("kills");
    let mut counts = [0; 3];
    let least = if full() { 400 } else { 40 };
    for round in 0.. {
        if round >= least && counts.iter().all(|count| *count > 0) {
            break;
        }
        assert!(round < 2_000, "nothing yet, unfinished, whole: {counts:?}");
        fs::remove_dir_all(&out).unwrap();
        let mut child = spawn(scratch.path(), &arguments);
        thread::sleep(took * u32::try_from(instants.below(110)).unwrap() / 100);
        child.kill().unwrap();
        child.wait().unwrap();
        let begun = out.exists() && out.read_dir().unwrap().next().is_some();
        let unfinished = out.join(".boardlab-extract-unfinished").exists();
        counts[if !begun {
            0
        } else if unfinished {
            1
        } else {
            2
        }] += 1;
        let next = run_in(scratch.path(), &arguments);
        if !begun {
            assert_eq!(next.status, 0, "{}", next.stderr);
            continue;
        }
        assert_eq!(next.status, 2, "{}", next.stdout);
        assert_eq!(next.stderr.contains("did not come to its end"), unfinished, "{}", next.stderr);
        assert!(unfinished || files(&out) == whole);
    }
}
