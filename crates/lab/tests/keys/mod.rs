//! Every key that can be set does something: in a short run of its experiment it gets another legal value, and some output
//! changes. Where a run does not use a key, `--set` of it is refused.
//!
//! Keys are found by asking ([`explore`]), so a new one is tested without a word here; other values are made from the present
//! ones ([`values`]). What cannot be told from output, and why, is among the exceptions. `make test` takes a tenth of the keys,
//! drawn with the seed `BOARDLAB_KEYS_SEED` (1); with `BOARDLAB_FULL` all are taken. `BOARDLAB_KEYS=drive-fio/part.` takes those
//! of one bench that begin so.

mod bench;
pub(crate) mod benches;
mod exceptions;
mod explore;
mod guest;
pub(crate) mod tree;
mod values;

use bench::{Bench, Said};
use benches::{GROUPS, Group};
use boardlab_sim::Seed;
use exceptions::{EVERYWHERE, Exception};
use explore::{Key, Known};
use rayon::prelude::*;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};
use toml::Value;
use tree::Tree;

/// Legal values that are tried before a key counts as one without effect. Of a key that is refused one is enough, and where
/// a context before refused it none, unless all keys are taken.
const TRIED: usize = 3;

/// A bench in some circumstances, and what comes out of it.
struct Case<'b> {
    bench: &'b Bench,
    context: &'b str,
    tree: Tree,
    known: Known,
    /// What comes out of each action.
    outcomes: OnceLock<Vec<Json>>,
}

impl<'b> Case<'b> {
    fn new(bench: &'b Bench, context: &'b str, set: &[&str], before: &[Self]) -> Option<Self> {
        let own = (bench.own)()?;
        let own = own.iter().map(String::as_str);
        let all: Vec<&str> = bench.base.iter().chain(set).copied().chain(own).collect();
        let tree = bench.tree(&all);
        let checked = bench.check(&tree, &[]);
        assert!(matches!(checked, Said::Legal), "{}, {context}: {checked}", bench.name);
        let before: Vec<(&Tree, &Known)> =
            before.iter().map(|case| (&case.tree, &case.known)).collect();
        let known = Known::of(bench, &tree, &before);
        Some(Self { bench, context, tree, known, outcomes: OnceLock::new() })
    }

    /// What comes out as it is. Made by one thread before others wait for it: a run that has its work done in parallel must
    /// not meet itself there.
    fn outcomes(&self) -> &[Json] {
        self.outcomes.get_or_init(|| {
            let outcome = |action| {
                let outcome = self.bench.outcome(&self.tree, action);
                let Json::String(failure) = &outcome else { return outcome };
                panic!("{}, {}: {failure}", self.bench.name, self.context);
            };
            self.bench.actions().into_iter().map(outcome).collect()
        })
    }

    /// Whether something else comes out of `tree`.
    fn differs(&self, tree: &Tree) -> bool {
        let mut each = self.bench.actions().into_iter().zip(self.outcomes());
        each.any(|(action, ours)| self.bench.outcome(tree, action) != *ours)
    }

    fn knows(&self, key: &Key) -> bool {
        self.known.keys.iter().any(|one| one.path == key.path)
    }
}

/// What a key does in one case.
#[derive(Debug, Clone, PartialEq)]
enum Does {
    /// Some output changes, and `--set` takes it.
    Something,
    /// Some output changes with this value, and `--set` of it is refused as one without effect.
    Hidden(Value),
    /// Nothing changes, and `--set` is refused.
    Idle,
    /// Nothing changes, and `--set` takes this value.
    Nothing(Value),
    /// No other legal value was found.
    Unknown,
}

