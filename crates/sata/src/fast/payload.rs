//! The payload of a Data FIS in flight: words, or their description.
//!
//! Main type: [`Payload`]. It fetches words from the sender's agent as they are sent and delivers them
//! to the receiver's agent as they are taken, or passes on a description of them all.

use crate::agent::Agent;
use crate::wire::Counting;

/// The payload of the frame in progress.
#[derive(Debug, Clone, Default)]
pub(super) struct Payload {
    described: Option<Counting>,
    /// The words, if there is no description. As long as the largest frame so far.
    words: Vec<u32>,
    /// The words filled in by the sender.
    filled: u32,
    /// The words taken by the receiver.
    taken: u32,
}

impl Payload {
    /// Begins a frame of `dwords` of `sender`.
    #[inline]
    pub(super) fn begin(&mut self, sender: &mut impl Agent, dwords: u32) {
        (self.filled, self.taken) = (0, 0);
        self.described = sender.describe();
        if self.described.is_none() && self.words.len() < index(dwords) {
            self.words.resize(index(dwords), 0);
        }
    }

    /// Fills in the words before `until`, which the sender sends.
    #[inline]
    pub(super) fn fill(&mut self, sender: &mut impl Agent, until: u32) {
        if self.described.is_none() && self.filled < until {
            sender.fill(self.filled, &mut self.words[index(self.filled)..index(until)]);
        }
        self.filled = until;
    }

    /// Delivers the words before `until` to the receiver.
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
