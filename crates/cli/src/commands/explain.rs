//! `boardlab explain`: what a key, a term, a verdict, a table or a name means.

use crate::args::Options;
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_lab::guide;
use boardlab_report::Shown;

/// Explains what `words`, taken together, mean.
pub(super) fn perform(words: &[String], options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    output.show(Shown::Run(&guide::explain(&words.join(" "))?))
}
