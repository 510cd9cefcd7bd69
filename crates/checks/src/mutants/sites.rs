//! Where a mistake can be made in a source file, and which.
//!
//! Layer: inside `checks`. Main types: [`Site`], a stretch of the source and what would stand there instead;
//! [`find`] gives all of a file. Functions that are `const`, tests, constants, types, patterns and the inside of
//! macros are left alone.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ExprBinary, ImplItemFn, ItemFn, Lit, Signature, Stmt, UnOp};

/// A mistake that can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// What is replaced, in bytes of the source.
    pub start: usize,
    /// The first byte behind it.
    pub end: usize,
    /// The line, from one.
    pub line: usize,
    /// How.
    pub change: Change,
    /// The mistake in words.
    pub what: String,
}

/// How a stretch of the source changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Another expression stands there.
    Instead(String),
    /// The statement is left out.
    Dropped,
    /// This statement is added; the stretch is empty.
    Added(String),
}

/// All mistakes that can be made in a file, by place.
///
/// # Errors
/// What `syn` says of a text that is not Rust.
pub fn find(text: &str) -> Result<Vec<Site>, syn::Error> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder { text, sites: Vec::new() };
    finder.visit_file(&file);
    finder.sites.sort_by_key(|site| (site.start, std::cmp::Reverse(site.end)));
    Ok(finder.sites)
}

/// Binary operators and what is mistaken for them.
const OPERATORS: [(&str, &[&str]); 16] = [
    ("<", &["<=", ">="]),
    ("<=", &["<", ">"]),
    (">", &[">=", "<="]),
    (">=", &[">", "<"]),
    ("==", &["!="]),
    ("!=", &["=="]),
    ("&&", &["||"]),
    ("||", &["&&"]),
    ("+", &["-"]),
    ("-", &["+"]),
    ("*", &["+"]),
    ("&", &["|"]),
    ("|", &["&"]),
    ("+=", &["-="]),
    ("-=", &["+="]),
    ("|=", &["&="]),
];

/// Methods and what is mistaken for them.
const METHODS: [(&str, &str); 10] = [
    ("max", "min"),
    ("min", "max"),
    ("any", "all"),
    ("all", "any"),
    ("is_some", "is_none"),
    ("is_none", "is_some"),
    ("is_ok", "is_err"),
    ("is_err", "is_ok"),
    ("first", "last"),
    ("last", "first"),
];

/// Types of functions, by how they begin, and what such a function can return at once.
const EARLY: [(&str, &str); 8] = [
    ("bool", "true"),
    ("Option<", "None"),
    ("Result<(),", "Ok(())"),
    ("Result<bool,", "Ok(false)"),
    ("Result<Option<", "Ok(None)"),
    ("Vec<", "Vec::new()"),
    ("u32", "0"),
    ("u64", "0"),
];

/// Whether an expression binds names, so that no other can stand in its place.
fn binds(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        Expr::Paren(inner) => binds(&inner.expr),
        _ => false,
    }
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && list.is_ok_and(|list| list.tokens.to_string().contains("test"))
    })
}

