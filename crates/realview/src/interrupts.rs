//! The interrupt controller: distributor and CPU interface of a GICv1 for one core.
//!
//! Layer: rank 4. Main type: [`Controller`]. Source: ARM IHI 0048A, chapters 3 and 4. The number of
//! interrupts and the identification registers are those of QEMU 7.2's `realview_gic`: 96 interrupts,
//! of which 32 to 95 (SPIs) are the board's inputs 0 to 63. With one core the target registers read
//! as zero. All eight bits of a priority are implemented.
//!
//! Left out: the security extensions, FIQ (the board connects nIRQ only) and private peripheral
//! interrupts (PPIs), which have no source.

use serde::{Deserialize, Serialize};

/// The number of interrupts, software generated (SGI) and private (PPI) ones included.
const COUNT: usize = 96;
/// The first shared peripheral interrupt (SPI).
const SHARED: usize = 32;
/// The spurious interrupt ID.
const SPURIOUS: u32 = 1023;
/// The running priority while no interrupt is active.
const IDLE: u16 = 0x100;
const IDENTIFICATION: [u8; 12] =
    [0x04, 0x00, 0x00, 0x00, 0x90, 0xB3, 0x1B, 0x00, 0x0D, 0xF0, 0x05, 0xB1];

/// One bit for each interrupt.
type Bits = [u32; COUNT / 32];

/// The controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Controller {
    distributing: bool,
    signalling: bool,
    enabled: Bits,
    /// Pending by an edge or by software.
    pending: Bits,
    active: Bits,
    /// The levels of the input lines.
    level: Bits,
    /// Edge-triggered interrupts; the others are level-sensitive.
    edge: Bits,
    configuration: [u32; COUNT / 16],
    priority: [[u8; 32]; COUNT / 32],
    /// By active interrupt: the running priority before it was acknowledged.
    preempted: [[u16; 32]; COUNT / 32],
    mask: u8,
    binary_point: u8,
    running: u16,
}

impl Controller {
    pub(crate) const fn new() -> Self {
        Self {
            distributing: false,
            signalling: false,
            // Software generated interrupts are always enabled and edge-triggered.
            enabled: [0xFFFF, 0, 0],
            pending: [0; 3],
            active: [0; 3],
            level: [0; 3],
            edge: [0xFFFF, 0, 0],
            configuration: [0xAAAA_AAAA, 0, 0, 0, 0, 0],
            priority: [[0; 32]; COUNT / 32],
            preempted: [[IDLE; 32]; COUNT / 32],
            mask: 0,
            binary_point: 0,
            running: IDLE,
        }
    }

    /// Sets the level of the board's input `input`.
    pub(crate) fn set_input(&mut self, input: usize, high: bool) {
        let (word, bit) = place(SHARED + input);
        let rises = high && self.level[word] & bit == 0;
        if high {
            self.level[word] |= bit;
        } else {
            self.level[word] &= !bit;
        }
        if rises && self.edge[word] & bit != 0 {
            self.pending[word] |= bit;
        }
    }

    /// Whether nIRQ is asserted.
    pub(crate) fn output(&self) -> bool {
        self.signalling && self.highest_pending().is_some_and(|id| self.preempts(id))
    }

    /// Pending interrupts: latched ones, and level-sensitive ones whose input is high.
    fn pending(&self, word: usize) -> u32 {
        self.pending[word] | (self.level[word] & !self.edge[word])
    }

    /// The pending, enabled, inactive interrupt of the highest priority, if its priority passes the
    /// mask.
    fn highest_pending(&self) -> Option<usize> {
        if !self.distributing {
            return None;
        }
        let mut best: Option<usize> = None;
        for word in 0..self.enabled.len() {
            let mut ready = self.pending(word) & self.enabled[word] & !self.active[word];
            while ready != 0 {
                let id = word * 32 + usize::try_from(ready.trailing_zeros()).unwrap_or_default();
                ready &= ready - 1;
                if best.is_none_or(|other| self.priority(id) < self.priority(other)) {
                    best = Some(id);
                }
            }
        }
        best.filter(|&id| self.priority(id) < self.mask)
    }

    const fn priority(&self, id: usize) -> u8 {
        self.priority[id / 32][id % 32]
    }

