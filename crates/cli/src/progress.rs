//! The progress bar: on standard error, only on a terminal, and removed when the work ends.
//!
//! Layer: rank 12. Main type: [`Progress`]. Steps may be reported from several threads.

use crate::terminal;
use boardlab_experiment as experiment;
use boardlab_result::foreign::shown;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// The interval at which the bar is redrawn, so that a long step does not look like a hang.
const TICK: Duration = Duration::from_millis(100);

/// A bar that is cleared when it is dropped, also after an error.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for `name`; hidden with `quiet` and where standard error is no terminal.
    pub(crate) fn begin(name: &str, quiet: bool) -> Self {
        if quiet || !io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::no_length();
        bar.set_style(style("{spinner} {prefix} {elapsed}"));
        bar.set_prefix(shown(name).into_owned());
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Prints a warning above the bar, even with `quiet`.
    pub(crate) fn warn(&self, words: &str) {
        self.0.suspend(|| terminal::tell(&format!("warning: {words}")));
    }

    /// Prints words of another program above the bar.
    pub(crate) fn tell(&self, words: &str) {
        self.0.suspend(|| terminal::tell(words));
    }

    /// Reports a completed step.
    pub(crate) fn report(&self, progress: experiment::Progress<'_>) {
        // The number of steps is known with the first one.
        if self.0.length().is_none() {
            self.0
                .set_style(style("{spinner} {prefix} [{bar:32}] {pos}/{len} {elapsed} {wide_msg}"));
        }
        let count = |steps: usize| u64::try_from(steps).unwrap_or(u64::MAX);
        self.0.set_length(count(progress.total));
        // Threads may report out of order; the bar never moves backwards.
        self.0.set_position(self.0.position().max(count(progress.done)));
        self.0.set_message(shown(progress.step).into_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("templates are constants and valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_out_of_order_do_not_move_the_bar_back() {
        let progress = Progress(ProgressBar::hidden());
        for done in [1, 3, 2] {
            progress.report(experiment::Progress { step: "uboot", done, total: 4 });
        }
        assert_eq!((progress.0.position(), progress.0.length()), (3, Some(4)));
    }

    #[test]
    fn a_name_shows_its_escapes_and_does_not_send_them() {
        let progress = Progress::begin("x", true);
        progress.report(experiment::Progress { step: "a\u{1b}[2Jb\n", done: 1, total: 2 });
        assert_eq!(progress.0.message(), "a\\u{1b}[2Jb\\u{a}");
    }
}
