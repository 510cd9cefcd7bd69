//! `boardlab os run --card` and `--card-write`: with the board's own program for all devices, which reads block 3
//! and writes blocks 5 to 7, and with a program that writes the blocks that it is told.

use crate::bench::{Outcome, Scratch, full, limited, run_by, run_fed, run_in};
use crate::guest::{build, is_there, start};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

const BLOCK: usize = 512;

/// What the program prints with this image in the reader, and the image afterwards.
fn run(image: &[u8], arguments: &[&str]) -> Option<(String, Vec<u8>)> {
    let scratch = Scratch::new();
    build(&scratch, "board", &[])?;
    scratch.write("image", image);
    let arguments = [&["os", "run", "board.elf", "--card", "image", "--quiet"], arguments].concat();
    let outcome = run_fed(scratch.path(), " typed.", &arguments);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ended with exit code 42"), "{}", outcome.stderr);
    Some((outcome.stdout, fs::read(scratch.path().join("image")).unwrap()))
}

/// An image of so many MiB whose bytes tell where they are.
fn image(mib: u32) -> Vec<u8> {
    (0..mib << 20).map(|at| (at ^ at >> 9).to_le_bytes()[0]).collect()
}

/// The checksum that the program makes of a block.
fn sum(block: &[u8]) -> u32 {
    let words = block.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    words.fold(0, |sum: u32, word| sum.rotate_left(1) ^ word)
}

/// What the program writes.
fn written() -> Vec<u8> {
    (0..384_u32).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

/// Which blocks `card.c` writes, and how it ends.
#[derive(Clone, Copy)]
struct Writer {
    first: u32,
    count: u32,
    step: u32,
    how: u32,
}

/// Blocks 4 to 11, then the end.
const EIGHT: Writer = Writer { first: 4, count: 8, step: 1, how: 0 };

impl Writer {
    /// Builds it beside an image, which it returns.
    fn build(self, scratch: &Scratch, mib: u32) -> Option<Vec<u8>> {
        let Self { first, count, step, how } = self;
        let flags = [("FIRST", first), ("COUNT", count), ("STEP", step), ("HOW", how)];
        let flags = flags.map(|(name, value)| format!("-D{name}={value}"));
        build(scratch, "card", &flags.each_ref().map(String::as_str))?;
        let image = image(mib);
        scratch.write("image", &image);
        Some(image)
    }

    /// What `image` is after it.
    fn after(self, image: &[u8]) -> Vec<u8> {
        let mut after = image.to_vec();
        for block in (0..self.count).map(|number| self.first + number * self.step) {
            let words = (0..128).map(|word| block.wrapping_mul(2_654_435_761).wrapping_add(word));
            let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
            let at = usize::try_from(block).unwrap() * BLOCK;
            after[at..at + BLOCK].copy_from_slice(&bytes);
        }
        after
    }
}

const RUN: [&str; 6] = ["os", "run", "card.elf", "--card", "image", "--card-write"];

fn card_run(scratch: &Scratch, more: &[&str]) -> Outcome {
    run_in(scratch.path(), &[&RUN, more].concat())
}

fn read(scratch: &Scratch, name: &str) -> Vec<u8> {
    fs::read(scratch.path().join(name)).unwrap()
}

#[test]
fn a_program_reads_the_image_in_the_reader_and_writes_to_a_copy() {
    let before = image(4);
    let Some((printed, after)) = run(&before, &[]) else { return };
    let block = sum(&before[3 * BLOCK..4 * BLOCK]);
    assert!(printed.contains(&format!("\nblock 3: {block}\n")), "{block}: {printed}");
    assert!(printed.contains("\ncard of MiB: 4\nby block: 0\n"), "{printed}");
    assert!(printed.contains(&format!("\nblocks 5 to 7: {}\n", sum(&written()))), "{printed}");
    assert!(after == before, "the image is left as it was");
}

#[test]
fn what_a_program_writes_to_the_card_is_written_back_where_it_was_asked_for() {
    let mut expected = image(4);
    let Some((_, after)) = run(&expected, &["--card-write"]) else { return };
    expected[5 * BLOCK..8 * BLOCK].copy_from_slice(&written());
    assert!(after == expected, "blocks 5 to 7, and nothing else");
}

#[test]
fn an_image_is_written_in_place_and_left_alone_where_nothing_changed() {
    let scratch = Scratch::new();
    let Some(before) = EIGHT.build(&scratch, 4) else { return };
    let path = scratch.path().join("image");
    fs::hard_link(&path, scratch.path().join("other")).unwrap();
    let outcome = card_run(&scratch, &[]);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("card: 8 of 8192 blocks changed"), "{}", outcome.stderr);
    let after = EIGHT.after(&before);
    assert!(read(&scratch, "image") == after);
    assert!(read(&scratch, "other") == after, "it is still one file with two names");
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let outcome = card_run(&scratch, &[]);
    assert!(outcome.stderr.contains("card: 0 of 8192 blocks changed"), "{}", outcome.stderr);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), old);
    assert_eq!(scratch.names(""), ["card.elf", "image", "other"]);
}

