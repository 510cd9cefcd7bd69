//! Timeouts of agents: when an engine asks an agent whether it aborts a frame that hangs.
//!
//! Layer: between an engine and its agents. Both engines ask at the agent's wake, and after that in the
//! last of every 256 ticks. The dword engine asks in each of these ticks. The FIS engine, and the dword
//! engine before it skips ticks, search for the first tick at which the answer is yes. The search
//! relies on the contract of [`Agent::requests_reset`]: the answer stays yes.

use crate::agent::Agent;
use crate::wire::{Tick, align};

/// Whether an engine asks an agent with this `wake` at `now`.
#[inline]
pub(crate) fn is_asked(wake: Tick, now: Tick) -> bool {
    wake == now || wake < now && now.0 % align::PERIOD == align::PERIOD - 1
}

/// The first tick from `from` on at which an engine asks an agent with this `wake`.
#[inline]
pub(crate) fn next_asked(wake: Tick, from: Tick) -> Tick {
    if wake < from { Tick(from.0 | (align::PERIOD - 1)) } else { wake }
}

/// The first tick from `from` to `last` at which `agent`, if asked, requests a reset.
#[inline]
pub(crate) fn first_request(agent: &impl Agent, from: Tick, last: Tick) -> Option<Tick> {
    if last < from || !agent.requests_reset(last) {
        return None;
    }
    let (mut low, mut high) = (from.0, last.0);
    while low < high {
        let middle = low + (high - low) / 2;
        if agent.requests_reset(Tick(middle)) { high = middle } else { low = middle + 1 }
    }
    Some(Tick(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_question_is_the_first_tick_at_which_an_engine_asks() {
        for wake in [0, 1, 254, 255, 256, 700].map(Tick) {
            for from in (0..1_000).map(Tick) {
                let asked = (from.0..).map(Tick).find(|&now| is_asked(wake, now));
                assert_eq!(Some(next_asked(wake, from)), asked, "wake {wake}, from {from}");
            }
        }
    }
}
