//! What `image` tells of damage and of what it leaves out, and the exit status.

use crate::bench::{Scratch, full, limited, run_by, run_in, spawn};
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

/// Arguments that make `board.ubi` of the folder `tree`.
const CREATE: [&str; 8] = [
    "image",
    "create",
    "tree",
    "board.ubi",
    "--page=2KiB",
    "--block=128KiB",
    "--max-blocks=64",
    "--json",
];

/// A folder `tree` of some files.
fn planted() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path().join("tree/etc")).unwrap();
    for number in 0..200_u32 {
        let text = format!("line {number} of a file\n").repeat(200);
        scratch.write(&format!("tree/etc/{number}"), text);
    }
    scratch.write("tree/board.jffs2", BOARD);
    scratch
}

#[test]
fn an_image_of_a_folder_is_listed_checked_and_written_out_again() {
    let scratch = planted();
    let told = run_in(scratch.path(), &CREATE).success();
    assert!(told.contains("\"file_count\""), "{told}");
    let checked = run_in(scratch.path(), &["image", "check", "board.ubi", "--json"]).success();
    assert!(checked.contains("\"no errors\""), "{checked}");
    run_in(scratch.path(), &["image", "extract", "board.ubi", "again"]).success();
    let trees = ["tree", "again"].map(|name| {
        let folder = scratch.path().join(name);
        let inside = |(path, content): (std::path::PathBuf, Vec<u8>)| {
            (path.strip_prefix(&folder).unwrap().to_path_buf(), content)
        };
        files(&folder).into_iter().map(inside).collect::<Vec<_>>()
    });
    assert!(trees[0].len() > 200 && trees[0] == trees[1]);
    let twice = run_in(scratch.path(), &CREATE);
    assert_eq!(twice.status, 2);
    assert!(twice.stderr.contains("`board.ubi` exists already"), "{}", twice.stderr);
}

#[test]
fn a_file_that_cannot_be_read_is_left_out_told_and_gives_status_one() {
    let scratch = planted();
    let script = "chmod 777 . && chmod 000 tree/etc/7 && \
        if [ $(id -u) = 0 ]; then exec setpriv --reuid=65534 --clear-groups \"$0\" \"$@\"; fi; exec \"$0\" \"$@\"";
    let outcome = run_by("sh", script, scratch.path(), &CREATE);
    if outcome.status == 127 {
        eprintln!("skipped: needs setpriv, or a user who is not root");
        return;
    }
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("/etc/7"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("cannot be read: permission denied"), "{}", outcome.stdout);
    let listed = run_in(scratch.path(), &["image", "ls", "board.ubi", "/etc/8"]);
    assert!(listed.success().contains("/etc/8"));
    let left_out = run_in(scratch.path(), &["image", "ls", "board.ubi", "/etc/7"]);
    assert_eq!(left_out.status, 2);
}

#[test]
fn a_full_disk_leaves_no_image_and_is_told() {
    let scratch = planted();
    let outcome = limited(64, scratch.path(), &CREATE);
    assert_eq!(outcome.status, 1, "{}", outcome.stdout);
    assert!(
        outcome.stderr.contains("cannot write `board.ubi`: file too large"),
        "{}",
        outcome.stderr
    );
    assert_eq!(scratch.names(""), ["tree"]);
}

#[test]
fn a_kill_at_any_instant_leaves_the_whole_image_or_none() {
    let scratch = planted();
    let out = scratch.path().join("board.ubi");
    let start = Instant::now();
    run_in(scratch.path(), &CREATE).success();
    let took = start.elapsed();
    let whole = fs::read(&out).unwrap();
    let mut instants = Seed::new(6).stream("kills");
    let mut counts = [0; 2];
    let least = if full() { 300 } else { 30 };
    for round in 0.. {
        if round >= least && counts.iter().all(|count| *count > 0) {
            break;
        }
        assert!(round < 2_000, "none, whole: {counts:?}");
        drop(fs::remove_file(&out));
        let mut child = spawn(scratch.path(), &CREATE);
        thread::sleep(took * u32::try_from(instants.below(120)).unwrap() / 100);
        child.kill().unwrap();
        child.wait().unwrap();
        counts[usize::from(out.exists())] += 1;
        assert!(!out.exists() || fs::read(&out).unwrap() == whole);
    }
    // What a killed one has left is removed by the next.
    drop(fs::remove_file(&out));
    run_in(scratch.path(), &CREATE).success();
    assert_eq!(scratch.names(""), ["board.ubi", "tree"]);
}

#[test]
fn a_check_takes_what_is_known_of_the_flash_and_saves_its_result() {
    let scratch = Scratch::new();
    scratch.write("board.jffs2", BOARD);
    let mut damaged = BOARD.to_vec();
    damaged[second_node() + 70] ^= 1;
    scratch.write("damaged.jffs2", damaged);
    for known in ["--endian=little", "--page=1MiB", "--oob=64"] {
        let arguments = ["image", "check", "board.jffs2", known];
        assert_eq!(run_in(scratch.path(), &arguments).status, 2, "{known}");
    }
    let arguments = ["image", "check", "damaged.jffs2", "--out", "saved"];
    let outcome = run_in(scratch.path(), &arguments);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("data with a wrong"), "{}", outcome.stdout);
    assert!(scratch.read("saved/result.json").contains("\"findings\""));
    assert!(
        run_in(scratch.path(), &["image", "check", "board.jffs2"]).success().contains("no errors")
    );
}