fn does(case: &Case<'_>, key: &Key, before: &[Does]) -> Does {
    let (mut tried, mut last) = (0, None);
    for value in values::others(key, case.tree.get(&key.path)) {
        let tree = case.tree.with(&key.path, value.clone());
        if !matches!(case.bench.check(&tree, &[]), Said::Legal) {
            continue;
        }
        let set = [format!("{}={value}", key.path)];
        let idle = case.bench.check(&case.tree, &set).is_idle(&key.path);
        let again = idle && before.contains(&Does::Idle);
        if again && !is_full() {
            return Does::Idle;
        }
        if case.differs(&tree) {
            return if idle { Does::Hidden(value) } else { Does::Something };
        }
        last = Some(if idle { Does::Idle } else { Does::Nothing(value) });
        tried += 1;
        if tried == TRIED || again || (idle && !is_full()) {
            break;
        }
    }
    last.unwrap_or(Does::Unknown)
}

/// What is wrong with a key; nothing where it does something, or is refused until it does.
fn problem(exceptions: &[Exception], cases: &[Case<'_>], key: &Key) -> Option<String> {
    let name = cases[0].bench.name;
    if let Some(context) = benches::elsewhere(name, &key.path) {
        let case = cases.iter().find(|case| case.context == context);
        let does = case.map_or(Does::Unknown, |case| does(case, key, &[]));
        let problem = || format!("{name}/{}: in `{context}` it does: {does:?}", key.path);
        return (does != Does::Something).then(problem);
    }
    let excepted = EVERYWHERE.iter().chain(exceptions).find(|one| one.is_about(name, &key.path));
    let mut found = Vec::new();
    for case in cases.iter().filter(|case| case.knows(key)) {
        let does = does(case, key, &found);
        match &does {
            Does::Something => {
                // An exception may be about another context.
                let stale = excepted.filter(|_| found.iter().all(|does| *does == Does::Idle));
                return stale.map(|one| {
                    let context = case.context;
                    format!(
                        "{name}/{}: does something in `{context}`, though: {}",
                        key.path, one.why
                    )
                });
            }
            Does::Hidden(value) => {
                return Some(format!(
                    "{name}/{}: {value} changes the result in `{}`, and --set of it is refused",
                    key.path, case.context
                ));
            }
            Does::Nothing(value) if excepted.is_none() => {
                return Some(format!(
                    "{name}/{}: {value} is taken in `{}`, and nothing changes: let the run use it, or refuse it (Section::idle)",
                    key.path, case.context
                ));
            }
            Does::Idle | Does::Nothing(_) | Does::Unknown => found.push(does),
        }
    }
    if excepted.is_some() || found.contains(&Does::Idle) {
        return None;
    }
    let what = &key.what;
    Some(format!(
        "{name}/{}: no other legal value is known ({what:?}): give one in values.rs",
        key.path
    ))
}

/// The keys of all cases, each once.
fn keys<'c>(cases: &'c [Case<'_>]) -> Vec<&'c Key> {
    let mut all: Vec<&Key> = Vec::new();
    for key in cases.iter().flat_map(|case| &case.known.keys) {
        if !all.iter().any(|one| one.path == key.path) {
            all.push(key);
        }
    }
    all
}

/// A bench in its group, and its cases once they were made.
type Slot = (&'static Group, &'static Bench, OnceLock<Vec<Case<'static>>>);

/// All benches.
static SLOTS: LazyLock<Vec<Slot>> = LazyLock::new(|| {
    let each = |group: &'static Group| group.benches.iter().map(move |bench| (group, bench));
    let all = GROUPS.iter().flat_map(each);
    all.map(|(group, bench)| (group, bench, OnceLock::new())).collect()
});

/// The cases of a bench; none where it lacks something that has to be built.
fn cases(bench: &'static Bench) -> Vec<Case<'static>> {
    let contexts = [("base", [].as_slice())].into_iter().chain(bench.contexts.iter().copied());
    let mut cases: Vec<Case<'static>> = Vec::new();
    for (context, set) in contexts {
        cases.extend(Case::new(bench, context, set, &cases));
    }
    let untold = cases.iter().flat_map(|case| &case.known.untold);
    for section in untold {
        let told = cases.iter().any(|case| case.known.sections.contains(section));
        assert!(told, "{}: no context has [{section}], whose keys are not told", bench.name);
    }
    cases
}

/// Whether all keys are taken.
fn is_full() -> bool {
    std::env::var_os("BOARDLAB_FULL").is_some()
}

/// Whether keys of the bench `name` can be among those that are asked for.
fn is_asked(name: &str) -> bool {
    std::env::var("BOARDLAB_KEYS")
        .map_or(true, |only| only.starts_with(name) || name.starts_with(&only))
}

/// Of how many keys of the bench `name` one is taken: fewer of five drives, which have the same ones, and of an
/// operating system, which boots.
fn one_of(name: &str) -> u64 {
    match name {
        "context-switch" => 100,
        "sata-ssd" => 50,
        _ => 10,
    }
}

/// Whether `key` is taken this time.
fn is_taken(name: &str, key: &Key, seed: Seed) -> bool {
    let path = format!("{name}/{}", key.path);
    match std::env::var("BOARDLAB_KEYS") {
        Ok(only) => path.starts_with(&only),
        Err(_) if is_full() => true,
        Err(_) => seed.stream(&path).below(one_of(name)) == 0,
    }
}

#[test]
fn every_key_changes_what_comes_out_or_is_refused() {
    let number = std::env::var("BOARDLAB_KEYS_SEED").ok().and_then(|text| text.parse().ok());
    let seed = Seed::new(number.unwrap_or(1));
    let problems: Vec<String> = SLOTS
        .par_iter()
        .filter(|(_, bench, _)| is_asked(bench.name))
        .flat_map(|(group, bench, made)| {
            let cases = made.get_or_init(|| cases(bench));
            let taken: Vec<&Key> =
                keys(cases).into_iter().filter(|key| is_taken(bench.name, key, seed)).collect();
            if !taken.is_empty() {
                cases.iter().map(Case::outcomes).for_each(drop);
            }
            let problems: Vec<String> =
                taken.par_iter().filter_map(|key| problem(group.exceptions, cases, key)).collect();
            eprintln!("{}: {} keys of {}", bench.name, taken.len(), keys(cases).len());
            problems
        })
        .collect();
    let count = problems.len();
    let again = format!("again: BOARDLAB_KEYS_SEED={} BOARDLAB_KEYS=BENCH/KEY", seed.get());
    assert!(problems.is_empty(), "{count} keys ({again})\n{}", problems.join("\n"));
}

#[test]
fn every_exception_is_about_a_key_that_exists_and_says_why() {
    let all: HashMap<&str, Vec<String>> = SLOTS
        .par_iter()
        .map(|(_, bench, made)| {
            let cases = made.get_or_init(|| cases(bench));
            (bench.name, keys(cases).into_iter().map(|key| key.path.clone()).collect())
        })
        .collect();
    let everywhere = SLOTS.iter().map(|(_, bench, _)| *bench).collect::<Vec<_>>();
    exist(EVERYWHERE, &everywhere, &all);
    for group in GROUPS {
        exist(group.exceptions, &group.benches.iter().collect::<Vec<_>>(), &all);
    }
}

/// Fails unless each key of `exceptions` is one of a bench that is built.
fn exist(exceptions: &[Exception], benches: &[&Bench], all: &HashMap<&str, Vec<String>>) {
    for one in exceptions {
        assert!(one.why.len() > 20, "{one:?}");
        let about = benches.iter().filter(|bench| bench.name.starts_with(one.bench));
        let about: Vec<&str> = about.map(|bench| bench.name).collect();
        let built = about.iter().all(|name| !all[name].is_empty());
        for key in one.keys {
            let has = |name: &&str| all[name].iter().any(|path| one.names(name, key, path));
            assert!(!about.is_empty(), "no bench of {one:?}");
            assert!(about.iter().any(has) || !built, "no key {key} in {one:?}");
        }
    }
}
