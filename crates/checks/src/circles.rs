//! The modules of a crate use each other in one direction: a reader can begin at the bottom.
//!
//! Looked at are the files and folders directly in `src`; inside a folder everything may use everything. Tests are
//! left out. What is a circle by its nature stands in [`KNOWN`] with the reason.

use crate::source::SourceFile;
use crate::violation::Violation;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;
use syn::{Path, UseTree};

/// Circles that stay: the crate, its modules, and why.
pub const KNOWN: &[(&str, &[&str], &str)] = &[
    (
        "cli",
        &["args", "error", "exit", "folder", "manifest", "measure", "output", "saved"],
        "what ends a command, and what is told of it, is known by all who can fail",
    ),
    ("document", &["key", "reader"], "a key is asked of a section, and a section makes keys"),
    (
        "jffs2",
        &["alloc", "gc", "write"],
        "a write allocates, an allocation collects garbage, which writes",
    ),
    ("jffs2", &["volume", "wbuf"], "the write buffer is part of the volume that it is flushed to"),
];

/// Which modules of one crate a module uses, and where first.
type Uses = BTreeMap<String, BTreeMap<String, (String, usize)>>;

/// Every circle that is not known, and every known one that is gone.
#[must_use]
pub fn check(sources: &[SourceFile], known: &[(&str, &[&str], &str)]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for source in sources.iter().filter(|source| place(source).is_some()) {
        crates.entry(source.crate_name()).or_default().push(source);
    }
    let mut violations = Vec::new();
    let mut found = BTreeSet::new();
    for (name, sources) in crates {
        let uses = uses(&sources);
        for circle in circles(&uses) {
            if !known.iter().any(|(of, modules, _)| *of == name && circle.iter().eq(modules.iter()))
            {
                violations.push(violation(&uses, &circle));
            }
            found.insert((name, circle));
        }
    }
    for (name, modules, _) in known {
        let is_there =
            |(of, circle): &(&str, Vec<String>)| of == name && circle.iter().eq(modules.iter());
        if !found.iter().any(is_there) {
            let what =
                format!("{} of {name} are no circle now: delete the entry", modules.join(", "));
            violations.push(Violation::new("crates/checks/src/circles.rs", 1, what));
        }
    }
    violations
}

fn violation(uses: &Uses, circle: &[String]) -> Violation {
    let inside = |module: &String| circle.contains(module);
    let edges = circle.iter().flat_map(|from| {
        uses[from].iter().filter(|(to, _)| inside(to)).map(move |(to, place)| (from, to, place))
    });
    let edges: Vec<_> = edges.collect();
    let told: Vec<String> = edges
        .iter()
        .map(|(from, to, (path, line))| format!("{from} uses {to} ({path}:{line})"))
        .collect();
    let (_, _, (path, line)) = edges[0];
    let message = format!(
        "modules in a circle: {}. Move what both need below them, or join them in a folder",
        told.join(", ")
    );
    Violation::new(path, *line, message)
}

/// The module directly in `src` that a file belongs to, and how deep the file's own module lies.
fn place(source: &SourceFile) -> Option<(&str, usize)> {
    let (_, inside) = source.path.split_once("/src/")?;
    let parts: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
    let depth = if parts.last() == Some(&"mod") { parts.len() - 1 } else { parts.len() };
    (!matches!(parts[0], "lib" | "main" | "bin")).then_some((parts[0], depth))
}

fn uses(sources: &[&SourceFile]) -> Uses {
    let placed = || sources.iter().filter_map(|source| Some((*source, place(source)?)));
    let mut uses: Uses =
        placed().map(|(_, (module, _))| (module.into(), BTreeMap::new())).collect();
    let modules: BTreeSet<String> = uses.keys().cloned().collect();
    for (source, (module, depth)) in placed() {
        let mut paths = Paths { depth, found: Vec::new() };
        paths.visit_file(&source.tree);
        for (to, line) in paths.found {
            if to != module && modules.contains(&to) && !source.is_test(line) {
                let of = uses.entry(module.into()).or_default();
                of.entry(to).or_insert_with(|| (source.path.clone(), line));
            }
        }
    }
    uses
}

