//! The data phase of a frame: from its SOF to the tick in which every dword is taken.
//!
//! Main type: [`Flow`]. Both ends act on what they receive, which the other end sent a latency earlier.
//! So the end whose next event is earlier acts next, and its changes travel in a queue: start, stop and
//! EOF of the payload in one direction, HOLD in the other.

use super::closed::ClosedForm;
use super::payload::Payload;
use super::receiver::Receiver;
use super::sender::{Change, Sender};
use crate::agent::Agent;
use crate::link::{End, timeout, transport};
use crate::wire::{Tick, align};
use std::collections::VecDeque;

/// The ends of a data phase.
#[derive(Debug)]
pub(super) struct Ends<'a, S, R> {
    pub(super) sender: &'a mut S,
    pub(super) receiver: &'a mut R,
    pub(super) from: End,
    pub(super) to: End,
    /// Ticks that a dword travels from the sender to the receiver.
    pub(super) forward: u64,
    /// Ticks that a dword travels from the receiver to the sender.
    pub(super) backward: u64,
    /// Neither agent aborts the frame up to this tick.
    pub(super) checked: Tick,
}

impl<S: Agent, R: Agent> Ends<'_, S, R> {
    /// Advances time to `next`. The error is the tick at which an agent aborts the frame before that,
    /// or `NEVER` if nothing more happens.
    #[inline]
    fn advance(&mut self, next: Tick) -> Result<(), Tick> {
        if next.0 - 1 > self.checked.0 {
            let reset_request = [
                reset_request(self.sender, self.checked, next),
                reset_request(self.receiver, self.checked, next),
            ];
            if let Some(at) = reset_request.into_iter().flatten().min() {
                return Err(at);
            }
            self.checked = Tick(next.0 - 1);
        }
        if next == Tick::NEVER { Err(next) } else { Ok(()) }
    }
}

/// The tick after `checked` and before `next` at which `agent` is asked and aborts the frame. Other
/// events of that tick come first.
#[inline]
pub(super) fn reset_request(agent: &impl Agent, checked: Tick, next: Tick) -> Option<Tick> {
    let first = timeout::first_request(agent, checked.after(1), Tick(next.0 - 1))?;
    Some(timeout::next_asked(agent.wake(), first)).filter(|&at| at < next)
}

/// The end of a data phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completion {
    /// The slot of EOF.
    pub(super) eof: u64,
    /// The tick at which EOF has arrived and every dword is taken.
    pub(super) taken: Tick,
    /// Whether no dword was lost.
    pub(super) good: bool,
}

/// The changes in flight.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    changes: VecDeque<(Tick, Change)>,
    /// The ticks at which the sender receives the start or the end of HOLD.
    holds: VecDeque<(Tick, bool)>,
    payload: Payload,
    /// Whether frames in closed form are computed event by event as well.
    pub(super) by_events: bool,
}

impl Flow {
    /// Transfers the `dwords` of a frame whose SOF is sent in slot `sof`. The error of a frame that
    /// never ends is the tick at which an agent aborts it, or `NEVER`.
    pub(super) fn pass<S: Agent, R: Agent>(
        &mut self,
        ends: &mut Ends<'_, S, R>,
        dwords: u32,
        sof: u64,
    ) -> Result<Completion, Tick> {
        let supply = transport::supply(ends.sender, align::tick_of(sof), 0);
        self.payload.begin(ends.sender, dwords);
        // The header announces the frame to the receiver.
        let begin = align::tick_of(sof + 1).after(ends.forward);
        ends.receiver.begin(begin);
        let drain = transport::drain(ends.receiver, begin, 0);
        let closed = ClosedForm {
            from: &ends.from,
            to: &ends.to,
            forward: ends.forward,
            backward: ends.backward,
            dwords,
            first: sof + 2,
        };
        if let Some(completion) = closed.end(supply, drain)
            && !self.by_events
            && !ends.sender.requests_reset(completion.taken)
            && !ends.receiver.requests_reset(completion.taken)
        {
            self.payload.fill(ends.sender, dwords);
            self.payload.take(ends.receiver, dwords);
            return Ok(completion);
        }
        self.changes.clear();
        self.holds.clear();
        let sender = Sender::new(&ends.from, dwords, sof + 2, supply);
        let receiver = Receiver::new(&ends.to, ends.forward, dwords, begin, drain);
        self.events(ends, sender, receiver)
    }

    fn events<S: Agent, R: Agent>(
        &mut self,
        ends: &mut Ends<'_, S, R>,
        mut sender: Sender,
        mut receiver: Receiver,
    ) -> Result<Completion, Tick> {
        let mut eof = 0;
        loop {
            let received = self.holds.front().map_or(Tick::NEVER, |&(at, _)| at);
            let came = self.changes.front().map_or(Tick::NEVER, |&(at, _)| at);
            let (sends, takes) = (sender.due(), came.min(receiver.due()));
            ends.advance(sends.min(received).min(takes))?;
            if sends <= received && sends <= takes {
                if let Some((slot, change)) = sender.step(ends.sender, &mut self.payload) {
                    eof = slot;
                    self.changes.push_back((align::tick_of(slot).after(ends.forward), change));
                }
            } else if received <= takes {
                self.holds.pop_front().into_iter().for_each(|(at, hold)| sender.receive(at, hold));
            } else {
                self.take(ends, &mut receiver, takes);
                if receiver.is_done() {
                    self.payload.take(ends.receiver, receiver.taken());
                    return Ok(Completion { eof, taken: takes, good: receiver.is_good() });
                }
            }
        }
    }

    /// Executes the receiver's next event, at `now`.
    fn take<S, R: Agent>(&mut self, ends: &mut Ends<'_, S, R>, receiver: &mut Receiver, now: Tick) {
        while let Some(&(at, change)) = self.changes.front()
            && at == now
        {
            self.changes.pop_front();
            receiver.receive(now, change);
        }
        if let Some(hold) = receiver.step(now, ends.receiver, &mut self.payload) {
            let received = align::settle(now.after(1)).after(ends.backward);
            // A change that is reversed before the ALIGNs have passed is never sent.
            if self.holds.pop_back_if(|&mut (last, _)| last == received).is_none() {
                self.holds.push_back((received, hold));
            }
        }
    }
}
