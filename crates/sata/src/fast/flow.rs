//! The data phase of a frame: from its SOF to the tick in which everything has been taken.
//!
//! Main type: [`Flow`]. Both ends act on what they see, and see what the other end did a latency before. So
//! the earlier of the two acts next, and what it changes travels in a queue: starts, stops and EOF one way,
//! HOLD the other way.

use super::closed::Course;
use super::load::Load;
use super::receiver::Receiver;
use super::sender::{Change, Sender};
use crate::agent::Agent;
use crate::link::{End, timeout, transport};
use crate::wire::{Tick, align};
use std::collections::VecDeque;

/// What a data phase is between.
#[derive(Debug)]
pub(super) struct Ends<'a, S, R> {
    pub(super) sender: &'a mut S,
    pub(super) receiver: &'a mut R,
    pub(super) from: End,
    pub(super) to: End,
    /// Ticks that a dword travels from the sender to the receiver.
    pub(super) forth: u64,
    /// And from the receiver to the sender.
    pub(super) back: u64,
    /// Up to here neither agent gives the frame up.
    pub(super) calm: Tick,
}

impl<S: Agent, R: Agent> Ends<'_, S, R> {
    /// Whether time may go on to `next`: an error says when an agent gives up before that, or that nothing
    /// comes any more.
    #[inline]
    fn go_on(&mut self, next: Tick) -> Result<(), Tick> {
        if next.0 - 1 > self.calm.0 {
            let given_up =
                [given_up(self.sender, self.calm, next), given_up(self.receiver, self.calm, next)];
            if let Some(at) = given_up.into_iter().flatten().min() {
                return Err(at);
            }
            self.calm = Tick(next.0 - 1);
        }
        if next == Tick::NEVER { Err(next) } else { Ok(()) }
    }
}

/// When after `calm` and before `next` `agent` is asked and gives a frame up: at its wake, and once
/// in 256 ticks after that; what else happens in that tick comes first. It is taken for granted that who gives up does not change its mind.
#[inline]
pub(super) fn given_up(agent: &impl Agent, calm: Tick, next: Tick) -> Option<Tick> {
    let first = timeout::first_abort(agent, calm.after(1), Tick(next.0 - 1))?;
    Some(timeout::next_asked(agent.wake(), first)).filter(|&at| at < next)
}

/// How a data phase ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passed {
    /// The slot of EOF.
    pub(super) eof: u64,
    /// When EOF had come and every dword was taken.
    pub(super) taken: Tick,
    /// Nothing was lost.
    pub(super) good: bool,
}

/// What is on its way.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    changes: VecDeque<(Tick, Change)>,
    /// When HOLD begins or ends to be heard.
    holds: VecDeque<(Tick, bool)>,
    load: Load,
    /// No frame in closed form.
    pub(super) by_events: bool,
}

impl Flow {
    /// Moves `dwords` in a frame whose SOF goes in slot `sof`. A frame that does not end is an error: when an
    /// agent gives it up, or never.
    pub(super) fn pass<S: Agent, R: Agent>(
        &mut self,
        ends: &mut Ends<'_, S, R>,
        dwords: u32,
        sof: u64,
    ) -> Result<Passed, Tick> {
        let supply = transport::supply(ends.sender, align::tick_of(sof), 0);
        self.load.begin(ends.sender, dwords);
        // The header tells the receiver what comes.
        let begin = align::tick_of(sof + 1).after(ends.forth);
        ends.receiver.begin(begin);
        let drain = transport::drain(ends.receiver, begin, 0);
        let course = Course {
            from: &ends.from,
            to: &ends.to,
            forth: ends.forth,
            back: ends.back,
            dwords,
            first: sof + 2,
        };
        if let Some(passed) = course.end(supply, drain)
            && !self.by_events
            && !ends.sender.requests_reset(passed.taken)
            && !ends.receiver.requests_reset(passed.taken)
        {
            self.load.fill(ends.sender, dwords);
            self.load.take(ends.receiver, dwords);
            return Ok(passed);
        }
        self.changes.clear();
        self.holds.clear();
        let sender = Sender::new(&ends.from, dwords, sof + 2, supply);
        let receiver = Receiver::new(&ends.to, ends.forth, dwords, begin, drain);
        self.events(ends, sender, receiver)
    }

    fn events<S: Agent, R: Agent>(
        &mut self,
        ends: &mut Ends<'_, S, R>,
        mut sender: Sender,
        mut receiver: Receiver,
    ) -> Result<Passed, Tick> {
        let mut eof = 0;
        loop {
            let heard = self.holds.front().map_or(Tick::NEVER, |&(at, _)| at);
            let came = self.changes.front().map_or(Tick::NEVER, |&(at, _)| at);
            let (sends, takes) = (sender.due(), came.min(receiver.due()));
            ends.go_on(sends.min(heard).min(takes))?;
            if sends <= heard && sends <= takes {
                if let Some((slot, change)) = sender.step(ends.sender, &mut self.load) {
                    eof = slot;
                    self.changes.push_back((align::tick_of(slot).after(ends.forth), change));
                }
            } else if heard <= takes {
                self.holds.pop_front().into_iter().for_each(|(at, hold)| sender.hear(at, hold));
            } else {
                self.take(ends, &mut receiver, takes);
                if receiver.is_done() {
                    self.load.take(ends.receiver, receiver.taken());
                    return Ok(Passed { eof, taken: takes, good: receiver.is_good() });
                }
            }
        }
    }

    /// The receiver's next act, at `now`.
    fn take<S, R: Agent>(&mut self, ends: &mut Ends<'_, S, R>, receiver: &mut Receiver, now: Tick) {
        while let Some(&(at, change)) = self.changes.front()
            && at == now
        {
            self.changes.pop_front();
            receiver.hear(now, change);
        }
        if let Some(hold) = receiver.step(now, ends.receiver, &mut self.load) {
            let heard = align::settle(now.after(1)).after(ends.back);
            // What is taken back before the ALIGNs have gone is never on the wire.
            if self.holds.pop_back_if(|&mut (last, _)| last == heard).is_none() {
                self.holds.push_back((heard, hold));
            }
        }
    }
}
