//! A second NOR chip, slow and simple, to compare the real one against.
//!
//! Written from the command table and the chip's documentation, sharing no code with it and built
//! the other way round: it keeps all cycles of the present sequence and matches them against the
//! table anew at each write, counts the time of an operation down instead of remembering instants,
//! and holds the cells in one flat vector. It knows no faults and no power cuts.

use boardlab_nor::chip::Address;
use boardlab_nor::part::{BusWidth, Part};
use boardlab_sim::{Instant, Seed, Stream};

/// What runs, or sleeps.
#[derive(Clone, Debug)]
enum Job {
    Program { at: usize, data: Vec<u8>, fails: bool },
    Window,
    Erase,
    Protected { register: u16 },
    ProtectOne(usize),
    UnprotectAll,
    Reset,
}

#[derive(Clone, Debug)]
struct Active {
    job: Job,
    /// Nanoseconds until its next step.
    left: u64,
    /// Nanoseconds until it obeys a suspend command.
    suspend_in: Option<u64>,
}

/// The sectors of an erase, with their times; those done are removed from the front.
#[derive(Clone, Debug)]
struct Sectors {
    all: Vec<usize>,
    todo: Vec<(usize, u64)>,
    /// Nanoseconds left of the first one when it was begun and suspended.
    asleep: Option<u64>,
    whole_chip: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Array,
    Bypass,
    Autoselect,
    Query,
    QueryFromAutoselect,
    Protection,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    TimedOut,
    Aborted,
}

/// What a sequence of cycles amounts to.
enum Verdict {
    /// It may go on.
    More,
    /// It is over.
    Over,
}

use Verdict::{More, Over};

/// The model.
pub(crate) struct Model {
    part: Part,
    pub(crate) cells: Vec<u8>,
    starts: Vec<usize>,
    protected: Vec<bool>,
    cycles: Vec<(u32, u16)>,
    mode: Mode,
    active: Option<Active>,
    erase: Option<Sectors>,
    sleeping_program: Option<Active>,
    trouble: Option<Trouble>,
    last: Instant,
    dq7: u16,
    dq3: u16,
    dq6: bool,
    dq2: bool,
    register: u16,
    register_next: bool,
    word_times: Stream,
    buffer_times: Stream,
    erase_times: Stream,
    protect_times: Stream,
}

impl Model {
    pub(crate) fn new(part: &Part, seed: Seed) -> Self {
        let mut starts = vec![0];
        for region in &part.regions {
            for _ in 0..region.count {
                starts.push(starts[starts.len() - 1] + region.size.to_usize());
            }
        }
        let size = starts.pop().unwrap();
        Self {
            part: part.clone(),
            cells: vec![0xFF; size],
            protected: vec![false; starts.len()],
            starts,
            cycles: Vec::new(),
            mode: Mode::Array,
            active: None,
            erase: None,
            sleeping_program: None,
            trouble: None,
            last: Instant::ZERO,
            dq7: 0,
            dq3: 0,
            dq6: false,
            dq2: false,
            register: 0,
            register_next: false,
            word_times: seed.stream("word_program"),
            buffer_times: seed.stream("buffer_program"),
            erase_times: seed.stream("sector_erase"),
            protect_times: seed.stream("protection"),
        }
    }

    fn wide(&self) -> bool {
        self.part.width == BusWidth::X16
    }

    /// The byte that a bus address selects.
    fn byte(&self, address: u32) -> usize {
        let scale = if self.wide() { 2 } else { 1 };
        (address as usize * scale) % self.cells.len()
    }

    fn sector(&self, byte: usize) -> usize {
        self.starts.iter().rposition(|&start| start <= byte).unwrap()
    }

    fn sector_bytes(&self, sector: usize) -> std::ops::Range<usize> {
        let end = self.starts.get(sector + 1).copied().unwrap_or(self.cells.len());
        self.starts[sector]..end
    }

    fn is_unlock1(&self, address: u32) -> bool {
        if self.wide() { address & 0x7FF == 0x555 } else { address & 0xFFF == 0xAAA }
    }

