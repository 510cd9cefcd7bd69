//! `boardlab report`: the HTML report of saved results.

use crate::args::Options;
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use crate::saved;
use boardlab_report::Shown;
use boardlab_result::Reproduction;
use std::path::PathBuf;

/// The folder of the report without `--out`.
const FOLDER: &str = "boardlab-report";

/// Writes the report of all results saved at `runs`, in order, and prints them in `full` or in brief.
pub(super) fn perform(runs: &[PathBuf], full: bool, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, Some(FOLDER))?.in_full(full);
    let mut results = Vec::new();
    for path in runs {
        results.extend(saved::read(path)?.results);
    }
    output.show(Shown::Reproduction(&Reproduction::new(results)))
}
