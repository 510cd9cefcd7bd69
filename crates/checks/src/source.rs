//! One Rust file, parsed, which knows which of its lines are tests.

use crate::violation::Violation;
use proc_macro2::Span;
use std::ops::RangeInclusive;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Expr, Item, Macro, Meta, Token};

/// A Rust file of a crate.
#[derive(Clone)]
pub struct SourceFile {
    /// Path relative to the root, such as `crates/sim/src/time.rs`.
    pub path: String,
    /// The text.
    pub text: String,
    /// The syntax tree.
    pub tree: syn::File,
    test_lines: Vec<RangeInclusive<usize>>,
    test_file: bool,
}

impl SourceFile {
    /// Parses `text`.
    ///
    /// # Errors
    /// When it is not Rust.
    pub fn parse(path: &str, text: &str) -> Result<Self, Violation> {
        let tree = syn::parse_file(text).map_err(|error| {
            Violation::new(path, error.span().start().line, format!("not Rust: {error}"))
        })?;
        let mut tests = TestItems(Vec::new());
        tests.visit_file(&tree);
        let test_file = !path.contains("/src/");
        Ok(Self { path: path.into(), text: text.into(), tree, test_lines: tests.0, test_file })
    }

    /// The folder of the crate below `crates/`, or nothing for a file that lies elsewhere.
    #[must_use]
    pub fn crate_name(&self) -> &str {
        let inside = self.path.strip_prefix("crates/").unwrap_or_default();
        inside.split('/').next().unwrap_or_default()
    }

    /// Whether `line` belongs to a test: the file is one, or `#[cfg(test)]` covers the line.
    #[must_use]
    pub fn is_test(&self, line: usize) -> bool {
        self.test_file || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// How many lines the file has without those of its tests.
    #[must_use]
    pub fn product_lines(&self) -> usize {
        let all = self.text.lines().count();
        (1..=all).filter(|line| !self.test_lines.iter().any(|lines| lines.contains(line))).count()
    }

    /// A violation at `span`.
    #[must_use]
    pub fn violation(&self, span: Span, message: impl Into<String>) -> Violation {
        Violation::new(&self.path, span.start().line, message)
    }

    /// `violations` without those in tests.
    #[must_use]
    pub fn outside_tests(&self, violations: Vec<Violation>) -> Vec<Violation> {
        violations.into_iter().filter(|violation| !self.is_test(violation.line)).collect()
    }
}

/// Marks the files that `#[cfg(test)] mod name;` brings in from elsewhere as tests.
pub fn mark_test_files(sources: &mut [SourceFile]) {
    let modules: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for source in sources {
        let stem = source.path.trim_end_matches(".rs");
        let inside = |module: &String| {
            stem == module
                || stem.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        source.test_file |= modules.iter().any(inside);
    }
}

/// The paths, without `.rs`, of the modules that a file declares for tests only.
fn test_modules(source: &SourceFile) -> Vec<String> {
    let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let stem = source.path.trim_end_matches(".rs");
    let file = stem.rsplit('/').next().unwrap_or(stem);
    let base = if ["lib", "main", "mod"].contains(&file) { folder } else { stem };
    let declared = source.tree.items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && is_test_only(&module.attrs) => {
            Some(format!("{base}/{}", module.ident))
        }
        _ => None,
    });
    declared.collect()
}

/// Parses what stands inside a macro call such as `assert!(a, "{}", b)` or `vec![a; b]` as expressions,
/// so that a rule about expressions also sees them. Macros with a grammar of their own give nothing.
#[must_use]
pub fn macro_arguments(call: &Macro) -> Vec<Expr> {
    let commas = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.tokens.clone());
    if let Ok(arguments) = commas {
        return arguments.into_iter().collect();
    }
    let semicolons = Punctuated::<Expr, Token![;]>::parse_terminated.parse2(call.tokens.clone());
    semicolons.map(|arguments| arguments.into_iter().collect()).unwrap_or_default()
}

