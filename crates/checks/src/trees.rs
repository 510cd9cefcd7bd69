//! File trees for tests: lists of operations that a kernel and our filesystems carry out.
//!
//! Layer: beside all others. Main types: [`Tree`], [`all`]. The lists are in the format of
//! `docs/formats/file-tree.md`; random choices come from a seed by the tree's name. Each tree shows one
//! property (deep, wide, holes, links...), so that a difference has a name; some mix everything.

use boardlab_sim::{Seed, Stream};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Its name, for messages.
    pub name: &'static str,
    /// How it is made.
    pub operations: String,
    /// The flash that it fits in, whatever the compression.
    pub mebibytes: usize,
}

/// How a tree's list is written.
type Writer = fn(&mut List);

/// All trees: name, MiB of flash, writer.
const TREES: [(&str, usize, Writer); 26] = [
    ("empty", 8, |_| {}),
    ("deep", 8, deep),
    ("wide", 8, wide),
    ("many", 16, many),
    ("sizes-of-text", 8, |list| sizes(list, "text")),
    ("sizes-of-random", 8, |list| sizes(list, "random")),
    ("sizes-of-zero", 8, |list| sizes(list, "zero")),
    ("sizes-of-runs", 8, |list| sizes(list, "runs")),
    ("sizes-half-random", 8, |list| sizes(list, "percent:50")),
    ("tiny", 8, tiny),
    ("large", 16, large),
    ("holes", 8, holes),
    ("hard-links", 8, hard_links),
    ("symbolic-links", 8, symbolic_links),
    ("nodes", 8, nodes),
    ("long-names", 8, long_names),
    ("strange-names", 8, strange_names),
    ("attributes", 8, attributes),
    ("shared-attributes", 8, shared_attributes),
    ("owners-and-modes", 8, owners_and_modes),
    ("times", 8, times),
    ("overwrites", 8, overwrites),
    ("truncates", 8, truncates),
    ("renames", 8, renames),
    ("deletions", 8, deletions),
    ("churn", 8, |list| churn(list, 3, 1200)),
];

/// Every tree, drawn from `seed`.
#[must_use]
pub fn all(seed: Seed) -> Vec<Tree> {
    let tree = |(name, mebibytes, writer): (&'static str, usize, Writer)| {
        let mut list = List { text: String::new(), stream: seed.stream(name) };
        writer(&mut list);
        Tree { name, operations: list.text, mebibytes }
    };
    TREES.into_iter().map(tree).collect()
}

/// Random changes of everything, with `sync` and `say` of a rising number after it now and then: what runs
/// when the power fails. It fills about half of 16 MiB and turns that over several times.
#[must_use]
pub fn until_power_fails(seed: Seed, name: &str) -> String {
    let mut list = List { text: String::new(), stream: seed.stream(name) };
    churn(&mut list, 8, 5000);
    list.text
}

/// A list being written.
struct List {
    text: String,
    stream: Stream,
}

impl List {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text += line.as_ref();
        self.text.push('\n');
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.stream.below(bound)
    }

    /// One of `items`.
    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        let count = u64::try_from(items.len()).expect("a short list");
        items[usize::try_from(self.below(count)).expect("below the length of a list")]
    }

    /// An empty file, then its content.
    fn file(&mut self, path: &str, size: u64, content: &str) {
        self.line(format!("file {path} 0644"));
        if size > 0 {
            let seed = self.below(1 << 40);
            self.line(format!("write {path} 0 {size} {content} {seed} 32768"));
        }
    }

    /// A write into a file that is there.
    fn write(&mut self, path: &str, offset: u64, size: u64) {
        let content = self.pick(&["text", "random", "zero", "runs", "percent:50"]);
        let chunk = self.pick(&["100", "1000", "4096", "5000", "32768"]);
        let seed = self.below(1 << 40);
        self.line(format!("write {path} {offset} {size} {content} {seed} {chunk}"));
    }
}

fn deep(list: &mut List) {
    let mut path = String::from("top");
    for level in 0..100 {
        list.line(format!("mkdir {path} 0755"));
        list.file(&format!("{path}/at-{level}"), level, "text");
        write!(path, "/{level}").expect("a string takes everything");
    }
}

fn wide(list: &mut List) {
    list.line("mkdir wide 0755");
    for number in 0..1500 {
        match number % 4 {
            0 => list.line(format!("mkdir wide/folder-{number} 0755")),
            _ => list.file(&format!("wide/file-{number}"), number % 7, "random"),
        }
    }
}

