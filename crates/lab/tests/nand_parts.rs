//! The built-in NAND parts and the board of the NAND experiment: each is read, and says where its numbers
//! come from.

#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

use boardlab_lab::catalog;
use boardlab_lab::document::{Document, Reading};
use boardlab_lab::nandfs::{board, part};
use boardlab_lab::source::Kind;
use boardlab_nand::Part;
use boardlab_sim::{Bytes, Duration};
use boardlab_vfs::Work;

/// A built-in NAND part by name.
fn read(name: &str) -> Reading<Part> {
    let source = catalog::find(Kind::Part, name, None).unwrap_or_else(|error| panic!("{error}"));
    let document = Document::parse(&source).unwrap_or_else(|error| panic!("{error}"));
    document.read(part::read).unwrap_or_else(|error| panic!("{error}"))
}

fn names() -> impl Iterator<Item = &'static str> {
    let nand = catalog::parts().iter().filter(|file| file.path.starts_with("parts/nand/"));
    nand.map(|file| file.name)
}

#[test]
fn every_figure_of_a_part_names_its_source() {
    for name in names() {
        for parameter in read(name).parameters {
            let source = parameter.source.trim();
            assert!(source.len() >= 4, "{name}: {}: {source:?}", parameter.key);
        }
    }
}

#[test]
fn the_board_of_the_evaluation_has_a_cost_for_every_kind_of_work() {
    let source = catalog::find(Kind::Board, "mips-327", None).unwrap();
    let board = Document::parse(&source).unwrap().read(board::read).unwrap().value;
    assert_eq!(board.page_cache(), Bytes::mib(224));
    for work in Work::ALL {
        let cost = board.costs[work as usize];
        assert!(cost.each > 0, "{}", work.name());
    }
    assert_eq!(board.data_sheet.per_command, Duration::ZERO);
    assert_eq!(board.data_sheet.per_byte, Duration::ZERO);
}
