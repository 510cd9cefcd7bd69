//! Random bus cycles on the chip and on a second, simple model: every read, the ready pin, the
//! time of completion and all contents must agree.
//!
//! Replay: `BOARDLAB_SEED=n cargo test -p boardlab-nor --test nor chip_reference`.
//! `BOARDLAB_FULL=1` runs ten million cycles.

use crate::chip_rig;

use crate::chip_model::Model;
use boardlab_nor::chip::{Address, Chip};
use boardlab_nor::part::{Boot, BusWidth, Features, Identity, OperationTime, Part, Timing};
use boardlab_sim::{Bytes, Duration, Instant, QuantileTable, Seed, Stream};
use std::sync::Arc;

/// Cycles of all parts together without `BOARDLAB_FULL`.
const CYCLES: u64 = 1_000_000;
const FULL_CYCLES: u64 = 10_000_000;

/// Short times of real spread, so that random steps of time meet every border.
fn timing() -> Timing {
    let timed = |points: &[u64], max| {
        let points: Vec<_> = points.iter().copied().map(Duration::from_nanos).collect();
        OperationTime { time: QuantileTable::new(&points).unwrap(), max: Duration::from_nanos(max) }
    };
    Timing {
        word_program: timed(&[1_500, 2_000, 4_000], 9_000),
        buffer_program: timed(&[4_000, 6_000, 11_000], 20_000),
        buffer_overhead: Duration::from_nanos(1_234),
        sector_erase: timed(&[20_000, 30_000, 60_000], 70_000),
        erase_window: Duration::from_nanos(2_500),
        suspend_latency: Duration::from_nanos(900),
        protected_latency: Duration::from_nanos(1_700),
        reset_latency: Duration::from_nanos(2_100),
    }
}

/// Parts that differ in width, geometry, buffer and every feature.
fn parts() -> Vec<Part> {
    let mut parts = Vec::new();
    for width in chip_rig::WIDTHS {
        let all = chip_rig::part(width, Boot::Top, &[(1, 32), (2, 8), (1, 16)]);
        let all = Part { timing: timing(), ..all };
        let has_register = Features { status_register: true, masks_ones: false, ..all.features };
        let identity =
            Identity { manufacturer: 1, device: 0x227E, device_extended: Some([0x2228, 0x2201]) };
        let largest = Some(Bytes::new(256 * width.bytes()));
        parts.push(Part { features: has_register, identity, write_buffer: largest, ..all.clone() });
        let bare = Features {
            unlock_bypass: false,
            erase_suspend: width == BusWidth::X8,
            program_suspend: false,
            status_register: false,
            ppb: false,
            masks_ones: true,
        };
        let small = chip_rig::part(width, Boot::Bottom, &[(2, 4), (1, 8), (3, 16)]);
        let mut small = Part { timing: timing(), write_buffer: None, ..small };
        small.cfi = None;
        parts.push(Part { features: bare, ..small });
        parts.push(all);
    }
    parts
}

/// One cycle of a script.
#[derive(Clone, Copy, Debug)]
enum Cycle {
    Write(u32, u16),
    Read(u32),
}

/// The two chips side by side, and what chooses their cycles.
struct Pair {
    chip: Chip,
    model: Model,
    part: Part,
    now: Instant,
    stream: Stream,
    cycles: u64,
    recent: Vec<(Instant, Cycle)>,
}

impl Pair {
    fn new(part: &Part, seed: Seed) -> Self {
        Self {
            chip: Chip::new(Arc::new(part.clone()), seed).unwrap(),
            model: Model::new(part, seed),
            part: part.clone(),
            now: Instant::ZERO,
            stream: seed.stream("script"),
            cycles: 0,
            recent: Vec::new(),
        }
    }

    fn wide(&self) -> bool {
        self.part.width == BusWidth::X16
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.stream.below(bound)
    }

    /// Lets a random time pass: mostly a cycle, at times to about the end of the operation.
    fn step(&mut self) {
        let left = self.model.time_left().unwrap_or(3_000);
        let span = match self.below(40) {
            0 => left,
            1 => left.saturating_sub(1),
            2 => left + 1,
            3 => left / 2,
            4 => self.below(3_000),
            5 => self.below(left.max(1) * 2),
            _ => 100,
        };
        self.now += Duration::from_nanos(span);
    }

    /// Does one cycle on both and compares.
    fn cycle(&mut self, cycle: Cycle) {
        self.step();
        self.cycles += 1;
        self.recent.push((self.now, cycle));
        match cycle {
            Cycle::Write(address, value) => {
                self.chip.write(self.now, Address(address), value);
                self.model.write(self.now, Address(address), value);
            }
            Cycle::Read(address) => {
                let chip = self.chip.read(self.now, Address(address));
                let model = self.model.read(self.now, Address(address));
                if let Some(model) = model {
                    assert_eq!(chip, model, "{chip:04x}, not {model:04x}; {}", self.story());
                }
            }
        }
        let (chip, model) = (self.chip.is_ready(self.now), self.model.is_ready(self.now));
        assert_eq!(chip, model, "ready {chip}, not {model}; {}", self.story());
        let end = self.model.time_left().map(|left| self.now + Duration::from_nanos(left));
        assert_eq!(self.chip.ready_at(), end, "{}", self.story());
        if self.cycles.is_multiple_of(256) {
            self.compare_contents();
        }
    }