    fn is_unlock2(&self, address: u32) -> bool {
        if self.wide() { address & 0x7FF == 0x2AA } else { address & 0xFFF == 0x555 }
    }

    fn is_query(&self, address: u32) -> bool {
        let hit = if self.wide() { address & 0x7FF == 0x55 } else { address & 0xFFF == 0xAA };
        hit && self.part.cfi.is_some()
    }

    /// The RY/BY# pin.
    pub(crate) fn is_ready(&mut self, now: Instant) -> bool {
        self.settle(now);
        self.active.is_none() && self.trouble.is_none()
    }

    /// Whether it waits for a reset after a failure or an abort.
    pub(crate) const fn is_in_trouble(&self) -> bool {
        self.trouble.is_some()
    }

    /// Nanoseconds until the running operation ends, if one runs.
    pub(crate) fn time_left(&self) -> Option<u64> {
        let active = self.active.as_ref()?;
        let rest = |skip| -> u64 {
            let todo = self.erase.as_ref().map(|erase| &erase.todo[..]).unwrap_or_default();
            todo.iter().skip(skip).map(|&(_, time)| time).sum()
        };
        let more = match active.job {
            Job::Window if rest(0) == 0 => self.part.timing.protected_latency.as_nanos(),
            Job::Window => rest(0),
            Job::Erase => rest(1),
            _ => 0,
        };
        Some(active.left + more)
    }

    /// Whether the RESET# pin would tear nothing.
    pub(crate) fn may_reset(&self) -> bool {
        let sleeps = self.sleeping_program.is_some()
            || self.erase.as_ref().is_some_and(|erase| erase.asleep.is_some());
        let runs = self.active.as_ref().is_some_and(|active| {
            !matches!(active.job, Job::Window | Job::Protected { .. } | Job::Reset)
        });
        !sleeps && !runs
    }

    pub(crate) fn hardware_reset(&mut self, now: Instant) {
        let was_ready = self.is_ready(now);
        self.cycles.clear();
        self.mode = Mode::Array;
        self.erase = None;
        self.trouble = None;
        self.register = 0;
        self.register_next = false;
        self.active = None;
        if !was_ready {
            let left = self.part.timing.reset_latency.as_nanos();
            self.start(Job::Reset, left);
        }
    }

    fn start(&mut self, job: Job, left: u64) {
        self.active = Some(Active { job, left, suspend_in: None });
    }

    /// Lets time pass, step by step.
    fn settle(&mut self, now: Instant) {
        let mut passed = now.since(self.last).as_nanos();
        self.last = now;
        while let Some(active) = &mut self.active {
            let step = active.left.min(active.suspend_in.unwrap_or(u64::MAX));
            let spent = step.min(passed);
            active.left -= spent;
            active.suspend_in = active.suspend_in.map(|left| left - spent);
            if step > passed {
                return;
            }
            passed -= step;
            let active = self.active.take().unwrap();
            if active.left == 0 {
                self.step_ends(active);
            } else {
                self.falls_asleep(active);
            }
        }
    }

    fn step_ends(&mut self, active: Active) {
        match active.job {
            Job::Program { at, data, fails } => {
                for (cell, byte) in self.cells[at..].iter_mut().zip(data) {
                    *cell &= byte;
                }
                if fails {
                    self.trouble = Some(Trouble::TimedOut);
                    self.register |= 0x10;
                }
            }
            Job::Window => self.begin_erase(),
            Job::Erase => {
                let (sector, _) = self.erase.as_mut().unwrap().todo.remove(0);
                let bytes = self.sector_bytes(sector);
                self.cells[bytes].fill(0xFF);
                match self.erase.as_ref().unwrap().todo.first() {
                    Some(&(_, left)) => self.active = Some(Active { left, ..active }),
                    None => self.erase = None,
                }
            }
            Job::Protected { register } => self.register |= register | 0x02,
            Job::ProtectOne(sector) => self.protected[sector] = true,
            Job::UnprotectAll => self.protected.fill(false),
            Job::Reset => {}
        }
    }

    fn falls_asleep(&mut self, active: Active) {
        match active.job {
            Job::Program { .. } => self.sleeping_program = Some(active),
            _ => self.erase.as_mut().unwrap().asleep = Some(active.left),
        }
    }

