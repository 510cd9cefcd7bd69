//! Bit errors under a workload: every read is right, or says that it is not.
//!
//! Random programs, reads, erases and rests go through the driver of a chip whose bits flip much more
//! than any part's, and through a model that is a list of pages. Before each read the wrong bits of
//! every step are counted on a fork of the device. Then, by step:
//!
//! - no more than the code corrects: the data are right;
//! - no more than it notices (Hamming: two; BCH: any number but for the share below): the data are
//!   right or the read is refused;
//! - more: a code may take them for few, and Hamming always does so with three. How often is counted,
//!   and for BCH held below a bound.

use crate::rig;

use crate::rig::{large, mlc, serial, setup};
use boardlab_codec::hamming::Step;
use boardlab_media::{CellKind, Curve, ErrorRates};
use boardlab_mtd::{BlockIndex, Error, Mtd, PageIndex, RawPages};
use boardlab_nand::ecc::Code;
use boardlab_nand::part::Part;
use boardlab_nand::{Nand, Profile};
use boardlab_sim::{Bytes, Clock, Duration, Seed, Stream};

/// Wrong bits of main bytes and codes of each step of a page.
fn wrong_bits(nand: &Nand, clock: &Clock, page: u32, step: usize, code: usize) -> Vec<u32> {
    let (mut fork, mut clock) = (nand.clone(), clock.clone());
    let shape = nand.port.part().geometry;
    let (main, oob) = (shape.page.to_usize(), shape.oob.to_usize());
    let (mut data, mut spare) = (vec![0; main], vec![0; oob]);
    fork.read_raw(&mut clock, PageIndex(page), &mut data, &mut spare).unwrap();
    let mut pristine = vec![0; main + oob];
    nand.port.die().array().peek(shape.row(page).unwrap(), 0, &mut pristine);
    let (held, held_spare) = pristine.split_at(main);
    let layout = &nand.driver.profile().layout;
    let differing =
        |a: &[u8], b: &[u8]| -> u32 { a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum() };
    (0..main / step)
        .map(|index| {
            let (mut read, mut expected) = (vec![0; code], vec![0; code]);
            layout.gather_ecc(&spare, index * code, &mut read);
            layout.gather_ecc(held_spare, index * code, &mut expected);
            let columns = index * step..(index + 1) * step;
            differing(&data[columns.clone()], &held[columns]) + differing(&read, &expected)
        })
        .collect()
}

#[derive(Debug, Default)]
struct Seen {
    reads: u64,
    corrected: u64,
    refused: u64,
    /// Steps with more wrong bits than the code is sure to notice, and those that came out wrong
    /// without a word.
    beyond: u64,
    silent: u64,
}

struct Workload {
    nand: Nand,
    clock: Clock,
    stream: Stream,
    /// By page.
    pages: Vec<Option<Vec<u8>>>,
    /// Step, bytes of code, bits corrected, bits noticed.
    code: (usize, usize, u32, u32),
    seen: Seen,
    seed: u64,
}

impl Workload {
    fn new(part: Part, profile: Profile, rates: ErrorRates, seed: u64) -> Self {
        let engine = match (profile.code, part.on_die_ecc) {
            (Code::OnDie, Some(need)) => Code::for_need(need).unwrap(),
            (code, _) => code,
        };
        let engine = boardlab_nand::ecc::Engine::new(engine).unwrap();
        let noticed = match engine.strength() {
            1 => 2,
            strength => strength,
        };
        let code = (engine.step(), engine.code_bytes(), engine.strength(), noticed);
        let count = usize::try_from(part.geometry.rows()).unwrap();
        let (nand, clock) = rig::nand_with(part, profile, &setup(seed, Some(rates)));
        let stream = Seed::new(seed).stream("workload");
        Self { nand, clock, stream, pages: vec![None; count], code, seen: Seen::default(), seed }
    }

    fn run(&mut self, rounds: u32) {
        for _ in 0..rounds {
            match self.stream.below(64) {
                0 => self.erase(),
                1..24 => self.program(),
                24 | 25 => self.nand.port.die_mut().array_mut().age(Duration::from_secs(36_000)),
                _ => self.read(),
            }
        }
    }