#[test]
fn what_was_written_to_the_card_is_kept_however_the_run_ends() {
    let long = ["--limit", "2s"];
    let ends = [(0, &[][..], 0, ""), (3, &[], 1, "undefined instruction"), (4, &long, 0, "")];
    for (how, more, status, says) in ends {
        let scratch = Scratch::new();
        let writer = Writer { how, ..EIGHT };
        let Some(before) = writer.build(&scratch, 4) else { return };
        let outcome = card_run(&scratch, more);
        assert_eq!(outcome.status, status, "{how}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{how}: {}", outcome.stderr);
        assert!(read(&scratch, "image") == writer.after(&before), "{how}");
    }
    // Who reads what it prints goes away, or has no room.
    let scratch = Scratch::new();
    let writer = Writer { how: 2, ..EIGHT };
    let Some(before) = writer.build(&scratch, 4) else { return };
    let script = |redirected: &str| format!("\"$0\" \"$@\" {redirected}");
    for (redirected, more, status, says) in [
        ("--quiet 2>err | head -n 1 >out; exit ${PIPESTATUS[0]}", &[][..], 0, ""),
        (
            "2>err | head -n 1 >out; exit ${PIPESTATUS[0]}",
            &["--save", "state"],
            1,
            "closed the pipe",
        ),
        ("2>err >/dev/full", &[], 1, "no space left"),
    ] {
        scratch.write("image", &before);
        let arguments = [&RUN, more].concat();
        let outcome = run_by("bash", &script(redirected), scratch.path(), &arguments);
        assert_eq!(outcome.status, status, "{redirected}: {}", scratch.read("err"));
        assert!(scratch.read("err").contains(says), "{redirected}: {}", scratch.read("err"));
        assert!(read(&scratch, "image") == writer.after(&before), "{redirected}");
        assert!(!scratch.names("").contains(&"state".into()), "{redirected}");
    }
}

#[test]
fn a_run_that_is_ended_by_hand_keeps_its_card() {
    let scratch = Scratch::new();
    // The one spins, the other sleeps until something is typed.
    for (how, signal) in [(1, "INT"), (4, "TERM"), (5, "INT")] {
        let writer = Writer { how, ..EIGHT };
        let Some(before) = writer.build(&scratch, 4) else { return };
        let mut child = Command::new(env!("CARGO_BIN_EXE_boardlab"))
            .args(RUN)
            .arg("--live")
            .current_dir(scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "written\n");
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        // Standard input stays open until it has ended.
        let input = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(input);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{how}: {stderr}");
        for says in ["card: 8 of 8192 blocks changed", "error: interrupted before"] {
            assert!(stderr.contains(says), "{how}: {stderr}");
        }
        assert!(read(&scratch, "image") == writer.after(&before), "{how}");
    }
}

#[test]
fn a_trace_and_a_debugger_write_the_card_too() {
    let scratch = Scratch::new();
    let Some(before) = EIGHT.build(&scratch, 4) else { return };
    let place = ["--from", "print", "--count", "10", "--quiet"];
    let arguments = [&["os", "trace"], &RUN[2..], &place].concat();
    let outcome = run_in(scratch.path(), &arguments);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(read(&scratch, "image") == EIGHT.after(&before));
    if !is_there("gdb-multiarch") {
        return;
    }
    scratch.write("image", &before);
    let boardlab = env!("CARGO_BIN_EXE_boardlab");
    let target = format!("target remote | {boardlab} os debug {} --stdio", RUN[2..].join(" "));
    let mut gdb = Command::new("timeout");
    gdb.args(["60", "gdb-multiarch", "-nx", "-batch", "card.elf", "-ex", "set confirm off"]);
    gdb.args(["-ex", &target, "-ex", "break print", "-ex", "continue", "-ex", "kill"]);
    let output = gdb.current_dir(scratch.path()).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(read(&scratch, "image") == EIGHT.after(&before), "{printed}");
}