fn many(list: &mut List) {
    for folder in 0..100 {
        list.line(format!("mkdir d{folder:02} 0755"));
    }
    for number in 0..10_000 {
        let size = list.below(60);
        list.file(&format!("d{:02}/{number}", number % 100), size, "text");
    }
}

fn sizes(list: &mut List, content: &str) {
    let around =
        [0, 1, 2, 127, 128, 129, 511, 512, 1000, 2047, 2048, 4000, 4095, 4096, 4097, 8191, 8192];
    for size in around.into_iter().chain([12_345, 65_536, 100_001, 300_000]) {
        list.file(&format!("of-{size}"), size, content);
    }
}

/// Files so small that only rtime, or nothing, makes them smaller.
fn tiny(list: &mut List) {
    for size in 1..60 {
        list.file(&format!("zero-{size}"), size, "zero");
        list.file(&format!("runs-{size}"), size, "runs");
        list.file(&format!("text-{size}"), size, "text");
    }
}

fn large(list: &mut List) {
    list.file("random", 3_000_000, "random");
    list.file("half", 3_000_000, "percent:50");
    list.file("text", 3_000_000, "text");
}

fn holes(list: &mut List) {
    for number in 0..20 {
        let path = format!("holes-{number}");
        list.file(&path, 0, "zero");
        let size = 1 + list.below(900_000);
        list.line(format!("truncate {path} {size}"));
        for _ in 0..list.below(6) {
            let (offset, length) = (list.below(900_000), 1 + list.below(20_000));
            list.write(&path, offset, length);
        }
    }
    list.line("file only-a-hole 0600");
    list.line("truncate only-a-hole 50000000");
}

fn hard_links(list: &mut List) {
    list.line("mkdir a 0755");
    list.line("mkdir b 0755");
    for number in 0..20 {
        list.file(&format!("a/file-{number}"), number * 700, "text");
        for link in 0..number % 5 {
            list.line(format!("link a/file-{number} b/link-{number}-{link}"));
        }
    }
    list.line("mknod a/pipe p 0644 0 0");
    list.line("link a/pipe b/pipe");
    list.line("unlink a/file-4");
    list.write("b/link-4-0", 100, 5000);
    list.line("rename b/link-9-3 a/file-8");
}

fn symbolic_links(list: &mut List) {
    list.line("symlink nowhere dangling");
    list.line("symlink / root");
    list.line("symlink . here");
    list.line("symlink loop loop");
    list.line("symlink a\\x20b\\x0ac\\xff strange");
    list.line(format!("symlink {}end longest", "0123456789/".repeat(22) + "12345678/"));
    list.line("chown longest 1234 4321");
    list.line("mtime dangling 86400");
}

fn nodes(list: &mut List) {
    for (number, (major, minor)) in
        [(1, 3), (4, 64), (8, 255), (255, 255), (256, 0), (300, 70_000), (4095, 1_048_575)]
            .into_iter()
            .enumerate()
    {
        list.line(format!("mknod character-{number} c 0620 {major} {minor}"));
        list.line(format!("mknod block-{number} b 0660 {major} {minor}"));
    }
    list.line("mknod pipe p 0644 0 0");
    list.line("mknod socket s 0755 0 0");
    list.line("chown character-0 5 6");
    list.line("mtime block-0 12345");
    list.line("chmod pipe 4000");
}

/// Bytes of the longest name that JFFS2 has.
const NAME_MAX: usize = 254;

fn long_names(list: &mut List) {
    for length in [1, 2, 3, 4, 5, 100, NAME_MAX - 1, NAME_MAX] {
        list.file(&"n".repeat(length), 10, "text");
        list.line(format!("mkdir d{} 0755", "d".repeat(length - 1)));
    }
    let long = format!("d{}", "d".repeat(NAME_MAX - 1));
    list.file(&format!("{long}/{}", "m".repeat(NAME_MAX)), 5000, "random");
}

fn strange_names(list: &mut List) {
    for name in [
        "\\xe6\\x97\\xa5\\xe6\\x9c\\xac",
        "gr\\xc3\\xbc\\xc3\\x9fe",
        "\\xff\\xfe",
        "\\x01\\x7f",
        "\\x0a",
        "\\x20",
    ] {
        list.line(format!("mkdir {name} 0755"));
        list.file(&format!("{name}/{name}"), 100, "text");
    }
    for name in ["\\x2d", "...", "a\\x5cb", "*", "?", "#", "=,", "A", "a"] {
        list.file(&format!("x{name}"), 3, "text");
    }
    list.file("\\x2d", 4, "text");
}

