//! The names of addresses: functions and labels of a program, and data for what runs or lies there.
//!
//! Layer: rank 9. Main type: [`Symbols`], made for lookups by the million: no two overlap, and a lookup gives an index. A program
//! without symbols has none: that is no error. Leaves out: lines of the source.

use boardlab_realview::{SymbolKind, Symbols as Table};

/// Longest name that is kept; those of C++ may be longer.
const NAME: usize = 200;

/// A name and the addresses that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The first address; of Thumb code without bit 0.
    pub start: u32,
    /// The first address behind it, as a sum that may be 2^32.
    pub end: u64,
    /// Its name.
    pub name: String,
}

/// The symbols of code, by address.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    /// Sorted; none overlaps the next.
    code: Vec<Symbol>,
    /// Likewise of data, where code may be that was written at run time.
    data: Vec<Symbol>,
    /// All with a name, data too: for lookups by name.
    named: Vec<(String, u32)>,
}

impl Symbols {
    /// The symbols of a program.
    #[must_use]
    pub fn of_program(table: &Table) -> Self {
        let (mut code, mut data) = (Vec::new(), Vec::new());
        let mut named = Vec::new();
        for symbol in table.all() {
            let name: String = symbol.name.chars().take(NAME).collect();
            named.push((name.clone(), symbol.address));
            match symbol.kind {
                SymbolKind::Function => code.push((symbol.address, symbol.size.into(), name)),
                SymbolKind::Object if symbol.size > 0 => {
                    data.push((symbol.address, symbol.size.into(), name));
                }
                SymbolKind::Object => {}
            }
        }
        named.sort_unstable();
        Self { code: without_overlaps(code), data: without_overlaps(data), named }
    }

    /// The code symbol that `at` lies in.
    #[must_use]
    pub fn at(&self, at: u32) -> Option<&Symbol> {
        self.index_of(at).map(|index| &self.code[index])
    }

    /// The number of the code symbol that `at` lies in, as in [`Symbols::code`].
    #[must_use]
    pub fn index_of(&self, at: u32) -> Option<usize> {
        index_in(&self.code, at)
    }

    /// The symbol of code, or else of data, that `at` lies in.
    fn any_at(&self, at: u32) -> Option<&Symbol> {
        self.at(at).or_else(|| index_in(&self.data, at).map(|index| &self.data[index]))
    }

    /// The symbols of code by address.
    #[must_use]
    pub fn code(&self) -> &[Symbol] {
        &self.code
    }

    /// The address of `name`, of code or data.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<u32> {
        let at = self.named.partition_point(|(other, _)| other.as_str() < name);
        self.named.get(at).filter(|(other, _)| other == name).map(|(_, address)| *address)
    }

    /// `at` as people name it: `main+0x10`, or the address alone.
    #[must_use]
    pub fn name(&self, at: u32) -> String {
        match self.any_at(at) {
            Some(symbol) if symbol.start == at => symbol.name.clone(),
            Some(symbol) => format!("{}+{:#x}", symbol.name, at - symbol.start),
            None => format!("{at:#010x}"),
        }
    }

    /// `0x00008010 (main+0x10)`, or the bare address where no name is known.
    #[must_use]
    pub fn place(&self, at: u32) -> String {
        format!("{at:#010x}{}", self.suffix(at))
    }

    /// ` (main+0x10)` to put behind an address, or nothing.
    #[must_use]
    pub fn suffix(&self, at: u32) -> String {
        self.any_at(at).map_or_else(String::new, |_| format!(" ({})", self.name(at)))
    }
}

/// The number of the symbol of a sorted list that `at` lies in.
fn index_in(symbols: &[Symbol], at: u32) -> Option<usize> {
    let behind = symbols.partition_point(|symbol| symbol.start <= at);
    let index = behind.checked_sub(1)?;
    (u64::from(at) < symbols[index].end).then_some(index)
}

/// Sorts; of the names at one address that with the largest size counts. Gives the symbols without a size the room up to the next, and cuts
/// what reaches into the next.
fn without_overlaps(mut found: Vec<(u32, u64, String)>) -> Vec<Symbol> {
    /// A label reaches no farther than this: what lies behind belongs to nobody.
    const LABEL: u64 = 1 << 16;
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
    found.dedup_by_key(|(start, ..)| *start);
    let mut code: Vec<Symbol> = Vec::with_capacity(found.len());
    for (start, size, name) in found {
        if let Some(last) = code.last_mut() {
            last.end = last.end.min(u64::from(start));
        }
        let size = if size == 0 { LABEL } else { size };
        code.push(Symbol { start, end: u64::from(start) + size, name });
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(found: &[(u32, u64, &str)]) -> Symbols {
        of(found, &[])
    }

    fn of(code: &[(u32, u64, &str)], data: &[(u32, u64, &str)]) -> Symbols {
        let list = |found: &[(u32, u64, &str)]| {
            let found =
                found.iter().map(|(start, size, name)| (*start, *size, String::from(*name)));
            without_overlaps(found.collect())
        };
        Symbols { code: list(code), data: list(data), named: Vec::new() }
    }

    #[test]
    fn data_has_a_name_where_no_function_is() {
        let symbols = of(&[(0x100, 0x20, "first")], &[(0x11C, 8, "beside"), (0x200, 8, "code")]);
        let name = |at| symbols.name(at);
        assert_eq!(name(0x204), "code+0x4");
        assert_eq!(symbols.suffix(0x200), " (code)");
        assert_eq!(name(0x11C), "first+0x1c", "a function goes first");
        assert_eq!(name(0x208), "0x00000208");
        assert_eq!(symbols.at(0x204), None, "no function");
    }

    #[test]
    fn an_address_has_the_name_of_the_function_around_it() {
        let symbols = symbols(&[(0x100, 0x20, "first"), (0x140, 0, "label"), (0x150, 8, "last")]);
        let name = |at| symbols.name(at);
        assert_eq!(name(0x100), "first");
        assert_eq!(name(0x11C), "first+0x1c");
        assert_eq!(name(0x120), "0x00000120", "behind the end of a function");
        assert_eq!(name(0x14C), "label+0xc", "a label reaches to the next symbol");
        assert_eq!(name(0x158), "0x00000158");
        assert_eq!(name(0), "0x00000000");
        assert_eq!(symbols.place(0x104), "0x00000104 (first+0x4)");
        assert_eq!(symbols.place(0x120), "0x00000120");
    }

    #[test]
    fn a_function_at_the_end_of_memory_does_not_wrap() {
        let symbols = symbols(&[(0xFFFF_FF00, 0x100, "top")]);
        assert_eq!(symbols.name(0xFFFF_FFFC), "top+0xfc");
        assert_eq!(symbols.name(0), "0x00000000");
    }
}
