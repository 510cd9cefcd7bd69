//! NOR flash with the AMD/CFI command set: chip, bus, drivers, wait policies and tuner.

pub mod part;
