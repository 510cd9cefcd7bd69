//! `boardlab compare`: two saved results side by side.
//!
//! Two files of one result each are always compared. Of files with several results, those of the
//! same scenario are compared, the first with the first and so on; a warning names the rest.

use crate::args::Options;
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use crate::saved;
use boardlab_report::{Shown, compare};
use boardlab_result::{Reproduction, RunResult};
use std::path::Path;

/// Shows the results saved at `b` beside those saved at `a`.
pub(super) fn perform(a: &Path, b: &Path, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let mut compared = all(&saved::read(a)?.results, &saved::read(b)?.results)?;
    match &mut compared[..] {
        [one] => output.show(Shown::Run(one)),
        _ => output.show(Shown::Reproduction(&Reproduction::new(compared))),
    }
}

/// Every result of `a` beside its counterpart in `b`; at least one.
fn all(a: &[RunResult], b: &[RunResult]) -> Result<Vec<RunResult>, Error> {
    if let ([a], [b]) = (a, b) {
        return Ok(vec![compare(a, b)]);
    }
    let mut rest: Vec<&RunResult> = b.iter().collect();
    let (mut compared, mut only_a) = (Vec::new(), Vec::new());
    for one in a {
        match rest.iter().position(|other| other.scenario == one.scenario) {
            Some(index) => compared.push(compare(one, rest.remove(index))),
            None => only_a.push(one),
        }
    }
    let names = |runs: &[RunResult]| runs.iter().map(|run| run.scenario.clone()).collect();
    let Some(first) = compared.first_mut() else {
        return Err(Error::NothingShared { a: names(a), b: names(b) });
    };
    for (side, runs) in [("A", only_a), ("B", rest)] {
        let warning = |run: &RunResult| format!("only {side} has a result of `{}`", run.scenario);
        first.warnings.extend(runs.into_iter().map(warning));
    }
    Ok(compared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(names: &[&str]) -> Vec<RunResult> {
        names.iter().map(|name| RunResult::new(name, name, 1, "0")).collect()
    }

    #[test]
    fn single_results_are_compared_whatever_they_are() {
        assert_eq!(all(&runs(&["x"]), &runs(&["y"])).unwrap().len(), 1);
    }

    #[test]
    fn several_results_are_paired_by_scenario_and_the_rest_is_named() {
        let compared = all(&runs(&["x", "y", "x"]), &runs(&["z", "x", "x"])).unwrap();
        assert_eq!(compared.len(), 2);
        assert!(compared[0].warnings.contains(&"only A has a result of `y`".into()));
        assert!(compared[0].warnings.contains(&"only B has a result of `z`".into()));
    }

    #[test]
    fn results_without_a_common_scenario_are_refused() {
        for (a, b) in [(&["x", "y"][..], &["z"][..]), (&[], &["z"]), (&[], &[])] {
            let refused = all(&runs(a), &runs(b));
            assert!(matches!(refused, Err(Error::NothingShared { .. })), "{a:?} {b:?}");
        }
    }
}