fn attributes(list: &mut List) {
    list.file("file", 5000, "text");
    list.line("mkdir folder 0755");
    list.line("symlink file link");
    for (number, size) in [0, 1, 3, 4, 100, 1000, 3500].into_iter().enumerate() {
        let value = if size == 0 { "-".to_owned() } else { "5a".repeat(size) };
        list.line(format!("setxattr file user.of-{size} {value}"));
        list.line(format!("setxattr folder user.{} {value}", "k".repeat(1 + 40 * number)));
    }
    list.line("setxattr file trusted.secret 00ff10");
    list.line("setxattr link trusted.of-a-link 6869");
    list.line("setxattr file security.label 01");
    list.line("setxattr file user.changed 01");
    list.line("setxattr file user.changed 0203");
    list.line("setxattr file user.removed 01");
    list.line("removexattr file user.removed");
}

/// Equal attributes of many inodes, of which some go.
fn shared_attributes(list: &mut List) {
    for number in 0..40 {
        let path = format!("file-{number}");
        list.file(&path, number, "text");
        list.line(format!("setxattr {path} user.shared 736861726564"));
        let value = number % 3;
        list.line(format!("setxattr {path} user.kind 0{value}"));
    }
    for number in (0..40).step_by(4) {
        list.line(format!("unlink file-{number}"));
    }
    for number in (1..40).step_by(4) {
        list.line(format!("removexattr file-{number} user.shared"));
        list.line(format!("setxattr file-{number} user.kind ff"));
    }
}

fn owners_and_modes(list: &mut List) {
    for (number, mode) in [0, 0o7777, 0o4755, 0o2755, 0o1777, 0o600, 0o444].into_iter().enumerate()
    {
        list.file(&format!("file-{number}"), 10, "text");
        list.line(format!("chmod file-{number} {mode:04o}"));
        list.line(format!("mkdir folder-{number} {mode:04o}"));
        list.line(format!("chown folder-{number} {} {}", number * 9999, 65_534 - number));
        // A change of owner takes the set-id bits away, so the owner comes first.
        list.line(format!("chmod folder-{number} {mode:04o}"));
    }
    list.line("chown file-1 65535 65535");
    list.line("chmod . 0711");
    list.line("chown . 7 8");
}

fn times(list: &mut List) {
    list.line("mkdir folder 0755");
    for (number, time) in [0, 1, 86_400, 1_000_000_000, 2_147_483_647].into_iter().enumerate() {
        list.file(&format!("folder/file-{number}"), 100, "text");
        list.line(format!("mtime folder/file-{number} {time}"));
    }
    list.line("mtime folder 99");
    list.line("mtime . 1234567890");
}

fn overwrites(list: &mut List) {
    for number in 0..8 {
        let path = format!("file-{number}");
        list.file(&path, 50_000, "text");
        for _ in 0..60 {
            let (offset, length) = (list.below(60_000), 1 + list.below(9000));
            list.write(&path, offset, length);
            if list.below(8) == 0 {
                list.line(format!("fsync {path}"));
            }
        }
    }
}

fn truncates(list: &mut List) {
    for number in 0..20 {
        let path = format!("file-{number}");
        list.file(&path, 30_000, "percent:50");
        for _ in 0..10 {
            let size = list.below(50_000);
            list.line(format!("truncate {path} {size}"));
            let (offset, length) = (list.below(40_000), 1 + list.below(3000));
            list.write(&path, offset, length);
        }
        let size = list.below(50_000);
        list.line(format!("truncate {path} {size}"));
    }
}

fn renames(list: &mut List) {
    list.line("mkdir a 0755");
    list.line("mkdir a/inner 0755");
    list.line("mkdir b 0755");
    for number in 0..30 {
        list.file(&format!("a/file-{number}"), number * 100, "text");
    }
    for number in 0..10 {
        let other = number + 10;
        list.line(format!("rename a/file-{number} b/file-{number}"));
        list.line(format!("rename a/file-{other} a/file-{}", number + 20));
    }
    list.line("rename a/inner b/moved");
    list.line("mkdir b/empty 0755");
    list.line("rename b/moved b/empty");
    list.line("rename b/file-1 again");
    list.line("rename again b/file-1");
    list.line("rename a c");
}

