//! What the power-cut tests of all filesystems run, and what must come of it.

use boardlab_mtd::{Kind, TearOutcome};
use boardlab_sim::Seed;
use boardlab_workload::powercut::{Matrix, Plan, Sampling};

/// Runs that must lose nothing: 6,000 operations of each of three seeds with `BOARDLAB_FULL`, else
/// `short` operations of one.
pub(crate) fn runs(short: u64, plan: impl Fn(u64, u64) -> Plan) -> Vec<Plan> {
    if std::env::var_os("BOARDLAB_FULL").is_some() {
        [7, 11, 12].map(|seed| plan(seed, 6_000)).to_vec()
    } else {
        vec![plan(7, short)]
    }
}

/// All of the first operations of a run, with cuts in a sample of the recoveries.
pub(crate) fn plan(seed: u64, operations: u64) -> Plan {
    Plan {
        seed: Seed::new(seed),
        operations,
        first: Sampling { exhaustive: operations, one_in: 0 },
        second_one_in: 50,
        second: Sampling { exhaustive: 3, one_in: 8 },
        life_one_in: 30,
        brownout_one_in: 0,
        live_bytes: 330_000,
    }
}

/// The cuts in operations of a kind that were torn in this way.
pub(crate) fn cuts(matrix: &Matrix, kind: Kind, torn: TearOutcome) -> u64 {
    matrix.first.get(&(kind, torn)).map_or(0, |tally| tally.cuts)
}

/// No cut has lost anything, and there were enough of them.
pub(crate) fn assert_nothing_lost(matrix: &Matrix, plan: &Plan) {
    let lines: Vec<String> = matrix.failures.iter().map(ToString::to_string).collect();
    assert_eq!(matrix.failed(), 0, "{plan:?}:\n{}", lines.join("\n"));
    let programs = cuts(matrix, Kind::Program, TearOutcome::Partial);
    assert!(programs > 100, "{matrix:?}");
}
