//! Older states, by the sequence number of their last block.

use crate::asked::opened;
use crate::images::{TREE, large, small, told_by};
use boardlab_image::{Damage, Error, Hints};

fn as_of(sequence: u64) -> Hints {
    Hints { as_of: Some(sequence), ..Hints::default() }
}

#[test]
fn an_older_state_has_what_was_there_and_says_so() {
    let image = large();
    // Block by block: names come, and what was removed later is there.
    let states: Vec<String> = (4_097..=4_102).map(|last| told_by(&image, &as_of(last))).collect();
    assert_eq!(states.last().unwrap(), TREE);
    let has = |state: usize, name: &str| {
        states[state].lines().any(|line| line.starts_with(&format!("{name} ")))
    };
    assert!(has(0, "a/f1") && !has(0, "y"), "{}", states[0]);
    let removed = ["x", "z", "hard", "gone"];
    let seen = (0..states.len()).any(|state| removed.iter().any(|name| has(state, name)));
    assert!(seen && removed.iter().all(|name| !has(5, name)), "{states:?}");
    let mut opened = opened(&image, &as_of(4_099)).unwrap();
    let damage = Damage::of(&mut opened).unwrap();
    assert!(damage.may_miss_names());
    let told = damage.audit.foreign.unwrap();
    assert!(told.contains("sequence number 4099 was the newest; the newest is 4102"), "{told}");
    // The newest state misses nothing.
    let mut newest = crate::asked::opened(&image, &as_of(4_102)).unwrap();
    assert!(Damage::of(&mut newest).unwrap().is_whole());
}

#[test]
fn a_state_that_is_not_there_is_refused_with_those_that_are() {
    let image = large();
    for wanted in [0, 4_096, 4_103, 1 << 40] {
        let refused = opened(&image, &as_of(wanted)).unwrap_err();
        assert!(matches!(refused, Error::NoState { found: (4_097, 4_102), .. }), "{refused}");
        assert_eq!(refused.help(), "give a number from 4097 to 4102, or leave out --as-of");
    }
    let refused = opened(&small()[0], &as_of(4_097)).unwrap_err();
    let expected = "--as-of is not for YAFFS1, whose blocks have no sequence numbers";
    assert_eq!(refused.to_string(), expected);
    let board = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/board.jffs2");
    let refused = opened(&std::fs::read(board).unwrap(), &as_of(1)).unwrap_err();
    assert!(matches!(refused, Error::NoTime { wanted: 1, .. }), "{refused}");
}
