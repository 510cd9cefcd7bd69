//! The tests of this crate from outside, in one program, since linking twenty takes longer than most of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod advise;
mod card_advise;
mod fcse;
mod fio_bench;
mod guide;
mod keys;
mod life;
mod mechanisms;
mod nand_parts;
mod nandfs;
mod nor;
mod nor_parts;
mod plans;
mod runs;
mod sata;
mod sata_console;
mod sdwear;
mod sentences;
mod verdicts;
