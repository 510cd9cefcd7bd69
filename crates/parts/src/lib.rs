//! Parts and boards: their files, and the composition of systems from them.
//!
//! Layer: rank 8. In reading order:
//!
//! - [`catalog`]: the built-in files, and how a name or a path becomes a document.
//! - [`nor`] and [`nand`]: flash chips, and the boards that have one on their bus.
//! - [`machine`]: CPU and memory, which a kernel runs on.
//! - [`managed`]: managed flash: the flash behind a card or a drive, and the translation layer over it.
//! - [`card`]: SD cards and eMMC devices; [`drive`]: SATA drives, and the hosts of boards for them.
//! - [`Failure`]: why a part and a board are no device.
//!
//! Left out: what is done with a system; see the experiments of `boardlab_lab`.

pub mod card;
pub mod catalog;
pub mod drive;
mod failure;
pub mod machine;
pub mod managed;
pub mod nand;
pub mod nor;

pub use failure::Failure;

use boardlab_document::{Read, Section};

/// The kind of the section `part`, which says how both `part` and `board` are to be read.
///
/// # Errors
/// It is none of `kinds`; then no more is said about the two sections.
pub fn kind_of_part<T: Clone>(section: &Section<'_>, kinds: &[(&str, T)]) -> Read<T> {
    let kind = section.section("part", |part| {
        let kind = part.one_of("kind", kinds);
        part.leave_rest();
        kind
    });
    kind.or_else(|reported| {
        section.section("board", |board| {
            board.leave_rest();
            Err(reported)
        })
    })
}
