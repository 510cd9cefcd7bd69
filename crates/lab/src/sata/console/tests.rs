//! The menu over a machine of a few lines.

use super::*;
use boardlab_sata::Speed;
use boardlab_sata::host::Refusal;

/// A drive that takes 10 ns a dword, keeps what is written, and answers no IDENTIFY where it is `mute`.
struct Toy {
    drive: Identify,
    words: Vec<u32>,
    mute: bool,
    broken: bool,
}

fn toy(sectors: u64, lba_48: bool) -> Toy {
    let model = "TOY DRIVE";
    let drive = Identify { lba_48, ..Identify::new(model, sectors, Speed::Gen2) };
    let words = vec![0; usize::try_from(sectors * 128).unwrap()];
    Toy { drive, words, mute: false, broken: false }
}

impl Machine for Toy {
    fn identify(&mut self) -> Result<Identify, Failure> {
        if self.mute { Err(Failure::Refused(Refusal::Empty)) } else { Ok(self.drive.clone()) }
    }

    fn transfer(
        &mut self,
        direction: Direction,
        first: u64,
        sectors: u32,
        buffer: &mut Vec<u32>,
    ) -> Result<Duration, Failure> {
        if self.broken {
            return Err(Failure::Refused(Refusal::NoData));
        }
        let start = usize::try_from(first * 128).unwrap();
        let words = &mut self.words[start..start + dwords(sectors)];
        match direction {
            Direction::Write => words.copy_from_slice(buffer),
            Direction::Read => *buffer = words.to_vec(),
        }
        Ok(Duration::from_nanos(10 * u64::try_from(words.len()).unwrap()))
    }
}

/// What is printed for `input`, echoed.
fn printed(machine: Toy, input: impl AsRef<[u8]>) -> String {
    let mut output = Vec::new();
    Console::new(machine, input.as_ref(), &mut output, true).run().unwrap();
    String::from_utf8(output).unwrap()
}

/// The same without the menus.
fn told(machine: Toy, input: impl AsRef<[u8]>) -> Vec<String> {
    let all = printed(machine, input);
    let menu = ["SATA host", "1. ", "2. ", "3. ", "4. ", "Model", "48bit", "Capacity"];
    let lines = all.lines().filter(|line| !line.is_empty());
    lines.filter(|line| !menu.iter().any(|one| line.starts_with(one))).map(Into::into).collect()
}

#[test]
fn it_reads_as_the_figures_of_the_evaluation() {
    let expected = "\
Model name : TOY DRIVE
48bit LBA is supported
Capacity : 32GB

SATA host design menu
1. IDENTIFY DEVICE
2. WRITE DMA EXT
3. READ DMA EXT
4. DUMP DATA IN DDR

+++ WRITE DMA EXT selected +++

Enter Start LBA (Decimal value) => 0
Enter Sector Count (Decimal value 1-65536) => 65536
Enter Pattern (0)=>Inc32 (1)=>Dec32 : 0
Transfer speed : 400MB/s

SATA host design menu
1. IDENTIFY DEVICE
2. WRITE DMA EXT
3. READ DMA EXT
4. DUMP DATA IN DDR
";
    let mut machine = toy(65_536, true);
    machine.drive.sectors = 62_500_000;
    assert_eq!(printed(machine, "2\n0\n65536\n0\n"), expected);
}

#[test]
fn on_a_terminal_the_answers_are_not_printed_again() {
    let mut output = Vec::new();
    Console::new(toy(8, true), &b"3\n0\n1\n0\nq\n"[..], &mut output, false).run().unwrap();
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("value) => Enter Sector Count"), "{output}");
}

#[test]
fn what_was_written_is_read_back_with_the_same_pattern_alone() {
    let found = told(toy(16, true), "2\n3\n2\n1\n3\n3\n2\n1\n3\n3\n2\n0\nq\n");
    let wrong: Vec<_> = found.iter().filter(|line| line.starts_with("Verify error")).collect();
    // Dec32 of dword 3 x 128 is its negation; in none of the 256 dwords is it the number itself.
    let expected = "Verify error : dword 0 of LBA 3 is FFFFFE80h, expected 00000180h; \
                    255 more dwords differ";
    assert_eq!(wrong, [expected]);
    let speeds = found.iter().filter(|line| *line == "Transfer speed : 400MB/s");
    assert_eq!(speeds.count(), 3);
}