    fn begin_erase(&mut self) {
        self.dq3 = 0x08;
        self.dq7 = 0;
        let erase = self.erase.as_ref().unwrap();
        if let Some(&(_, left)) = erase.todo.first() {
            self.start(Job::Erase, left);
        } else {
            self.erase = None;
            let left = self.part.timing.protected_latency.as_nanos();
            self.start(Job::Protected { register: 0x20 }, left);
        }
    }

    /// A read cycle; `None` where the model does not know the answer.
    pub(crate) fn read(&mut self, now: Instant, address: Address) -> Option<u16> {
        self.settle(now);
        let Address(address) = address;
        if matches!(self.active, Some(Active { job: Job::Reset, .. })) {
            return Some(if self.wide() { 0xFFFF } else { 0xFF });
        }
        if self.register_next {
            self.register_next = false;
            return Some(self.status_register());
        }
        if self.active.is_some() || self.trouble.is_some() {
            return Some(self.status(address));
        }
        Some(match self.mode {
            Mode::Array | Mode::Bypass => self.contents_or_sleeping(address),
            Mode::Autoselect => self.autoselect(address),
            Mode::Query | Mode::QueryFromAutoselect => return self.query(address),
            Mode::Protection => u16::from(!self.protected[self.sector(self.byte(address))]),
        })
    }

    fn is_erasing(&self, address: u32) -> bool {
        let sector = self.sector(self.byte(address));
        self.erase.as_ref().is_some_and(|erase| erase.all.contains(&sector))
    }

    fn dq2(&mut self, address: u32) -> u16 {
        if self.erase.is_none() {
            return 0;
        }
        self.dq2 ^= self.is_erasing(address);
        if self.dq2 { 0x04 } else { 0 }
    }

    fn dq6(&self) -> u16 {
        if self.dq6 { 0x40 } else { 0 }
    }

    fn status(&mut self, address: u32) -> u16 {
        self.dq6 = !self.dq6;
        let trouble = match self.trouble {
            Some(Trouble::TimedOut) => 0x20,
            Some(Trouble::Aborted) => 0x02,
            None => 0,
        };
        self.dq7 | self.dq3 | trouble | self.dq6() | self.dq2(address)
    }

    fn contents_or_sleeping(&mut self, address: u32) -> u16 {
        let byte = self.byte(address);
        if let Some(Active { job: Job::Program { at, data, .. }, .. }) = &self.sleeping_program
            && (*at..at + data.len()).contains(&byte)
        {
            return self.dq7 | self.dq6();
        }
        if self.is_erasing(address) {
            return 0x80 | self.dq6() | self.dq2(address);
        }
        let low = u16::from(self.cells[byte]);
        if self.wide() { low | u16::from(self.cells[byte + 1]) << 8 } else { low }
    }

    fn status_register(&self) -> u16 {
        match (&self.active, self.trouble) {
            (Some(_), _) => 0,
            (None, Some(Trouble::TimedOut)) => 0x80 | self.register,
            (None, Some(Trouble::Aborted)) => 0x80 | self.register | 0x18,
            (None, None) => {
                let erase = if self.erase.is_some() { 0x40 } else { 0 };
                let program = if self.sleeping_program.is_some() { 0x04 } else { 0 };
                0x80 | self.register | erase | program
            }
        }
    }

    fn autoselect(&self, address: u32) -> u16 {
        let word = if self.wide() { address } else { address / 2 } & 0xFF;
        let identity = &self.part.identity;
        let extended = identity.device_extended.unwrap_or([0, 0]);
        let code = match word {
            0 => identity.manufacturer,
            1 => identity.device,
            2 => u16::from(self.protected[self.sector(self.byte(address))]),
            14 => extended[0],
            15 => extended[1],
            _ => 0,
        };
        if self.wide() { code } else { code & 0xFF }
    }

