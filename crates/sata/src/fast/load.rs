//! The payload of a Data FIS on its way: described, or as words.
//!
//! Main type: [`Load`]. It takes words from the sender's agent as they are sent and gives them to the
//! receiver's as they are taken, or passes on the description of them all.

use crate::agent::Agent;
use crate::wire::Counting;

/// The payload of the frame that is under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Load {
    described: Option<Counting>,
    /// The words, where they are not described; as many as the largest frame so far had.
    words: Vec<u32>,
    /// Words that the sender has filled in.
    filled: u32,
    /// Words that the receiver has taken.
    taken: u32,
}

impl Load {
    /// A frame of `dwords` begins at `sender`.
    #[inline]
    pub(super) fn begin(&mut self, sender: &mut impl Agent, dwords: u32) {
        (self.filled, self.taken) = (0, 0);
        self.described = sender.describe();
        if self.described.is_none() && self.words.len() < index(dwords) {
            self.words.resize(index(dwords), 0);
        }
    }

    /// The sender sends the words before `until`.
    #[inline]
    pub(super) fn fill(&mut self, sender: &mut impl Agent, until: u32) {
        if self.described.is_none() && self.filled < until {
            sender.fill(self.filled, &mut self.words[index(self.filled)..index(until)]);
        }
        self.filled = until;
    }

    /// The receiver takes the words before `until`.
    #[inline]
    pub(super) fn take(&mut self, receiver: &mut impl Agent, until: u32) {
        if self.taken == until {
            return;
        }
        match self.described {
            Some(words) => {
                let rest = words.from(u64::from(self.taken));
                receiver.take_described(until - self.taken, rest);
            }
            None => receiver.take(&self.words[index(self.taken)..index(until)]),
        }
        self.taken = until;
    }
}

fn index(dword: u32) -> usize {
    usize::try_from(dword).expect("a u32 fits usize")
}
