//! What GDB is told of the core: seventeen registers.
//!
//! Layer: rank 8. Main types: [`Armv5te`], [`CoreRegisters`]. Source: `gdb/features/arm/arm-core.xml` of GDB for names and numbers: r0 to r15,
//! and `cpsr` as number 25.

use gdbstub::arch::{Arch, Registers};

/// The architecture.
#[derive(Debug)]
pub enum Armv5te {}

/// The registers in GDB's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreRegisters {
    /// r0 to r15.
    pub r: [u32; 16],
    /// The current status.
    pub cpsr: u32,
}

/// The description that GDB asks for.
const DESCRIPTION: &str = r#"<?xml version="1.0"?>
<!DOCTYPE target SYSTEM "gdb-target.dtd">
<target version="1.0">
  <architecture>armv5te</architecture>
  <feature name="org.gnu.gdb.arm.core">
    <reg name="r0" bitsize="32" type="uint32"/>
    <reg name="r1" bitsize="32" type="uint32"/>
    <reg name="r2" bitsize="32" type="uint32"/>
    <reg name="r3" bitsize="32" type="uint32"/>
    <reg name="r4" bitsize="32" type="uint32"/>
    <reg name="r5" bitsize="32" type="uint32"/>
    <reg name="r6" bitsize="32" type="uint32"/>
    <reg name="r7" bitsize="32" type="uint32"/>
    <reg name="r8" bitsize="32" type="uint32"/>
    <reg name="r9" bitsize="32" type="uint32"/>
    <reg name="r10" bitsize="32" type="uint32"/>
    <reg name="r11" bitsize="32" type="uint32"/>
    <reg name="r12" bitsize="32" type="uint32"/>
    <reg name="sp" bitsize="32" type="data_ptr"/>
    <reg name="lr" bitsize="32"/>
    <reg name="pc" bitsize="32" type="code_ptr"/>
    <reg name="cpsr" bitsize="32" regnum="25"/>
  </feature>
</target>
"#;

impl Arch for Armv5te {
    type Usize = u32;
    type Registers = CoreRegisters;
    type BreakpointKind = usize;
    type RegId = ();

    fn target_description_xml() -> Option<&'static str> {
        Some(DESCRIPTION)
    }
}

impl Registers for CoreRegisters {
    type ProgramCounter = u32;

    fn pc(&self) -> u32 {
        self.r[15]
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for word in self.r.iter().chain([&self.cpsr]) {
            word.to_le_bytes().into_iter().for_each(|byte| write_byte(Some(byte)));
        }
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let (words, rest) = bytes.as_chunks::<4>();
        if words.len() != 17 || !rest.is_empty() {
            return Err(());
        }
        for (register, word) in self.r.iter_mut().chain([&mut self.cpsr]).zip(words) {
            *register = u32::from_le_bytes(*word);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_go_out_and_come_back_in_the_order_of_the_description() {
        let mut registers = CoreRegisters::default();
        registers.r[0] = 0x0403_0201;
        registers.cpsr = 0x6000_00D3;
        let mut bytes = Vec::new();
        registers.gdb_serialize(|byte| bytes.extend(byte));
        assert_eq!((&bytes[..4], &bytes[64..]), (&[1, 2, 3, 4][..], &[0xD3, 0, 0, 0x60][..]));
        let mut back = CoreRegisters::default();
        assert_eq!(back.gdb_deserialize(&bytes), Ok(()));
        assert_eq!(back, registers);
        assert_eq!(back.gdb_deserialize(&bytes[..67]), Err(()));
        assert_eq!(DESCRIPTION.matches("<reg ").count(), 17);
    }
}
