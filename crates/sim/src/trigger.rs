//! Triggers of rules: the nth occasion, every occasion from the nth on, or a random one.
//!
//! Layer: rank 0. Main types: [`Trigger`], the condition of a rule, and [`TriggerState`], its counts
//! in a run. The fault injectors of raw flash and of block devices use them.

use crate::random::Stream;

/// The condition under which a rule fires, among the occasions that concern it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Once, at the occasion with this number, counted from zero.
    Nth(u64),
    /// At each occasion from this number on, counted from zero: a part that has failed permanently.
    From(u64),
    /// At each occasion with this probability.
    Chance {
        /// The probability's numerator.
        numerator: u64,
        /// The probability's denominator; not zero.
        denominator: u64,
    },
}

/// The state of a trigger in a run: the occasions so far, how often it fired, and its own random
/// stream.
#[derive(Debug, Clone)]
pub struct TriggerState {
    trigger: Trigger,
    stream: Stream,
    seen: u64,
    fired: u64,
}

impl TriggerState {
    /// A trigger before its first occasion.
    ///
    /// # Panics
    /// If a probability has the denominator zero.
    #[must_use]
    pub fn new(trigger: Trigger, stream: Stream) -> Self {
        if let Trigger::Chance { denominator, .. } = trigger {
            assert!(denominator > 0, "Trigger: a probability with denominator 0");
        }
        Self { trigger, stream, seen: 0, fired: 0 }
    }

    /// Counts an occasion; returns whether the rule would fire.
    fn would_fire(&mut self) -> bool {
        let number = self.seen;
        self.seen += 1;
        match self.trigger {
            Trigger::Nth(nth) => nth == number,
            Trigger::From(first) => first <= number,
            Trigger::Chance { numerator, denominator } => {
                self.stream.chance(numerator, denominator)
            }
        }
    }

    /// The number of times that the rule fired.
    #[must_use]
    pub const fn fired(&self) -> u64 {
        self.fired
    }

    /// Presents one occasion to all rules that it concerns, each with its name. All of them count it
    /// and draw; of those that would fire, only the first does. Returns its name and its stream.
    pub fn first_to_fire<'a, T>(
        rules: impl IntoIterator<Item = (T, &'a mut Self)>,
    ) -> Option<(T, &'a mut Stream)> {
        let mut chosen = None;
        for (name, rule) in rules {
            if rule.would_fire() && chosen.is_none() {
                rule.fired += 1;
                chosen = Some((name, &mut rule.stream));
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::{Trigger, TriggerState};
    use crate::random::Seed;

    fn struck(trigger: Trigger) -> Vec<bool> {
        let mut state = TriggerState::new(trigger, Seed::new(1).stream("test"));
        let times = (0..5).map(|_| TriggerState::first_to_fire([(0, &mut state)]).is_some());
        times.collect()
    }

    #[test]
    fn a_rule_strikes_once_or_from_then_on_or_by_chance() {
        assert_eq!(struck(Trigger::Nth(2)), [false, false, true, false, false]);
        assert_eq!(struck(Trigger::From(3)), [false, false, false, true, true]);
        assert_eq!(struck(Trigger::Chance { numerator: 1, denominator: 1 }), [true; 5]);
        assert_eq!(struck(Trigger::Chance { numerator: 0, denominator: 1 }), [false; 5]);
    }

    #[test]
    fn the_first_rule_wins_and_every_rule_counts() {
        let state = |trigger| TriggerState::new(trigger, Seed::new(1).stream("test"));
        let mut rules = [state(Trigger::Nth(0)), state(Trigger::Nth(0)), state(Trigger::From(1))];
        let mut place =
            || TriggerState::first_to_fire(rules.iter_mut().enumerate()).map(|(place, _)| place);
        assert_eq!([place(), place()], [Some(0), Some(2)]);
        assert_eq!(rules.map(|rule| rule.fired()), [1, 0, 1]);
    }

    #[test]
    #[should_panic(expected = "a probability with denominator 0")]
    fn a_chance_in_none_is_refused() {
        let _ = struck(Trigger::Chance { numerator: 1, denominator: 0 });
    }
}