struct Finder<'a> {
    text: &'a str,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn of(&self, part: &impl Spanned) -> &str {
        &self.text[part.span().byte_range()]
    }

    fn add(&mut self, part: &impl Spanned, change: Change, what: String) {
        let (range, line) = (part.span().byte_range(), part.span().start().line);
        self.sites.push(Site { start: range.start, end: range.end, line, change, what });
    }

    fn negate(&mut self, condition: &Expr) {
        if !binds(condition) {
            let (text, what) = (self.of(condition).to_owned(), "a condition is negated".to_owned());
            self.add(condition, Change::Instead(format!("!({text})")), what);
        }
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        if signature.constness.is_some() {
            return;
        }
        let value = match &signature.output {
            syn::ReturnType::Default => Some(""),
            syn::ReturnType::Type(_, output) => {
                let output = self.of(output);
                EARLY.iter().find(|(begin, _)| output.starts_with(begin)).map(|(_, value)| *value)
            }
        };
        if let Some(value) = value.filter(|_| !block.stmts.is_empty()) {
            let (start, line) =
                (block.span().byte_range().start + 1, signature.span().start().line);
            let change = Change::Added(format!("return {value};"));
            let what = format!("`{}` returns `{value}` at once", signature.ident);
            self.sites.push(Site { start, end: start, line, change, what });
        }
        visit::visit_block(self, block);
    }

    fn operator(&mut self, binary: &ExprBinary) {
        let operator = self.of(&binary.op).to_owned();
        let Some((_, others)) = OPERATORS.iter().find(|(known, _)| *known == operator) else {
            return;
        };
        let whole = binary.span().byte_range();
        let here = binary.op.span().byte_range();
        for other in *others {
            let (before, after) =
                (&self.text[whole.start..here.start], &self.text[here.end..whole.end]);
            let change = Change::Instead(format!("{before}{other}{after}"));
            self.add(binary, change, format!("`{operator}` becomes `{other}`"));
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_of_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if !is_of_tests(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        if !is_of_tests(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_item_const(&mut self, _: &'a syn::ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'a syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'a syn::ItemEnum) {}
    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}
    fn visit_type(&mut self, _: &'a syn::Type) {}
    fn visit_attribute(&mut self, _: &'a Attribute) {}
    fn visit_angle_bracketed_generic_arguments(
        &mut self,
        _: &'a syn::AngleBracketedGenericArguments,
    ) {
    }

    /// Of a pattern nothing but the guard of an arm.
    fn visit_pat(&mut self, pattern: &'a syn::Pat) {
        if let syn::Pat::Guard(guarded) = pattern {
            self.negate(&guarded.guard);
            self.visit_expr(&guarded.guard);
        }
    }

    fn visit_expr_repeat(&mut self, repeat: &'a syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_if(&mut self, branch: &'a syn::ExprIf) {
        self.negate(&branch.cond);
        visit::visit_expr_if(self, branch);
    }

    fn visit_expr_while(&mut self, repeat: &'a syn::ExprWhile) {
        self.negate(&repeat.cond);
        visit::visit_expr_while(self, repeat);
    }

    fn visit_expr_binary(&mut self, binary: &'a ExprBinary) {
        if !binds(&binary.left) && !binds(&binary.right) {
            self.operator(binary);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'a syn::ExprUnary) {
        if matches!(unary.op, UnOp::Not(_)) {
            let inner = self.of(&unary.expr).to_owned();
            self.add(unary, Change::Instead(inner), "`!` is left out".into());
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        let name = call.method.to_string();
        if let Some((_, other)) = METHODS.iter().find(|(known, _)| *known == name) {
            let whole = call.span().byte_range();
            let here = call.method.span().byte_range();
            let (before, after) =
                (&self.text[whole.start..here.start], &self.text[here.end..whole.end]);
            let change = Change::Instead(format!("{before}{other}{after}"));
            self.add(call, change, format!("`{name}` becomes `{other}`"));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_lit(&mut self, literal: &'a syn::ExprLit) {
        let change = match &literal.lit {
            Lit::Bool(value) => Some((!value.value).to_string()),
            Lit::Int(number) => number.base10_parse().ok().map(|value: u64| {
                let edge = value != 0
                    && (value.is_multiple_of(2) || (value + 1).is_power_of_two() && value > 3);
                format!("{}{}", if edge { value - 1 } else { value + 1 }, number.suffix())
            }),
            _ => None,
        };
        if let Some(change) = change {
            let what = format!("`{}` becomes `{change}`", self.of(literal));
            self.add(literal, Change::Instead(change), what);
        }
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement
            && !matches!(expression, Expr::Macro(_) | Expr::Loop(_))
        {
            let first = self.of(statement).lines().next().unwrap_or_default().to_owned();
            self.add(statement, Change::Dropped, format!("`{first}` is left out"));
        }
        visit::visit_stmt(self, statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What can be done to a text, in words.
    fn words(text: &str) -> Vec<String> {
        find(text).expect("Rust").into_iter().map(|site| site.what).collect()
    }

    #[test]
    fn conditions_operators_literals_statements_and_bodies_are_found() {
        let text = "fn a(b: u64) -> bool { if b < 3 { c(); } !d.is_some() }";
        let expected = [
            "`a` returns `true` at once",
            "a condition is negated",
            "`<` becomes `<=`",
            "`<` becomes `>=`",
            "`3` becomes `4`",
            "`c();` is left out",
            "`!` is left out",
            "`is_some` becomes `is_none`",
        ];
        assert_eq!(words(text), expected);
    }

    #[test]
    fn what_no_switch_can_stand_in_is_left_alone() {
        let left = [
            "const A: u64 = 1 + 2;",
            "const fn a() -> u64 { 1 }",
            "#[cfg(test)] mod tests { fn a() { b(1); } }",
            "#[test] fn a() { b(1); }",
            "struct A([u8; 4]);",
        ];
        for text in left {
            assert_eq!(words(text), [""; 0], "{text}");
        }
        assert_eq!(words("fn a() -> A { match b { 3 => c, _ => d::<4>() } }"), [""; 0]);
        let chain = words("fn a() -> A { if let Some(b) = c && b == 1 { d } else { e } }");
        assert_eq!(chain, ["`==` becomes `!=`", "`1` becomes `2`"]);
        assert_eq!(words("fn a() -> A { [0xFF; 16] }"), ["`0xFF` becomes `254`"]);
    }
}