/// Names that go and come back, with nodes of the old file still on the flash.
fn deletions(list: &mut List) {
    for round in 0..4 {
        for number in 0..40 {
            let path = format!("name-{number}");
            if round % 2 == 0 || number % 3 == 0 {
                list.file(&path, 500 * number, "random");
            } else {
                list.line(format!("mkdir {path} 0700"));
            }
        }
        if round == 3 {
            break;
        }
        for number in 0..40 {
            let remove = if round % 2 == 0 || number % 3 == 0 { "unlink" } else { "rmdir" };
            list.line(format!("{remove} name-{number}"));
        }
        list.line("sync");
    }
}

/// Random changes of `large` files of 900,000 bytes and of small ones in two folders.
fn churn(list: &mut List, large: u64, changes: u64) {
    for number in 0..large {
        list.file(&format!("large-{number}"), 900_000, "percent:50");
    }
    list.line("mkdir a 0755");
    list.line("mkdir b 0755");
    let mut live = BTreeSet::new();
    let mut said = 0;
    for _ in 0..changes {
        match list.below(100) {
            0..25 => {
                let path = format!("large-{}", list.below(large));
                let (offset, length) = (list.below(850_000), 1000 + list.below(50_000));
                list.write(&path, offset, length);
            }
            25..50 => churn_file(list, &mut live),
            _ => churn_name(list, &mut live),
        }
        if list.below(100) < 15 {
            said += 1;
            list.line("sync");
            list.line(format!("say {said}"));
        }
    }
}

/// One of 160 names.
fn churn_path(list: &mut List) -> String {
    format!("{}/{}{:02}", list.pick(&["a", "b"]), list.pick(&["f", "s"]), list.below(40))
}

fn churn_live(list: &mut List, live: &BTreeSet<String>) -> Option<String> {
    let count = u64::try_from(live.len()).expect("a small set");
    let index = list.below(count.max(1));
    live.iter().nth(usize::try_from(index).expect("below the size of a set")).cloned()
}

fn churn_file(list: &mut List, live: &mut BTreeSet<String>) {
    let path = churn_path(list);
    if live.insert(path.clone()) {
        list.line(format!("file {path} 0644"));
    }
    let (offset, length) = (list.below(3000), 1 + list.below(9000));
    list.write(&path, offset, length);
    if list.below(10) < 4 {
        list.line(format!("fsync {path}"));
    }
}

fn churn_name(list: &mut List, live: &mut BTreeSet<String>) {
    let Some(path) = churn_live(list, live) else { return };
    let other = churn_path(list);
    match list.below(10) {
        0 | 1 => {
            live.remove(&path);
            list.line(format!("unlink {path}"));
        }
        2 | 3 if other != path => {
            live.remove(&path);
            list.line(format!("rename {path} {other}"));
            live.insert(other);
        }
        4 if live.insert(other.clone()) => list.line(format!("link {path} {other}")),
        5 => {
            let size = list.below(12_000);
            list.line(format!("truncate {path} {size}"));
        }
        6 => {
            let (name, value) = (list.below(4), list.below(90) + 10);
            let value =
                value.to_string().repeat(1 + usize::try_from(list.below(50)).expect("small"));
            list.line(format!("setxattr {path} user.k{name} {value}"));
        }
        7 => {
            let mode = list.pick(&["0600", "0644", "0755"]);
            list.line(format!("chmod {path} {mode}"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_more_than_twenty_trees_and_one_has_ten_thousand_files() {
        let trees = all(Seed::new(1));
        assert!(trees.len() > 20);
        let most = trees.iter().map(|tree| tree.operations.matches("\nfile ").count()).max();
        assert!(most.unwrap() >= 9999);
        let names: BTreeSet<_> = trees.iter().map(|tree| tree.name).collect();
        assert_eq!(names.len(), trees.len());
    }

    #[test]
    fn the_same_seed_gives_the_same_trees_and_another_others() {
        assert_eq!(all(Seed::new(1)), all(Seed::new(1)));
        assert_ne!(all(Seed::new(1)), all(Seed::new(2)));
        assert_eq!(until_power_fails(Seed::new(1), "x"), until_power_fails(Seed::new(1), "x"));
    }

    #[test]
    fn what_runs_when_the_power_fails_says_rising_numbers() {
        let list = until_power_fails(Seed::new(1), "x");
        let said = list.lines().filter_map(|line| line.strip_prefix("say "));
        let numbers: Vec<u32> = said.map(|number| number.parse().unwrap()).collect();
        assert!(
            numbers.len() > 300 && numbers.iter().zip(1..).all(|(number, next)| *number == next)
        );
    }
}
