//! What `image` does with all files of an image: archives, conversions, differences; and with one of them.

use crate::bench::{Scratch, run_by, run_in};
use std::fs;

/// An image of mkfs.jffs2 of a big-endian board, without spare bytes.
const BOARD: &[u8] = include_bytes!("../../image/tests/data/board.jffs2");

/// The flash of all new images.
const FLASH: [&str; 4] = ["--page=2KiB", "--block=128KiB", "--max-blocks=64", "--image-seq=1"];

fn board() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("board.jffs2", BOARD);
    scratch
}

#[test]
fn an_archive_of_an_image_is_an_image_again_through_files_and_pipes() {
    let scratch = board();
    let to_file = run_in(scratch.path(), &["image", "extract", "board.jffs2", "b.tar", "--tar"]);
    assert!(to_file.success().contains("devices and pipes"));
    let again = run_in(scratch.path(), &["image", "extract", "board.jffs2", "b.tar", "--tar"]);
    assert_eq!(again.status, 2, "{}", again.stderr);
    let part = run_in(scratch.path(), &["image", "extract", "board.jffs2", "-", "/etc", "--tar"]);
    assert!(part.stderr.contains("image-extract"), "the report goes beside: {}", part.stderr);
    assert!(part.success().contains("./motd"));
    let create = |input: &str, output: &str| {
        let arguments = [&["image", "create", "--tar", input, output], &FLASH[..]].concat();
        run_in(scratch.path(), &arguments)
    };
    create("b.tar", "file.ubi").success();
    let script = "cat b.tar | \"$0\" \"$@\"";
    let arguments = [&["image", "create", "--tar", "-", "pipe.ubi"], &FLASH[..]].concat();
    run_by("sh", script, scratch.path(), &arguments).success();
    let convert = ["image", "convert", "board.jffs2", "converted.ubi", "--fs", "ubifs"];
    run_in(scratch.path(), &[&convert[..], &FLASH].concat()).success();
    let read = |name: &str| fs::read(scratch.path().join(name)).unwrap();
    assert!(read("file.ubi") == read("pipe.ubi") && read("file.ubi") == read("converted.ubi"));
    let wrong = create("board.jffs2", "no.ubi");
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("at byte 0: no header of an entry"), "{}", wrong.stderr);
    let forgotten = [&["image", "create", "b.tar", "no.ubi"], &FLASH[..]].concat();
    let forgotten = run_in(scratch.path(), &forgotten);
    assert!(forgotten.stderr.contains("the input is a tar archive"), "{}", forgotten.stderr);
    assert!(!scratch.path().join("no.ubi").exists());
}

#[test]
fn a_repair_is_a_new_file_with_what_can_be_read_and_says_what_is_lost() {
    let scratch = board();
    scratch.write("cut.jffs2", &BOARD[..9_000]);
    let check =
        |arguments: &[&str]| run_in(scratch.path(), &[&["image", "check"], arguments].concat());
    let done = check(&["cut.jffs2", "--repair", "mended.jffs2"]);
    assert_eq!(done.status, 1, "{}", done.stderr);
    assert!(done.stdout.contains("/bin/busybox   damaged: bytes 8192 to 8999 missing"));
    check(&["mended.jffs2"]).success();
    let again = check(&["cut.jffs2", "--repair", "mended.jffs2"]);
    assert_eq!(again.status, 2, "{}", again.stdout);
    assert!(again.stderr.contains("mended.jffs2"), "{}", again.stderr);
    assert!(
        check(&["board.jffs2", "--repair", "no.jffs2"]).success().contains("no file was written")
    );
    assert!(!scratch.path().join("no.jffs2").exists());
    let volume = check(&["cut.jffs2", "--repair", "no.jffs2", "--volume", "x"]);
    assert_eq!(volume.status, 2);
    assert!(fs::read(scratch.path().join("cut.jffs2")).unwrap() == BOARD[..9_000]);
}

