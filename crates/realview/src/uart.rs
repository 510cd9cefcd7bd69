//! PL011, the UART.
//!
//! Layer: rank 4. Main type: [`Uart`]. Source: ARM DDI 0183G, chapter 3. The serial line is
//! infinitely fast, as in QEMU. A byte written is transmitted at once, so the transmit FIFO is always
//! empty. Input from the host is received as soon as the receive FIFO has room. Bytes below the
//! trigger level raise the receive timeout interrupt at once, because no further byte is on the line.
//!
//! Left out: the time on the line, line errors, modem lines, DMA, IrDA, loopback. The UART transmits
//! whether it is enabled or not, as in QEMU; the board warns of a program whose output the hardware
//! would not send.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::map::identification;

const RECEIVE: u32 = 1 << 4;
const TRANSMIT: u32 = 1 << 5;
const RECEIVE_TIMEOUT: u32 = 1 << 6;
/// Mask of all interrupts.
const ALL: u32 = 0x7FF;
/// UARTLCR_H: FIFO enable.
const FIFO_ENABLE: u32 = 1 << 4;
/// UARTCR: UART enable and transmit enable.
const SENDING: u32 = 1 << 8 | 1;
/// Entries of a FIFO.
const DEPTH: usize = 16;
const IDENTIFICATION: [u8; 8] = [0x11, 0x10, 0x14, 0x00, 0x0D, 0xF0, 0x05, 0xB1];

/// A PL011.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Uart {
    /// The receive FIFO.
    fifo: VecDeque<u8>,
    /// Input of the host that is not yet in the FIFO.
    typed: VecDeque<u8>,
    divisor: [u32; 2],
    low_power: u32,
    line: u32,
    control: u32,
    levels: u32,
    mask: u32,
    /// Latched interrupts: only the transmit interrupt. The receive interrupts follow the FIFO.
    raised: u32,
    /// Receive interrupts that the program cleared while their cause persists.
    cleared: u32,
    dma: u32,
    /// Whether the program sent while the UART was disabled.
    pub(crate) sent_disabled: bool,
}

/// Whether a read of a register can change the interrupt line: one from the FIFO.
pub(crate) const fn has_effect(offset: u32) -> bool {
    offset == 0x00
}

impl Uart {
    pub(crate) const fn new() -> Self {
        Self {
            fifo: VecDeque::new(),
            typed: VecDeque::new(),
            divisor: [0; 2],
            low_power: 0,
            line: 0,
            control: 0x300,
            levels: 0x12,
            mask: 0,
            raised: 0,
            cleared: 0,
            dma: 0,
            sent_disabled: false,
        }
    }

