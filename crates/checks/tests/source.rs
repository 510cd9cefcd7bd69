//! The rules about source code, applied to every crate. Needs nothing but the text: part of `make check`.

use boardlab_checks::figures::{self, Figures};
use boardlab_checks::{
    Repository, SourceFile, Violation, assert_none, circles, limits, ranks, rules,
};

fn each(check: impl Fn(&SourceFile) -> Vec<Violation>) {
    let sources = Repository::here().sources();
    assert!(sources.len() > 10, "the sources of the crates are found");
    assert_none(sources.iter().flat_map(check).collect());
}

#[test]
fn each_crate_uses_only_the_crates_that_its_row_names() {
    assert_none(ranks::check_repository(&Repository::here()));
}

#[test]
fn modules_of_a_crate_use_each_other_in_one_direction() {
    assert_none(circles::check(&Repository::here().sources(), circles::KNOWN));
}

#[test]
fn files_functions_and_nesting_stay_within_their_limits() {
    each(limits::check);
}

#[test]
fn no_crate_or_module_has_a_name_that_says_nothing() {
    let repository = Repository::here();
    assert_none(repository.files_in("crates", "rs").flat_map(limits::check_names).collect());
}

#[test]
fn source_keeps_the_rules_about_unwrap_casts_printing_system_access_and_unsafe() {
    each(rules::check);
}

#[test]
fn no_published_figure_stands_in_code_outside_tests() {
    let repository = Repository::here();
    let mut published = Figures::default();
    let mut tables = 0;
    for path in repository.files_in("reference", "toml") {
        published.read(path, &repository.read(path)).unwrap_or_else(|error| panic!("{error}"));
        tables += 1;
    }
    assert!(tables == 0 || !published.is_empty(), "the reference tables print figures");
    each(|source| figures::check(source, &published));
}