/// Arguments that make an image of the folder `tree` with each filesystem.
const FILESYSTEMS: [(&str, &[&str]); 5] = [
    ("ubifs", &["--page=2KiB", "--block=128KiB", "--max-blocks=64", "--fs=ubifs"]),
    ("jffs2", &["--page=2KiB", "--oob=64", "--block=128KiB", "--fs=jffs2"]),
    ("nor", &["--page=1", "--block=64KiB", "--fs=jffs2", "--summary", "--big-endian"]),
    ("yaffs2", &["--page=2KiB", "--oob=64", "--block=128KiB", "--fs=yaffs2"]),
    ("logfs", &["--page=2KiB", "--block=128KiB", "--max-blocks=64", "--fs=logfs"]),
];

#[test]
fn the_latest_time_holds_for_every_filesystem_and_gives_the_same_bytes() {
    let scratch = planted();
    let script = "SOURCE_DATE_EPOCH=86400 exec \"$0\" \"$@\"";
    scratch.write("devices", "/dev d 755 0 0\n/dev/null c 666 0 0 1 3\n");
    for (name, options) in FILESYSTEMS {
        let [first, second] = ["first", "second"].map(|which| {
            // Both folders are new, and so are all of their times.
            fs::rename(scratch.path().join("tree"), scratch.path().join("old")).unwrap();
            fs::create_dir_all(scratch.path().join("tree/etc")).unwrap();
            for number in 0..200_u32 {
                let text = fs::read(scratch.path().join(format!("old/etc/{number}"))).unwrap();
                scratch.write(&format!("tree/etc/{number}"), text);
            }
            scratch.write("tree/board.jffs2", BOARD);
            fs::remove_dir_all(scratch.path().join("old")).unwrap();
            let image = format!("{name}.{which}");
            let fixed = ["image", "create", "tree", &image, "-D", "devices"];
            run_by("sh", script, scratch.path(), &[&fixed[..], options].concat()).success();
            image
        });
        for path in ["/etc/1", "/dev/null"] {
            let listed = run_in(scratch.path(), &["image", "ls", &first, path]).success();
            assert!(listed.contains("1970-01-02 00:00:00"), "{name}: {listed}");
        }
        let [first, second] =
            [first, second].map(|image| fs::read(scratch.path().join(image)).unwrap());
        assert!(first == second, "{name}");
    }
}

#[test]
fn a_jffs2_with_devices_around_bad_blocks_is_listed_and_checked() {
    let scratch = planted();
    scratch.write("devices", "/dev d 755 0 0\n/dev/mtd c 640 0 6 90 0 0 2 4\n");
    scratch.write("bad", "# of this board\n0\n2 3\n");
    let arguments = [
        "image",
        "create",
        "tree",
        "board.jffs2",
        "--fs=jffs2",
        "--page=2KiB",
        "--oob=64",
        "--block=128KiB",
        "-D",
        "devices",
        "--pad=2MiB",
        "--bad-blocks=@bad",
        "--json",
    ];
    let made = run_in(scratch.path(), &arguments).success();
    assert!(made.contains("\"bad_block_count\""), "{made}");
    let length = fs::metadata(scratch.path().join("board.jffs2")).unwrap().len();
    assert_eq!(length, 16 * 64 * 2_112);
    let listed = run_in(scratch.path(), &["image", "ls", "board.jffs2", "/dev/mtd3"]).success();
    assert!(listed.contains("90:6"), "{listed}");
    let checked = run_in(scratch.path(), &["image", "check", "board.jffs2"]).success();
    assert!(checked.contains("no errors"), "{checked}");
    let told = run_in(scratch.path(), &["image", "info", "board.jffs2"]).success();
    assert!(told.contains("2 KiB") && told.contains("jffs2"), "{told}");
}

#[test]
fn the_latest_time_of_files_comes_from_the_environment() {
    let scratch = planted();
    let script = "SOURCE_DATE_EPOCH=86400 exec \"$0\" \"$@\"";
    run_by("sh", script, scratch.path(), &CREATE).success();
    let listed = run_in(scratch.path(), &["image", "ls", "board.ubi", "/etc/1"]).success();
    assert!(listed.contains("1970-01-02 00:00:00"), "{listed}");
    let script = "SOURCE_DATE_EPOCH=never exec \"$0\" \"$@\"";
    let arguments = [&CREATE[..3], &["other.ubi"], &CREATE[4..]].concat();
    let wrong = run_by("sh", script, scratch.path(), &arguments);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("SOURCE_DATE_EPOCH `never` does not fit"), "{}", wrong.stderr);
}
