//! The board as the core sees it: SDRAM and devices on one bus, and the interrupt lines.
//!
//! Layer: rank 4. Main type: [`Board`], which is the core's [`Bus`]. Devices know the time of each access only; what would happen in between
//! (a counter that reaches zero) follows from their state when they are looked at, and [`Bus::lines`] says when that
//! will next be needed.
//!
//! Registers are words. A narrow read gives its part of the word; a narrow write writes the word with the other lanes zero, but for
//! the interrupt controller's bytes. Addresses of parts that are not modelled end the run ([`Halt`]); where there is no part at
//! all, the bus answers with an error, which the core takes as an external abort, as on the hardware (QEMU's board
//! reads as zero there and swallows writes).

use boardlab_arm926::{Bus, BusFault, Cycles, Lines, Physical, Reply, Waits, Width};
use boardlab_sim::mix;
use serde::{Deserialize, Serialize};

use crate::card::Card;
use crate::clock::CoreClock;
use crate::error::Error;
use crate::interrupts::Controller;
use crate::map::{Device, Part, Place, place};
use crate::mci::Interface;
use crate::rtc::Rtc;
use crate::sdram::Sdram;
use crate::settings::{Settings, Timing};
use crate::system::{Asked, Slot, System};
use crate::timer::DualTimer;
use crate::uart::Uart;

/// The inputs of the interrupt controller.
mod input {
    pub(super) const TIMER: [usize; 2] = [4, 5];
    pub(super) const CLOCK: usize = 10;
    pub(super) const UART: [usize; 4] = [12, 13, 14, 15];
    pub(super) const CARDS: [usize; 2] = [17, 18];
}

/// Bytes of output that are kept for the host; a run ends when there are more.
pub const OUTPUT: usize = 1 << 20;

/// An access to a part that is not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// The part.
    pub part: Part,
    /// The physical address.
    pub at: u32,
    /// It was written.
    pub write: bool,
}

/// Why the board asks the run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Halt {
    /// The program touched a part that is not modelled.
    NotModelled(Touch),
    /// The program asked for a reset.
    Reset,
    /// There is more output than is kept.
    Output,
    /// The program showed this on the LEDs, and the host watches them.
    Mark(u32),
}

/// What a program does that the hardware would not do as the model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Warning {
    /// It sent through a UART that is not enabled: the hardware would send nothing.
    UartDisabled {
        /// Its number.
        uart: u8,
    },
    /// A semihosting call that is not served.
    SemihostingCall {
        /// Its number.
        call: u32,
    },
    /// A semihosting call asked for a file.
    SemihostingFile,
}

/// All that is on the bus.
#[derive(Debug, Serialize, Deserialize)]
pub struct Board {
    clock: CoreClock,
    timing: Timing,
    memory: Sdram,
    system: System,
    uarts: [Uart; 4],
    timers: [DualTimer; 2],
    rtc: Rtc,
    cards: Interface,
    interrupts: Controller,
    /// What was sent and not yet taken, by UART.
    output: [Vec<u8>; 4],
    warnings: Vec<Warning>,
    /// What is shown on the LEDs ends the run.
    marks: bool,
    halt: Option<Halt>,
    trace: u64,
    /// The last answer about the lines; not saved, because it follows from the rest.
    #[serde(skip)]
    lines: Lines,
}

