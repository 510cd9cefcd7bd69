//! A source with all of its mistakes in it, each behind a switch.
//!
//! Layer: inside `checks`. Main types: [`SwitchedSource`], the text and where each switch lies in it, made by
//! [`rewrite`]. Sites lie within one another or apart; those on the same stretch share one chain of `if`.

use super::sites::{Change, Site};
use std::fmt::Write as _;
use std::ops::Range;

/// The module that a crate with switches gets: which mutant is on, and which were reached.
pub const SWITCH: &str = r#"
#[allow(warnings, clippy::all, clippy::pedantic)]
pub(crate) mod mutant {
    use std::io::Write as _;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};
    static ON: LazyLock<u32> = LazyLock::new(|| {
        std::env::var("BOARDLAB_MUTANT").ok().and_then(|on| on.parse().ok()).unwrap_or(0)
    });
    static LIST: LazyLock<Option<String>> =
        LazyLock::new(|| std::env::var("BOARDLAB_MUTANTS_REACHED").ok());
    static REACHED: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
    pub fn on(number: u32) -> bool {
        if let Some(list) = &*LIST && !REACHED[number as usize].swap(true, Ordering::Relaxed) {
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
            file.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        *ON == number
    }
}
"#;

/// The numbers that [`SWITCH`] has room for.
pub const NUMBER_MAX: u32 = 4_095;

/// A source with switches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SwitchedSource {
    /// The text.
    pub text: String,
    /// Where in it each number is: one range a site, the outer ones first.
    pub places: Vec<(Range<usize>, u32)>,
}

impl SwitchedSource {
    /// The sites that an error of the compiler about `range` of the text is due to: those around its begin, or else
    /// those within. A `return` that is left out at the end of a `let ... else` is told at the whole block.
    #[must_use]
    pub fn blamed(&self, range: Range<usize>) -> Vec<u32> {
        let around = self.at(range.start);
        if !around.is_empty() {
            return around;
        }
        let within = self
            .places
            .iter()
            .filter(|(place, _)| range.contains(&place.start) && place.end <= range.end);
        within.map(|(_, number)| *number).collect()
    }

    /// The sites of the innermost stretch that holds this byte of the text.
    fn at(&self, byte: usize) -> Vec<u32> {
        let around = self.places.iter().filter(|(place, _)| place.contains(&byte));
        let Some(inner) = around.map(|(place, _)| place).min_by_key(|place| place.len()) else {
            return Vec::new();
        };
        let same = self.places.iter().filter(|(place, _)| place == inner);
        same.map(|(_, number)| *number).collect()
    }
}

/// Puts every site of `sites`, which are in the order of [`find`](super::sites::find), behind the switch of its
/// number.
#[must_use]
pub fn rewrite(text: &str, sites: &[(u32, &Site)]) -> SwitchedSource {
    let mut switched = SwitchedSource::default();
    stretch(text, 0..text.len(), sites, &mut switched);
    switched
}

/// Writes one stretch with the sites within it.
fn stretch(text: &str, range: Range<usize>, sites: &[(u32, &Site)], out: &mut SwitchedSource) {
    let (mut at, mut left) = (range.start, sites);
    while let Some((_, first)) = left.first() {
        let same =
            left.iter().take_while(|(_, site)| (site.start, site.end) == (first.start, first.end));
        let (chain, rest) = left.split_at(same.count());
        let within =
            rest.iter().take_while(|(_, site)| site.end <= first.end && site.start < first.end);
        let (inner, after) = rest.split_at(within.count());
        out.text.push_str(&text[at..first.start]);
        let begin = out.text.len();
        switch(text, first.start..first.end, (chain, inner), out);
        let place = begin..out.text.len();
        out.places.extend(chain.iter().map(|(number, _)| (place.clone(), *number)));
        (at, left) = (first.end, after);
    }
    out.text.push_str(&text[at..range.end]);
}

type Sites<'a> = &'a [(u32, &'a Site)];

/// Writes one stretch behind the switches of its own sites.
fn switch(
    text: &str,
    range: Range<usize>,
    (chain, inner): (Sites<'_>, Sites<'_>),
    out: &mut SwitchedSource,
) {
    if let [(number, Site { change: Change::Added(statement), .. })] = chain {
        let _ = write!(out.text, " if crate::mutant::on({number}) {{ {statement} }}");
        return;
    }
    let dropped = chain.iter().find(|(_, site)| site.change == Change::Dropped);
    if let Some((number, _)) = dropped {
        let _ = write!(out.text, "if !crate::mutant::on({number}) {{ ");
        stretch(text, range, inner, out);
        out.text.push_str(" }");
        return;
    }
    out.text.push('(');
    for (number, site) in chain {
        if let Change::Instead(other) = &site.change {
            let _ = write!(out.text, "if crate::mutant::on({number}) {{ {other} }} else ");
        }
    }
    out.text.push_str("{ ");
    stretch(text, range, inner, out);
    out.text.push_str(" })");
}

#[cfg(test)]
mod tests {
    use super::super::sites::find;
    use super::*;

    fn rewritten(text: &str) -> SwitchedSource {
        let sites = find(text).expect("Rust");
        let numbered: Vec<(u32, &Site)> = (1..).zip(&sites).collect();
        rewrite(text, &numbered)
    }

    #[test]
    fn a_source_with_switches_is_rust_and_has_all_mistakes() {
        let text = "fn a(b: u64) -> bool { if b < 3 { c(b + 1); } !d.is_some() }";
        let SwitchedSource { text, places } = rewritten(text);
        syn::parse_file(&text).expect("Rust");
        assert!(text.contains("{ if crate::mutant::on(1) { return true; }"), "{text}");
        assert!(text.contains("if crate::mutant::on(4) { b >= 3 } else { b < "), "{text}");
        assert!(text.contains("if !crate::mutant::on(6) { c("), "{text}");
        assert_eq!(places.len(), 10);
    }

    #[test]
    fn a_place_in_the_text_leads_to_the_innermost_site() {
        let switched = rewritten("fn a() -> A { b(c < d(7)) }");
        let at = switched.text.find('6').expect("the other number");
        assert_eq!(switched.at(at), [3]);
        let at = switched.text.find("c >= d").expect("the other operator");
        assert_eq!(switched.at(at), [1, 2]);
        assert_eq!(switched.at(0), [0; 0]);
    }

    #[test]
    fn an_error_about_a_whole_block_is_due_to_what_is_within() {
        let switched = rewritten("fn a() { let Some(b) = c else { return d(3); }; e() }");
        let block = switched.text.find("else {").expect("a block");
        let end = switched.text.find("e()").expect("the end");
        let text = &switched.text;
        assert_eq!(switched.blamed(block..end), [3, 2], "{text}");
        assert_eq!(switched.blamed(end..end + 1), [0; 0], "{text}");
    }

    #[test]
    fn nothing_is_changed_without_sites() {
        assert_eq!(rewrite("fn a() {}", &[]).text, "fn a() {}");
    }
}