#[test]
fn wrong_answers_are_told_and_asked_again() {
    let found = told(toy(100, true), "9\n2\n100\n-1\n 98 \n3\n\n2\n2\nx\n0\nq\n");
    let expected = [
        "`9` is not on the menu: expected 1 to 4, or q to end",
        "+++ WRITE DMA EXT selected +++",
        "Enter Start LBA (Decimal value) => 100",
        "`100` cannot be: expected 0 to 99, the drive's last sector",
        "Enter Start LBA (Decimal value) => -1",
        "`-1` cannot be: expected 0 to 99, the drive's last sector",
        "Enter Start LBA (Decimal value) => 98",
        "Enter Sector Count (Decimal value 1-65536) => 3",
        "`3` cannot be: expected 1 to 2, where the drive ends",
        "Enter Sector Count (Decimal value 1-65536) => ",
        "`` cannot be: expected 1 to 2, where the drive ends",
        "Enter Sector Count (Decimal value 1-65536) => 2",
        "Enter Pattern (0)=>Inc32 (1)=>Dec32 : 2",
        "`2` cannot be: expected 0 or 1",
        "Enter Pattern (0)=>Inc32 (1)=>Dec32 : x",
        "`x` cannot be: expected 0 or 1",
        "Enter Pattern (0)=>Inc32 (1)=>Dec32 : 0",
        "Transfer speed : 400MB/s",
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_last_sector_is_one_sector() {
    let found = told(toy(100, true), "2\n99\n2\n1\n0\nq\n");
    assert_eq!(found[3], "`2` cannot be: expected 1, the drive's last sector");
    assert_eq!(found[6], "Transfer speed : 400MB/s");
}

#[test]
fn the_input_may_end_anywhere() {
    let input = b"1\n2\n0\n4\n0\n3\n0\n4\n0\n4\n";
    for length in 0..=input.len() {
        let output = printed(toy(8, true), &input[..length]);
        assert!(output.ends_with('\n'), "{output}");
    }
}

#[test]
fn a_drive_without_48_bit_commands_has_the_menu_of_28_bit_ones() {
    let output = printed(toy(1_000, false), "2\n0\n257\n256\n0\n");
    assert!(output.contains("48bit LBA is not supported\n"), "{output}");
    assert!(output.contains("\n2. WRITE DMA\n3. READ DMA\n"), "{output}");
    assert!(output.contains("(Decimal value 1-256) => 257\n"), "{output}");
    assert!(output.contains("`257` cannot be: expected 1 to 256\n"), "{output}");
    assert!(output.contains("Transfer speed : 400MB/s"), "{output}");
}

#[test]
fn the_dump_shows_the_buffer_a_page_at_a_time() {
    let found = told(toy(8, true), "4\n2\n1\n2\n0\n4\n4\n4\n");
    assert_eq!(found[1], "The buffer is empty: nothing was written or read");
    let first =
        "00000000 : 00000080 00000081 00000082 00000083 00000084 00000085 00000086 00000087";
    let pages: Vec<_> = found.iter().filter(|line| line.starts_with("000")).collect();
    assert_eq!(pages.len(), 3 * 16);
    assert_eq!((pages[0].as_str(), pages[32].as_str()), (first, first));
    assert!(pages[31].starts_with("000003E0 : 00000178 "), "{}", pages[31]);
    let ends: Vec<_> = found.iter().filter(|line| line.starts_with("Up to")).collect();
    let more = "Up to byte 512 of 1024; choose 4 again for more";
    assert_eq!(ends, [more, "Up to byte 1024 of 1024", more]);
}

#[test]
fn what_the_host_says_is_told() {
    let mute = Toy { mute: true, ..toy(8, true) };
    let found = told(mute, "2\nq\n");
    assert_eq!(found[0], "Error : a transfer of zero sectors");
    assert_eq!(found[2], "Error : nothing is known of the drive; choose 1 first");
    let broken = Toy { broken: true, ..toy(8, true) };
    assert_eq!(told(broken, "3\n0\n1\n0\n").last().unwrap(), "Error : a write without data");
}

#[test]
fn hostile_input_is_bounded_and_cannot_move_the_cursor() {
    let mut input = vec![b'9'; 1_000_000];
    input.extend(b"\n\x1b[2J\n2\n\x1b[2J\xff\n184467440737095516160\n+1\n1\n1\n0\n");
    let output = printed(toy(8, true), input);
    assert!(output.len() < 3_000 && !output.contains('\u{1b}'), "{output}");
    assert!(output.contains("`+1` cannot be: expected 0 to 7"), "{output}");
    assert!(output.contains("Transfer speed"), "{output}");
}