#[test]
fn a_second_run_is_refused_while_one_may_write_and_told_which() {
    let scratch = Scratch::new();
    let writer = Writer { how: 1, ..EIGHT };
    let Some(before) = writer.build(&scratch, 4) else { return };
    #[cfg(unix)]
    std::os::unix::fs::symlink("image", scratch.path().join("link")).unwrap();
    fs::hard_link(scratch.path().join("image"), scratch.path().join("other")).unwrap();
    let mut first = start(&scratch, &[&RUN[..], &["--live", "--quiet"]].concat());
    let mut line = String::new();
    BufReader::new(first.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "written\n");
    for (name, write) in [("image", true), ("link", true), ("other", true), ("image", false)] {
        let arguments = ["os", "run", "card.elf", "--card", name];
        let write: &[&str] = if write { &["--card-write"] } else { &[] };
        let outcome = run_in(scratch.path(), &[&arguments, write].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (2, ""), "{name}");
        let says = format!("`{name}` is in use by process ");
        for text in [&says, "os run card.elf --card image --card-write", "a copy of the image"] {
            assert!(outcome.stderr.contains(text), "{name}: {}", outcome.stderr);
        }
    }
    assert!(read(&scratch, "image") == before, "it is written at the end");
    first.stdin.take().unwrap().write_all(b".").unwrap();
    let mut rest = String::new();
    first.stderr.take().unwrap().read_to_string(&mut rest).unwrap();
    assert!(first.wait().unwrap().success(), "{rest}");
    assert!(read(&scratch, "image") == writer.after(&before));
}

#[test]
fn what_another_program_wrote_meanwhile_is_not_overwritten() {
    type Change = fn(&mut Vec<u8>);
    let changes: [(&str, Change); 3] = [
        ("its block 9 is another one", |image| image[9 * BLOCK] ^= 1),
        ("it has 2097152 bytes and had 4194304", |image| image.truncate(2 << 20)),
        ("", |image| image[100 * BLOCK] ^= 1),
    ];
    let scratch = Scratch::new();
    let writer = Writer { how: 1, ..EIGHT };
    let Some(before) = writer.build(&scratch, 4) else { return };
    for (says, change) in changes {
        scratch.write("image", &before);
        let mut child = start(&scratch, &[&RUN[..], &["--live", "--quiet"]].concat());
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let mut foreign = before.clone();
        change(&mut foreign);
        scratch.write("image", &foreign);
        child.stdin.take().unwrap().write_all(b".").unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let clash = !says.is_empty();
        assert_eq!(output.status.code(), Some(i32::from(clash)), "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
        let expected = if clash { foreign } else { writer.after(&foreign) };
        assert!(read(&scratch, "image") == expected, "{says}");
    }
}

#[test]
fn a_card_that_cannot_be_written_to_the_end_says_how_far_it_came() {
    let scratch = Scratch::new();
    let Some(before) = EIGHT.build(&scratch, 4) else { return };
    // No file grows or is written beyond its first 4096 bytes: blocks 4 to 7 lie before.
    let outcome = limited(8, scratch.path(), &[&RUN[..], &["--quiet"]].concat());
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    let says = "cannot write `image`: file too large; 4 of 8 changed blocks were written";
    assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    let mut expected = before.clone();
    expected[4 * BLOCK..8 * BLOCK].copy_from_slice(&EIGHT.after(&before)[4 * BLOCK..8 * BLOCK]);
    assert!(read(&scratch, "image") == expected);
}

/// Whether each block of `found` is that of `before` or of `after`; how many are of `after`.
fn old_or_new(found: &[u8], before: &[u8], after: &[u8]) -> usize {
    assert_eq!(found.len(), before.len(), "the size stays");
    let blocks = found.chunks(BLOCK).zip(before.chunks(BLOCK).zip(after.chunks(BLOCK)));
    let mut new = 0;
    for (number, (found, (before, after))) in blocks.enumerate() {
        assert!(found == before || found == after, "block {number} is torn");
        new += usize::from(found == after && before != after);
    }
    new
}

#[test]
fn a_kill_while_the_card_is_written_leaves_each_block_old_or_new() {
    let kills = if full() { 40 } else { 4 };
    let scratch = Scratch::new();
    let writer = Writer { first: 1, count: 8_000, step: 2, how: 0 };
    let Some(before) = writer.build(&scratch, 8) else { return };
    let after = writer.after(&before);
    let mut counts = Vec::new();
    for number in 0..kills {
        scratch.write("image", &before);
        let mut child = Command::new(env!("CARGO_BIN_EXE_boardlab"))
            .args(RUN)
            .current_dir(scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The first block that is new tells that writing has begun.
        let image = File::open(scratch.path().join("image")).unwrap();
        let mut block = [0; BLOCK];
        while child.try_wait().unwrap().is_none() {
            if std::os::unix::fs::FileExt::read_exact_at(&image, &mut block, 512).is_err()
                || block == after[BLOCK..2 * BLOCK]
            {
                break;
            }
            thread::sleep(Duration::from_micros(100));
        }
        thread::sleep(Duration::from_micros(700 * number));
        child.kill().unwrap();
        child.wait().unwrap();
        counts.push(old_or_new(&read(&scratch, "image"), &before, &after));
    }
    assert!(
        counts.iter().any(|count| (1..8_000).contains(count)),
        "none in the middle: {counts:?}"
    );
}
