//! The board as the core sees it: SDRAM and devices on one bus, and the interrupt lines.
//!
//! Layer: rank 4. Main type: [`Board`], which implements the core's [`Bus`]. A device is given the
//! time of each access and brings its state up to that time (a counter may have reached zero in
//! between). [`Bus::lines`] returns the time by which it must be called again.
//!
//! Registers are words. A narrow read returns its byte lanes of the word. A narrow write writes the
//! word with the other lanes zero, except in the distributor, which knows byte lanes. An access to a
//! part that is not modelled ends the run ([`Halt`]). An access to an unmapped address gets a bus
//! error, which the core takes as an external abort, as on the hardware (QEMU's board reads zero
//! there and ignores writes).

use boardlab_arm926::{Bus, BusFault, Cycles, Lines, Physical, Reply, Waits, Width};
use boardlab_sim::mix;
use serde::{Deserialize, Serialize};

use crate::card::Card;
use crate::clock::CoreClock;
use crate::error::Error;
use crate::interrupts::Controller;
use crate::map::{Device, Part, Place, place};
use crate::mci::{self, Interface};
use crate::rtc::Rtc;
use crate::sdram::Sdram;
use crate::settings::{Settings, Timing};
use crate::system::{Slot, System, SystemRequest};
use crate::timer::DualTimer;
use crate::uart::{self, Uart};

/// The devices' input numbers at the interrupt controller.
mod input {
    pub(super) const TIMER: [usize; 2] = [4, 5];
    pub(super) const CLOCK: usize = 10;
    pub(super) const UART: [usize; 4] = [12, 13, 14, 15];
    pub(super) const CARDS: [usize; 2] = [17, 18];
}

/// Bytes of output at which a run ends, so that the host takes them ([`Halt::Output`]).
pub const OUTPUT: usize = 1 << 20;

/// An access to a part that is not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The part.
    pub part: Part,
    /// The physical address.
    pub at: u32,
    /// Whether it was a write.
    pub write: bool,
}

/// Why the board requests the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Halt {
    /// The program accessed a part that is not modelled.
    NotModelled(Access),
    /// The program requested a reset.
    Reset,
    /// A UART's output has reached [`OUTPUT`] bytes.
    Output,
    /// The program wrote this word to the LEDs while the host watched them.
    Mark(u32),
}

/// An action of the program to which the hardware would react differently from the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Warning {
    /// The program sent through a UART that is not enabled: the hardware would send nothing.
    UartDisabled {
        /// The UART's number.
        uart: u8,
    },
    /// A semihosting call that is not implemented.
    SemihostingCall {
        /// The call's number.
        call: u32,
    },
    /// A semihosting call that opens a file of the host, which is refused.
    SemihostingFile,
}

/// The memory and the devices on the core's bus.
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
    /// Output that the host has not taken yet, by UART.
    output: [Vec<u8>; 4],
    warnings: Vec<Warning>,
    /// Whether a write to the LEDs ends the run.
    marks: bool,
    halt: Option<Halt>,
    trace: u64,
    /// The last state of the lines; not saved, because it follows from the rest.
    #[serde(skip)]
    lines: Lines,
}

impl Board {
    /// A board after power-on, its memory zero.
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

    /// `length` bytes of SDRAM at `at`; `None` if the range is not in SDRAM. Dirty lines of the data
    /// cache are not included.
    #[must_use]
    pub fn memory(&self, at: Physical, length: usize) -> Option<&[u8]> {
        self.memory.get(at.0, length)
    }

    /// The bytes of SDRAM at `at`, to load a program into; `None` if the range is not in SDRAM.
    pub fn memory_mut(&mut self, at: Physical, length: usize) -> Option<&mut [u8]> {
        self.memory.get_mut(at.0, length)
    }

    /// The real-time clock's value: seconds since 1 January 1970.
    #[must_use]
    pub fn seconds(&self, now: Cycles) -> u32 {
        self.rtc.seconds(now, self.clock)
    }

    /// The start of the current period of the first counter of timer 0 or 1, as far as the timer has
    /// been advanced: the last time the counter reached zero, or the time it was started. `None` for
    /// other timers.
    #[must_use]
    pub fn period_start(&self, timer: usize) -> Option<Cycles> {
        Some(self.timers.get(timer)?.period_start(self.clock))
    }

    /// Inserts a card into the slot, replacing any card in it.
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

    /// Sends the host's input to a UART, 0 to 3. The caller must then call
    /// [`boardlab_arm926::Processor::resample_lines`].
    pub fn push_input(&mut self, uart: usize, bytes: &[u8]) {
        if let Some(uart) = self.uarts.get_mut(uart) {
            uart.push(bytes);
            self.lines = Lines::default();
        }
    }

