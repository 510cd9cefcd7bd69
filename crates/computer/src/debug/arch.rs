//! What GDB is told of the core: seventeen registers.
//!
//! Layer: rank 9. Main type: [`CoreRegisters`]; [`DESCRIPTION`] says so to GDB. Source: `gdb/features/arm/arm-core.xml` of GDB for names and numbers: r0 to r15,
//! and `cpsr` as number 25.

/// The registers in GDB's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreRegisters {
    /// r0 to r15.
    pub r: [u32; 16],
    /// The current status.
    pub cpsr: u32,
}

/// The description that GDB asks for.
pub const DESCRIPTION: &str = r#"<?xml version="1.0"?>
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

impl CoreRegisters {
    /// Number of `cpsr`; those of r0 to r15 are 0 to 15.
    pub const CPSR: usize = 25;

    /// As GDB wants them, each with its lowest byte first.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.r.iter().chain([&self.cpsr]).flat_map(|word| word.to_le_bytes()).collect()
    }

    /// What GDB sent; nothing where it is not all of them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<4>();
        let (cpsr, r) = words.split_last().filter(|_| rest.is_empty())?;
        let r: Vec<u32> = r.iter().map(|word| u32::from_le_bytes(*word)).collect();
        Some(Self { r: r.try_into().ok()?, cpsr: u32::from_le_bytes(*cpsr) })
    }

    /// The register with this number.
    pub fn register(&mut self, number: usize) -> Option<&mut u32> {
        if number == Self::CPSR { Some(&mut self.cpsr) } else { self.r.get_mut(number) }
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
        let bytes = registers.bytes();
        assert_eq!((&bytes[..4], &bytes[64..]), (&[1, 2, 3, 4][..], &[0xD3, 0, 0, 0x60][..]));
        assert_eq!(CoreRegisters::from_bytes(&bytes), Some(registers.clone()));
        for wrong in [&bytes[..67], &bytes[..64], &[&bytes[..], &[0; 4]].concat(), &[]] {
            assert_eq!(CoreRegisters::from_bytes(wrong), None);
        }
        assert_eq!(registers.register(25).copied(), Some(0x6000_00D3));
        assert_eq!((registers.register(15).is_some(), registers.register(16)), (true, None));
        assert_eq!(DESCRIPTION.matches("<reg ").count(), 17);
    }
}
