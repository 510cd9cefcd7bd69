//! PL181, the multimedia card interface: commands, data FIFO, status, interrupts.
//!
//! Layer: rank 4. Main type: [`Interface`]. Source: ARM DDI 0205B (PL181), chapter 3. Command and
//! data lines are infinitely fast. A command gets its response at once, and data move between card
//! and FIFO as soon as the card is ready and the FIFO has room or data. So the FIFO neither overruns
//! nor underruns; only the card's medium takes time.
//!
//! As on the hardware, and unlike QEMU 7.2, a response without CRC (R3, of ACMD41) sets CmdCrcFail
//! instead of CmdRespEnd; drivers accept either. Left out: MMC streams, the data timer except for a
//! failed card, DMA, the effect of the power register, the command's interrupt and pending modes.

use std::collections::VecDeque;

use boardlab_arm926::Cycles;
use boardlab_sim::Instant;
use serde::{Deserialize, Serialize};

use crate::card::{Card, Progress, Response};
use crate::clock::CoreClock;
use crate::map::identification;

const IDENTIFICATION: [u8; 8] = [0x81, 0x11, 0x04, 0x00, 0x0D, 0xF0, 0x05, 0xB1];
/// The FIFO's depth in words.
const DEPTH: usize = 16;

/// Bits of MCIStatus (table 3-14).
mod status {
    pub(super) const COMMAND_CRC_FAIL: u32 = 1;
    pub(super) const COMMAND_TIMEOUT: u32 = 1 << 2;
    pub(super) const DATA_TIMEOUT: u32 = 1 << 3;
    pub(super) const DATA_CRC_FAIL: u32 = 1 << 1;
    pub(super) const COMMAND_RESPONSE: u32 = 1 << 6;
    pub(super) const COMMAND_SENT: u32 = 1 << 7;
    pub(super) const DATA_END: u32 = 1 << 8;
    pub(super) const DATA_BLOCK_END: u32 = 1 << 10;
    pub(super) const SEND_ACTIVE: u32 = 1 << 12;
    pub(super) const RECEIVE_ACTIVE: u32 = 1 << 13;
    pub(super) const SEND_HALF_EMPTY: u32 = 1 << 14;
    pub(super) const RECEIVE_HALF_FULL: u32 = 1 << 15;
    pub(super) const SEND_FULL: u32 = 1 << 16;
    pub(super) const RECEIVE_FULL: u32 = 1 << 17;
    pub(super) const SEND_EMPTY: u32 = 1 << 18;
    pub(super) const RECEIVE_EMPTY: u32 = 1 << 19;
    pub(super) const SEND_AVAILABLE: u32 = 1 << 20;
    pub(super) const RECEIVE_AVAILABLE: u32 = 1 << 21;
    /// The static flags, which stay set until they are cleared.
    pub(super) const STATIC: u32 = 0x7FF;
}

/// Bits of MCICommand and MCIDataCtrl.
mod control {
    pub(super) const RESPONSE: u32 = 1 << 6;
    pub(super) const LONG: u32 = 1 << 7;
    pub(super) const COMMAND: u32 = 1 << 10;
    pub(super) const DATA: u32 = 1;
    pub(super) const FROM_CARD: u32 = 1 << 1;
}

/// A PL181, and the card in its slot.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Interface {
    card: Option<Card>,
    power: u32,
    clock: u32,
    argument: u32,
    command: u32,
    answered: u32,
    response: [u32; 4],
    timer: u32,
    length: u32,
    data: u32,
    /// The bytes not yet transferred between card and FIFO (MCIDataCnt).
    left: u32,
    raised: u32,
    masks: [u32; 2],
    fifo: VecDeque<u32>,
    /// The time at which the card will be ready, while it is busy. Before, only a write changes anything.
    wake: Option<Cycles>,
}

/// Whether a read of a register can change an interrupt line: one from the FIFO.
pub(crate) const fn has_effect(offset: u32) -> bool {
    matches!(offset, 0x80..=0xBC)
}

impl Interface {
    pub(crate) const fn card(&self) -> Option<&Card> {
        self.card.as_ref()
    }

    pub(crate) const fn card_mut(&mut self) -> Option<&mut Card> {
        self.card.as_mut()
    }

    pub(crate) fn insert(&mut self, card: Card) {
        (self.card, self.wake) = (Some(card), None);
    }

