//! What the source of a crate may not do.
//!
//! Clippy already refuses lossy casts, `unwrap` and printing where the lints of the workspace apply.
//! The rules here hold where a crate or a line switches those lints off, and hold what no lint knows:
//! who may read the machine, who may be `unsafe`, and that every exception gives its reason.

use crate::ranks;
use crate::source::{SourceFile, item_attributes, macro_arguments};
use crate::violation::Violation;
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Expr, ImplItem, Item, Meta, Type, UseTree};

/// Crates below the first rank that may, which face the operating system by purpose.
const FACE_THE_SYSTEM: [&str; 2] = ["document", "image"];
/// The first rank that may read files, the environment and the clock.
const FREE_RANK: u8 = 9;
/// Modules of `std` through which a model would see the machine that it runs on.
const SYSTEM_MODULES: [&str; 6] = ["fs", "env", "time", "process", "net", "os"];
/// Types that see the machine however they are imported; `RandomState` gives another order each run.
const SYSTEM_TYPES: [&str; 2] = ["SystemTime", "RandomState"];
/// Crates that may print.
const PRINTERS: [&str; 2] = ["cli", "checks"];
const PRINTING: [&str; 5] = ["println", "print", "eprintln", "eprint", "dbg"];
/// Integers to which a cast of another integer can lose something. Casts to the wider ones widen, or
/// clippy refuses them.
const NARROW: [&str; 8] = ["u8", "u16", "u32", "i8", "i16", "i32", "i64", "isize"];
/// Where `unsafe` is allowed, as the beginning of a path.
const UNSAFE: [&str; 3] =
    ["crates/python/", "crates/arm926/src/compiler", "crates/experiment/src/heap.rs"];

/// Checks one Rust file against all rules.
#[must_use]
pub fn check(source: &SourceFile) -> Vec<Violation> {
    let mut visitor = Rules { source, allowed: 0, violations: Vec::new() };
    visitor.visit_file(&source.tree);
    let mut violations = source.outside_tests(visitor.violations);
    violations.extend(check_unsafe(source));
    violations.extend(check_reasons(source));
    violations
}

/// Words that mark unfinished work, split so that this file does not hold them.
const UNFINISHED: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Finds marks of unfinished work in a text of any kind.
#[must_use]
pub fn check_unfinished(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        if let Some(word) = words.find(|word| UNFINISHED.contains(word)) {
            let message = format!("`{word}`: finish it, or open an issue and leave no mark");
            violations.push(Violation::new(path, index + 1, message));
        }
    }
    violations
}

struct Rules<'a> {
    source: &'a SourceFile,
    /// How many enclosing items and expressions allow casts with a reason.
    allowed: usize,
    violations: Vec<Violation>,
}

impl Rules<'_> {
    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.violations.push(self.source.violation(span, message));
    }

    fn sees_the_system(&self) -> bool {
        let name = self.source.crate_name();
        let free = ranks::find(name).is_some_and(|row| row.rank >= FREE_RANK);
        free || FACE_THE_SYSTEM.contains(&name)
    }

    /// `names` is a path as written, such as `std`, `fs`, `read`.
    fn path(&mut self, names: &[String], span: Span) {
        if self.sees_the_system() {
            return;
        }
        let module = match names {
            [first, second, ..] if first == "std" && SYSTEM_MODULES.contains(&second.as_str()) => {
                format!("std::{second}")
            }
            _ => match names.iter().find(|name| SYSTEM_TYPES.contains(&name.as_str())) {
                Some(name) => name.clone(),
                None => return,
            },
        };
        let message = format!("`{module}` below rank {FREE_RANK}: a model sees only its inputs");
        self.report(span, message);
    }

    fn use_tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| {
            let mut names = before.to_vec();
            names.push(name.to_string());
            names
        };
        match tree {
            UseTree::Path(path) => self.use_tree(&path.tree, &with(&path.ident)),
            UseTree::Name(name) => self.path(&with(&name.ident), name.ident.span()),
            UseTree::Rename(name) => self.path(&with(&name.ident), name.ident.span()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.use_tree(tree, before);
                }
            }
            _ => self.path(before, tree.span()),
        }
    }

    fn within(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        let allows = usize::from(attributes.iter().any(allows_cast));
        self.allowed += allows;
        visit(self);
        self.allowed -= allows;
    }
}

