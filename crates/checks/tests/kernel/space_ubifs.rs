//! What UBIFS says about its space, and where it is full, against what the kernel's says for the same workload.
//!
//! The same operations fail, `statfs` is within a LEB, and a flash filled with equal files holds exactly as many bytes
//! of them, so as much metadata.

use crate::counts::{notes, recorded};
use crate::counts_ubi::Run;
use crate::{assert_none, full};
use boardlab_checks::Repository;
use boardlab_checks::counts::{ALL, Case, Filesystem, Workload};
use std::fmt::Write;

/// Bytes of a block of `statfs`.
const BLOCK: u64 = 4_096;

/// A line of a record: what it is, the name, and the numbers.
fn parsed(line: &str) -> (String, Vec<u64>) {
    let words: Vec<_> = line.split(' ').collect();
    let (name, fields) = words.split_at(2);
    let number = |field: &&str| field.split_once('=').unwrap().1.parse().unwrap();
    match name[0] {
        "failed" => (line.to_owned(), Vec::new()),
        _ => (name.join(" "), fields.iter().map(number).collect()),
    }
}

/// How far numbers of a line may be apart. Where writers ran out of space and pages are dirty, runs of the kernel are 7
/// blocks apart on pages of 512 bytes: its commit in the background comes sooner or later.
fn limit(case: &Case, name: &str) -> u64 {
    let leb = u64::try_from(case.flash.block()).unwrap();
    match (case.workload, name) {
        (Workload::Space, "state full" | "state full-again") => 2 * leb / BLOCK,
        (Workload::Space, "stored full" | "stored full-again") => leb,
        (_, name) if name.starts_with("state ") => leb / BLOCK,
        _ => 0,
    }
}

/// The lines that differ by more than they may; the largest difference of `statfs` in blocks.
pub(crate) fn compare(case: &Case, kernel: &[&str], ours: &[String]) -> (Vec<String>, u64) {
    let mut differences = Vec::new();
    let mut largest = 0;
    for (kernel, ours) in kernel.iter().zip(ours) {
        let ((name, theirs), (our_name, our)) = (parsed(kernel), parsed(ours));
        let apart = theirs.iter().zip(&our).map(|(theirs, our)| theirs.abs_diff(*our)).max();
        if name.starts_with("state ") {
            largest = largest.max(apart.unwrap());
        }
        if name != our_name || apart > Some(limit(case, &name)) {
            differences.push(format!("{}: kernel {kernel}\n  ours {ours}", case.name));
        }
    }
    if kernel.len() != ours.len() {
        differences.push(format!("{}: {} lines and {}", case.name, kernel.len(), ours.len()));
    }
    (differences, largest)
}

/// Compares all cases with such a workload: what differs, and how far apart each is.
fn compared(workload: impl Fn(Workload) -> bool) -> (Vec<String>, String) {
    let repository = Repository::here();
    let chosen = |case: &Case| case.filesystem == Filesystem::Ubifs && workload(case.workload);
    let mut differences = Vec::new();
    let mut summary = String::new();
    for case in ALL.into_iter().filter(chosen).filter(|case| full() || case.mebibytes <= 16) {
        let text = case.text();
        let recorded = recorded(&repository, &case);
        let (different, largest) = compare(&case, &notes(&recorded), &Run::new(case).said(&text));
        writeln!(summary, "{}: at most {largest} blocks apart", case.name).unwrap();
        differences.extend(different);
    }
    (differences, summary)
}

#[test]
fn our_ubifs_says_the_kernels_free_space_in_each_state() {
    let (differences, summary) = compared(|workload| workload == Workload::Space);
    println!("{summary}");
    assert_none(&differences);
}

#[test]
fn our_ubifs_is_full_where_the_kernels_is() {
    let (differences, summary) = compared(|workload| matches!(workload, Workload::Full(_)));
    println!("{summary}");
    assert_none(&differences);
}