    /// The number of input bytes of a UART that the program has not read.
    #[must_use]
    pub fn input_waiting(&self, uart: usize) -> usize {
        self.uarts.get(uart).map_or(0, Uart::waiting)
    }

    /// Takes the output of a UART, 0 to 3, since the last call. Semihosting writes to number 0.
    pub fn take_output(&mut self, uart: usize) -> Vec<u8> {
        self.output.get_mut(uart).map(std::mem::take).unwrap_or_default()
    }

    /// Appends to the output of a UART.
    pub(crate) fn append_output(&mut self, uart: usize, bytes: &[u8]) {
        let Some(output) = self.output.get_mut(uart) else { return };
        output.extend_from_slice(bytes);
        if output.len() >= OUTPUT {
            self.request_halt(Halt::Output);
        }
    }

    /// Sets whether a write to the LEDs ends the run.
    pub(crate) const fn watch_marks(&mut self, on: bool) {
        self.marks = on;
    }

    /// Takes the pending request to end the run.
    pub(crate) fn take_halt(&mut self) -> Option<Halt> {
        self.lines = Lines::default();
        self.halt.take()
    }

    /// The pending request to end the run.
    pub(crate) const fn halt(&self) -> Option<Halt> {
        self.halt
    }

    fn request_halt(&mut self, halt: Halt) {
        self.lines = Lines::default();
        self.halt.get_or_insert(halt);
    }

    /// The warnings, without repetition, in the order of their first occurrence; at most 64.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        if self.warnings.len() < 64 && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// A running hash of address, value and cycle of all accesses to devices.
    #[must_use]
    pub const fn trace(&self) -> u64 {
        self.trace
    }

    /// Adds an access to the hash.
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

    /// The next time at which an input of the interrupt controller may change without an access.
    fn next_event(&self) -> Cycles {
        let timers = self.timers.iter().map(|timer| timer.next_event(self.clock));
        timers.fold(self.rtc.next_event(self.clock).min(self.cards.next_event()), Ord::min)
    }

    /// The bus error for an address without a modelled device.
    fn unmapped(&mut self, at: u32, write: bool) -> BusFault {
        if let Place::NotModelled(part) = place(at) {
            self.request_halt(Halt::NotModelled(Access { part, at, write }));
        }
        BusFault
    }

