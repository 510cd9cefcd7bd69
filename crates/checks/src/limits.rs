//! Sizes that keep a file readable in one sitting: lines, parameters, nesting, header and names.

use crate::source::{SourceFile, macro_arguments};
use crate::violation::Violation;
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Block, Expr, ExprIf, Signature};

/// Lines of a file without the tests in it.
pub const FILE_LINES: usize = 800;
/// Lines of a function from its signature to its closing brace.
pub const FUNCTION_LINES: usize = 70;
/// Parameters of a function, `self` included.
pub const PARAMETERS: usize = 6;
/// Branches, loops and blocks inside each other in one function.
pub const NESTING: usize = 4;
/// Names that say nothing about what is inside.
pub const BANNED_NAMES: [&str; 7] =
    ["common", "core", "utils", "util", "types", "helpers", "helper"];

/// Checks one Rust file against all limits.
#[must_use]
pub fn check(source: &SourceFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    let lines = source.product_lines();
    if lines > FILE_LINES {
        let message = format!("{lines} lines without tests, {FILE_LINES} at most: split the file");
        violations.push(Violation::new(&source.path, 1, message));
    }
    if !source.text.starts_with("//!") {
        let message = "begins without a `//!` header that says what the file is";
        violations.push(Violation::new(&source.path, 1, message));
    }
    let mut functions = Functions { source, given: false, violations: Vec::new() };
    functions.visit_file(&source.tree);
    violations.extend(functions.violations);
    violations
}

/// Checks the name of every folder and file in `path`.
#[must_use]
pub fn check_names(path: &str) -> Vec<Violation> {
    let parts = path.split('/').map(|part| part.trim_end_matches(".rs"));
    let banned = parts.filter(|part| BANNED_NAMES.contains(part));
    banned.map(|part| Violation::new(path, 1, banned_name(part))).collect()
}

fn banned_name(name: &str) -> String {
    format!("nothing is called `{name}`: say what is inside")
}

struct Functions<'a> {
    source: &'a SourceFile,
    /// Whether the methods are those of a trait, which says what parameters they have: those of our traits are
    /// counted there.
    given: bool,
    violations: Vec<Violation>,
}

impl Functions<'_> {
    fn report(&mut self, span: Span, message: String) {
        self.violations.push(self.source.violation(span, message));
    }

    fn function(&mut self, signature: &Signature, block: Option<&Block>) {
        let name = &signature.ident;
        let count = signature.inputs.len();
        if count > PARAMETERS && !self.given {
            let message = format!("`{name}` has {count} parameters, {PARAMETERS} at most");
            self.report(signature.span(), message);
        }
        let Some(block) = block else { return };
        let (first, last) = (signature.span().start().line, block.span().end().line);
        let lines = last - first + 1;
        if lines > FUNCTION_LINES {
            let message = format!("`{name}` has {lines} lines, {FUNCTION_LINES} at most");
            self.report(signature.span(), message);
        }
        let mut nesting = Nesting { depth: 0, too_deep: Vec::new() };
        nesting.inside(block);
        for span in nesting.too_deep {
            let message = format!("`{name}` nests deeper than {NESTING} levels");
            self.report(span, message);
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let given = std::mem::take(&mut self.given);
        self.function(&function.sig, Some(&function.block));
        syn::visit::visit_item_fn(self, function);
        self.given = given;
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let given = std::mem::replace(&mut self.given, item.trait_.is_some());
        syn::visit::visit_item_impl(self, item);
        self.given = given;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, Some(&function.block));
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.function(&function.sig, function.default.as_ref());
        syn::visit::visit_trait_item_fn(self, function);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let name = module.ident.to_string();
        if BANNED_NAMES.contains(&name.as_str()) {
            self.report(module.ident.span(), banned_name(&name));
        }
        syn::visit::visit_item_mod(self, module);
    }
}

/// Counts how deep control flow is nested. The body of an `if`, a loop or a match arm is one level with
/// it; an `else if` is no deeper than its `if`; a function inside a function begins anew.
struct Nesting {
    depth: usize,
    too_deep: Vec<Span>,
}

impl Nesting {
    /// Visits the statements of a block that is no level of its own.
    fn inside(&mut self, block: &Block) {
        for statement in &block.stmts {
            self.visit_stmt(statement);
        }
    }

    fn deeper(&mut self, span: Span, visit: impl FnOnce(&mut Self)) {
        self.depth += 1;
        if self.depth == NESTING + 1 {
            self.too_deep.push(span);
        }
        visit(self);
        self.depth -= 1;
    }

    fn branches(&mut self, branch: &ExprIf) {
        self.visit_expr(&branch.cond);
        self.inside(&branch.then_branch);
        match branch.else_branch.as_ref().map(|(_, rest)| &**rest) {
            Some(Expr::If(rest)) => self.branches(rest),
            Some(rest) => self.body(rest),
            None => {}
        }
    }

    /// Visits an expression whose braces belong to the level that is already counted.
    fn body(&mut self, expression: &Expr) {
        match expression {
            Expr::Block(block) => self.inside(&block.block),
            other => self.visit_expr(other),
        }
    }
}