impl<'ast> Visit<'ast> for Rules<'_> {
    fn visit_file(&mut self, file: &'ast syn::File) {
        self.within(&file.attrs, |this| syn::visit::visit_file(this, file));
    }

    fn visit_item(&mut self, item: &'ast Item) {
        self.within(item_attributes(item), |this| syn::visit::visit_item(this, item));
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Fn(function) => &function.attrs,
            ImplItem::Const(constant) => &constant.attrs,
            _ => &Vec::new(),
        };
        self.within(attributes, |this| syn::visit::visit_impl_item(this, item));
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.within(&function.attrs, |this| syn::visit::visit_trait_item_fn(this, function));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        self.within(&local.attrs, |this| syn::visit::visit_local(this, local));
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.within(&arm.attrs, |this| syn::visit::visit_arm(this, arm));
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        let attributes = expression_attributes(expression);
        self.within(attributes, |this| syn::visit::visit_expr(this, expression));
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "unwrap" && call.args.is_empty() {
            let message = "`unwrap` outside tests: return an error, or `expect` with the invariant";
            self.report(call.method.span(), message);
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_cast(&mut self, cast: &'ast syn::ExprCast) {
        if let Type::Path(target) = &*cast.ty
            && let Some(name) = target.path.get_ident().map(ToString::to_string)
            && NARROW.contains(&name.as_str())
            && self.allowed == 0
        {
            let message = format!("`as {name}`: `try_from`, or allow the cast lint with a reason");
            self.report(cast.as_token.span(), message);
        }
        syn::visit::visit_expr_cast(self, cast);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string());
        let name = name.unwrap_or_default();
        if PRINTING.contains(&name.as_str()) && !PRINTERS.contains(&self.source.crate_name()) {
            let message = format!("`{name}!`: only the command line prints");
            self.report(call.span(), message);
        }
        for argument in macro_arguments(call) {
            self.visit_expr(&argument);
        }
        self.visit_path(&call.path);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.path(&names, path.span());
        syn::visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&item.tree, &[]);
    }
}

/// The attributes of an expression of the kinds that carry an exception.
fn expression_attributes(expression: &Expr) -> &[Attribute] {
    match expression {
        Expr::Block(block) => &block.attrs,
        Expr::Call(call) => &call.attrs,
        Expr::Cast(cast) => &cast.attrs,
        Expr::ForLoop(each) => &each.attrs,
        Expr::If(branch) => &branch.attrs,
        Expr::Macro(call) => &call.attrs,
        Expr::Match(choice) => &choice.attrs,
        Expr::MethodCall(call) => &call.attrs,
        Expr::Paren(group) => &group.attrs,
        Expr::Return(value) => &value.attrs,
        Expr::Tuple(values) => &values.attrs,
        _ => &[],
    }
}

/// The names of the lints in `#[allow(..)]` or `#[expect(..)]`, and whether it gives a reason.
fn exception(attribute: &Attribute) -> Option<(String, bool)> {
    let Meta::List(list) = &attribute.meta else { return None };
    let kind = list.path.get_ident()?.to_string();
    let tokens = list.tokens.to_string();
    match kind.as_str() {
        "allow" | "expect" => {
            let reason = tokens.split_once("reason").map(|(_, reason)| reason);
            let given = reason.is_some_and(|reason| reason.chars().any(char::is_alphabetic));
            Some((tokens, given))
        }
        _ => None,
    }
}

fn allows_cast(attribute: &Attribute) -> bool {
    let allowed = exception(attribute).filter(|(_, reason)| *reason);
    allowed.is_some_and(|(lints, _)| {
        lints.contains("cast_possible")
            || lints.contains("cast_sign_loss")
            || lints.contains("as_conversions")
    })
}

fn check_reasons(source: &SourceFile) -> Vec<Violation> {
    struct Reasons<'a>(&'a SourceFile, Vec<Violation>);
    impl<'ast> Visit<'ast> for Reasons<'_> {
        fn visit_attribute(&mut self, attribute: &'ast Attribute) {
            if let Some((lints, false)) = exception(attribute) {
                let message = format!("an exception from `{lints}` gives its `reason = \"..\"`");
                self.1.push(self.0.violation(attribute.span(), message));
            }
        }
    }
    let mut reasons = Reasons(source, Vec::new());
    reasons.visit_file(&source.tree);
    reasons.1
}

fn check_unsafe(source: &SourceFile) -> Vec<Violation> {
    let Ok(tokens) = source.text.parse::<TokenStream>() else { return Vec::new() };
    let mut spans = Vec::new();
    find_unsafe(tokens, &mut spans);
    let allowed = UNSAFE.iter().any(|folder| source.path.starts_with(folder));
    let mut violations = Vec::new();
    for span in spans {
        if !allowed {
            violations.push(source.violation(span, "`unsafe` is not allowed in this crate"));
        } else if !has_safety_comment(&source.text, span.start().line) {
            let message = "`unsafe` without a `// SAFETY:` comment above it";
            violations.push(source.violation(span, message));
        }
    }
    violations
}

fn find_unsafe(tokens: TokenStream, spans: &mut Vec<Span>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) if name == "unsafe" => spans.push(name.span()),
            TokenTree::Group(group) => find_unsafe(group.stream(), spans),
            _ => {}
        }
    }
}

