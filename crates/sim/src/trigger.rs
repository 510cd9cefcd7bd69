//! When something happens that a rule makes happen: the nth time, from then on, or by chance.
//!
//! Layer: rank 0. Main types: [`Trigger`], what a rule says, and [`Watch`], a rule being watched. The
//! fault injectors of raw flash and of block devices are made of them.

use crate::random::Stream;

/// When a rule strikes, among the occasions that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Once, at this number, counted from zero.
    Nth(u64),
    /// From this number on, counted from zero: a part that has failed for good.
    From(u64),
    /// Each time with this probability.
    Chance {
        /// So many times,
        numerator: u64,
        /// of so many; not zero.
        denominator: u64,
    },
}

/// A rule at work: what it has seen and how often it struck, with a random stream of its own.
#[derive(Debug, Clone)]
pub struct Watch {
    trigger: Trigger,
    stream: Stream,
    seen: u64,
    struck: u64,
}

impl Watch {
    /// Nothing was seen yet.
    ///
    /// # Panics
    /// When a probability has the denominator zero.
    #[must_use]
    pub fn new(trigger: Trigger, stream: Stream) -> Self {
        if let Trigger::Chance { denominator, .. } = trigger {
            assert!(denominator > 0, "Trigger: a chance of so many in none");
        }
        Self { trigger, stream, seen: 0, struck: 0 }
    }

    /// Counts one more occasion and tells whether the rule would strike.
    fn would_strike(&mut self) -> bool {
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

    /// How often the rule struck.
    #[must_use]
    pub const fn struck(&self) -> u64 {
        self.struck
    }

    /// Shows one occasion to all rules that it concerns, each with what it is called. Every one of
    /// them counts and draws; the first that strikes is the one that does. Gives its name and its stream.
    pub fn first_to_strike<'a, T>(
        rules: impl IntoIterator<Item = (T, &'a mut Self)>,
    ) -> Option<(T, &'a mut Stream)> {
        let mut chosen = None;
        for (name, rule) in rules {
            if rule.would_strike() && chosen.is_none() {
                rule.struck += 1;
                chosen = Some((name, &mut rule.stream));
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::{Trigger, Watch};
    use crate::random::Seed;

    fn struck(trigger: Trigger) -> Vec<bool> {
        let mut watch = Watch::new(trigger, Seed::new(1).stream("test"));
        let times = (0..5).map(|_| Watch::first_to_strike([(0, &mut watch)]).is_some());
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
        let watch = |trigger| Watch::new(trigger, Seed::new(1).stream("test"));
        let mut rules = [watch(Trigger::Nth(0)), watch(Trigger::Nth(0)), watch(Trigger::From(1))];
        let mut place =
            || Watch::first_to_strike(rules.iter_mut().enumerate()).map(|(place, _)| place);
        assert_eq!([place(), place()], [Some(0), Some(2)]);
        assert_eq!(rules.map(|rule| rule.struck()), [1, 0, 1]);
    }

    #[test]
    #[should_panic(expected = "a chance of so many in none")]
    fn a_chance_in_none_is_refused() {
        let _ = struck(Trigger::Chance { numerator: 1, denominator: 0 });
    }
}