impl<'ast> Visit<'ast> for Nesting {
    fn visit_expr(&mut self, expression: &'ast Expr) {
        let span = expression.span();
        match expression {
            Expr::If(branch) => self.deeper(span, |this| this.branches(branch)),
            Expr::Match(choice) => {
                self.visit_expr(&choice.expr);
                self.deeper(span, |this| choice.arms.iter().for_each(|arm| this.body(&arm.body)));
            }
            Expr::ForLoop(each) => {
                self.visit_expr(&each.expr);
                self.deeper(span, |this| this.inside(&each.body));
            }
            Expr::While(repeat) => self.deeper(span, |this| {
                this.visit_expr(&repeat.cond);
                this.inside(&repeat.body);
            }),
            Expr::Loop(forever) => self.deeper(span, |this| this.inside(&forever.body)),
            Expr::Block(block) => self.deeper(span, |this| this.inside(&block.block)),
            Expr::Unsafe(block) => self.deeper(span, |this| this.inside(&block.block)),
            other => syn::visit::visit_expr(self, other),
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        for argument in macro_arguments(call) {
            self.visit_expr(&argument);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let Some(init) = &local.init else { return };
        self.visit_expr(&init.expr);
        if let Some((_, diverging)) = &init.diverge {
            self.body(diverging);
        }
    }

    /// A function in a function is looked at on its own.
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let source = SourceFile::parse("crates/sim/src/a.rs", text).unwrap();
        check(&source).iter().map(|found| format!("{}: {}", found.line, found.message)).collect()
    }

    fn lines(count: usize) -> String {
        "    let _ = 0;\n".repeat(count)
    }

    #[test]
    fn a_file_may_have_so_many_lines_and_no_more() {
        let file = |count| format!("//! A file.\n{}", "const A: u8 = 0;\n".repeat(count));
        assert_eq!(messages(&file(FILE_LINES - 1)), [""; 0]);
        assert_eq!(messages(&file(FILE_LINES)).len(), 1);
    }

    #[test]
    fn tests_do_not_count_towards_the_lines_of_a_file() {
        let body = "const A: u8 = 0;\n".repeat(FILE_LINES);
        let text = format!("//! A file.\n#[cfg(test)]\nmod tests {{\n{body}}}\n");
        assert_eq!(messages(&text), [""; 0]);
    }

    #[test]
    fn a_function_may_have_so_many_lines_and_no_more() {
        let function = |count| format!("//! A file.\n/// Doc.\nfn a() {{\n{}}}\n", lines(count));
        assert_eq!(messages(&function(FUNCTION_LINES - 2)), [""; 0]);
        assert_eq!(
            messages(&function(FUNCTION_LINES - 1)),
            [format!("3: `a` has {} lines, {FUNCTION_LINES} at most", FUNCTION_LINES + 1)]
        );
        let method = format!("//! A file.\nimpl A {{\nfn a() {{\n{}}}\n}}\n", lines(70));
        assert_eq!(messages(&method).len(), 1);
    }

    #[test]
    fn six_parameters_are_enough() {
        let good = "//! A.\nfn a(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}\n";
        assert_eq!(messages(good), [""; 0]);
        let bad = "//! A.\ntrait T {\n fn a(&self, a: u8, b: u8, c: u8, d: u8, e: u8, f: u8);\n}\n";
        assert_eq!(messages(bad), ["3: `a` has 7 parameters, 6 at most"]);
        let seven = "fn a(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8)";
        let of = |head: &str, body: &str| format!("//! A.\n{head} {{\n {seven} {{ {body} }}\n}}\n");
        assert_eq!(messages(&of("impl Foreign for A", "")), [""; 0]);
        assert_eq!(messages(&of("impl A", "")).len(), 1);
        assert_eq!(messages(&of("impl Foreign for A", &format!("{seven} {{}}"))).len(), 1);
    }

    #[test]
    fn nesting_ends_at_four_levels() {
        let nested = |inner: &str| {
            format!(
                "//! A.\nfn a() {{ for x in y {{ if b {{ match c {{ _ => {{ {inner} }} }} }} }} }}\n"
            )
        };
        assert_eq!(messages(&nested("if d { e(); }")), [""; 0]);
        assert_eq!(messages(&nested("if d { loop { e(); } }")).len(), 1);
        assert_eq!(messages(&nested("if d { f(|x| { while e { g(); } }) }")).len(), 1);
        assert_eq!(messages(&nested("if d { assert!({ e }) }")).len(), 1);
    }

    #[test]
    fn a_chain_of_else_if_is_not_deep() {
        let chain = "if a { b } else if c { d } else if e { f } else if g { h } else { i }";
        assert_eq!(
            messages(&format!("//! A.\nfn a() {{ loop {{ if z {{ {chain} }} }} }}\n")),
            [""; 0]
        );
        let other = "let Some(x) = y else { return };";
        assert_eq!(messages(&format!("//! A.\nfn a() {{ {other} }}\n")), [""; 0]);
    }

    #[test]
    fn a_file_begins_with_its_header() {
        assert_eq!(messages("fn a() {}\n").len(), 1);
        assert_eq!(messages("// Not a header.\n").len(), 1);
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        assert_eq!(messages("//! A.\nmod helpers {}\n").len(), 1);
        assert_eq!(check_names("crates/utils/src/lib.rs").len(), 1);
        assert_eq!(check_names("crates/nor/src/common.rs").len(), 1);
        assert_eq!(check_names("crates/nor/src/core_voltage.rs"), []);
    }
}
