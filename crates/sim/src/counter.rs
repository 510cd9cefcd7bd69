//! Named counts, in the order in which they were first counted.

/// A small set of named counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    counts: Vec<(&'static str, u64)>,
}

impl Counters {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: Vec::new() }
    }

    /// Adds `amount` to the count called `name`.
    pub fn add(&mut self, name: &'static str, amount: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += amount,
            None => self.counts.push((name, amount)),
        }
    }

    /// The count called `name`; zero if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.counts.iter().find(|(known, _)| *known == name).map_or(0, |&(_, count)| count)
    }

    /// All counts in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counts.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_by_name_in_first_seen_order() {
        let mut counters = Counters::new();
        counters.add("polls", 2);
        counters.add("writes", 1);
        counters.add("polls", 3);
        assert_eq!(counters.iter().collect::<Vec<_>>(), [("polls", 5), ("writes", 1)]);
        assert_eq!(counters.get("erases"), 0);
    }
}
