//! Boards of `boardlab os run`.

use super::{Bench, Exception, Group};
use crate::keys::guest::{BOARDS, program};

pub(super) const GROUP: Group = Group { benches: BENCHES, exceptions: EXCEPTIONS, elsewhere: &[] };

const BENCHES: &[Bench] = &[Bench {
    name: "os run",
    scenario: BOARDS,
    base: &["board.core.instruction_cache=8 KiB", "board.core.data_cache=8 KiB"],
    own: built,
    contexts: &[],
}];

/// Nothing, but only where the program can be built.
fn built() -> Option<Vec<String>> {
    program().map(|_| Vec::new())
}

const EXCEPTIONS: &[Exception] = &[];
