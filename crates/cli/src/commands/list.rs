//! `boardlab list`: the built-in parts, boards and scenarios, and the keys of a scenario.

use crate::args::{ListTopic, Options, PartKind, Scenario};
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_document::source::Kind;
use boardlab_lab::{guide, registry};
use boardlab_report::Shown;

/// Shows the files or keys of `topic`; parts, boards and scenarios if there is none.
pub(super) fn perform(topic: Option<&ListTopic>, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let result = match topic {
        None => registry::list(&[Kind::Part, Kind::Board, Kind::Scenario], &[])?,
        Some(ListTopic::Parts { kinds }) => {
            let kinds: Vec<_> = kinds.iter().copied().map(PartKind::in_files).collect();
            registry::list(&[Kind::Part], &kinds)?
        }
        Some(ListTopic::Boards) => registry::list(&[Kind::Board], &[])?,
        Some(ListTopic::Scenarios) => registry::list(&[Kind::Scenario], &[])?,
        Some(ListTopic::Keys(Scenario { scenario, set })) => guide::keys(scenario, set)?,
    };
    output.show(Shown::Run(&result))
}