    fn block_pages(&self) -> u32 {
        self.nand.port.part().geometry.pages_per_block
    }

    fn erase(&mut self) {
        let blocks = self.nand.geometry().block_count();
        let block = u32::try_from(self.stream.below(u64::from(blocks))).unwrap();
        self.nand.erase(&mut self.clock, BlockIndex(block)).unwrap();
        let first = usize::try_from(block * self.block_pages()).unwrap();
        let count = usize::try_from(self.block_pages()).unwrap();
        self.pages[first..first + count].fill(None);
    }

    /// Programs the next free page of a block.
    fn program(&mut self) {
        let blocks = self.nand.geometry().block_count();
        let block = u32::try_from(self.stream.below(u64::from(blocks))).unwrap();
        let first = block * self.block_pages();
        let free = (first..first + self.block_pages())
            .find(|&page| self.pages[usize::try_from(page).unwrap()].is_none());
        let Some(page) = free else { return };
        let unit = self.nand.geometry().write_size;
        let mut data = vec![0; unit.to_usize()];
        self.stream.fill(&mut data);
        self.nand.program(&mut self.clock, unit * u64::from(page), &data).unwrap();
        self.pages[usize::try_from(page).unwrap()] = Some(data);
    }

    fn read(&mut self) {
        let index = usize::try_from(self.stream.below(self.pages.len() as u64)).unwrap();
        let page = u32::try_from(index).unwrap();
        let unit = self.nand.geometry().write_size;
        let (from, to) = if self.stream.chance(1, 2) {
            (0, unit.to_usize())
        } else {
            let from = usize::try_from(self.stream.below(unit.get())).unwrap();
            let most = unit.get() - u64::try_from(from).unwrap();
            (from, from + 1 + usize::try_from(self.stream.below(most)).unwrap())
        };
        let (step, code, corrects, notices) = self.code;
        let wrong = wrong_bits(&self.nand, &self.clock, page, step, code);
        let erased = vec![0xFF; unit.to_usize()];
        let mut back = vec![0; to - from];
        let at = unit * u64::from(page) + Bytes::new(u64::try_from(from).unwrap());
        let answer = self.nand.read(&mut self.clock, at, &mut back);
        let expected = &self.pages[index].as_ref().unwrap_or(&erased)[from..to];
        // A driver that reads whole pages refuses for any of their steps.
        let steps = if self.nand.driver.profile().subpage_read && to - from < unit.to_usize() {
            &wrong[from / step..to.div_ceil(step)]
        } else {
            &wrong[..]
        };
        let told = format!("seed {} page {page} {from}..{to}: {wrong:?}", self.seed);
        self.seen.reads += 1;
        self.seen.corrected += u64::from(answer.as_ref().is_ok_and(|health| health.corrected > 0));
        if steps.iter().all(|&bits| bits <= corrects) {
            assert!(answer.is_ok(), "{told}: {answer:?}");
            assert!(back == expected, "{told}");
            return;
        }
        let beyond = steps.iter().filter(|&&bits| bits > notices).count();
        self.seen.beyond += beyond as u64;
        match answer {
            Err(Error::Uncorrectable { offset }) => {
                assert_eq!(offset, at, "{told}");
                self.seen.refused += 1;
            }
            Err(error) => panic!("{told}: {error}"),
            Ok(_) if back == expected => {}
            Ok(_) => {
                assert!(beyond > 0, "{told}: wrong data without a word");
                self.seen.silent += 1;
            }
        }
    }
}

fn rounds() -> u32 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 300_000 } else { 6_000 }
}

/// Rates that grow with reads, erases and time: `scale` is about the wrong bits in 10^6 after some use.
fn rates(scale: u64) -> ErrorRates {
    let per_million = 1_000_000_000_000 * scale;
    ErrorRates {
        program: Curve::new(&[(0, 0), (200, per_million)]).unwrap(),
        retention: Curve::flat(per_million),
        retention_share: Curve::new(&[(0, 0), (1_000, 1_000)]).unwrap(),
        disturb: Curve::flat(per_million / 1_000),
    }
}