impl Board {
    /// A board after power on, with empty memory.
    ///
    /// # Errors
    ///
    /// [`Error`] for settings that the board cannot have.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            clock: CoreClock::new(settings.core_clock),
            timing: settings.timing,
            memory: Sdram::new(settings.memory_size()?),
            system: System::default(),
            uarts: [const { Uart::new() }; 4],
            timers: [const { DualTimer::new() }; 2],
            rtc: Rtc::new(settings.start),
            cards: Interface::default(),
            interrupts: Controller::new(),
            output: [const { Vec::new() }; 4],
            warnings: Vec::new(),
            marks: false,
            halt: None,
            trace: 0,
            lines: Lines::default(),
        })
    }

    /// The core's clock.
    #[must_use]
    pub const fn clock(&self) -> CoreClock {
        self.clock
    }

    /// Bytes of SDRAM.
    #[must_use]
    pub fn memory_size(&self) -> u32 {
        self.memory.size()
    }

    /// The bytes of SDRAM at `at`, if they are all there. What is dirty in the data cache is not in them.
    #[must_use]
    pub fn memory(&self, at: Physical, length: usize) -> Option<&[u8]> {
        self.memory.get(at.0, length)
    }

    /// The bytes of SDRAM at `at`, if they are all there, to load a program.
    pub fn memory_mut(&mut self, at: Physical, length: usize) -> Option<&mut [u8]> {
        self.memory.get_mut(at.0, length)
    }

    /// What the real-time clock shows: seconds since the first of January 1970.
    #[must_use]
    pub fn seconds(&self, now: Cycles) -> u32 {
        self.rtc.seconds(now, self.clock)
    }

    /// When the present period of the first counter of timer 0 or 1 began: the last time it reached zero and raised its interrupt, if it was
    /// served since, or when it was started.
    #[must_use]
    pub fn period_began(&self, timer: usize) -> Option<Cycles> {
        Some(self.timers.get(timer)?.began(self.clock))
    }

    /// Puts a card in the slot, in the place of the one that was there.
    pub fn insert_card(&mut self, card: Card) {
        self.system.slot = Slot { present: true, protected: card.is_protected() };
        self.cards.insert(card);
        self.lines = Lines::default();
    }

    /// The card in the slot.
    #[must_use]
    pub const fn card(&self) -> Option<&Card> {
        self.cards.card()
    }

    pub(crate) const fn card_mut(&mut self) -> Option<&mut Card> {
        self.cards.card_mut()
    }

    /// The host types on a UART, 0 to 3. The core must be told ([`boardlab_arm926::Processor::ask_again`]).
    pub fn push_input(&mut self, uart: usize, bytes: &[u8]) {
        if let Some(uart) = self.uarts.get_mut(uart) {
            uart.push(bytes);
            self.lines = Lines::default();
        }
    }

    /// Typed characters that the program has not read.
    #[must_use]
    pub fn input_waiting(&self, uart: usize) -> usize {
        self.uarts.get(uart).map_or(0, Uart::waiting)
    }

    /// What was sent by a UART, 0 to 3, since this was last called. What semihosting writes goes to number 0.
    pub fn take_output(&mut self, uart: usize) -> Vec<u8> {
        self.output.get_mut(uart).map(std::mem::take).unwrap_or_default()
    }

    /// Adds to what a UART sent.
    pub(crate) fn put_output(&mut self, uart: usize, bytes: &[u8]) {
        let Some(output) = self.output.get_mut(uart) else { return };
        output.extend_from_slice(bytes);
        if output.len() >= OUTPUT {
            self.ask_to_halt(Halt::Output);
        }
    }

    /// Whether what is shown on the LEDs ends the run.
    pub(crate) const fn watch_marks(&mut self, on: bool) {
        self.marks = on;
    }

    /// Why the board asked the run to end, once.
    pub(crate) fn take_halt(&mut self) -> Option<Halt> {
        self.lines = Lines::default();
        self.halt.take()
    }

    /// What the board asks the run to end for, if it does.
    pub(crate) const fn halt(&self) -> Option<Halt> {
        self.halt
    }

    fn ask_to_halt(&mut self, halt: Halt) {
        self.lines = Lines::default();
        self.halt.get_or_insert(halt);
    }

    /// What the program did that the hardware would not do as the model does, each once, in the order of its coming.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        if self.warnings.len() < 64 && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// A running hash over all accesses to devices: address, value and cycle.
    #[must_use]
    pub const fn trace(&self) -> u64 {
        self.trace
    }

    pub(crate) fn note(&mut self, what: u64, value: u32, now: Cycles) {
        self.trace = mix(self.trace.rotate_left(5) ^ what);
        self.trace = mix(self.trace.rotate_left(5) ^ now.0 ^ u64::from(value).rotate_left(32));
    }

    /// Brings the inputs of the interrupt controller up to `now`.
    fn refresh(&mut self, now: Cycles) {
        for (timer, input) in self.timers.iter_mut().zip(input::TIMER) {
            timer.advance(now, self.clock);
            self.interrupts.set_input(input, timer.line());
        }
        self.rtc.advance(now, self.clock);
        self.interrupts.set_input(input::CLOCK, self.rtc.line());
        for (uart, input) in self.uarts.iter().zip(input::UART) {
            self.interrupts.set_input(input, uart.line());
        }
        self.cards.advance(now, self.clock);
        for (line, input) in self.cards.lines().into_iter().zip(input::CARDS) {
            self.interrupts.set_input(input, line);
        }
    }

    /// When an input of the interrupt controller may next change by itself.
    fn next(&self) -> Cycles {
        let timers = self.timers.iter().map(|timer| timer.next(self.clock));
        timers.fold(self.rtc.next(self.clock).min(self.cards.next()), Ord::min)
    }

    fn nothing_at(&mut self, at: u32, write: bool) -> BusFault {
        if let Place::NotModelled(part) = place(at) {
            self.ask_to_halt(Halt::NotModelled(Touch { part, at, write }));
        }
        BusFault
    }

    /// Reads the word of a device.
    fn read_register(&mut self, at: u32, now: Cycles) -> Result<u32, BusFault> {
        let Place::Device(device, offset) = place(at) else {
            return Err(self.nothing_at(at, false));
        };
        self.lines = Lines::default();
        let value = match device {
            Device::System => self.system.read(offset, now, self.clock),
            Device::Cards => self.cards.read(offset, now, self.clock),
            Device::Uart(number) => self.uarts[usize::from(number & 3)].read(offset),
            Device::Timer(number) => {
                self.timers[usize::from(number & 1)].read(offset, now, self.clock)
            }
            Device::Clock => self.rtc.read(offset, now, self.clock),
            Device::InterruptInterface => {
                self.refresh(now);
                self.interrupts.read_interface(offset)
            }
            Device::InterruptDistributor => {
                self.refresh(now);
                self.interrupts.read_distributor(offset)
            }
        };
        self.note(u64::from(at), value, now);
        Ok(value)
    }

    /// Writes the word of a device, or the bits of it that `lanes` names.
    fn write_register(
        &mut self,
        at: u32,
        value: u32,
        lanes: u32,
        now: Cycles,
    ) -> Result<(), BusFault> {
        let Place::Device(device, offset) = place(at) else {
            return Err(self.nothing_at(at, true));
        };
        self.lines = Lines::default();
        self.note(1 << 63 | u64::from(lanes) << 31 ^ u64::from(at), value, now);
        match device {
            Device::System => match self.system.write(offset, value) {
                Some(Asked::Reset) => self.ask_to_halt(Halt::Reset),
                Some(Asked::Leds(shown)) if self.marks => self.ask_to_halt(Halt::Mark(shown)),
                Some(Asked::Leds(_)) | None => {}
            },
            Device::Cards => self.cards.write(offset, value, now, self.clock),
            Device::Uart(number) => self.write_uart(number & 3, offset, value),
            Device::Timer(number) => {
                self.timers[usize::from(number & 1)].write(offset, value, now, self.clock);
            }
            Device::Clock => self.rtc.write(offset, value, now, self.clock),
            Device::InterruptInterface => {
                self.refresh(now);
                self.interrupts.write_interface(offset, value);
            }
            Device::InterruptDistributor => {
                self.refresh(now);
                self.interrupts.write_distributor(offset, value, lanes);
            }
        }
        Ok(())
    }

    fn write_uart(&mut self, number: u8, offset: u32, value: u32) {
        let uart = &mut self.uarts[usize::from(number)];
        let Some(byte) = uart.write(offset, value) else { return };
        if uart.sent_disabled {
            self.warn(Warning::UartDisabled { uart: number });
        }
        self.put_output(usize::from(number), &[byte]);
    }
}