    /// The group priority, which decides about preemption.
    fn group(&self, priority: u8) -> u16 {
        let shift = (self.binary_point & 7) + 1;
        (u16::from(priority) >> shift) << shift
    }

    fn preempts(&self, id: usize) -> bool {
        self.group(self.priority(id)) < self.running
    }

    fn acknowledge(&mut self) -> u32 {
        let Some(id) = self.highest_pending().filter(|&id| self.preempts(id)) else {
            return SPURIOUS;
        };
        let (word, bit) = place(id);
        self.active[word] |= bit;
        self.pending[word] &= !bit;
        self.preempted[word][id % 32] = self.running;
        self.running = self.group(self.priority(id));
        u32::try_from(id).unwrap_or(SPURIOUS)
    }

    fn end_of_interrupt(&mut self, value: u32) {
        let Ok(id) = usize::try_from(value & 0x3FF) else { return };
        if id >= COUNT {
            return;
        }
        let (word, bit) = place(id);
        if self.active[word] & bit != 0 {
            self.active[word] &= !bit;
            self.running = std::mem::replace(&mut self.preempted[word][id % 32], IDLE);
        }
    }

    /// Reads the CPU interface.
    pub(crate) fn read_interface(&mut self, offset: u32) -> u32 {
        match offset {
            0x00 => u32::from(self.signalling),
            0x04 => u32::from(self.mask),
            0x08 => u32::from(self.binary_point),
            0x0C => self.acknowledge(),
            0x14 => u32::from(self.running.min(0xFF)),
            0x18 => {
                self.highest_pending().map_or(SPURIOUS, |id| u32::try_from(id).unwrap_or(SPURIOUS))
            }
            0xFC => 0x1_043B,
            _ => 0,
        }
    }

    /// Writes the CPU interface.
    pub(crate) fn write_interface(&mut self, offset: u32, value: u32) {
        match offset {
            0x00 => self.signalling = value & 1 != 0,
            0x04 => self.mask = value.to_le_bytes()[0],
            0x08 => self.binary_point = value.to_le_bytes()[0] & 7,
            0x10 => self.end_of_interrupt(value),
            _ => {}
        }
    }

    /// Reads the word of the distributor at `offset`.
    pub(crate) fn read_distributor(&self, offset: u32) -> u32 {
        let index = usize::try_from((offset & 0x7F) / 4).unwrap_or_default();
        match offset {
            0x000 => u32::from(self.distributing),
            // 96 interrupts, one core.
            0x004 => 2,
            0x100..0x200 => word(&self.enabled, index),
            0x200..0x300 => match index {
                0..=2 => self.pending(index),
                _ => 0,
            },
            0x300..0x380 => word(&self.active, index),
            0x400..0x800 => self.priorities(offset - 0x400),
            0xC00..0xD00 => word(&self.configuration, index),
            0xFD0..=0xFFC => {
                let at = usize::try_from((offset - 0xFD0) / 4).unwrap_or_default();
                IDENTIFICATION.get(at).copied().map_or(0, u32::from)
            }
            _ => 0,
        }
    }

    fn priorities(&self, offset: u32) -> u32 {
        let first = usize::try_from(offset & !3).unwrap_or(COUNT);
        let bytes = [0, 1, 2, 3]
            .map(|more| self.priority.as_flattened().get(first + more).copied().unwrap_or(0));
        u32::from_le_bytes(bytes)
    }

    /// Writes the distributor's word at `offset`; `lanes` is the mask of the bits that the access
    /// covers.
    pub(crate) fn write_distributor(&mut self, offset: u32, value: u32, lanes: u32) {
        let index = usize::try_from((offset & 0x7F) / 4).unwrap_or_default();
        let value = value & lanes;
        match offset {
            0x000 => self.distributing = value & 1 != 0,
            0x100..0x180 => set(&mut self.enabled, index, value),
            0x180..0x200 if index == 0 => self.enabled[0] &= !value | 0xFFFF,
            0x180..0x200 => clear(&mut self.enabled, index, value),
            0x200..0x280 if index == 0 => self.pending[0] |= value & 0xFFFF_0000,
            0x200..0x280 => set(&mut self.pending, index, value),
            0x280..0x300 if index == 0 => self.pending[0] &= !value | 0xFFFF,
            0x280..0x300 => clear(&mut self.pending, index, value),
            0x400..0x800 => self.set_priorities(offset - 0x400, value, lanes),
            0xC08..0xD00 => self.configure(index, value, lanes),
            0xF00 => self.raise_software(value),
            _ => {}
        }
    }