    /// Only some fields: the table has a test of its own.
    fn query(&self, address: u32) -> Option<u16> {
        let word = if self.wide() { address } else { address / 2 } & 0xFF;
        let cfi = self.part.cfi.as_ref().unwrap();
        match word {
            0x10 => Some(0x51),
            0x11 => Some(0x52),
            0x12 => Some(0x59),
            0x1F => Some(u16::from(cfi.times.word_typical)),
            0x21 => Some(u16::from(cfi.times.erase_typical)),
            0x27 => Some(u16::try_from(self.cells.len().ilog2()).unwrap()),
            0x00..0x10 | 0x60.. => Some(0),
            _ => None,
        }
    }

    /// A write cycle.
    pub(crate) fn write(&mut self, now: Instant, address: Address, value: u16) {
        self.settle(now);
        let Address(address) = address;
        let value = if self.wide() { value } else { value & 0xFF };
        if matches!(self.active, Some(Active { job: Job::Reset, .. })) {
            return;
        }
        let is_first = self.cycles.is_empty();
        let in_table = matches!(self.mode, Mode::Autoselect | Mode::Query)
            || self.mode == Mode::QueryFromAutoselect;
        let is_register = self.part.features.status_register
            && self.is_unlock1(address)
            && (value == 0x70 || value == 0x71);
        if is_register && is_first && !in_table {
            return self.register_command(value);
        }
        if self.active.is_some() {
            return self.write_active(address, value);
        }
        self.cycles.push((address, value));
        let verdict = match (self.trouble, self.mode) {
            (Some(Trouble::Aborted), _) => self.match_aborted(),
            (Some(Trouble::TimedOut), _) => self.match_timed_out(value),
            (None, Mode::Array) => self.match_array(),
            (None, Mode::Bypass) => self.match_bypass(),
            (None, Mode::Protection) => self.match_protection(),
            (None, _) => self.match_table(address, value),
        };
        if let Over = verdict {
            self.cycles.clear();
        }
    }

    fn register_command(&mut self, value: u16) {
        if value == 0x70 {
            self.register_next = true;
            return;
        }
        self.register = 0;
        if self.active.is_none() {
            self.trouble = None;
        }
    }

    fn write_active(&mut self, address: u32, value: u16) {
        let features = self.part.features;
        let latency = self.part.timing.suspend_latency.as_nanos();
        let whole_chip = self.erase.as_ref().is_some_and(|erase| erase.whole_chip);
        let active = self.active.as_mut().unwrap();
        match (&active.job, value) {
            (Job::Window, 0x30) => self.add_sector(address),
            (Job::Window, 0xB0) if features.erase_suspend => {
                self.active = None;
                self.erase = self.erase.take().filter(|erase| !erase.todo.is_empty());
            }
            (Job::Window, _) => {
                self.active = None;
                self.erase = None;
            }
            (Job::Program { .. }, 0x51 | 0xB0) if features.program_suspend => {
                active.suspend_in.get_or_insert(latency);
            }
            (Job::Erase, 0xB0) if features.erase_suspend && !whole_chip => {
                active.suspend_in.get_or_insert(latency);
            }
            _ => {}
        }
    }

    fn match_timed_out(&mut self, value: u16) -> Verdict {
        if value == 0xF0 {
            self.trouble = None;
        }
        Over
    }

    fn match_aborted(&mut self) -> Verdict {
        match self.cycles[..] {
            [(a, 0xAA)] if self.is_unlock1(a) => More,
            [_, (a, 0x55)] if self.is_unlock2(a) => More,
            [_, _, (_, 0xF0)] => {
                self.trouble = None;
                Over
            }
            _ => Over,
        }
    }

    fn match_table(&mut self, address: u32, value: u16) -> Verdict {
        self.mode = match (self.mode, value) {
            (Mode::Autoselect, 0x98) if self.is_query(address) => Mode::QueryFromAutoselect,
            (mode, 0x98) if mode != Mode::Autoselect && self.is_query(address) => mode,
            (Mode::QueryFromAutoselect, 0xF0) => Mode::Autoselect,
            _ => Mode::Array,
        };
        Over
    }