    const fn is_read(&self) -> bool {
        self.data & control::FROM_CARD != 0
    }

    /// Whether the data path is active, or its FIFO holds data for the program.
    fn is_active(&self) -> bool {
        self.data & control::DATA != 0 && (self.left > 0 || !self.fifo.is_empty())
    }

    /// MCIStatus. The FIFO's flags are set only while the data path is active.
    fn status(&self) -> u32 {
        if !self.is_active() {
            return self.raised;
        }
        let words = self.fifo.len();
        let when = |condition: bool, bits: u32| if condition { bits } else { 0 };
        let flags = if self.is_read() {
            status::RECEIVE_ACTIVE
                | when(words == 0, status::RECEIVE_EMPTY)
                | when(words > 0, status::RECEIVE_AVAILABLE)
                | when(words >= DEPTH / 2, status::RECEIVE_HALF_FULL)
                | when(words >= DEPTH, status::RECEIVE_FULL)
        } else {
            status::SEND_ACTIVE
                | when(words == 0, status::SEND_EMPTY)
                | when(words > 0, status::SEND_AVAILABLE)
                | when(words <= DEPTH / 2, status::SEND_HALF_EMPTY)
                | when(words >= DEPTH, status::SEND_FULL)
        };
        self.raised | flags
    }

    /// The two interrupt lines.
    pub(crate) fn lines(&self) -> [bool; 2] {
        self.masks.map(|mask| self.status() & mask != 0)
    }

    /// The next time at which an interrupt line may change without an access.
    pub(crate) fn next_event(&self) -> Cycles {
        self.wake.unwrap_or(Cycles::NEVER)
    }

    /// Moves data between card and FIFO up to `now`.
    pub(crate) fn advance(&mut self, now: Cycles, clock: CoreClock) {
        if self.wake.is_some_and(|wake| now < wake) {
            return;
        }
        self.wake = None;
        if self.data & control::DATA == 0 || self.left == 0 {
            return;
        }
        let instant = clock.instant(now);
        while self.data & control::DATA != 0 && self.left > 0 {
            match self.progress(instant) {
                Progress::Ready if self.is_read() => self.receive(),
                Progress::Ready => self.send(instant),
                Progress::ReadyAt(instant) => {
                    self.wake = Some(clock.cycle_at(instant));
                    return;
                }
                Progress::Waiting => return,
                Progress::Failed => self.fail(),
            }
        }
    }

    /// Whether a word can be transferred.
    fn progress(&mut self, now: Instant) -> Progress {
        let (read, words) = (self.is_read(), self.fifo.len());
        match &mut self.card {
            Some(card) if read && words < DEPTH => card.poll_send(self.left, now),
            Some(card) if !read && words > 0 => card.poll_receive(now),
            _ => Progress::Waiting,
        }
    }

    /// Ends the data transfer with an error.
    fn fail(&mut self) {
        self.raised |= if self.is_read() { status::DATA_TIMEOUT } else { status::DATA_CRC_FAIL };
        self.data &= !control::DATA;
        self.fifo.clear();
    }

    /// Transfers a word from the card to the FIFO.
    fn receive(&mut self) {
        let Some(card) = &mut self.card else { return };
        let (bytes, count) = card.send_bytes(usize::try_from(self.left).unwrap_or(4));
        self.fifo.push_back(u32::from_le_bytes(bytes));
        self.count_bytes(count);
    }

    /// Transfers a word from the FIFO to the card.
    fn send(&mut self, now: Instant) {
        let (Some(card), Some(word)) = (&mut self.card, self.fifo.pop_front()) else { return };
        let count = usize::try_from(self.left.min(4)).unwrap_or(4);
        card.receive_bytes(&word.to_le_bytes()[..count], self.left <= 4, now);
        self.count_bytes(count);
    }

    /// Counts transferred bytes, and raises the flags at the end of a block and of the data.
    fn count_bytes(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(u32::try_from(bytes).unwrap_or(4).max(1));
        let block = 1 << (self.data >> 4 & 15);
        if self.left == 0 {
            self.raised |= status::DATA_END | status::DATA_BLOCK_END;
        } else if (self.length - self.left).is_multiple_of(block) {
            self.raised |= status::DATA_BLOCK_END;
        }
    }