    fn set_priorities(&mut self, offset: u32, value: u32, lanes: u32) {
        let first = usize::try_from(offset & !3).unwrap_or(COUNT);
        let lanes = value.to_le_bytes().into_iter().zip(lanes.to_le_bytes());
        for (priority, (byte, lane)) in
            self.priority.as_flattened_mut().iter_mut().skip(first).zip(lanes)
        {
            *priority = if lane == 0 { *priority } else { byte };
        }
    }

    /// Writes a configuration register (ICDICFR): two bits an interrupt, of which the upper makes it
    /// edge-triggered.
    fn configure(&mut self, index: usize, value: u32, lanes: u32) {
        let Some(register) = self.configuration.get_mut(index) else { return };
        *register = (*register & !lanes) | (value & 0xAAAA_AAAA);
        let register = *register;
        for bit in 0..16 {
            let (word, mask) = place(index * 16 + bit);
            if register >> (2 * bit + 1) & 1 == 1 {
                self.edge[word] |= mask;
            } else {
                self.edge[word] &= !mask;
            }
        }
    }

    /// Writes the software generated interrupt register (ICDSGIR). The target is this core by list or
    /// by "the requesting CPU"; "all CPUs but the requesting one" targets none.
    fn raise_software(&mut self, value: u32) {
        let here = match value >> 24 & 3 {
            0 => value >> 16 & 1 != 0,
            2 => true,
            _ => false,
        };
        if here {
            self.pending[0] |= 1 << (value & 15);
        }
    }
}

/// The word and the mask of an interrupt in [`Bits`].
const fn place(id: usize) -> (usize, u32) {
    (id / 32, 1 << (id % 32))
}

fn word(bits: &[u32], index: usize) -> u32 {
    bits.get(index).copied().unwrap_or_default()
}

fn set(bits: &mut [u32], index: usize, value: u32) {
    if let Some(word) = bits.get_mut(index) {
        *word |= value;
    }
}