    /// Reads a device's register.
    fn read_register(&mut self, at: u32, now: Cycles) -> Result<u32, BusFault> {
        let Place::Device(device, offset) = place(at) else {
            return Err(self.unmapped(at, false));
        };
        // Most programs that wait for a device poll it: the lines are not computed for each read.
        if has_effect(device, offset) || now >= self.lines.until {
            self.lines = Lines::default();
        }
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

    /// Writes a device's register; `lanes` is the mask of the bits that the access covers.
    fn write_register(
        &mut self,
        at: u32,
        value: u32,
        lanes: u32,
        now: Cycles,
    ) -> Result<(), BusFault> {
        let Place::Device(device, offset) = place(at) else {
            return Err(self.unmapped(at, true));
        };
        self.lines = Lines::default();
        self.note(1 << 63 | u64::from(lanes) << 31 ^ u64::from(at), value, now);
        match device {
            Device::System => match self.system.write(offset, value) {
                Some(SystemRequest::Reset) => self.request_halt(Halt::Reset),
                Some(SystemRequest::Leds(shown)) if self.marks => {
                    self.request_halt(Halt::Mark(shown));
                }
                Some(SystemRequest::Leds(_)) | None => {}
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
        self.append_output(usize::from(number), &[byte]);
    }
}

/// Whether a read of a device's register can change an interrupt line.
const fn has_effect(device: Device, offset: u32) -> bool {
    match device {
        Device::System | Device::Clock | Device::Timer(_) => false,
        Device::Cards => mci::has_effect(offset),
        Device::Uart(_) => uart::has_effect(offset),
        Device::InterruptInterface | Device::InterruptDistributor => true,
    }
}

/// The byte lanes of a transfer: their shift in the word, and the mask before the shift.
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
        if let Some(waits) = self.write_memory(at, width, value) {
            return Ok(waits);
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
        if let Some(part) = self.memory.line(at.0) {
            *line = *part;
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
            self.lines = Lines { irq, fiq: false, until: self.next_event(), halt };
        }
        self.lines
    }

    #[inline]
    fn lines_may_differ(&self) -> bool {
        self.lines == Lines::default()
    }

    #[inline]
    fn is_memory(&self, at: Physical) -> bool {
        at.0 < self.memory.size()
    }

    #[inline]
    fn write_memory(&mut self, at: Physical, width: Width, value: u32) -> Option<Waits> {
        self.memory.write(at.0, width, value).map(|()| self.timing.write)
    }

    #[inline]
    fn write_words(&mut self, at: Physical, values: &[u32]) -> Option<Waits> {
        let memory = self.memory.get_mut(at.0, 4 * values.len())?;
        for (bytes, value) in memory.as_chunks_mut::<4>().0.iter_mut().zip(values) {
            *bytes = value.to_le_bytes();
        }
        Some(self.timing.write)
    }

    fn peek(&self, at: Physical) -> Option<u32> {
        self.memory.read(at.0 & !3, Width::Word)
    }

    fn poke(&mut self, at: Physical, value: u32) -> bool {
        self.memory.write(at.0 & !3, Width::Word, value).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::Medium;
    use boardlab_sim::Bytes;

    const CARDS: u32 = 0x1000_5000;
    const UART: u32 = 0x1000_9000;
    const INTERFACE: u32 = 0x1004_0000;
    const DISTRIBUTOR: u32 = 0x1004_1000;
    const NOW: Cycles = Cycles(1_000);

    fn write(board: &mut Board, at: u32, value: u32) {
        board.write(Physical(at), Width::Word, value, NOW).unwrap();
    }

    fn read(board: &mut Board, at: u32) -> u32 {
        board.read(Physical(at), Width::Word, NOW).unwrap().value
    }

    /// A board with a card that lets the inputs of the first UART and of the cards through.
    fn board() -> Board {
        let mut board = Board::new(&Settings::default()).unwrap();
        board.insert_card(Card::new(Medium::empty(Bytes::mib(1)).unwrap(), false).unwrap());
        let inputs = 1 << input::UART[0] | 1 << input::CARDS[0];
        let all = [
            (INTERFACE, 1),
            (INTERFACE + 4, 0xF0),
            (DISTRIBUTOR, 1),
            (DISTRIBUTOR + 0x104, inputs),
        ];
        all.into_iter().for_each(|(at, value)| write(&mut board, at, value));
        board
    }

    #[test]
    fn words_go_to_memory_at_once_or_not_at_all() {
        let (mut one, mut other) = (board(), board());
        let end = one.memory.size();
        let words = [0x0102_0304, 0xFFFF_FFFF, 5];
        for at in [0, 0x1014, end - 12] {
            let waits = one.write_words(Physical(at), &words);
            let write = |(at, word)| other.write_memory(Physical(at), Width::Word, word);
            let each: Vec<_> = (at..end).step_by(4).zip(words).map(write).collect();
            assert_eq!(each, [waits; 3]);
            assert!(waits.is_some() && one.memory == other.memory);
        }
        for at in [end - 8, end, CARDS, u32::MAX - 3] {
            assert_eq!(one.write_words(Physical(at), &words), None);
            assert!(one.memory == other.memory);
        }
    }

    #[test]
    fn a_line_falls_with_the_last_byte_that_is_read_from_a_uart() {
        let mut board = board();
        write(&mut board, UART + 0x38, 1 << 4);
        board.push_input(0, b"ab");
        for byte in b"ab" {
            assert_eq!(read(&mut board, UART + 0x18) & 1 << 4, 0, "the FIFO is not empty");
            assert!(board.lines(NOW).irq);
            assert_eq!(read(&mut board, UART), u32::from(*byte));
        }
        assert!(!board.lines(NOW).irq);
    }

    #[test]
    fn a_line_falls_with_the_last_word_that_is_read_from_a_card() {
        let mut board = board();
        let command = |board: &mut Board, [index, argument]: [u32; 2]| {
            write(board, CARDS + 0x08, argument);
            // With an answer, for number 2 a long one.
            write(board, CARDS + 0x0C, 1 << 10 | 1 << 6 | u32::from(index == 2) << 7 | index);
        };
        let found = [[0, 0], [8, 0x1AA], [55, 0], [41, 0x40FF_8000], [2, 0], [3, 0]];
        found.into_iter().for_each(|one| command(&mut board, one));
        let address = read(&mut board, CARDS + 0x14) & 0xFFFF_0000;
        // Its configuration, of two words.
        [[7, address], [55, address]].into_iter().for_each(|one| command(&mut board, one));
        write(&mut board, CARDS + 0x28, 8);
        write(&mut board, CARDS + 0x2C, 3 << 4 | 3);
        command(&mut board, [51, 0]);
        write(&mut board, CARDS + 0x3C, 1 << 21);
        for _ in 0..2 {
            assert_ne!(read(&mut board, CARDS + 0x34) & 1 << 21, 0);
            assert!(board.lines(NOW).irq);
            read(&mut board, CARDS + 0x80);
        }
        assert!(!board.lines(NOW).irq);
    }
}
