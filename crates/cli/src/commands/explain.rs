//! `boardlab explain`: what a word means.

use crate::args::{self, Options};
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_lab::guide;
use boardlab_report::Shown;

/// Explains what `words`, taken together, mean.
pub(super) fn perform(words: &[String], options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    output.show(Shown::Run(&guide::explain(&words.join(" "), &args::command_names())?))
}
