//! `boardlab os run --card` and `--card-write`, with the board's own program for all devices: it reads block 3, and writes
//! blocks 5 to 7.

use crate::bench::{Scratch, run_fed};
use crate::guest::build;

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
    Some((outcome.stdout, std::fs::read(scratch.path().join("image")).unwrap()))
}

/// An image of 4 MiB whose bytes tell where they are.
fn image() -> Vec<u8> {
    (0..4_u32 << 20).map(|at| (at ^ at >> 9).to_le_bytes()[0]).collect()
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

#[test]
fn a_program_reads_the_image_in_the_reader_and_writes_to_a_copy() {
    let before = image();
    let Some((printed, after)) = run(&before, &[]) else { return };
    let block = sum(&before[3 * BLOCK..4 * BLOCK]);
    assert!(printed.contains(&format!("\nblock 3: {block}\n")), "{block}: {printed}");
    assert!(printed.contains("\ncard of MiB: 4\nby block: 0\n"), "{printed}");
    assert!(printed.contains(&format!("\nblocks 5 to 7: {}\n", sum(&written()))), "{printed}");
    assert!(after == before, "the image is left as it was");
}

#[test]
fn what_a_program_writes_to_the_card_is_written_back_where_it_was_asked_for() {
    let mut expected = image();
    let Some((_, after)) = run(&expected, &["--card-write"]) else { return };
    expected[5 * BLOCK..8 * BLOCK].copy_from_slice(&written());
    assert!(after == expected, "blocks 5 to 7, and nothing else");
}