/// Where the bits of a transfer are in its word: the shift and the mask.
const fn lanes(at: u32, width: Width) -> (u32, u32) {
    let shift = (at & 3) * 8;
    let mask = match width {
        Width::Byte => 0xFF,
        Width::Half => 0xFFFF,
        Width::Word => u32::MAX,
    };
    (shift, mask)
}

impl Bus for Board {
    #[inline]
    fn read(&mut self, at: Physical, width: Width, now: Cycles) -> Result<Reply, BusFault> {
        if let Some(value) = self.memory.read(at.0, width) {
            return Ok(Reply { value, waits: self.timing.read });
        }
        let (shift, mask) = lanes(at.0, width);
        let word = self.read_register(at.0 & !3, now)?;
        Ok(Reply { value: word >> shift & mask, waits: self.timing.register })
    }

    #[inline]
    fn write(
        &mut self,
        at: Physical,
        width: Width,
        value: u32,
        now: Cycles,
    ) -> Result<Waits, BusFault> {
        if self.memory.write(at.0, width, value).is_some() {
            return Ok(self.timing.write);
        }
        let (shift, mask) = lanes(at.0, width);
        self.write_register(at.0 & !3, (value & mask) << shift, mask << shift, now)?;
        Ok(self.timing.register)
    }

    #[inline]
    fn read_line(
        &mut self,
        at: Physical,
        line: &mut [u8; 32],
        now: Cycles,
    ) -> Result<Waits, BusFault> {
        if let Some(part) = self.memory.get(at.0, 32) {
            line.copy_from_slice(part);
            return Ok(self.timing.read);
        }
        for (offset, word) in (0..).step_by(4).zip(line.chunks_exact_mut(4)) {
            let value = self.read_register((at.0 & !3).wrapping_add(offset), now)?;
            word.copy_from_slice(&value.to_le_bytes());
        }
        Ok(self.timing.register)
    }

    #[inline]
    fn write_burst(&mut self, at: Physical, data: &[u8], now: Cycles) -> Result<Waits, BusFault> {
        if let Some(part) = self.memory.get_mut(at.0, data.len()) {
            part.copy_from_slice(data);
            return Ok(self.timing.write);
        }
        for (offset, word) in (0..).step_by(4).zip(data.chunks_exact(4)) {
            let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            self.write_register((at.0 & !3).wrapping_add(offset), value, u32::MAX, now)?;
        }
        Ok(self.timing.register)
    }

    #[inline]
    fn lines(&mut self, now: Cycles) -> Lines {
        if now >= self.lines.until {
            self.refresh(now);
            let (irq, halt) = (self.interrupts.output(), self.halt.is_some());
            self.lines = Lines { irq, fiq: false, until: self.next(), halt };
        }
        self.lines
    }

    fn peek(&self, at: Physical) -> Option<u32> {
        self.memory.read(at.0 & !3, Width::Word)
    }

    fn poke(&mut self, at: Physical, value: u32) -> bool {
        self.memory.write(at.0 & !3, Width::Word, value).is_some()
    }
}