    fn match_bypass(&mut self) -> Verdict {
        match self.cycles[..] {
            [(a, value @ (0x30 | 0x50))] => self.single(a, value),
            [(_, 0x90)] => More,
            [(_, 0xA0)] if self.sleeping_program.is_none() => More,
            [(_, 0xA0), (a, value)] => self.program_word(a, value),
            [(_, 0x90), (_, 0x00)] => {
                self.mode = Mode::Array;
                Over
            }
            _ => Over,
        }
    }

    fn match_protection(&mut self) -> Verdict {
        match self.cycles[..] {
            [(_, 0xA0 | 0x80 | 0x90)] => {}
            [_] => self.mode = Mode::Array,
            [(_, 0xA0), (a, 0x00)] => {
                let times = &self.part.timing.word_program.time;
                let left = times.sample(&mut self.protect_times).as_nanos();
                (self.dq7, self.dq3) = (0x80, 0);
                self.start(Job::ProtectOne(self.sector(self.byte(a))), left);
            }
            [(_, 0x80), (_, 0x30)] => {
                let times = &self.part.timing.sector_erase.time;
                let left = times.sample(&mut self.protect_times).as_nanos();
                (self.dq7, self.dq3) = (0, 0x08);
                self.start(Job::UnprotectAll, left);
            }
            [(_, 0x90), (_, 0x00)] => self.mode = Mode::Array,
            _ => {}
        }
        if self.cycles.len() == 1 && self.mode == Mode::Protection { More } else { Over }
    }

    fn match_array(&mut self) -> Verdict {
        let cycles = std::mem::take(&mut self.cycles);
        let verdict = self.match_array_cycles(&cycles);
        self.cycles = cycles;
        verdict
    }

    fn match_array_cycles(&mut self, cycles: &[(u32, u16)]) -> Verdict {
        let (free, calm) = (self.sleeping_program.is_none(), self.erase.is_none());
        let features = self.part.features;
        match *cycles {
            [(a, 0xAA)] if self.is_unlock1(a) => More,
            [(a, value)] => self.single(a, value),
            [_, (a, 0x55)] if self.is_unlock2(a) => More,
            [_, _] => Over,
            [_, _, (_, 0x25)] if free && self.part.write_buffer.is_some() => More,
            [_, _, (a, _)] if !self.is_unlock1(a) => Over,
            [_, _, (_, 0xA0)] if free => More,
            [_, _, (_, 0x80)] if free && calm => More,
            [_, _, (_, value)] => {
                match value {
                    0x90 => self.mode = Mode::Autoselect,
                    0x20 if free && calm && features.unlock_bypass => self.mode = Mode::Bypass,
                    0xC0 if free && calm && features.ppb => self.mode = Mode::Protection,
                    _ => {}
                }
                Over
            }
            [_, _, (_, 0xA0), (a, value)] => self.program_word(a, value),
            [_, _, (a, 0x25), ref load @ ..] => self.load(a, load),
            [_, _, (_, 0x80), (a, 0xAA)] if self.is_unlock1(a) => More,
            [_, _, (_, 0x80), _, (a, 0x55)] if self.is_unlock2(a) => More,
            [_, _, (_, 0x80), _, _, (a, value)] => self.erase_command(a, value),
            _ => Over,
        }
    }

    /// A command of one cycle.
    fn single(&mut self, address: u32, value: u16) -> Verdict {
        match value {
            0x98 if self.is_query(address) => self.mode = Mode::Query,
            0x30 | 0x50 if self.sleeping_program.is_some() => {
                let program = self.sleeping_program.take().unwrap();
                self.start(program.job, program.left);
            }
            0x30 if self.erase.is_some() => {
                self.dq7 = 0;
                self.dq3 = 0x08;
                match self.erase.as_mut().unwrap().asleep.take() {
                    Some(left) => self.start(Job::Erase, left),
                    None => self.begin_erase(),
                }
            }
            _ => {}
        }
        Over
    }

    fn add_sector(&mut self, address: u32) {
        self.enqueue(self.sector(self.byte(address)));
        (self.dq7, self.dq3) = (0, 0);
        self.start(Job::Window, self.part.timing.erase_window.as_nanos());
    }

