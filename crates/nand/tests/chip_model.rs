//! Random cycles on the parallel chip and on a second one, slow and simple.
//!
//! The second chip is written from the command table and built the other way round: it keeps the
//! cycles of the present sequence as a list and matches the whole list anew at each cycle, counts the
//! time of an operation down, and holds the cells in one flat vector.

use crate::rig::{large, nanos, small};
use boardlab_media::{NandGeometry, Row};
use boardlab_nand::chip::{Die, ParallelChip, Setup};
use boardlab_nand::part::Part;
use boardlab_sim::{Bytes, Instant, Seed, Stream};
use std::sync::Arc;

/// What a cycle of the list was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cycle {
    Command(u8),
    Address(u8),
}

#[derive(Debug, Clone)]
enum Pending {
    Nothing,
    Program { row: usize, from: usize, to: usize },
    Erase { block: usize },
}

struct Model {
    small: bool,
    pages: usize,
    blocks: usize,
    row_cycles: usize,
    width: usize,
    cells: Vec<u8>,
    register: Vec<u8>,
    left: u64,
    pending: Pending,
    sequence: Vec<Cycle>,
    pointer: u8,
    at: usize,
    loaded: Option<(usize, usize)>,
    /// What data-out gives: nothing, the register, a status, or these bytes.
    gives: Gives,
    /// The register was given before the status.
    back: bool,
    times: [u64; 3],
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Gives {
    Nothing,
    Register,
    Status,
    Bytes(Vec<u8>),
}

type Answer = Result<(), ()>;

impl Model {
    fn new(part: &Part) -> Self {
        let geometry = part.geometry;
        let (pages, blocks) = (geometry.pages_per_block as usize, geometry.blocks as usize);
        let width = geometry.row_bytes();
        let busy = part.timing.write_to_busy;
        let times = [
            part.timing.read.max() + busy,
            part.timing.program.max + busy,
            part.timing.erase.max + busy,
        ];
        Self {
            small: part.is_small_page(),
            pages,
            blocks,
            row_cycles: 2,
            width,
            cells: vec![0xFF; width * pages * blocks],
            register: vec![0xFF; width],
            left: 0,
            pending: Pending::Nothing,
            sequence: Vec::new(),
            pointer: 0,
            at: 0,
            loaded: None,
            gives: Gives::Nothing,
            back: false,
            times: times.map(boardlab_sim::Duration::as_nanos),
        }
    }

    fn pass(&mut self, nanos: u64) {
        self.left = self.left.saturating_sub(nanos);
        if self.left > 0 {
            return;
        }
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            Pending::Program { row, from, to } => {
                for column in from..to {
                    self.cells[row * self.width + column] &= self.register[column];
                }
            }
            Pending::Erase { block } => {
                let size = self.width * self.pages;
                self.cells[block * size..(block + 1) * size].fill(0xFF);
            }
        }
    }

    fn command(&mut self, code: u8) -> Answer {
        if code == 0x70 {
            self.back |= self.gives == Gives::Register;
            self.gives = Gives::Status;
            return Ok(());
        }
        if self.left > 0 {
            return Err(());
        }
        let first = self.sequence.first().copied();
        let addresses = self.addresses();
        let full = if self.small { 1 } else { 2 } + self.row_cycles;
        let is = |code| first == Some(Cycle::Command(code));
        match code {
            0xFF => {
                self.left = self.times[0].min(100);
                self.start(&[]);
                self.gives = Gives::Nothing;
                self.pointer = 0;
            }
            0x80 => {
                self.start(&[code]);
                self.gives = Gives::Nothing;
                self.register.fill(0xFF);
                self.loaded = None;
            }
            0x85 if !self.small && self.takes_data() => {
                // The page stays: its address cycles are kept, the column's are replaced.
                self.sequence.truncate(1 + full);
                self.sequence.push(Cycle::Command(0x85));
            }
            0x10 if self.takes_data() => {
                let row = self.row(if self.small { 2 } else { 3 })?;
                let (from, to) = self.loaded.unwrap_or((0, 0));
                self.pending = Pending::Program { row, from, to };
                self.left = self.times[1];
                self.finish();
            }
            0x60 | 0x90 | 0xEC => {
                self.start(&[code]);
                self.gives = Gives::Nothing;
            }
            0xD0 if is(0x60) && addresses == self.row_cycles => {
                let block = self.row(1)? / self.pages;
                self.pending = Pending::Erase { block };
                self.left = self.times[2];
                self.finish();
            }
            _ => return self.read_command(code),
        }
        Ok(())
    }

