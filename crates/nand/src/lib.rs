//! NAND flash: chip, port, driver, error correction, bad blocks.
