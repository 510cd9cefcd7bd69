//! A program that uses each device has the same output, card contents and exit code here and on QEMU.
use crate::guest;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use boardlab_arm926::Limit;
use boardlab_block::{BlockDevice, Extent, Geometry, RamBlock};
use boardlab_realview::{Card, Machine, Medium, Outcome, Program, Settings};
use boardlab_sim::{Bytes, Clock};

/// 2001-02-03T04:05:06.
const START: u32 = 981_173_106;
const TYPED: &[u8] = b" typed.";

fn block(number: u32) -> Vec<u8> {
    (0..512_u32).map(|at| (at * at + number * 13).to_le_bytes()[0]).collect()
}

/// A card of this size with a pattern in block 3.
fn card(size: Bytes) -> Card {
    let mut device = RamBlock::new(Geometry::of_size(size));
    device.write(&mut Clock::new(), Extent::new(3, 1), &block(3)).unwrap();
    Card::new(Medium::Memory(Box::new(device)), false).unwrap()
}

struct Results {
    console: String,
    code: u32,
    blocks: Vec<u8>,
}

fn here(elf: &[u8], size: Bytes) -> Results {
    let settings = Settings { start: START, ..Settings::default() };
    let mut machine = Machine::new(&settings).unwrap();
    machine.load(&Program::parse(elf).unwrap()).unwrap();
    machine.insert_card(card(size));
    machine.push_input(0, TYPED);
    let outcome = machine.run(Limit::instructions(20_000_000));
    let console = String::from_utf8(machine.take_console()).unwrap();
    let Outcome::Exit { code, .. } = outcome else { panic!("{outcome}: {console}") };
    let mut blocks = vec![0; 4096];
    machine.processor().bus.card().unwrap().contents(0, &mut blocks).unwrap();
    assert!(machine.processor().bus.warnings().is_empty());
    Results { console, code, blocks }
}

/// Runs the same on QEMU; `None` if QEMU is not installed.
fn on_qemu(elf: &Path, size: Bytes) -> Option<Results> {
    let path = elf.with_extension("card");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&[0; 3 * 512]).unwrap();
    file.write_all(&block(3)).unwrap();
    file.set_len(size.get()).unwrap();
    let run = Command::new("timeout")
        .args(["60", "qemu-system-arm", "-M", "realview-eb", "-cpu", "arm926", "-m", "128"])
        .args(["-nographic", "-semihosting", "-rtc", "base=2001-02-03T04:05:06,clock=vm"])
        // Its timers follow the instructions, not the host's clock: a busy host makes nothing late.
        .args(["-icount", "shift=2"])
        .args(["-drive", &format!("if=sd,format=raw,file={}", path.display()), "-kernel"])
        .arg(elf)
        .env("QEMU_AUDIO_DRV", "none")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut run = run.unwrap();
    run.stdin.as_mut().unwrap().write_all(TYPED).unwrap();
    let output = run.wait_with_output().unwrap();
    let code = output.status.code().unwrap();
    if code == 127 {
        eprintln!("skipped: needs qemu-system-arm");
        return None;
    }
    let mut blocks = vec![0; 4096];
    std::fs::File::open(&path).unwrap().read_exact(&mut blocks).unwrap();
    std::fs::remove_file(&path).unwrap();
    let console = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(Results { console, code: code.try_into().unwrap(), blocks })
}

fn compare(size: Bytes, by_block: u32) {
    let Some(elf) = guest::build("board.c", &[]) else { return };
    let ours = here(&std::fs::read(&elf).unwrap(), size);
    assert_eq!(ours.code, 42, "{}", ours.console);
    assert!(ours.console.contains(&format!("by block: {by_block}\n")), "{}", ours.console);
    assert!(ours.console.contains("received: yped."), "{}", ours.console);
    let Some(theirs) = on_qemu(&elf, size) else { return };
    assert_eq!(ours.console, theirs.console);
    assert_eq!(ours.code, theirs.code);
    assert!(ours.blocks == theirs.blocks, "the cards differ");
}

#[test]
fn a_small_card_and_all_devices_are_the_same_here_and_on_qemu() {
    compare(Bytes::mib(4), 0);
}

#[test]
fn a_large_card_and_all_devices_are_the_same_here_and_on_qemu() {
    compare(Bytes::mib(4096), 1);
}
