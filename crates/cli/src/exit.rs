//! The exit status.
//!
//! Layer: rank 12. Main type: [`Status`]. Status 2 is also that of clap's usage errors.

use crate::args::{Color, Options};
use crate::error::Error;
use crate::output;
use crate::terminal;
use boardlab_result::{RunResult, Verdict};
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// The outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Success.
    Done,
    /// The run failed, or a figure differs from the published one without an explanation.
    Failed,
    /// A file, an argument or a name is wrong, or something cannot be written.
    Input,
    /// Refused for safety: nothing was written to a board.
    Refused,
}

impl Status {
    /// The status by the verdicts in `results`.
    pub(crate) fn of(results: &[RunResult]) -> Self {
        let failed = results.iter().any(|result| result.verdict_count(Verdict::Fail) > 0);
        if failed { Self::Failed } else { Self::Done }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Input => 2,
            Status::Refused => 3,
        })
    }
}

/// The exit status of `outcome`; an error goes to standard error.
pub(crate) fn report(outcome: Result<Status, Error>, options: &Options) -> ExitCode {
    outcome.map_or_else(|error| explain(&error, options.color()), ExitCode::from)
}

/// The exit status of `error`, which goes to standard error.
pub(crate) fn explain(error: &Error, color: Color) -> ExitCode {
    let styled = output::colored(color, io::stderr().is_terminal());
    terminal::tell_in_colours(&error.render(styled), styled);
    error.status().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_result::{Cell, Row, Table};

    fn result(verdict: Option<Verdict>) -> RunResult {
        let mut result = RunResult::new("x", "x", 1, "0");
        let mut table = Table::new("t", "t").column("mean_ns", "mean");
        let cell = Cell { verdict, ..Cell::int(1) };
        table.rows.push(Row::new("r", "r").cell("mean_ns", cell));
        result.tables.push(table);
        result
    }

    #[test]
    fn only_the_verdict_fail_fails() {
        let fine =
            [Verdict::Pass, Verdict::Close, Verdict::Differs, Verdict::Input, Verdict::NotBuilt];
        let fine: Vec<_> = fine.map(|verdict| result(Some(verdict))).into();
        assert_eq!(Status::of(&fine), Status::Done);
        assert_eq!(Status::of(&[result(None), result(Some(Verdict::Fail))]), Status::Failed);
        assert_eq!(Status::of(&[]), Status::Done);
    }
}