    fn enqueue(&mut self, sector: usize) {
        let erase = self.erase.as_mut().unwrap();
        if !self.protected[sector] && !erase.all.contains(&sector) {
            let times = &self.part.timing.sector_erase.time;
            erase.all.push(sector);
            erase.todo.push((sector, times.sample(&mut self.erase_times).as_nanos()));
        }
    }

    fn erase_command(&mut self, address: u32, value: u16) -> Verdict {
        let none =
            Sectors { all: Vec::new(), todo: Vec::new(), asleep: None, whole_chip: value == 0x10 };
        match value {
            0x30 => {
                self.erase = Some(none);
                self.add_sector(address);
            }
            0x10 if self.is_unlock1(address) => {
                self.erase = Some(none);
                (0..self.starts.len()).for_each(|sector| self.enqueue(sector));
                self.begin_erase();
            }
            _ => {}
        }
        Over
    }

    fn program_word(&mut self, address: u32, value: u16) -> Verdict {
        let at = self.byte(address);
        if self.may_program(at, value) {
            let times = &self.part.timing.word_program;
            let time = times.time.sample(&mut self.word_times).as_nanos();
            let bytes = if self.wide() { 2 } else { 1 };
            let data = value.to_le_bytes()[..bytes].to_vec();
            self.start_program(at, data, time, times.max.as_nanos());
        }
        Over
    }

    /// Whether the sector of `at` takes a program; a protected one shows its status instead.
    fn may_program(&mut self, at: usize, last: u16) -> bool {
        let sector = self.sector(at);
        if self.erase.as_ref().is_some_and(|erase| erase.all.contains(&sector)) {
            return false;
        }
        (self.dq7, self.dq3) = (!last & 0x80, 0);
        if self.protected[sector] {
            let left = self.part.timing.protected_latency.as_nanos();
            self.start(Job::Protected { register: 0x10 }, left);
        }
        !self.protected[sector]
    }

    fn start_program(&mut self, at: usize, data: Vec<u8>, time: u64, max: u64) {
        let sets = data.iter().zip(&self.cells[at..]).any(|(&new, &old)| new & !old != 0);
        let fails = sets && !self.part.features.masks_ones;
        self.start(Job::Program { at, data, fails }, if fails { max } else { time });
    }

    /// The cycles after `25`: count, words, confirmation.
    fn load(&mut self, command: u32, load: &[(u32, u16)]) -> Verdict {
        let sector = self.sector(self.byte(command));
        let bytes = self.part.write_buffer.unwrap().to_usize();
        let step = if self.wide() { 2 } else { 1 };
        let (count_at, count) = (load[0].0, usize::from(load[0].1) + 1);
        if self.sector(self.byte(count_at)) != sector || count > bytes / step {
            return self.abort(0xFFFF);
        }
        let words = &load[1..load.len().min(count + 1)];
        let mut last = 0xFFFF;
        for &(address, value) in words {
            let (here, first) = (self.byte(address), self.byte(words[0].0));
            if self.sector(first) != sector || here / bytes != first / bytes {
                return self.abort(last);
            }
            last = value;
        }
        let Some(&(address, confirm)) = load.get(count + 1) else { return More };
        if confirm != 0x29 || self.sector(self.byte(address)) != sector {
            return self.abort(last);
        }
        let page = self.byte(words[0].0) / bytes * bytes;
        if !self.may_program(page, last) {
            return Over;
        }
        let mut data = self.cells[page..page + bytes].to_vec();
        for &(address, value) in words {
            let at = self.byte(address) - page;
            data[at..at + step].copy_from_slice(&value.to_le_bytes()[..step]);
        }
        let timing = &self.part.timing;
        let full = timing.buffer_program.time.sample(&mut self.buffer_times).as_nanos();
        let overhead = timing.buffer_overhead.as_nanos();
        let (n, all) = (words.len() as u64, (bytes / step) as u64);
        let time = overhead + (full - overhead) * n / all;
        self.start_program(page, data, time, self.part.timing.buffer_program.max.as_nanos());
        Over
    }

    fn abort(&mut self, last: u16) -> Verdict {
        (self.dq7, self.dq3) = (!last & 0x80, 0);
        self.trouble = Some(Trouble::Aborted);
        Over
    }
}