    fn read_command(&mut self, code: u8) -> Answer {
        let addresses = self.addresses();
        let full = if self.small { 1 } else { 2 } + self.row_cycles;
        let first = self.sequence.first().copied();
        let is = |code| first == Some(Cycle::Command(code));
        match code {
            0x00 | 0x01 | 0x50 if self.small => {
                let back = self.back || self.gives == Gives::Register;
                self.start(&[code]);
                self.pointer = code;
                self.gives = if back { Gives::Register } else { Gives::Nothing };
            }
            0x00 => {
                let back = self.back || self.gives == Gives::Register;
                self.start(&[code]);
                self.gives = if back { Gives::Register } else { Gives::Nothing };
            }
            0x30 if !self.small && is(0x00) && addresses == full => {
                let (row, column) = (self.row(3)?, self.column()?);
                self.fetch(row, column);
            }
            0x05 if !self.small && self.sequence.is_empty() && self.gives == Gives::Register => {
                self.start(&[code]);
            }
            0xE0 if !self.small && is(0x05) && addresses == 2 => {
                self.at = self.column()?;
                self.start(&[]);
                self.gives = Gives::Register;
            }
            _ => return Err(()),
        }
        Ok(())
    }

    /// Address cycles of the present sequence.
    fn addresses(&self) -> usize {
        self.sequence.iter().filter(|it| matches!(it, Cycle::Address(_))).count()
    }

    fn start(&mut self, codes: &[u8]) {
        self.back = false;
        self.sequence = codes.iter().map(|&code| Cycle::Command(code)).collect();
    }

    fn finish(&mut self) {
        self.start(&[]);
        self.gives = Gives::Nothing;
        if self.pointer == 0x01 {
            self.pointer = 0;
        }
    }

    /// Address cycles that the present sequence still takes.
    fn room(&self) -> usize {
        let full = if self.small { 1 } else { 2 } + self.row_cycles;
        let last = self.sequence.iter().rposition(|it| matches!(it, Cycle::Command(_)));
        let Some(last) = last else { return 0 };
        let Cycle::Command(code) = self.sequence[last] else { return 0 };
        let takes = match code {
            0x00 | 0x01 | 0x50 | 0x80 => full,
            0x05 | 0x85 => 2,
            0x60 => self.row_cycles,
            _ => 1,
        };
        takes - (self.sequence.len() - 1 - last)
    }

    fn takes_data(&self) -> bool {
        self.sequence.first() == Some(&Cycle::Command(0x80)) && self.room() == 0
    }

    fn address(&mut self, byte: u8) -> Answer {
        if self.left > 0 || self.room() == 0 {
            return Err(());
        }
        self.sequence.push(Cycle::Address(byte));
        if self.room() > 0 {
            return Ok(());
        }
        let done = self.addressed(byte);
        if done.is_err() {
            self.start(&[]);
            self.gives = Gives::Nothing;
        }
        done
    }

    fn addressed(&mut self, byte: u8) -> Answer {
        match self.sequence[0] {
            Cycle::Command(0x00 | 0x01 | 0x50) if self.small => {
                let (row, column) = (self.row(2)?, self.column()?);
                self.fetch(row, column);
                if self.pointer == 0x01 {
                    self.pointer = 0;
                }
            }
            Cycle::Command(0x80) => {
                self.row(if self.small { 2 } else { 3 })?;
                self.at = self.column()?;
            }
            Cycle::Command(0x90) => {
                let identity = vec![0x20, 0xDA, 0x10, 0x95];
                self.gives = Gives::Bytes(if byte == 0x20 { vec![0; 4] } else { identity });
                self.at = 0;
                self.start(&[]);
            }
            Cycle::Command(0xEC) => {
                self.left = self.times[0];
                self.gives = Gives::Bytes(Vec::new());
                self.start(&[]);
            }
            _ => {}
        }
        Ok(())
    }

    fn fetch(&mut self, row: usize, column: usize) {
        self.register.copy_from_slice(&self.cells[row * self.width..(row + 1) * self.width]);
        self.left = self.times[0];
        self.at = column;
        self.start(&[]);
        self.gives = Gives::Register;
    }

    fn number(&self, from: usize, count: usize) -> usize {
        let bytes = self.sequence[from..from + count].iter().rev();
        bytes.fold(0, |number, cycle| match cycle {
            Cycle::Address(byte) => number << 8 | usize::from(*byte),
            Cycle::Command(_) => panic!("no address"),
        })
    }

    /// The row whose address begins at cycle `from` of the sequence.
    fn row(&self, from: usize) -> Result<usize, ()> {
        let row = self.number(from, self.row_cycles);
        if row < self.pages * self.blocks { Ok(row) } else { Err(()) }
    }

