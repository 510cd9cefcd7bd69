//! The names of system calls: what a kernel's table of functions says.
//!
//! Layer: rank 9. Main type: [`CallNames`]. A kernel that keeps pointers to the functions of its calls in an array
//! called `syscalls`, as xv6 does, names them by itself: entry n is the function of call n. The number is in r7 at the
//! software interrupt.

use super::symbols::Symbols;

/// The array that is looked for.
const TABLE: &str = "syscalls";
/// Entries that are looked at.
const MOST: u32 = 512;

/// Names of calls by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallNames(Vec<Option<String>>);

impl CallNames {
    /// The names in the table of the kernel with `symbols`, of whose image `word` gives the aligned words. Up to the end of the
    /// table, which the first entry tells that is neither zero nor the beginning of a function.
    pub fn of_kernel(symbols: &Symbols, word: impl Fn(u32) -> Option<u32>) -> Self {
        let Some(table) = symbols.address(TABLE) else { return Self::default() };
        let mut names = Vec::new();
        for index in 0..MOST {
            let Some(at) = word(table.wrapping_add(4 * index)) else { break };
            match symbols.at(at) {
                Some(symbol) if symbol.start == at & !1 => names.push(Some(symbol.name.clone())),
                _ if at == 0 => names.push(None),
                _ => break,
            }
        }
        while names.last().is_some_and(Option::is_none) {
            names.pop();
        }
        Self(names)
    }

    /// The function of call `number`, if it is known.
    #[must_use]
    pub fn of(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?;
        self.0.get(index)?.as_deref()
    }

    /// What call `number` is called: `call 5 (sys_read)`, or by its number alone.
    #[must_use]
    pub fn name(&self, number: u32) -> String {
        match self.of(number) {
            Some(name) => format!("call {number} ({name})"),
            None => format!("call {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_table_a_call_has_its_number_alone() {
        let names = CallNames::of_kernel(&Symbols::default(), |_| panic!("nothing to read"));
        assert_eq!(names.name(7), "call 7");
        assert_eq!(names.name(u32::MAX), "call 4294967295");
        let names = CallNames(vec![None, Some("sys_fork".into())]);
        assert_eq!((names.name(0), names.name(1)), ("call 0".into(), "call 1 (sys_fork)".into()));
    }
}