    fn send_command(&mut self, now: Cycles, clock: CoreClock) {
        let index = self.command.to_le_bytes()[0] & 0x3F;
        let (argument, instant) = (self.argument, clock.instant(now));
        let card = self.card.as_mut();
        let answer = card.map_or(Response::None, |card| card.command(index, argument, instant));
        if self.command & control::RESPONSE == 0 {
            self.raised |= status::COMMAND_SENT;
            return;
        }
        let long = self.command & control::LONG != 0;
        self.raised |= match answer {
            Response::Short(value) if !long => self.answer(u32::from(index), [value, 0, 0, 0]),
            Response::Unchecked(value) if !long => {
                self.answer(0x3F, [value, 0, 0, 0]);
                status::COMMAND_CRC_FAIL
            }
            Response::Long(bytes) if long => {
                let word = |at: usize| {
                    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
                };
                // The lowest bit of the last register is always zero (section 3.3.6).
                self.answer(0x3F, [word(0), word(4), word(8), word(12) & !1])
            }
            _ => status::COMMAND_TIMEOUT,
        };
    }

    fn answer(&mut self, index: u32, words: [u32; 4]) -> u32 {
        (self.answered, self.response) = (index, words);
        status::COMMAND_RESPONSE
    }

    pub(crate) fn read(&mut self, offset: u32, now: Cycles, clock: CoreClock) -> u32 {
        self.advance(now, clock);
        match offset {
            0x00 => self.power,
            0x04 => self.clock,
            0x08 => self.argument,
            0x0C => self.command,
            0x10 => self.answered,
            0x14 => self.response[0],
            0x18 => self.response[1],
            0x1C => self.response[2],
            0x20 => self.response[3],
            0x24 => self.timer,
            0x28 => self.length,
            0x2C => self.data,
            0x30 => self.left,
            0x34 => self.status(),
            0x3C => self.masks[0],
            0x40 => self.masks[1],
            0x48 => self.words_left(),
            0x80..=0xBC if self.is_read() => {
                let word = self.fifo.pop_front().unwrap_or_default();
                self.advance(now, clock);
                word
            }
            _ => identification(IDENTIFICATION, offset).unwrap_or_default(),
        }
    }

    /// The number of words that the program still has to read or write (MCIFifoCnt).
    fn words_left(&self) -> u32 {
        let held = u32::try_from(self.fifo.len()).unwrap_or_default();
        let passing = self.left.div_ceil(4);
        if self.is_read() { passing + held } else { passing.saturating_sub(held) }
    }