    fn column(&self) -> Result<usize, ()> {
        let last = self.sequence.iter().rposition(|it| matches!(it, Cycle::Command(_))).unwrap();
        let column = match (self.small, self.pointer) {
            (true, 0x01) => 256 + self.number(last + 1, 1),
            (true, 0x50) => 512 + self.number(last + 1, 1) % 16,
            (true, _) => self.number(last + 1, 1),
            (false, _) => self.number(last + 1, 2),
        };
        if column < self.width { Ok(column) } else { Err(()) }
    }

    fn input(&mut self, data: &[u8]) -> Answer {
        if self.left > 0 || !self.takes_data() || self.at + data.len() > self.width {
            return Err(());
        }
        self.register[self.at..self.at + data.len()].copy_from_slice(data);
        let end = self.at + data.len();
        let (from, to) = self.loaded.unwrap_or((self.at, end));
        self.loaded = Some((from.min(self.at), to.max(end)));
        self.at = end;
        Ok(())
    }

    fn output(&mut self, buffer: &mut [u8]) -> Answer {
        if self.gives == Gives::Status {
            buffer.fill(if self.left > 0 { 0x80 } else { 0xE0 });
            return Ok(());
        }
        if self.left > 0 {
            return Err(());
        }
        let open = self.sequence.is_empty() || self.sequence == [Cycle::Command(0x00)];
        match &self.gives {
            Gives::Register if open => {
                let end = self.at + buffer.len();
                buffer.copy_from_slice(self.register.get(self.at..end).ok_or(())?);
                self.at = end;
                self.sequence.clear();
                Ok(())
            }
            Gives::Bytes(bytes) if !bytes.is_empty() => {
                for byte in buffer {
                    *byte = bytes[self.at % bytes.len()];
                    self.at += 1;
                }
                Ok(())
            }
            _ => Err(()),
        }
    }
}

/// A cycle to try: mostly what a sequence goes on with, now and then anything.
#[derive(Debug)]
enum Try {
    Command(u8),
    Address(u8),
    Input(Vec<u8>),
    Output(usize),
    Wait(u64),
}

fn sequences(stream: &mut Stream, part: &Part) -> Vec<Try> {
    let small = part.is_small_page();
    let mut byte = |below: u64| u8::try_from(stream.below(below)).unwrap();
    let (low, high) = (byte(256), byte(if small { 1 } else { 10 }));
    let row = [byte(96), byte(50) / 49];
    let columns = if small { vec![low] } else { vec![low, high] };
    let (pick, wait) = (byte(16), byte(4));
    let pointer = [0x00, 0x01, 0x50][usize::from(byte(3))];
    let mut data = vec![0; usize::try_from(stream.below(700)).unwrap()];
    stream.fill(&mut data);
    let out = usize::try_from(stream.below(700)).unwrap();
    let address = |bytes: &[u8]| bytes.iter().map(|&byte| Try::Address(byte)).collect::<Vec<_>>();
    let mut list = Vec::new();
    match pick {
        0..5 => {
            list.push(Try::Command(if small { pointer } else { 0x00 }));
            list.extend(address(&columns));
            list.extend(address(&row));
            if !small {
                list.push(Try::Command(0x30));
            }
            list.extend([Try::Wait(26_000), Try::Output(out), Try::Output(out / 2)]);
        }
        5..9 => {
            if small {
                list.push(Try::Command(pointer));
            }
            list.push(Try::Command(0x80));
            list.extend(address(&columns));
            list.extend(address(&row));
            list.push(Try::Input(data.clone()));
            if pick == 8 {
                list.push(Try::Command(0x85));
                list.extend(address(&[low.wrapping_mul(3), high / 2]));
                list.push(Try::Input(data[..data.len() / 2].to_vec()));
            }
            list.extend([Try::Command(0x10), Try::Wait(701_000)]);
        }
        9 | 10 => {
            list.push(Try::Command(0x60));
            list.extend(address(&row));
            list.extend([Try::Command(0xD0), Try::Wait(3_001_000)]);
        }
        11 | 12 => {
            list.extend([Try::Command(0x70), Try::Output(2), Try::Command(0x00), Try::Output(3)]);
        }
        13 => {
            list.push(Try::Command(0x05));
            list.extend(address(&columns));
            list.extend([Try::Command(0xE0), Try::Output(out / 3)]);
        }
        14 => {
            list.extend([
                Try::Command(0x90),
                Try::Address(if wait > 1 { 0x20 } else { 0 }),
                Try::Output(9),
            ]);
        }
        _ => list.extend([Try::Command(0xEC), Try::Address(0), Try::Wait(26_000), Try::Output(3)]),
    }
    list
}

