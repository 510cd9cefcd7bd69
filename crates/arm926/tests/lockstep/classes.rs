//! The table of all classes, and blocks made of them.

use boardlab_sim::Stream;

use super::block::Block;
use super::oracle::Case;
use super::{arm, arm_branches, arm_memory, thumb, thumb_branches};

type Make = Box<dyn Fn(&mut Block<'_>) -> Option<u32> + Send + Sync>;

/// A class of encodings.
pub struct Class {
    pub name: String,
    thumb: bool,
    /// Its weight among the classes.
    weight: usize,
    make: Make,
}

impl Class {
    pub fn arm(
        name: &str,
        make: impl Fn(&mut Block<'_>) -> Option<u32> + Send + Sync + 'static,
    ) -> Self {
        Self { name: format!("ARM   {name}"), thumb: false, weight: 1, make: Box::new(make) }
    }

    pub fn thumb(
        name: &str,
        make: impl Fn(&mut Block<'_>) -> Option<u32> + Send + Sync + 'static,
    ) -> Self {
        Self { name: format!("Thumb {name}"), thumb: true, weight: 1, make: Box::new(make) }
    }
}

impl Class {
    /// Sets the weight, for classes whose registers seldom suit.
    pub fn often(self, weight: usize) -> Self {
        Self { weight, ..self }
    }
}

/// All classes; those from `last` on end a block.
pub struct Table {
    pub classes: Vec<Class>,
    /// The classes that do not end a block, in ARM and in Thumb state.
    on: [Vec<usize>; 2],
    /// The classes that end a block.
    last: [Vec<usize>; 2],
}

/// One of `SHORT` blocks has only one to three instructions.
const SHORT: u64 = 5;

impl Table {
    pub fn new() -> Self {
        let mut classes = arm::classes();
        classes.extend(arm_memory::classes());
        classes.extend(arm_branches::classes());
        classes.extend(thumb::classes());
        classes.extend(thumb_branches::classes());
        let first_last = classes.len();
        classes.extend(arm_branches::last_classes());
        classes.extend(thumb_branches::last_classes());
        let of = |thumb: bool, range: std::ops::Range<usize>| -> Vec<usize> {
            let own = range.filter(|&n| classes[n].thumb == thumb);
            own.flat_map(|n| std::iter::repeat_n(n, classes[n].weight)).collect()
        };
        let all = classes.len();
        let on = [of(false, 0..first_last), of(true, 0..first_last)];
        let last = [of(false, first_last..all), of(true, first_last..all)];
        Self { classes, on, last }
    }

    /// Generates a block; returns the case and the class of each instruction by address.
    pub fn block(&self, stream: &mut Stream, base: u32) -> (Case, Vec<(u32, usize)>) {
        let mut block = Block::new(stream, base);
        let bytes = if block.chance(1, SHORT) { 1 + block.below(12) } else { block.below(0x100) };
        let end = base + bytes;
        while block.at() < end {
            self.one(&mut block, &self.on);
        }
        while block.furthest() > block.at() {
            // Changes at most the flags.
            if block.thumb { block.half(0x1C00) } else { block.word(0xE1A0_0000) }
        }
        if block.chance(3, 4) {
            self.one(&mut block, &self.last);
        }
        block.case()
    }

    /// One instruction of any of the classes of the state.
    fn one(&self, block: &mut Block<'_>, from: &[Vec<usize>; 2]) {
        let indices = &from[usize::from(block.thumb)];
        let bound = u32::try_from(indices.len()).unwrap();
        let class = indices[block.below(bound) as usize];
        if let Some(at) = (self.classes[class].make)(block) {
            block.classes.push((at, class));
        }
    }
}