#[test]
fn a_conversion_needs_a_filesystem_and_takes_the_flash_of_the_first_image() {
    let scratch = board();
    let convert = |more: &[&str]| {
        let arguments = [&["--format", "json", "image", "convert"], more].concat();
        run_in(scratch.path(), &arguments)
    };
    let nameless = convert(&["board.jffs2", "new.bin"]);
    assert_eq!(nameless.status, 2);
    assert!(nameless.stderr.contains("--fs NAME is missing"), "{}", nameless.stderr);
    let yaffs = ["--fs", "yaffs2", "--page", "2KiB", "--oob", "64", "--block", "128KiB"];
    let of = |options: &[&str], name: &str| {
        convert(&[&["board.jffs2", name], &yaffs[..], options].concat())
    };
    let done = of(&[], "a.yaffs2").json();
    assert_eq!(done["tables"][2]["id"], "comparison");
    assert_eq!(done["tables"][2]["rows"][0]["cells"]["change_count"]["value"], 0);
    // Its flash again, without being told. Lost and found, which every YAFFS has, becomes a folder of its own.
    for [from, to] in [["a.yaffs2", "b.yaffs2"], ["b.yaffs2", "c.yaffs2"]] {
        convert(&[from, to, "--fs", "yaffs2", "--oob", "64"]).success();
    }
    let read = |name: &str| fs::read(scratch.path().join(name)).unwrap();
    assert!(read("b.yaffs2") == read("c.yaffs2"));
    for (options, status, says) in [
        (&["--from-endian", "little"][..], 2, "big-endian"),
        (&["--from-page", "2KiB", "--from-oob", "64"], 2, "--page"),
        (&["--from-block", "3KiB"], 2, "3 KiB"),
        (&["--from-volume", "x"], 2, "--volume"),
        (&["--from-commit", "3"], 2, "--commit"),
        (&["--from-as-of", "3"], 2, "--as-of"),
        (&["--max-names", "5"], 1, "Only the first 5 names"),
    ] {
        let name = format!("{}.bin", &options[0][2..]);
        let outcome = of(options, &name);
        assert_eq!(outcome.status, status, "{options:?}: {}", outcome.stderr);
        let said = outcome.stdout + &outcome.stderr;
        assert!(said.contains(says), "{options:?}: {said}");
    }
    scratch.write("board.jffs2", &BOARD[..BOARD.len() - 4]);
    assert_eq!(of(&[], "cut.bin").status, 2);
    assert_eq!(of(&["--from-partial"], "cut.bin").status, 1);
}

#[test]
fn two_images_are_compared_file_by_file_and_block_by_block() {
    let scratch = board();
    let mut other = BOARD.to_vec();
    let motd = b"/etc/motd";
    other[4_200] ^= 1;
    scratch.write("other.jffs2", &other);
    let diff = |more: &[&str]| {
        let arguments = [&["--format", "json", "image", "diff"], more].concat();
        run_in(scratch.path(), &arguments)
    };
    let same = diff(&["board.jffs2", "board.jffs2"]);
    assert_eq!(same.json()["tables"][0]["rows"][0]["id"], "none");
    let differs = diff(&["board.jffs2", "other.jffs2"]);
    assert_eq!(differs.status, 1, "{}", differs.stderr);
    assert!(differs.stdout.contains("differing_bytes"), "{}", differs.stdout);
    let part = diff(&["board.jffs2", "other.jffs2", std::str::from_utf8(motd).unwrap()]);
    assert!(!part.stdout.contains("differing_bytes"), "{}", part.stdout);
    let few = diff(&["board.jffs2", "board.jffs2", "--max-names", "4"]);
    assert_eq!(few.status, 1, "{}", few.stdout);
}