#[test]
fn hamming_gives_the_data_or_says_that_it_cannot() {
    let mut total = Seen::default();
    for seed in 1..=3 {
        let part = large(8);
        for step in [Step::Bytes256, Step::Bytes512] {
            let profile = Profile::with(&part, Code::Hamming(step), seed % 2 == 0).unwrap();
            let mut workload = Workload::new(part.clone(), profile, rates(60), seed);
            workload.run(rounds());
            total.corrected += workload.seen.corrected;
            total.refused += workload.seen.refused;
            total.silent += workload.seen.silent;
            total.beyond += workload.seen.beyond;
        }
    }
    assert!(total.corrected > 100 && total.refused > 100, "{total:?}");
    // Three wrong data bits of a step always pass for one.
    assert!(total.silent > 0 && total.silent <= total.beyond, "{total:?}");
}

#[test]
fn bch_gives_the_data_or_says_that_it_cannot() {
    for (bits, scale) in [(4, 800), (8, 1_600)] {
        let part = mlc(4);
        let profile = Profile::with(&part, Code::Bch { step: 512, bits }, true).unwrap();
        let mut workload = Workload::new(part, profile, rates(scale), u64::from(bits));
        workload.run(rounds());
        let seen = &workload.seen;
        assert!(seen.corrected > 100 && seen.refused > 100, "{seen:?}");
        // Measured shares of 5 wrong bits taken for 4 or fewer: docs/models/ecc.md.
        let bound = if bits == 4 { seen.beyond / 10 } else { seen.beyond / 1_000 };
        assert!(seen.silent <= bound, "{seen:?}");
    }
}

#[test]
fn a_chip_that_corrects_gives_the_data_or_says_that_it_cannot() {
    let part = serial(8);
    let profile = rig::profile(&part);
    let mut workload = Workload::new(part, profile, rates(30), 9);
    workload.run(rounds());
    let seen = &workload.seen;
    assert!(seen.corrected > 50 && seen.refused > 50, "{seen:?}");
}

#[test]
fn a_part_of_the_class_has_no_error_at_rest_and_some_at_the_end_of_its_life() {
    let part = large(2);
    let profile = Profile::linux_2_6(&part).unwrap();
    let rates = ErrorRates::typical(CellKind::Slc);
    let mut corrected = Vec::new();
    for erases in [0, 100_000] {
        let (mut nand, mut clock) =
            rig::nand_with(part.clone(), profile.clone(), &setup(1, Some(rates.clone())));
        nand.port.die_mut().array_mut().wear(0, erases);
        let data = vec![0xA5; 64 * 2_048];
        nand.program(&mut clock, Bytes::ZERO, &data).unwrap();
        nand.port.die_mut().array_mut().age(Duration::from_secs(365 * 86_400));
        let mut back = vec![0; data.len()];
        nand.read(&mut clock, Bytes::ZERO, &mut back).unwrap();
        assert_eq!(back, data);
        corrected.push(nand.driver.ecc().corrected);
    }
    assert_eq!(corrected[0], 0);
    assert!(corrected[1] > 0);
}

#[test]
fn errors_switched_off_leave_the_data_as_they_were_written() {
    let part = large(2);
    let profile = Profile::with(&part, Code::None, false).unwrap();
    let setup = setup(1, Some(ErrorRates::constant(10_000_000_000_000_000)));
    let (mut nand, mut clock) = rig::nand_with(part, profile, &setup);
    nand.program(&mut clock, Bytes::ZERO, &[0xA5; 2_048]).unwrap();
    let mut back = [0; 2_048];
    nand.read(&mut clock, Bytes::ZERO, &mut back).unwrap();
    assert_ne!(back, [0xA5; 2_048]);
    nand.port.die_mut().set_errors(Seed::new(1), None);
    nand.read(&mut clock, Bytes::ZERO, &mut back).unwrap();
    assert_eq!(back, [0xA5; 2_048]);
}