    fn compare_contents(&mut self) {
        let mut bytes = vec![0; self.model.cells.len()];
        self.chip.array().read(Bytes::ZERO, &mut bytes);
        let differs = bytes.iter().zip(&self.model.cells).position(|(chip, model)| chip != model);
        assert_eq!(differs, None, "contents; {}", self.story());
        self.recent.clear();
    }

    /// The cycles since contents were last compared, at most the last forty.
    fn story(&self) -> String {
        let from = self.recent.len().saturating_sub(40);
        let lines = self.recent[from..].iter().map(|(now, cycle)| match cycle {
            Cycle::Write(address, value) => {
                format!("\n{}: {address:05x} <- {value:04x}", now.as_nanos())
            }
            Cycle::Read(address) => format!("\n{}: read {address:05x}", now.as_nanos()),
        });
        format!("{} {:?} after:{}", self.part.name, self.part.width, lines.collect::<String>())
    }

    /// Does a script, spoiling a cycle now and then and reading between cycles.
    fn run(&mut self, script: &[Cycle]) {
        for &cycle in script {
            match self.below(150) {
                0 => continue,
                1 => self.cycle(cycle),
                2 => {
                    let (address, value) = (self.place(), self.value());
                    self.cycle(Cycle::Write(address, value));
                }
                3..12 => {
                    let address = self.place();
                    self.cycle(Cycle::Read(address));
                }
                _ => {}
            }
            self.cycle(cycle);
        }
    }

    /// A bus address, among few places so that they meet again.
    fn place(&mut self) -> u32 {
        let size = self.model.cells.len() as u64;
        let base = match self.below(4) {
            0 => self.below(size / 4_096) * 4_096,
            1 => 0x4000,
            2 => self.below(8) * 4_096 + self.below(4) * 64,
            _ => 0x2000 * self.below(4),
        };
        let byte = (base + self.below(4) * 2) % size;
        let address = if self.wide() { byte / 2 } else { byte };
        u32::try_from(address).unwrap()
    }

    /// Any value, those that are commands more often.
    fn value(&mut self) -> u16 {
        const COMMANDS: [u16; 16] = [
            0xF0, 0xAA, 0x55, 0x30, 0xB0, 0x29, 0x25, 0x10, 0x98, 0x90, 0x00, 0x50, 0x51, 0x70,
            0x71, 0xFF,
        ];
        match self.below(3) {
            0 => COMMANDS[usize::try_from(self.below(16)).unwrap()],
            1 => 0xFF00 | u16::try_from(self.below(256)).unwrap(),
            _ => u16::try_from(self.below(65_536)).unwrap(),
        }
    }

    fn at(&self, word: u32) -> u32 {
        match (self.wide(), word) {
            (true, word) => word,
            (false, 0x2AA) => 0x555,
            (false, word) => word * 2,
        }
    }

    fn unlock(&self) -> Vec<Cycle> {
        vec![Cycle::Write(self.at(0x555), 0xAA), Cycle::Write(self.at(0x2AA), 0x55)]
    }

    fn unlocked(&self, value: u16) -> Vec<Cycle> {
        [self.unlock(), vec![Cycle::Write(self.at(0x555), value)]].concat()
    }

    /// A command sequence, chosen at random.
    fn act(&mut self) {
        if self.model.is_in_trouble() && self.below(2) == 0 {
            let script = [vec![Cycle::Write(0, 0xF0)], self.unlocked(0xF0)].concat();
            return self.run(&script);
        }
        let (place, other, value) = (self.place(), self.place(), self.value());
        let script = match self.below(34) {
            0..4 => [self.unlocked(0xA0), vec![Cycle::Write(place, value)]].concat(),
            4..9 => self.buffer_script(place),
            9..12 => self.erase_script(place),
            12 if self.below(4) == 0 => [self.unlocked(0x80), self.unlocked(0x10)].concat(),
            13..16 => vec![Cycle::Write(place, 0xB0)],
            16 => vec![Cycle::Write(place, 0x51)],
            17..20 => vec![Cycle::Write(place, 0x30)],
            20 => vec![Cycle::Write(place, 0x50)],
            21..25 => self.table_script(),
            25 => self.bypass_script(),
            26 => self.protection_script(place, other),
            27 => self.unlocked(0xF0),
            28 => vec![Cycle::Write(place, 0xF0)],
            29 => vec![Cycle::Write(self.at(0x555), 0x70), Cycle::Read(place)],
            30 => vec![Cycle::Write(self.at(0x555), 0x71)],
            31 => return self.reset_pin(),
            _ => vec![Cycle::Read(place), Cycle::Read(place), Cycle::Read(other)],
        };
        self.run(&script);
        self.poll(place);
    }