#[test]
fn a_file_is_written_to_standard_output_and_described() {
    let scratch = board();
    let image = |command: &str, more: &[&str]| {
        run_in(scratch.path(), &[&["image", command, "board.jffs2"], more].concat())
    };
    assert_eq!(image("cat", &["/etc/motd"]).success(), "Welcome to the board.\n");
    assert_eq!(image("cat", &["/etc/\\x6dotd"]).success(), "Welcome to the board.\n");
    for (path, says) in [
        ("/etc", "is a directory"),
        ("/none", "no such file"),
        ("/dev/console", "is a character device 5:1"),
    ] {
        let outcome = image("cat", &[path]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{path}");
        assert!(outcome.stderr.contains(says), "{path}: {}", outcome.stderr);
    }
    let large = image("cat", &["/bin/busybox", "--max-size", "4KiB"]);
    assert!(large.stderr.contains("of at most 4096"), "{}", large.stderr);
    let script = "\"$0\" \"$@\" | head -c 3";
    let arguments = ["image", "cat", "board.jffs2", "/etc/motd"];
    let headed = run_by("sh", script, scratch.path(), &arguments);
    assert_eq!((headed.status, headed.stderr.as_str()), (0, ""));
    let told = image("stat", &["/dev/console", "/etc/motd"]).success();
    assert!(told.contains("character device 5:1") && told.contains("0644"), "{told}");
    for command in ["cat", "stat"] {
        for (options, says) in [
            (&["--endian", "little"][..], "big-endian"),
            (&["--page", "2KiB", "--oob", "64"], "--page"),
            (&["--block", "3KiB"], "3 KiB"),
            (&["--volume", "x"], "--volume"),
            (&["--commit", "3"], "--commit"),
            (&["--as-of", "3"], "--as-of"),
        ] {
            let outcome = image(command, &[&["/etc/motd"], options].concat());
            assert_eq!(outcome.status, 2, "{command} {options:?}");
            assert!(outcome.stderr.contains(says), "{command} {options:?}: {}", outcome.stderr);
        }
    }
    scratch.write("board.jffs2", &BOARD[..BOARD.len() - 4]);
    assert_eq!(image("stat", &["/etc/motd"]).status, 2);
    assert_eq!(image("cat", &["/etc/motd", "--partial"]).stdout, "Welcome to the board.\n");
}

#[test]
fn a_damaged_file_is_written_with_zeros_and_told() {
    let scratch = board();
    let mut damaged = BOARD.to_vec();
    let at = |damaged: &[u8]| {
        let is_one = |at: &usize| {
            let node = &damaged[*at..];
            node.starts_with(&[0x19, 0x85, 0xE0, 0x02]) && node[44..48] == [0, 0, 0x10, 0]
        };
        (0..damaged.len() - 68).step_by(4).find(is_one).unwrap()
    };
    let place = at(&damaged) + 70;
    damaged[place] ^= 1;
    scratch.write("board.jffs2", &damaged);
    let arguments = ["image", "cat", "board.jffs2", "/bin/busybox"];
    let cat = run_by("sh", "\"$0\" \"$@\" > busybox", scratch.path(), &arguments);
    assert_eq!(cat.status, 1);
    let written = fs::read(scratch.path().join("busybox")).unwrap();
    assert!(written.len() == 9_000 && written[4_096..7_548].iter().all(|&byte| byte == 0));
    assert!(cat.stderr.contains("warning: "), "{}", cat.stderr);
    let tar = run_in(scratch.path(), &["image", "extract", "board.jffs2", "b.tar", "--tar"]);
    assert_eq!(tar.status, 1);
    assert!(tar.stdout.contains("/bin/busybox"), "{}", tar.stdout);
}

#[test]
fn a_listing_takes_patterns() {
    let scratch = board();
    let ls = |pattern: &str| {
        run_in(scratch.path(), &["--format", "json", "image", "ls", "board.jffs2", pattern])
    };
    let names =
        |pattern: &str| ls(pattern).success().lines().filter(|line| line.contains('/')).count();
    assert_eq!(names("/etc/mot?"), 1);
    assert_eq!(names("/**/S40*"), 1);
    assert_eq!(names("/{etc,bin}"), 2);
    let nothing = ls("/x*");
    assert_eq!(nothing.status, 2);
    assert!(nothing.stderr.contains("no name matches the pattern"), "{}", nothing.stderr);
    let wrong = ls("/[x");
    assert!(wrong.stderr.contains("the pattern is none: unclosed"), "{}", wrong.stderr);
}

#[test]
fn pages_are_corrected_stripped_and_protected_through_files_and_pipes() {
    let scratch = board();
    let convert = |more: &[&str]| run_in(scratch.path(), &[&["image", "convert"], more].concat());
    for (output, more) in [("plain.ubi", &[][..]), ("raw.ubi", &["--oob", "64"])] {
        let arguments = [&["board.jffs2", output, "--fs", "ubifs"], &FLASH[..], more].concat();
        convert(&arguments).success();
    }
    let read = |name: &str| fs::read(scratch.path().join(name)).unwrap();
    let right = read("raw.ubi");
    let mut wrong = right.clone();
    for at in [100, 2_112 * 64 + 5, 2_112 * 65 + 2_090] {
        wrong[at] ^= 0x20;
    }
    scratch.write("wrong.ubi", &wrong);
    let told = convert(&["wrong.ubi", "corrected.ubi", "--correct"]).success();
    assert!(told.contains("flipped bits"), "{told}");
    assert!(read("corrected.ubi") == right);
    let script = "cat wrong.ubi | \"$0\" \"$@\" > piped.ubi";
    let arguments = ["image", "convert", "-", "-", "--correct"];
    let piped = run_by("sh", script, scratch.path(), &arguments);
    assert!(piped.stderr.contains("image-convert"), "{}", piped.stderr);
    piped.success();
    assert!(read("piped.ubi") == right);
    convert(&["wrong.ubi", "stripped.ubi", "--strip"]).success();
    assert!(read("stripped.ubi") == read("plain.ubi"));
    let protect = ["--protect", "--oob", "64", "--from-page", "2KiB", "--from-oob", "0"];
    convert(&[&["plain.ubi", "protected.ubi"], &protect[..]].concat()).success();
    assert!(read("protected.ubi") == right);
    for (more, says) in [
        (&["raw.ubi", "new", "--correct", "--fs", "ubifs"][..], "--fs has no effect here"),
        (&["raw.ubi", "new", "--correct", "--oob", "64"], "--oob has no effect here"),
        (&["raw.ubi", "new", "--strip", "--from-volume", "x"], "--from-volume has no effect here"),
        (&["plain.ubi", "new", "--correct"], "no code is known"),
        (&["raw.ubi", "new", "--protect"], "--oob"),
        (&["raw.ubi", "new", "--strip", "--correct"], "cannot be used with"),
        (&["raw.ubi", "plain.ubi", "--correct"], "exists"),
    ] {
        let outcome = convert(more);
        assert_eq!(outcome.status, 2, "{more:?}");
        assert!(outcome.stderr.contains(says), "{more:?}: {}", outcome.stderr);
    }
    wrong[2_112 * 64 + 4] ^= 0x40;
    scratch.write("wrong.ubi", &wrong);
    let lost = convert(&["wrong.ubi", "lost.ubi", "--correct"]);
    assert_eq!(lost.status, 1, "{}", lost.stderr);
    assert!(lost.stdout.contains("Pages that cannot be corrected"), "{}", lost.stdout);
}

#[test]
fn what_a_folder_cannot_keep_is_written_beside_it() {
    let scratch = board();
    let extract = |more: &[&str]| {
        run_in(scratch.path(), &[&["image", "extract", "board.jffs2"], more].concat())
    };
    extract(&["files", "--metadata", "files.json"]).success();
    let text = fs::read_to_string(scratch.path().join("files.json")).unwrap();
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&read["version"], &read["image"]), (&1.into(), &"board.jffs2".into()));
    let files = read["files"].as_array().unwrap();
    assert_eq!((files.len(), text.lines().count()), (18, 20));
    let of = |path: &str| files.iter().find(|one| one["path"] == path).unwrap();
    assert_eq!(of("/dev/console")["device"], serde_json::json!([5, 1]));
    assert_eq!((&of("/etc/motd")["mode"], &of("/etc/motd")["uid"]), (&"0644".into(), &0.into()));
    assert!(files.iter().any(|one| one["link"].is_string()), "{text}");
    let again = extract(&["other", "--metadata", "files.json"]);
    assert_eq!(again.status, 2, "{}", again.stdout);
    assert!(!scratch.path().join("other").exists(), "the file is looked at before the work");
    let both = extract(&["files.tar", "--tar", "--metadata", "m.json"]);
    assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
}