    /// Appends input from the host.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.typed.extend(bytes);
        self.receive();
    }

    /// The number of input bytes that the program has not read.
    pub(crate) fn waiting(&self) -> usize {
        self.typed.len() + self.fifo.len()
    }

    fn depth(&self) -> usize {
        if self.line & FIFO_ENABLE == 0 { 1 } else { DEPTH }
    }

    /// Fills the receive FIFO from the host's input.
    fn receive(&mut self) {
        while self.fifo.len() < self.depth() {
            let Some(byte) = self.typed.pop_front() else { break };
            self.fifo.push_back(byte);
            self.cleared = 0;
        }
    }

    /// The trigger level of the receive interrupt in entries: 1/8, 1/4, 1/2, 3/4, 7/8 of the FIFO
    /// (UARTIFLS).
    fn trigger(&self) -> usize {
        if self.line & FIFO_ENABLE == 0 {
            return 1;
        }
        match self.levels >> 3 & 7 {
            0 => 2,
            1 => 4,
            2 => 8,
            3 => 12,
            _ => 14,
        }
    }

    /// The raw interrupt status (UARTRIS).
    fn raw(&self) -> u32 {
        let level = if self.fifo.len() >= self.trigger() { RECEIVE } else { 0 };
        let fifo_on = self.line & FIFO_ENABLE != 0;
        let timeout = if fifo_on && !self.fifo.is_empty() { RECEIVE_TIMEOUT } else { 0 };
        self.raised | ((level | timeout) & !self.cleared)
    }

    /// The level of the interrupt line.
    pub(crate) fn line(&self) -> bool {
        self.raw() & self.mask != 0
    }

    pub(crate) fn read(&mut self, offset: u32) -> u32 {
        match offset {
            0x00 => {
                let byte = self.fifo.pop_front().unwrap_or_default();
                self.receive();
                u32::from(byte)
            }
            0x18 => self.flags(),
            0x20 => self.low_power,
            0x24 => self.divisor[0],
            0x28 => self.divisor[1],
            0x2C => self.line,
            0x30 => self.control,
            0x34 => self.levels,
            0x38 => self.mask,
            0x3C => self.raw(),
            0x40 => self.raw() & self.mask,
            0x48 => self.dma,
            _ => identification(IDENTIFICATION, offset).unwrap_or_default(),
        }
    }

    /// UARTFR: transmit FIFO empty; receive FIFO empty or full; modem lines not asserted.
    fn flags(&self) -> u32 {
        let full = if self.fifo.len() >= self.depth() { 1 << 6 } else { 0 };
        let empty = if self.fifo.is_empty() { 1 << 4 } else { 0 };
        1 << 7 | full | empty
    }

    /// Writes a register; returns the byte that was transmitted, if any.
    pub(crate) fn write(&mut self, offset: u32, value: u32) -> Option<u8> {
        match offset {
            0x00 => {
                self.raised |= TRANSMIT;
                self.sent_disabled |= self.control & SENDING != SENDING;
                return Some(value.to_le_bytes()[0]);
            }
            0x20 => self.low_power = value & 0xFF,
            0x24 => self.divisor[0] = value & 0xFFFF,
            0x28 => self.divisor[1] = value & 0x3F,
            0x2C => self.set_line(value & 0xFF),
            0x30 => self.control = value & 0xFF87,
            0x34 => self.levels = value & 0x3F,
            0x38 => self.mask = value & ALL,
            0x44 => {
                self.raised &= !value;
                self.cleared |= value & (RECEIVE | RECEIVE_TIMEOUT);
            }
            0x48 => self.dma = value & 7,
            _ => {}
        }
        None
    }

    /// Writes UARTLCR_H. Enabling or disabling the FIFOs flushes them. The bytes flushed return to the
    /// host's input and are received again: no byte of the host is lost, as if it had been sent later.
    fn set_line(&mut self, value: u32) {
        if (self.line ^ value) & FIFO_ENABLE != 0 {
            while let Some(byte) = self.fifo.pop_back() {
                self.typed.push_front(byte);
            }
        }
        self.line = value;
        self.receive();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_fifo() -> Uart {
        let mut uart = Uart::new();
        uart.write(0x2C, FIFO_ENABLE);
        uart.write(0x30, 0x301);
        uart
    }

    #[test]
    fn what_is_written_leaves_at_once_and_raises_the_transmit_interrupt() {
        let mut uart = with_fifo();
        assert_eq!(uart.write(0x00, 0x141), Some(b'A'));
        assert_eq!(uart.read(0x18) & 0xA0, 0x80, "empty and not full");
        assert_eq!(uart.read(0x3C), TRANSMIT);
        assert!(!uart.line(), "it is masked");
        uart.write(0x38, TRANSMIT);
        assert!(uart.line());
        uart.write(0x44, TRANSMIT);
        assert!(!uart.line());
        assert!(!uart.sent_disabled);
    }

    #[test]
    fn sending_while_disabled_is_noted() {
        let mut uart = Uart::new();
        assert_eq!(uart.write(0x00, 65), Some(65));
        assert!(uart.sent_disabled);
    }

    #[test]
    fn the_fifo_holds_sixteen_and_takes_the_rest_when_there_is_room() {
        let mut uart = with_fifo();
        let typed: Vec<u8> = (0..40).collect();
        uart.push(&typed);
        assert_eq!(uart.read(0x18) & 0x50, 0x40, "full");
        assert_eq!(uart.waiting(), 40);
        let read: Vec<u32> = (0..40).map(|_| uart.read(0x00)).collect();
        assert_eq!(read, (0..40).collect::<Vec<_>>());
        assert_eq!(uart.read(0x18) & 0x50, 0x10, "empty");
        assert_eq!(uart.read(0x00), 0);
    }

    #[test]
    fn nothing_that_was_typed_is_lost_when_the_fifo_is_turned_on() {
        let mut uart = Uart::new();
        uart.push(b"abc");
        uart.write(0x2C, FIFO_ENABLE);
        assert_eq!([0; 3].map(|_| uart.read(0x00)), [b'a', b'b', b'c'].map(u32::from));
    }

    #[test]
    fn the_receive_interrupt_comes_at_the_trigger_level_and_the_timeout_below() {
        let mut uart = with_fifo();
        for (levels, trigger) in [(0, 2), (1, 4), (2, 8), (3, 12), (4, 14)] {
            uart.write(0x34, levels << 3);
            for count in 1..=DEPTH {
                uart.push(&[1]);
                let raw = uart.read(0x3C);
                assert_eq!(raw & RECEIVE != 0, count >= trigger, "{levels} {count}");
                assert_ne!(raw & RECEIVE_TIMEOUT, 0);
            }
            assert_eq!((0..DEPTH).map(|_| uart.read(0x00)).sum::<u32>(), 16);
            assert_eq!(uart.read(0x3C), 0);
        }
    }

    #[test]
    fn without_fifo_each_character_interrupts_and_clearing_lasts_until_the_next() {
        let mut uart = Uart::new();
        uart.write(0x38, RECEIVE);
        uart.push(b"ab");
        assert!(uart.line());
        uart.write(0x44, RECEIVE);
        assert!(!uart.line());
        assert_eq!(uart.read(0x00), u32::from(b'a'));
        assert!(uart.line(), "the second came in");
        assert_eq!(uart.read(0x00), u32::from(b'b'));
        assert!(!uart.line());
    }

    #[test]
    fn identification_is_that_of_a_pl011() {
        let mut uart = Uart::new();
        let bytes: Vec<u32> = (0..8).map(|index| uart.read(0xFE0 + 4 * index)).collect();
        assert_eq!(bytes, [0x11, 0x10, 0x14, 0, 0x0D, 0xF0, 0x05, 0xB1]);
    }
}
