//! The built-in NAND parts and the board of the NAND experiment: each is read, and says where its numbers
//! come from.

use boardlab_document::source::Kind;
use boardlab_document::{Document, Override, Reading};
use boardlab_media::ErrorRates;
use boardlab_nand::part::BadMarks;
use boardlab_parts::catalog;
use boardlab_parts::nand::{board, part};
use boardlab_sim::{Bytes, Duration};
use boardlab_vfs::Work;

/// A built-in NAND part by name.
fn read(name: &str) -> Reading<part::PartFile> {
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
    assert_eq!(board.machine.page_cache(), Bytes::mib(224));
    for work in Work::ALL {
        let cost = board.machine.costs[work as usize];
        assert!(cost.each > 0, "{}", work.name());
    }
    assert_eq!(board.port.per_command, Duration::ZERO);
    assert_eq!(board.port.per_byte, Duration::ZERO);
}

#[test]
fn every_part_says_how_likely_a_bit_is_wrong_as_its_kind_of_cell_has_it() {
    for name in names() {
        let file = read(name).value;
        assert_eq!(file.errors, Some(ErrorRates::typical(file.part.cell)), "{name}");
    }
}

#[test]
fn bad_blocks_are_marked_where_the_part_file_or_linux_says() {
    let marks = |name: &str| read(name).value.part.bad_marks;
    assert_eq!(marks("nand-evaluation"), BadMarks::FIRST_TWO);
    assert_eq!(marks("k9f1g08u0a"), BadMarks::FIRST_TWO);
    assert_eq!(marks("mlc-4k"), BadMarks::FIRST, "Micron's, 4 KiB");
    assert_eq!(marks("w25n01gv"), BadMarks::FIRST, "a serial part");
    let with = |list: &str| {
        let source = catalog::find(Kind::Part, "nand-evaluation", None).unwrap();
        let mut document = Document::parse(&source).unwrap();
        let set = Override::parse(&format!("limits.bad_marks={list}")).unwrap();
        document.set(&[set]).unwrap();
        document.read(part::read).map_err(|error| error.to_string())
    };
    assert_eq!(with("[\"last\"]").unwrap().value.part.bad_marks, BadMarks::LAST);
    for (list, expected) in [("[]", "is empty"), ("[\"third\"]", "names no pages")] {
        let said = with(list).unwrap_err();
        assert!(said.contains(expected), "{list}: {said}");
    }
}
