//! `boardlab list`: the built-in parts, boards and scenarios.

use crate::args::{ListTopic, Options};
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_document::source::Kind;
use boardlab_lab::registry;
use boardlab_report::Shown;

/// Shows the built-in files of `kinds`, of all kinds when there are none.
pub(super) fn perform(kinds: &[ListTopic], options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let kinds: Vec<Kind> = kinds.iter().copied().map(Kind::from).collect();
    output.show(Shown::Run(&registry::list(&kinds)?))
}
