//! The serial menu over real drives and their links: words that come back, speeds, what is refused.
use boardlab_experiment::Failure;
use boardlab_lab::sata::console::{Console, bench};
use boardlab_parts::catalog;
use boardlab_sim::Seed;

/// What is printed for `input` with the drive `part`.
fn printed(part: &str, set: &[&str], input: &str) -> String {
    let machine = bench::open(part, set, Seed::new(1)).unwrap_or_else(|error| panic!("{error}"));
    let mut output = Vec::new();
    Console::new(machine, input.as_bytes(), &mut output, true).run().unwrap();
    String::from_utf8(output).unwrap()
}

/// The answers for a transfer: item, first sector, sectors, pattern.
fn transfer(answers: [u64; 4]) -> String {
    answers.map(|answer| format!("{answer}\n")).concat()
}

fn lines<'a>(output: &'a str, begin: &str) -> Vec<&'a str> {
    output.lines().filter_map(|line| line.strip_prefix(begin)).collect()
}

/// The speeds in MB/s.
fn speeds(output: &str) -> Vec<u64> {
    let found = lines(output, "Transfer speed : ");
    found.iter().map(|speed| speed.strip_suffix("MB/s").unwrap().parse().unwrap()).collect()
}

/// The built-in parts that are SATA drives.
fn drives() -> Vec<&'static str> {
    let drives = catalog::parts().iter().filter(|part| part.path.starts_with("parts/sata/"));
    drives.map(|part| part.name).collect()
}

#[test]
fn every_built_in_drive_gives_back_what_was_written() {
    assert!(drives().len() >= 4 && drives().contains(&bench::DRIVE), "{:?}", drives());
    for part in drives() {
        let input =
            [[2, 1_000, 256, 1], [3, 1_000, 256, 1], [3, 1_007, 5, 1]].map(transfer).concat();
        let output = printed(part, &[], &input);
        assert_eq!(speeds(&output).len(), 3, "{part}:\n{output}");
        assert!(!output.contains("rror"), "{part}:\n{output}");
    }
}

#[test]
fn words_that_were_overwritten_are_told() {
    let writes = [[2, 0, 8, 0], [2, 4, 2, 1]].map(transfer).concat();
    let reads = [[3, 0, 8, 0], [3, 4, 2, 1], [3, 6, 2, 0]].map(transfer).concat();
    let output = printed(bench::DRIVE, &[], &(writes + &reads));
    let expected = "dword 0 of LBA 4 is FFFFFE00h, expected 00000200h; 255 more dwords differ";
    assert_eq!(lines(&output, "Verify error : "), [expected]);
    assert_eq!(speeds(&output).len(), 5);
}

#[test]
fn the_dump_shows_what_came_over_the_link() {
    let output = printed(bench::DRIVE, &[], &[transfer([2, 5, 4, 1]), "4\n".into()].concat());
    assert_eq!(lines(&output, "00000000 : FFFFFD80 FFFFFD7F ").len(), 1, "{output}");
    // What was never written reads as zeros.
    let output = printed(bench::DRIVE, &[], &[transfer([3, 0, 1, 0]), "4\n".into()].concat());
    assert_eq!(lines(&output, "000001E0 : 00000000 00000000 ").len(), 1, "{output}");
}

#[test]
fn a_large_read_is_held_up_by_little_but_the_link() {
    let output = printed(bench::DRIVE, &[], &transfer([3, 0, 65_536, 0]));
    let read = speeds(&output)[0];
    // 297.08 MB/s without any turnaround.
    assert!((270..297).contains(&read), "{output}");
    let slow =
        printed(bench::DRIVE, &["board.sata_host.speed=1.5 Gb/s"], &transfer([3, 0, 65_536, 0]));
    assert!((135..=148).contains(&speeds(&slow)[0]), "{slow}");
}

#[test]
fn the_same_answers_print_the_same_again() {
    let input = [transfer([2, 7, 3_000, 0]), transfer([3, 7, 3_000, 0])].concat();
    assert_eq!(printed(bench::DRIVE, &[], &input), printed(bench::DRIVE, &[], &input));
}

#[test]
fn what_is_no_drive_is_refused() {
    let refused = |part: &str, set: &[&str]| match bench::open(part, set, Seed::new(1)) {
        Err(Failure::Input(error)) => error.to_string(),
        other => panic!("{part}: {:?}", other.map(|_| ())),
    };
    let unknown = refused("intel-x25", &[]);
    assert!(unknown.starts_with("error: unknown part `intel-x25`"), "{unknown}");
    let flash = refused("s29gl01gp", &[]);
    assert!(flash.contains("kind"), "{flash}");
    let board = refused(bench::DRIVE, &["board=mips-327"]);
    assert!(board.contains("[sata_host]"), "{board}");
    let key = refused(bench::DRIVE, &["part.sektors=1"]);
    assert!(key.contains("sektors") && key.contains("sectors"), "{key}");
}