    pub(crate) fn write(&mut self, offset: u32, value: u32, now: Cycles, clock: CoreClock) {
        self.advance(now, clock);
        match offset {
            0x00 => self.power = value & 0xFF,
            0x04 => self.clock = value & 0xFFF,
            0x08 => self.argument = value,
            0x0C => {
                self.command = value & 0x7FF;
                if value & control::COMMAND != 0 {
                    self.send_command(now, clock);
                }
            }
            0x24 => self.timer = value,
            0x28 => self.length = value & 0xFFFF,
            0x2C => {
                self.data = value & 0xFF;
                self.fifo.clear();
                self.left = if value & control::DATA == 0 { 0 } else { self.length };
            }
            0x38 => self.raised &= !(value & status::STATIC),
            0x3C => self.masks[0] = value,
            0x40 => self.masks[1] = value,
            0x80..=0xBC if !self.is_read() && self.is_active() && self.fifo.len() < DEPTH => {
                self.fifo.push_back(value);
            }
            _ => {}
        }
        self.wake = None;
        self.advance(now, clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{BLOCK, Medium};
    use boardlab_block::{Costs, Geometry, RamBlock};
    use boardlab_sim::{Bytes, Duration, Hertz};

    const CLOCK: CoreClock = CoreClock::new(Hertz::from_hz(200_000_000));
    const NOW: Cycles = Cycles(0);

    fn with_card(image: &[u8]) -> Interface {
        let mut interface = Interface::default();
        interface.insert(Card::new(Medium::image(image).unwrap(), false).unwrap());
        interface
    }

    fn image() -> Vec<u8> {
        (0..1_u32 << 20).map(|at| (at ^ at >> 9).to_le_bytes()[0]).collect()
    }

    fn command(interface: &mut Interface, index: u32, argument: u32, flags: u32) -> u32 {
        interface.write(0x38, u32::MAX, NOW, CLOCK);
        interface.write(0x08, argument, NOW, CLOCK);
        interface.write(0x0C, index | flags | control::COMMAND, NOW, CLOCK);
        interface.read(0x34, NOW, CLOCK)
    }

    fn short(interface: &mut Interface, index: u32, argument: u32) -> u32 {
        let status = command(interface, index, argument, control::RESPONSE);
        assert_eq!(status & 0x45, status::COMMAND_RESPONSE, "command {index}");
        interface.read(0x14, NOW, CLOCK)
    }

    /// Finds and selects the card.
    fn select(interface: &mut Interface) {
        assert_eq!(command(interface, 0, 0, 0) & 0xC5, status::COMMAND_SENT);
        assert_eq!(short(interface, 8, 0x1AA), 0x1AA);
        short(interface, 55, 0);
        let status = command(interface, 41, 0x40FF_8000, control::RESPONSE);
        assert_eq!(status & 0x45, status::COMMAND_CRC_FAIL);
        assert_eq!(interface.read(0x14, NOW, CLOCK) >> 31, 1);
        let long = control::RESPONSE | control::LONG;
        assert_eq!(command(interface, 2, 0, long) & 0x45, status::COMMAND_RESPONSE);
        assert_eq!(interface.read(0x10, NOW, CLOCK), 0x3F);
        let address = short(interface, 3, 0) & 0xFFFF_0000;
        assert_eq!(short(interface, 7, address) >> 9 & 15, 3, "it was in stand-by");
        assert_eq!(short(interface, 13, address) >> 9 & 15, 4, "and is selected");
    }

    fn start(interface: &mut Interface, length: u32, control: u32) {
        interface.write(0x28, length, NOW, CLOCK);
        interface.write(0x2C, 9 << 4 | control | control::DATA, NOW, CLOCK);
    }

    fn read_all(interface: &mut Interface, words: usize) -> Vec<u8> {
        let read = (0..words).map(|_| {
            assert_ne!(interface.read(0x34, NOW, CLOCK) & status::RECEIVE_AVAILABLE, 0);
            interface.read(0x80, NOW, CLOCK)
        });
        read.flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn blocks_are_read_through_the_fifo() {
        let image = image();
        let mut interface = with_card(&image);
        select(&mut interface);
        start(&mut interface, 512, control::FROM_CARD);
        short(&mut interface, 17, 3 * 512);
        let status = interface.read(0x34, NOW, CLOCK);
        assert_ne!(status & status::RECEIVE_FULL, 0);
        assert_eq!(read_all(&mut interface, 128), image[3 * BLOCK..4 * BLOCK]);
        let status = interface.read(0x34, NOW, CLOCK);
        assert_eq!(status & 0x3F_F50A, status::DATA_END | status::DATA_BLOCK_END);
    }

    #[test]
    fn many_blocks_are_read_until_the_card_is_stopped() {
        let image = image();
        let mut interface = with_card(&image);
        select(&mut interface);
        start(&mut interface, 0xFE00, control::FROM_CARD);
        short(&mut interface, 18, 512);
        assert_eq!(read_all(&mut interface, 0xFE00 / 4), image[BLOCK..BLOCK + 0xFE00]);
        assert_eq!(short(&mut interface, 12, 0) >> 9 & 15, 5);
        assert_eq!(short(&mut interface, 13, 0x4567_0000) >> 9 & 15, 4);
    }

    #[test]
    fn what_is_written_is_on_the_medium_and_read_back() {
        let mut interface = with_card(&image());
        select(&mut interface);
        for (index, block, count) in [(24, 7, 1), (25, 100, 20)] {
            short(&mut interface, index, block * 512);
            start(&mut interface, count * 512, 0);
            for word in 0..count * 128 {
                let status = interface.read(0x34, NOW, CLOCK);
                assert_eq!(status & status::SEND_FULL, 0);
                interface.write(0x80, word * 7, NOW, CLOCK);
            }
            assert_ne!(interface.read(0x34, NOW, CLOCK) & status::DATA_END, 0);
            if index == 25 {
                assert_eq!(short(&mut interface, 12, 0) >> 9 & 15, 6);
            }
            let mut found = vec![0; usize::try_from(count).unwrap() * BLOCK];
            let medium = interface.card().unwrap().medium().unwrap();
            medium.contents(block.into(), &mut found).unwrap();
            let expected: Vec<u8> =
                (0..count * 128).flat_map(|word| (word * 7).to_le_bytes()).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn an_empty_slot_and_an_unknown_command_time_out() {
        let mut interface = Interface::default();
        assert_eq!(
            command(&mut interface, 8, 0x1AA, control::RESPONSE) & 0x45,
            status::COMMAND_TIMEOUT
        );
        let mut interface = with_card(&image());
        select(&mut interface);
        assert_eq!(
            command(&mut interface, 50, 0, control::RESPONSE) & 0x45,
            status::COMMAND_TIMEOUT
        );
        assert_eq!(short(&mut interface, 13, 0x4567_0000) >> 22 & 1, 1, "illegal command");
        assert_eq!(short(&mut interface, 13, 0x4567_0000) >> 22 & 1, 0, "told once");
    }

    #[test]
    fn the_interrupt_lines_follow_the_masks() {
        let mut interface = with_card(&image());
        select(&mut interface);
        interface.write(0x3C, status::DATA_END, NOW, CLOCK);
        interface.write(0x40, status::RECEIVE_AVAILABLE, NOW, CLOCK);
        start(&mut interface, 8, control::FROM_CARD);
        assert_eq!(interface.lines(), [false, false]);
        short(&mut interface, 55, 0x4567_0000);
        command(&mut interface, 51, 0, control::RESPONSE);
        assert_eq!(interface.lines(), [true, true]);
        assert_eq!(interface.read(0x80, NOW, CLOCK).to_le_bytes(), [0x02, 0x05, 0, 0]);
        interface.read(0x80, NOW, CLOCK);
        assert_eq!(interface.lines(), [true, false]);
        interface.write(0x38, status::DATA_END, NOW, CLOCK);
        assert_eq!(interface.lines(), [false, false]);
    }

    /// With a medium that takes so long to read a block and to write one.
    fn with_timed_card(read: Duration, write: Duration) -> Interface {
        let costs = Costs { read, write, ..Costs::default() };
        let device = RamBlock::new(Geometry::of_size(Bytes::mib(1))).with_costs(costs);
        let mut interface = Interface::default();
        interface.insert(Card::new(Medium::Device(Box::new(device)), false).unwrap());
        interface
    }

    #[test]
    fn each_block_comes_when_the_medium_has_it() {
        let mut interface = with_timed_card(Duration::from_micros(150), Duration::from_micros(400));
        select(&mut interface);
        interface.write(0x3C, status::RECEIVE_AVAILABLE, NOW, CLOCK);
        for block in 0..3 {
            // The commands come at once, and the medium does one after the other.
            let ready = 30_000 * u64::from(block + 1);
            start(&mut interface, 512, control::FROM_CARD);
            short(&mut interface, 17, 512 * block);
            assert_eq!(interface.next_event(), Cycles(ready));
            for before in [ready - 29_999, ready - 1, ready - 15_000] {
                interface.read(0x34, Cycles(before), CLOCK);
                assert_eq!(interface.lines(), [false, false]);
                assert_eq!(interface.next_event(), Cycles(ready));
            }
            interface.advance(Cycles(ready), CLOCK);
            assert_eq!(interface.lines(), [true, false]);
            for _ in 0..128 {
                interface.read(0x80, Cycles(ready), CLOCK);
            }
            assert_ne!(interface.read(0x34, Cycles(ready), CLOCK) & status::DATA_END, 0);
        }
    }

    #[test]
    fn a_write_ends_the_wait_for_a_busy_card() {
        let mut interface = with_timed_card(Duration::from_micros(150), Duration::ZERO);
        select(&mut interface);
        start(&mut interface, 512, control::FROM_CARD);
        short(&mut interface, 17, 0);
        assert_eq!(interface.next_event(), Cycles(30_000));
        interface.write(0x2C, 0, Cycles(10), CLOCK);
        assert_eq!(interface.next_event(), Cycles::NEVER);
    }

    #[test]
    fn a_read_beyond_the_end_times_out_and_is_told() {
        let mut interface = with_card(&image());
        select(&mut interface);
        start(&mut interface, 1024, control::FROM_CARD);
        short(&mut interface, 18, (1 << 20) - 512);
        for _ in 0..128 {
            interface.read(0x80, NOW, CLOCK);
        }
        assert_ne!(interface.read(0x34, NOW, CLOCK) & status::DATA_TIMEOUT, 0);
        assert_eq!(short(&mut interface, 13, 0x4567_0000) >> 31, 1);
    }
}