/// Whether the line itself or the comment right above it says why the code is safe.
fn has_safety_comment(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().take(line).collect();
    let mut upwards = lines.iter().rev().map(|line| line.trim_start());
    let here = upwards.next().is_some_and(|line| line.contains("SAFETY:"));
    let mut above = upwards.take_while(|line| line.starts_with("//") || line.starts_with("#["));
    here || above.any(|line| line.contains("SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let source = SourceFile::parse(path, text).unwrap();
        check(&source).iter().map(|found| format!("{}: {}", found.line, found.message)).collect()
    }

    fn count(text: &str) -> usize {
        messages("crates/nor/src/a.rs", text).len()
    }

    #[test]
    fn unwrap_is_refused_outside_tests_also_in_a_macro() {
        assert_eq!(count("fn a() { b.unwrap(); }"), 1);
        assert_eq!(count("fn a() { assert!(b.unwrap() > 0, \"no\"); }"), 1);
        assert_eq!(count("fn a() { vec![b.unwrap(); 2]; }"), 1);
        assert_eq!(count("fn a() { b.unwrap_or_default(); b.expect(\"why\"); }"), 0);
        assert_eq!(count("#[cfg(test)]\nmod tests { fn a() { b.unwrap(); } }"), 0);
    }

    #[test]
    fn a_narrowing_cast_needs_an_exception_with_a_reason() {
        assert_eq!(count("fn a() { b as u8; }"), 1);
        assert_eq!(count("fn a() { assert!(b as u32 == 1); }"), 1);
        assert_eq!(count("fn a() { b as u64 + c as usize; d as f64; }"), 0);
        let with = |attribute: &str| count(&format!("{attribute} fn a() {{ b as u8; }}"));
        assert_eq!(with("#[allow(clippy::cast_possible_truncation, reason = \"low byte\")]"), 0);
        assert_eq!(with("#[expect(clippy::cast_sign_loss, reason = \"never negative\")]"), 0);
        assert_eq!(with("#[allow(clippy::cast_possible_truncation)]"), 2, "cast and reason");
        assert_eq!(with("#[allow(clippy::too_many_lines, reason = \"a table\")]"), 1);
        let inner = "#[allow(clippy::cast_possible_wrap, reason = \"wraps by design\")]";
        assert_eq!(count(&format!("fn a() {{ {inner} let b = c as i8; d as i8; }}")), 1);
        assert_eq!(count(&format!("fn a() {{ {inner} return Int(b as i8); }}")), 0);
        assert_eq!(count(&format!("impl A {{ {inner} fn a() {{ b as i8; }} }}")), 0);
    }

    #[test]
    fn every_exception_gives_its_reason() {
        assert_eq!(count("#[allow(dead_code)] fn a() {}"), 1);
        assert_eq!(count("#[expect(dead_code, reason = \"\")] fn a() {}"), 1);
        assert_eq!(count("#![allow(missing_docs)]"), 1);
        assert_eq!(count("#[allow(dead_code, reason = \"kept for the next part\")] fn a() {}"), 0);
    }

    #[test]
    fn only_the_command_line_prints() {
        assert_eq!(count("fn a() { println!(\"b\"); }"), 1);
        assert_eq!(count("fn a() { std::eprintln!(\"b\"); dbg!(c); }"), 2);
        assert_eq!(count("fn a() { writeln!(b, \"c\"); }"), 0);
        assert_eq!(messages("crates/cli/src/main.rs", "fn a() { println!(\"b\"); }"), [""; 0]);
    }

    #[test]
    fn a_model_does_not_see_the_machine() {
        assert_eq!(count("use std::fs;"), 1);
        assert_eq!(count("use std::{fmt, time::{Instant, SystemTime}};"), 2);
        assert_eq!(count("use std::env::*;"), 1);
        assert_eq!(count("fn a() { std::env::var(\"HOME\"); }"), 1);
        assert_eq!(count("fn a(b: std::time::Instant) {}"), 1);
        assert_eq!(count("use std::fs as files;"), 1);
        assert_eq!(count("use boardlab_sim::time::Instant; fn a() { env!(\"B\"); }"), 0);
        assert_eq!(messages("crates/lab/src/a.rs", "use std::fs;"), [""; 0]);
        assert_eq!(messages("crates/computer/src/a.rs", "use std::fs;"), [""; 0]);
    }

    #[test]
    fn unsafe_is_allowed_in_few_crates_and_with_its_reason() {
        assert_eq!(count("fn a() { unsafe { b() } }"), 1);
        assert_eq!(count("#[cfg(test)]\nmod tests { unsafe fn a() {} }"), 1);
        let python = |text: &str| messages("crates/python/src/a.rs", text).len();
        assert_eq!(python("fn a() {\n    unsafe { b() }\n}"), 1);
        assert_eq!(python("fn a() {\n    // SAFETY: b is open.\n    unsafe { b() }\n}"), 0);
        let compiler = "// SAFETY: the pages are mapped.\nunsafe fn a() {}";
        assert_eq!(messages("crates/arm926/src/compiler.rs", compiler), [""; 0]);
        assert_eq!(messages("crates/arm926/src/decode.rs", compiler).len(), 1);
    }

    #[test]
    fn unfinished_work_leaves_no_mark() {
        let marked = format!("fine\n# {}: later\n", UNFINISHED[0]);
        assert_eq!(check_unfinished("a.toml", &marked).len(), 1);
        assert_eq!(check_unfinished("a.toml", &marked)[0].line, 2);
        assert_eq!(check_unfinished("a.md", "A todo list is not a mark; XXXL neither."), []);
    }
}