/// Whether one of `attributes` is `#[test]` or a `#[cfg(..)]` that holds only under test.
#[must_use]
pub fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => requires_test(&list.tokens.to_string()),
        _ => false,
    })
}

/// `test` and `all(test, ..)` require it; `any(test, ..)` and `not(test)` do not.
fn requires_test(condition: &str) -> bool {
    let condition: String = condition.chars().filter(|c| !c.is_whitespace()).collect();
    condition == "test"
        || condition
            .strip_prefix("all(")
            .and_then(|rest| rest.strip_suffix(')'))
            .is_some_and(|rest| rest.split(',').any(|part| part == "test"))
}

struct TestItems(Vec<RangeInclusive<usize>>);

impl TestItems {
    fn add(&mut self, attributes: &[Attribute], span: Span) -> bool {
        let found = is_test_only(attributes);
        if found {
            self.0.push(span.start().line..=span.end().line);
        }
        found
    }
}

impl<'ast> Visit<'ast> for TestItems {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = item_attributes(item);
        if !self.add(attributes, item.span()) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !self.add(&function.attrs, function.span()) {
            syn::visit::visit_impl_item_fn(self, function);
        }
    }
}

/// The attributes of an item of any kind.
#[must_use]
pub fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile::parse(path, text).unwrap()
    }

    #[test]
    fn lines_under_cfg_test_are_tests() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = file("crates/sim/src/a.rs", text);
        let tests: Vec<usize> = (1..=6).filter(|&line| source.is_test(line)).collect();
        assert_eq!(tests, [2, 3, 4, 5]);
        assert_eq!(source.product_lines(), 2);
        assert_eq!(source.crate_name(), "sim");
    }

    #[test]
    fn a_condition_that_only_mentions_test_is_not_one() {
        let text = "#[cfg(not(test))]\nfn a() {}\n#[cfg(any(test, unix))]\nfn b() {}\n\
                    #[cfg(all(test, unix))]\nfn c() {}\n";
        let source = file("crates/sim/src/a.rs", text);
        let tests: Vec<usize> = (1..=6).filter(|&line| source.is_test(line)).collect();
        assert_eq!(tests, [5, 6]);
    }

    #[test]
    fn a_file_brought_in_for_tests_is_a_test() {
        let mut sources = [
            file("crates/nor/src/lib.rs", "#[cfg(test)]\nmod tests;\nmod chip;"),
            file("crates/nor/src/chip.rs", "#[cfg(test)]\nmod vectors;"),
            file("crates/nor/src/tests.rs", "fn a() {}"),
            file("crates/nor/src/tests/deep.rs", "fn a() {}"),
            file("crates/nor/src/chip/vectors.rs", "fn a() {}"),
            file("crates/nor/tests/outside.rs", "fn a() {}"),
        ];
        mark_test_files(&mut sources);
        let tests: Vec<bool> = sources.iter().map(|source| source.is_test(3)).collect();
        assert_eq!(tests, [false, false, true, true, true, true]);
    }

    #[test]
    fn text_that_is_not_rust_is_a_violation_with_its_line() {
        let violation = SourceFile::parse("a.rs", "fn a() {}\nfn {").err().unwrap();
        assert_eq!(violation.line, 2);
    }

    #[test]
    fn arguments_of_a_macro_are_seen() {
        let call: Macro = syn::parse_str(r#"assert!(a.b(), "{}", c as u8)"#).unwrap();
        assert_eq!(macro_arguments(&call).len(), 3);
        let repeat: Macro = syn::parse_str("vec![a as u8; 3]").unwrap();
        assert_eq!(macro_arguments(&repeat).len(), 2);
        let odd: Macro = syn::parse_str("matches!(a, B | C if d)").unwrap();
        assert!(macro_arguments(&odd).is_empty());
    }
}