    /// Reads until the chip is ready, or gives up.
    fn poll(&mut self, place: u32) {
        for _ in 0..self.stream.below(6) {
            self.cycle(Cycle::Read(place));
        }
        if self.below(4) > 0 {
            let left = self.model.time_left().unwrap_or(0);
            self.now += Duration::from_nanos(left);
            self.cycle(Cycle::Read(place));
        }
    }

    fn buffer_script(&mut self, sector: u32) -> Vec<Cycle> {
        let buffer = self.part.write_buffer.map_or(2, Bytes::get);
        let words = buffer / self.part.width.bytes();
        let count = if self.below(3) == 0 { 1 + self.below(words) } else { 1 + self.below(4) };
        let page = sector & !(u32::try_from(words).unwrap() - 1);
        let mut script = self.unlock();
        let wrong = self.below(12);
        let told = if wrong == 0 { count } else { count - 1 };
        script.push(Cycle::Write(sector, 0x25));
        script.push(Cycle::Write(sector, u16::try_from(told).unwrap()));
        for _ in 0..count {
            let word = u32::try_from(self.below(words)).unwrap();
            script.push(Cycle::Write(page + word, self.value()));
        }
        let confirm = if wrong == 1 { self.place() } else { sector };
        script.push(Cycle::Write(confirm, 0x29));
        script
    }

    fn erase_script(&mut self, place: u32) -> Vec<Cycle> {
        let mut script = [self.unlocked(0x80), self.unlock()].concat();
        script.push(Cycle::Write(place, 0x30));
        for _ in 0..self.stream.below(4) {
            let next = self.place();
            script.push(Cycle::Write(next, 0x30));
            script.push(Cycle::Read(next));
        }
        script
    }

    /// Autoselect, the query, or one from the other.
    fn table_script(&mut self) -> Vec<Cycle> {
        let query = Cycle::Write(self.at(0x55), 0x98);
        let mut script = match self.below(3) {
            0 => self.unlocked(0x90),
            1 => vec![query],
            _ => [self.unlocked(0x90), vec![query]].concat(),
        };
        const PLACES: [u32; 8] = [0x00, 0x01, 0x02, 0x0E, 0x0F, 0x03, 0x04, 0x05];
        let index = usize::try_from(self.below(8)).unwrap();
        script.push(Cycle::Read(self.at(PLACES[index])));
        script.push(Cycle::Read(self.place() & !0xFF | self.at(0x02)));
        script.extend([Cycle::Write(0, 0xF0), Cycle::Read(0), Cycle::Write(0, 0xF0)]);
        script
    }

    fn bypass_script(&mut self) -> Vec<Cycle> {
        let mut script = self.unlocked(0x20);
        for _ in 0..self.stream.below(4) {
            script.push(Cycle::Write(self.place(), 0xA0));
            let place = self.place();
            script.push(Cycle::Write(place, self.value()));
            (0..8).for_each(|_| script.push(Cycle::Read(place)));
        }
        script.extend([Cycle::Write(0, 0x90), Cycle::Write(0, 0x00)]);
        script
    }

    fn protection_script(&mut self, place: u32, other: u32) -> Vec<Cycle> {
        let mut script = self.unlocked(0xC0);
        if self.below(4) == 0 {
            script.extend([Cycle::Write(place, 0xA0), Cycle::Write(place, 0x00)]);
        } else {
            script.extend([Cycle::Write(place, 0x80), Cycle::Write(place, 0x30)]);
        }
        (0..10).for_each(|_| script.push(Cycle::Read(place)));
        script.extend([Cycle::Read(other), Cycle::Write(0, 0x90), Cycle::Write(0, 0x00)]);
        script
    }

    /// The RESET# pin, where it tears nothing.
    fn reset_pin(&mut self) {
        self.model.is_ready(self.now);
        if self.model.may_reset() {
            self.chip.hardware_reset(self.now);
            self.model.hardware_reset(self.now);
        }
    }
}

/// Runs `cycles` cycles and returns how often the chip programmed and erased.
fn compare(part: &Part, seed: Seed, cycles: u64) -> (u64, u64) {
    let mut pair = Pair::new(part, seed);
    while pair.cycles < cycles {
        pair.act();
    }
    pair.compare_contents();
    (pair.chip.counters().programs, pair.chip.counters().erases)
}

#[test]
fn the_chip_agrees_with_a_simple_model_on_random_cycles() {
    let seed = std::env::var("BOARDLAB_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let full = std::env::var("BOARDLAB_FULL").is_ok_and(|text| text == "1");
    println!("BOARDLAB_SEED={seed} cargo test -p boardlab-nor --test nor chip_reference");
    let parts = parts();
    let each = if full { FULL_CYCLES } else { CYCLES } / parts.len() as u64;
    for (index, part) in (0_u64..).zip(&parts) {
        let (programs, erases) = compare(part, Seed::new(seed).child(&format!("{index}")), each);
        println!("{programs} programs, {erases} sector erases");
        assert!(programs * 100 > each, "{programs} programs in {each} cycles");
        assert!(erases * 500 > each, "{erases} erases in {each} cycles");
    }
}