/// Modules that reach each other, in the order of their names; those alone are left out.
fn circles(uses: &Uses) -> Vec<Vec<String>> {
    let reached = |from: &String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = next.pop() {
            for to in uses[&module].keys() {
                if seen.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        seen
    };
    let all: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|module| (module, reached(module))).collect();
    let circle = |module: &String| -> Vec<String> {
        let back = all[module].iter().filter(|other| all[other].contains(module));
        back.cloned().collect()
    };
    let circles: BTreeSet<Vec<String>> = uses.keys().map(circle).collect();
    circles.into_iter().filter(|circle| circle.len() > 1).collect()
}

/// Names behind `crate::`, and behind as many `super::` as lead to the crate.
struct Paths {
    depth: usize,
    found: Vec<(String, usize)>,
}

impl Paths {
    fn take<'s>(&mut self, segments: impl Iterator<Item = &'s syn::Ident>) {
        let mut segments = segments.peekable();
        let line = segments.peek().map_or(1, |first| first.span().start().line);
        let mut up = 0;
        for segment in segments {
            match segment.to_string().as_str() {
                "crate" if up == 0 => up = self.depth,
                "super" => up += 1,
                name if up == self.depth => return self.found.push((name.into(), line)),
                _ => return,
            }
        }
    }

    fn tree<'s>(&mut self, tree: &'s UseTree, before: &mut Vec<&'s syn::Ident>) {
        match tree {
            UseTree::Path(path) => {
                before.push(&path.ident);
                self.tree(&path.tree, before);
                before.pop();
            }
            UseTree::Name(name) => self.take(before.iter().copied().chain([&name.ident])),
            UseTree::Rename(name) => self.take(before.iter().copied().chain([&name.ident])),
            UseTree::Glob(_) => {}
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast Path) {
        self.take(path.segments.iter().map(|segment| &segment.ident));
        syn::visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.depth += 1;
        syn::visit::visit_item_mod(self, module);
        self.depth -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let parse = |(name, text): &(&str, &str)| {
            SourceFile::parse(&format!("crates/x/src/{name}"), text).expect("Rust")
        };
        let sources: Vec<_> = files.iter().map(parse).collect();
        check(&sources, &[]).into_iter().map(|violation| violation.message).collect()
    }

    #[test]
    fn a_circle_is_found_through_imports_paths_and_parents() {
        for back in ["use crate::a::A;", "fn f(_: crate::a::A) {}", "use super::{a::A};"] {
            let found = of(&[("a.rs", "use crate::b::B;"), ("b.rs", back)]);
            assert_eq!(found.len(), 1, "{back}");
            assert!(found[0].contains("a uses b (crates/x/src/a.rs:1), b uses a"), "{found:?}");
        }
        let far = [
            ("a.rs", "use crate::b;"),
            ("b/mod.rs", ""),
            ("b/c.rs", "use super::super::d::D;"),
            ("d.rs", "use crate::a;"),
        ];
        assert_eq!(of(&far).len(), 1);
    }

    #[test]
    fn tests_folders_and_one_direction_make_no_circle() {
        let tests = "#[cfg(test)] mod tests { use crate::a::A; }";
        assert_eq!(of(&[("a.rs", "use crate::b::B;"), ("b.rs", tests)]), [""; 0]);
        assert_eq!(of(&[("a/b.rs", "use super::c;"), ("a/c.rs", "use super::b;")]), [""; 0]);
        assert_eq!(of(&[("lib.rs", "pub use a::A;"), ("a.rs", "use crate::A;")]), [""; 0]);
    }

    #[test]
    fn a_known_circle_that_is_gone_is_told() {
        let gone = check(&[], &[("x", &["a", "b"], "why")]);
        assert!(gone[0].message.contains("a, b of x are no circle now"), "{gone:?}");
    }
}