#[test]
fn a_folder_and_its_metadata_are_the_image_again() {
    let scratch = board();
    let in_scratch = |arguments: &[&str]| run_in(scratch.path(), arguments);
    in_scratch(&["image", "extract", "board.jffs2", "files", "--metadata", "files.json"]).success();
    let create = |more: &[&str]| {
        in_scratch(
            &[&["image", "create"], more, &["--fs=jffs2", "--page=1", "--block=8KiB"]].concat(),
        )
    };
    let metadata = "--metadata=files.json";
    let told = create(&["files", "new.jffs2", metadata]).success().to_owned();
    assert!(told.contains("Names and the metadata"), "{told}");
    let same = in_scratch(&["image", "diff", "board.jffs2", "new.jffs2", "--format", "json"]);
    let same: serde_json::Value = serde_json::from_str(&same.stdout).unwrap();
    assert_eq!(same["tables"][0]["rows"][0]["id"], "none", "{same}");
    fs::remove_file(scratch.path().join("files/etc/motd")).unwrap();
    let missing = create(&["files", "less.jffs2", metadata]);
    assert_eq!(missing.status, 1, "{}", missing.stderr);
    let says = "a file of the metadata that is missing in the folder";
    assert!(missing.stdout.contains("/etc/motd") && missing.stdout.contains(says));
    in_scratch(&["image", "extract", "board.jffs2", "b.tar", "--tar"]).success();
    scratch.write("a.ini", "[a]\nmode=ubi\n");
    scratch.write("wrong.json", fs::read(scratch.path().join("files.json")).unwrap().split_off(9));
    for (arguments, says) in [
        (&["--tar", "b.tar", "no", metadata][..], "--metadata has no effect here: an archive has"),
        (&["files", "no", "--metadata=none.json"], "cannot read `none.json`"),
        (&["files", "no", "--metadata=wrong.json"], "wrong.json:1:"),
    ] {
        let refused = create(arguments);
        assert_eq!(refused.status, 2, "{}", refused.stdout);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
    let ini = ["image", "create", "a.ini", "no", metadata, "--page=2KiB", "--block=128KiB"];
    let ini = in_scratch(&ini);
    assert!(ini.stderr.contains("--metadata has no effect here: the .ini"), "{}", ini.stderr);
    assert!(!scratch.path().join("no").exists());
}

#[test]
fn deleted_files_are_listed_and_written_into_a_folder_of_their_own() {
    let scratch = board();
    let in_scratch = |arguments: &[&str]| run_in(scratch.path(), arguments);
    // The newest entry of /etc/motd in a further block says that the name was removed.
    let mut image = BOARD.to_vec();
    let (parent, version) = entry_of(&image, b"motd");
    let at = image.len();
    image.resize(at + 8_192, 0xFF);
    let node = removal(parent, version + 1_000, b"motd");
    image[at..at + node.len()].copy_from_slice(&node);
    scratch.write("deleted.jffs2", &image);
    let listed = in_scratch(&["image", "ls", "deleted.jffs2", "--deleted", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.success()).unwrap();
    let row = &listed["tables"][0]["rows"][0];
    assert_eq!((&row["id"], row["cells"].as_object().is_some()), (&"/etc/motd".into(), true));
    assert!(listed.to_string().contains("2030-01-01 00:00:00"), "{listed}");
    let gone = in_scratch(&["image", "cat", "deleted.jffs2", "/etc/motd"]);
    assert_eq!(gone.status, 2, "{}", gone.stderr);
    in_scratch(&["image", "extract", "deleted.jffs2", "files"]).success();
    in_scratch(&["image", "extract", "deleted.jffs2", "files", "--deleted"]).success();
    let motd = fs::read_to_string(scratch.path().join("files/deleted/etc/motd")).unwrap();
    assert_eq!(motd, "Welcome to the board.\n");
    let again = in_scratch(&["image", "extract", "deleted.jffs2", "files", "--deleted"]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("files/deleted"), "{}", again.stderr);
    std::os::unix::fs::symlink("files", scratch.path().join("link")).unwrap();
    let link = in_scratch(&["image", "extract", "deleted.jffs2", "link", "--deleted"]);
    assert!(link.stderr.contains("is a symbolic link"), "{}", link.stderr);
    for (more, says) in [
        ("--raw", "cannot be used with"),
        ("--as-of=1", "the nodes were written from"),
        ("--as-of=yesterday", "expected a number, or a time"),
        ("--commit=1", "--commit is not for JFFS2"),
    ] {
        let arguments = ["image", "extract", "deleted.jffs2", "x", "--deleted", more];
        let both = in_scratch(&arguments);
        assert_eq!(both.status, 2, "{more}");
        assert!(both.stderr.contains(says), "{more}: {}", both.stderr);
    }
}

#[test]
fn deleted_files_go_into_archives_and_metadata_and_older_states_know_of_no_deletion() {
    let scratch = board();
    let in_scratch = |arguments: &[&str]| run_in(scratch.path(), arguments);
    let mut image = BOARD.to_vec();
    let (parent, version) = entry_of(&image, b"motd");
    let at = image.len();
    image.resize(at + 8_192, 0xFF);
    let node = removal(parent, version + 1_000, b"motd");
    image[at..at + node.len()].copy_from_slice(&node);
    scratch.write("deleted.jffs2", &image);
    let extract = |more: &[&str]| {
        in_scratch(&[&["image", "extract", "deleted.jffs2"], more, &["--deleted"]].concat())
    };
    extract(&["files.tar", "--tar"]).success();
    let tar = fs::read(scratch.path().join("files.tar")).unwrap();
    assert!(tar.windows(22).any(|part| part == b"Welcome to the board.\n"));
    extract(&["files", "--metadata=files.json"]).success();
    let json = fs::read_to_string(scratch.path().join("files.json")).unwrap();
    assert!(json.contains("/etc/motd") && !json.contains("busybox"), "{json}");
    let cat = |more: &[&str]| {
        in_scratch(&[&["image", "cat", "deleted.jffs2", "/etc/motd"], more].concat())
    };
    assert_eq!(cat(&[]).status, 2);
    let before = cat(&["--as-of=2029-12-31 23:59:59"]);
    assert_eq!(before.stdout, "Welcome to the board.\n", "{}", before.stderr);
    assert_eq!(cat(&["--as-of=2030-01-01"]).status, 2);
    // Nothing is deleted in that state.
    let listed = ["image", "ls", "deleted.jffs2", "--deleted", "--as-of=1893455999"];
    assert!(!in_scratch(&listed).stdout.contains("/etc/motd"));
}

/// A number of a big-endian node.
fn word(image: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(image[at..at + 4].try_into().unwrap())
}

/// The directory of an entry with this name, and the version.
fn entry_of(image: &[u8], name: &[u8]) -> (u32, u32) {
    let is_entry = |at: &usize| {
        image[*at..].starts_with(&[0x19, 0x85, 0xE0, 0x01]) && image[at + 40..].starts_with(name)
    };
    let at = (0..image.len() - 64).step_by(4).find(is_entry).unwrap();
    (word(image, at + 12), word(image, at + 16))
}

/// An entry that says that a name was removed at the beginning of 2030.
fn removal(parent: u32, version: u32, name: &[u8]) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        let step = |sum: u32, byte: &u8| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ ((sum & 1) * 0xEDB8_8320))
        };
        bytes.iter().fold(0, step)
    };
    let length = u32::try_from(40 + name.len()).unwrap();
    let mut node = [&[0x19, 0x85, 0xE0, 0x01], &length.to_be_bytes()[..]].concat();
    node.extend(crc(&node).to_be_bytes());
    for number in [parent, version, 0, 1_893_456_000] {
        node.extend(number.to_be_bytes());
    }
    node.extend([u8::try_from(name.len()).unwrap(), 8, 0, 0]);
    node.extend(crc(&node).to_be_bytes());
    node.extend(crc(name).to_be_bytes());
    node.extend(name);
    node
}
