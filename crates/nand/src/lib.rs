//! NAND flash: chip, port, driver, error correction, bad blocks.

pub mod part;

pub use part::Part;