/// Drops, doubles or replaces a cycle now and then, and waits too short.
fn spoil(stream: &mut Stream, list: &mut Vec<Try>) {
    if !stream.chance(1, 3) {
        return;
    }
    let at = usize::try_from(stream.below(list.len() as u64)).unwrap();
    let codes =
        [0x00, 0x01, 0x05, 0x10, 0x30, 0x50, 0x60, 0x70, 0x80, 0x85, 0x90, 0xD0, 0xE0, 0x42, 0xEC];
    match stream.below(5) {
        0 => drop(list.remove(at)),
        1 => list.insert(at, Try::Command(codes[usize::try_from(stream.below(15)).unwrap()])),
        2 => list.insert(at, Try::Address(u8::try_from(stream.below(256)).unwrap())),
        3 => list.insert(at, Try::Output(2)),
        _ => {
            if let Try::Wait(time) = &mut list[at] {
                *time /= 2;
            }
        }
    }
}

/// The cells of the chip as the model has them.
fn image(chip: &ParallelChip, geometry: NandGeometry) -> Vec<u8> {
    let mut image = vec![0; geometry.row_bytes() * usize::try_from(geometry.rows()).unwrap()];
    for (index, page) in (0..).zip(image.chunks_mut(geometry.row_bytes())) {
        chip.die().array().peek(geometry.row(index).unwrap(), 0, page);
    }
    image
}

fn compare(part: Part, seed: u64, rounds: u32) {
    // No variation in time, and a program or an erase as long as its maximum, so that the model may
    // count them down.
    let mut part = part;
    part.timing.program.time = boardlab_sim::QuantileTable::constant(part.timing.program.max);
    part.timing.erase.time = boardlab_sim::QuantileTable::constant(part.timing.erase.max);
    let geometry = part.geometry;
    let mut model = Model::new(&part);
    let mut chip =
        ParallelChip::new(Die::new(Arc::new(part.clone()), &Setup::perfect(Seed::new(1))).unwrap());
    let mut stream = Seed::new(seed).stream("cycles");
    let (mut now, mut refused, mut taken) = (Instant::ZERO, 0, 0);
    let mut recent = std::collections::VecDeque::new();
    for round in 0..rounds {
        let mut list = sequences(&mut stream, &part);
        spoil(&mut stream, &mut list);
        for cycle in list {
            now += nanos(50);
            model.pass(50);
            recent.push_back(match &cycle {
                Try::Input(data) => format!("Input({})", data.len()),
                cycle => format!("{cycle:02X?}"),
            });
            if recent.len() > 40 {
                recent.pop_front();
            }
            let told = format!("seed {seed} round {round}: {recent:?}");
            let (real, expected) = match cycle {
                Try::Command(code) => (chip.command(now, code), model.command(code)),
                Try::Address(byte) => (chip.address(now, byte), model.address(byte)),
                Try::Input(data) => (chip.input(now, &data), model.input(&data)),
                Try::Output(count) => {
                    let (mut real, mut expected) = (vec![0; count], vec![0; count]);
                    let answers = (chip.output(now, &mut real), model.output(&mut expected));
                    assert!(real == expected, "{told}");
                    answers
                }
                Try::Wait(time) => {
                    now += nanos(time);
                    model.pass(time);
                    (Ok(()), Ok(()))
                }
            };
            assert_eq!(real.is_ok(), expected.is_ok(), "{told}: {real:?}");
            if real.is_ok() { taken += 1 } else { refused += 1 }
        }
    }
    now += nanos(4_000_000);
    model.pass(4_000_000);
    chip.die_mut().advance(now);
    assert!(image(&chip, geometry) == model.cells, "seed {seed}: the cells differ");
    assert!(taken > refused && refused > rounds / 20, "{taken} taken, {refused} refused");
    let programs: u64 = (0..2).map(|block| chip.die().array().program_count(block)).sum();
    assert!(programs > u64::from(rounds) / 10, "{programs} programs");
}

fn rounds() -> u32 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 400_000 } else { 20_000 }
}

#[test]
fn a_large_page_chip_does_what_its_table_says_whatever_comes() {
    for seed in 1..=3 {
        let mut part = large(2);
        part.geometry.pages_per_block = 32;
        part.timing.reset = nanos(100);
        compare(part, seed, rounds());
    }
}

#[test]
fn a_small_page_chip_does_what_its_table_says_whatever_comes() {
    for seed in 1..=3 {
        let part = Part { identity: large(1).identity, ..small(2) };
        assert_eq!(part.geometry.oob, Bytes::new(16));
        let _: Row = part.geometry.row(0).unwrap();
        compare(part, seed, rounds());
    }
}
