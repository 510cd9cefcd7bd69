//! A toy in batches: the result of one process, whatever the batches, and what is refused.

use super::*;
use crate::sweep;
use boardlab_document::source::{Kind, Source};
use boardlab_experiment::{Action, Experiment, NEVER, Request};
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Seed;
use std::sync::Arc;

/// Figures of its own two keys and the seed; it fails where they are equal.
static TOY: [Experiment; 1] = [Experiment {
    name: "toy",
    published: false,
    scenario: "toy",
    title: "A toy",
    prints_fio: false,
    check: |request| read(request).map(|_| 0),
    plan: None,
    actions: &[(Action::Run, run)],
}];

fn read(request: &Request<'_>) -> Result<(u64, u64), Failure> {
    let both = request.document.read(|section| {
        let _ = section.required::<String>("title");
        let _ = section.required::<String>("experiment");
        let a = section.key("a").within(0, 2_000_000).required();
        let b = section.key("b").within(0, 9).required();
        section.finish()?;
        Ok((a?, b?))
    })?;
    Ok(both.value)
}

fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let (a, b) = read(request)?;
    if a == b {
        return Err(Failure::run("toy", "a is b", "try others"));
    }
    let mut run = request.blank("A toy", Vec::new());
    run.virtual_time_ns = a;
    let row = Row::new("total", "all")
        .cell("sum_ns", Cell::new(Value::Int((a * 10 + b).cast_signed())))
        .cell("share", Cell::new(Value::Real(0.1 * (b + request.seed.get()) as f64)));
    run.tables.push(Table { rows: vec![row], ..Table::new("t", "T").column("sum_ns", "sum") });
    Ok(run)
}

/// An order over the toy.
fn with<T>(grid: &[&str], work: impl FnOnce(&Order<'_>) -> T) -> T {
    let text = "title = \"A toy\"\nexperiment = \"toy\"\na = 1\nb = 1\n";
    let source = Arc::new(Source::new(Kind::Scenario, "toy", text));
    let grid: Vec<String> = grid.iter().map(ToString::to_string).collect();
    work(&Order {
        experiments: &TOY,
        scenario: "toy",
        source: Some(&source),
        set: &[],
        grid: &grid,
        cells: &[],
        action: Action::Run,
        seed: Seed::new(3),
        threads: NonZeroUsize::new(2),
        journal: None,
        restart: false,
        progress: &|_| {},
        warn: &|_| {},
        stop: &NEVER,
    })
}

const GRID: &[&str] = &["a=1..4,9", "b=0,2..4", "seed=1..2"];

fn lines(batches: &Batches<'_>, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<String> {
    let each = ranges.into_iter().map(|range| batches.run(range, |_| {}).unwrap());
    each.flatten().map(|record| record.line).collect()
}

#[test]
fn batches_of_any_size_give_the_result_of_a_sweep() {
    with(GRID, |order| {
        let swept = serde_json::to_string(&sweep(order).unwrap().result).unwrap();
        let batches = Batches::plan(order).unwrap();
        batches.check(order.threads).unwrap();
        assert_eq!(batches.count(), 40);
        for size in [1, 7, 40] {
            let ranges = (0..40).step_by(size).map(|start| start..(start + size).min(40));
            let result = batches.result(lines(&batches, ranges), &[]).unwrap();
            assert_eq!(serde_json::to_string(&result).unwrap(), swept, "{size}");
        }
        let failed = batches.run(0..40, |_| {}).unwrap();
        let failed = failed.iter().filter(|one| one.is_failed).count();
        assert_eq!(failed, 2 * 3, "2, 3 and 4, for both seeds");
    });
}

#[test]
fn a_line_that_is_missing_doubled_or_changed_is_refused_by_its_point() {
    with(GRID, |order| {
        let batches = Batches::plan(order).unwrap();
        let whole = lines(&batches, std::iter::once(0..40));
        let refused = |lines: Vec<String>| batches.result(lines, &[]).unwrap_err().to_string();
        let mut missing = whole.clone();
        missing.remove(7);
        assert!(refused(missing).contains("point 8 "));
        assert!(refused(whole[..39].to_vec()).contains("point 40 "));
        let mut doubled = whole.clone();
        doubled.push(whole[39].clone());
        assert!(refused(doubled).contains("point 41 "));
        let mut changed = whole.clone();
        changed[3] = changed[3].replace("outcome", "outcomes");
        assert!(refused(changed).contains("point 4 "));
        let cell = batches.result(whole, &["t/total/nothing".into()]).unwrap_err().to_string();
        assert!(cell.contains("t/total/nothing"), "{cell}");
        let beyond = batches.run(39..41, |_| {}).unwrap_err().to_string();
        assert!(beyond.contains("no points 40 to 41"), "{beyond}");
    });
}

#[test]
fn of_a_million_points_all_written_values_are_checked_before_any_runs() {
    with(&["a=0..1999999", "b=0,1,2"], |order| {
        let batches = Batches::plan(order).unwrap();
        assert_eq!(batches.count(), 6_000_000);
        batches.check(order.threads).unwrap();
        assert_eq!(batches.label(5_999_999), "a=1999999 b=2");
        let result = batches.result(Vec::new(), &[]).unwrap_err().to_string();
        assert!(result.contains("more than 10000"), "{result}");
    });
    for (grid, says) in [
        (["a=0..2000001", "b=0,1,2"], "2000001"),
        (["a=0..1999999", "b=0,11"], "11"),
        (["a=0..1999999", "c=0,1"], "c"),
    ] {
        with(&grid, |order| {
            let refused = Batches::plan(order).and_then(|batches| batches.check(order.threads));
            let text = refused.unwrap_err().to_string();
            assert!(text.contains(says), "{text}");
        });
    }
}