fn clear(bits: &mut [u32], index: usize, value: u32) {
    if let Some(word) = bits.get_mut(index) {
        *word &= !value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_LANES: u32 = u32::MAX;

    /// Inputs 4 and 12 (36 and 44) enabled at these priorities, everything on.
    fn ready(first: u8, second: u8) -> Controller {
        let mut controller = Controller::new();
        controller.write_distributor(0x000, 1, ALL_LANES);
        controller.write_interface(0x00, 1);
        controller.write_interface(0x04, 0xFF);
        controller.write_distributor(0x104, 1 << 4 | 1 << 12, ALL_LANES);
        controller.write_distributor(0x400 + 36, u32::from(first), 0xFF);
        controller.write_distributor(0x400 + 44, u32::from(second), 0xFF);
        controller
    }

    #[test]
    fn a_level_interrupt_is_signalled_acknowledged_and_comes_back_while_the_line_is_high() {
        let mut controller = ready(0xA0, 0xA0);
        assert!(!controller.output());
        controller.set_input(4, true);
        assert!(controller.output());
        assert_eq!(controller.read_interface(0x0C), 36);
        assert!(!controller.output());
        assert_eq!(controller.read_interface(0x0C), SPURIOUS);
        assert_eq!(controller.read_interface(0x14), 0xA0);
        controller.write_interface(0x10, 36);
        assert!(controller.output());
        controller.set_input(4, false);
        assert!(!controller.output());
        assert_eq!(controller.read_interface(0x14), 0xFF);
    }

    #[test]
    fn an_edge_interrupt_comes_once_for_each_edge() {
        let mut controller = ready(0x10, 0x10);
        controller.write_distributor(0xC08, 2 << 8, ALL_LANES);
        controller.set_input(4, true);
        assert_eq!(controller.read_interface(0x0C), 36);
        controller.write_interface(0x10, 36);
        assert!(!controller.output());
        controller.set_input(4, false);
        assert!(!controller.output());
        controller.set_input(4, true);
        assert!(controller.output());
    }

    #[test]
    fn the_higher_priority_comes_first_and_preempts() {
        let mut controller = ready(0x80, 0x40);
        controller.set_input(4, true);
        assert_eq!(controller.read_interface(0x0C), 36);
        controller.set_input(12, true);
        assert!(controller.output());
        assert_eq!(controller.read_interface(0x18), 44);
        assert_eq!(controller.read_interface(0x0C), 44);
        assert_eq!(controller.read_interface(0x14), 0x40);
        controller.set_input(12, false);
        controller.write_interface(0x10, 44);
        assert_eq!(controller.read_interface(0x14), 0x80);
        assert!(!controller.output());
    }

    #[test]
    fn the_binary_point_keeps_close_priorities_from_preempting() {
        let mut controller = ready(0x88, 0x80);
        controller.write_interface(0x08, 3);
        controller.set_input(4, true);
        assert_eq!(controller.read_interface(0x0C), 36);
        controller.set_input(12, true);
        assert!(!controller.output(), "0x88 and 0x80 are one group");
    }

    #[test]
    fn the_mask_lets_only_higher_priorities_through() {
        let mut controller = ready(0x80, 0x40);
        controller.write_interface(0x04, 0x80);
        controller.set_input(4, true);
        assert!(!controller.output());
        controller.set_input(12, true);
        assert!(controller.output());
        assert_eq!(controller.read_interface(0x0C), 44);
    }

    #[test]
    fn nothing_comes_while_disabled_at_any_of_the_three_places() {
        let mut controller = ready(0, 0);
        controller.set_input(4, true);
        assert!(controller.output());
        controller.write_distributor(0x184, 1 << 4, ALL_LANES);
        assert!(!controller.output());
        assert_eq!(controller.read_distributor(0x204), 1 << 4, "it is pending all the same");
        controller.write_distributor(0x104, 1 << 4, ALL_LANES);
        controller.write_distributor(0x000, 0, ALL_LANES);
        assert!(!controller.output());
        controller.write_distributor(0x000, 1, ALL_LANES);
        controller.write_interface(0x00, 0);
        assert!(!controller.output());
    }

    #[test]
    fn software_interrupts_come_to_this_core_only_if_it_is_meant() {
        let mut controller = ready(0, 0);
        controller.write_distributor(0xF00, 1 << 24 | 3, ALL_LANES);
        controller.write_distributor(0xF00, 2 << 16 | 3, ALL_LANES);
        assert!(!controller.output());
        controller.write_distributor(0xF00, 1 << 16 | 3, ALL_LANES);
        assert_eq!(controller.read_interface(0x0C), 3);
        controller.write_interface(0x10, 3);
        controller.write_distributor(0xF00, 2 << 24 | 9, ALL_LANES);
        assert_eq!(controller.read_interface(0x0C), 9);
    }

    #[test]
    fn software_sets_and_clears_what_is_pending() {
        let mut controller = ready(0, 0);
        controller.write_distributor(0x204, 1 << 12, ALL_LANES);
        assert!(controller.output());
        controller.write_distributor(0x284, 1 << 12, ALL_LANES);
        assert!(!controller.output());
    }

    #[test]
    fn priorities_can_be_written_by_byte() {
        let mut controller = Controller::new();
        controller.write_distributor(0x424, 0x4433_2211, ALL_LANES);
        controller.write_distributor(0x424, 0x00AA_0000, 0x00FF_0000);
        assert_eq!(controller.read_distributor(0x424), 0x44AA_2211);
        controller.write_distributor(0x7FC, ALL_LANES, ALL_LANES);
        assert_eq!(controller.read_distributor(0x7FC), 0, "beyond the last interrupt");
    }

    #[test]
    fn an_end_of_what_is_not_active_changes_nothing() {
        let mut controller = ready(0x20, 0x30);
        controller.set_input(4, true);
        controller.read_interface(0x0C);
        let before = controller.clone();
        for id in [SPURIOUS, 44, 95, 96, 1_000] {
            controller.write_interface(0x10, id);
        }
        assert_eq!(controller, before);
    }
}
