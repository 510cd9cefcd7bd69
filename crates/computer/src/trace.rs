//! A stretch of a run as text, one line an instruction.
//!
//! Layer: rank 9. Main type: [`Stretch`]. The run up to the stretch is as fast as ever.

use super::failure::Failure;
use super::instruments::{Listing, Seeking, Sheet, Sought, locked};
use super::listing::HEAD;
use super::run::Console;
use super::session::Session;
use boardlab_arm926::Limit;
use boardlab_realview::Outcome;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// Where a stretch begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// After so many instructions.
    Instructions(u64),
    /// Where this function or address is reached first.
    Place(String),
}

/// A stretch of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Where it begins.
    pub from: From,
    /// How many instructions it has at most.
    pub count: u64,
}

impl Session {
    /// Runs to the stretch, and writes it to `out`. The run ends there.
    ///
    /// # Errors
    /// When the place is unknown or not reached, when the console or `out` does not work, and what the guest did if it ended the run.
    pub fn trace(
        &mut self,
        stretch: &Stretch,
        mut out: Box<dyn Write + Send>,
        console: &mut dyn Console,
    ) -> Result<(), Failure> {
        self.reach(&stretch.from, console)?;
        writeln!(out, "{HEAD}").map_err(Failure::Listing)?;
        let sheet = Arc::new(Mutex::new(Sheet { out, broken: None }));
        let symbols = Arc::clone(&self.symbols);
        self.machine.set_engine(Listing { sheet: Arc::clone(&sheet), symbols });
        let executed = self.machine.processor().counts.instructions;
        let limit = Limit::instructions(executed.saturating_add(stretch.count));
        let broken = || locked(&sheet).broken.is_some();
        let outcome = self.converse_until(limit, console, broken).map_err(Failure::Console)?;
        self.usual_engine();
        let mut sheet = locked(&sheet);
        let flushed = sheet.out.flush();
        let written = sheet.broken.take().map_or(flushed, Err);
        written.map_err(Failure::Listing)?;
        let failure =
            outcome.and_then(|outcome| Failure::of_outcome(&outcome, &self.machine, &self.symbols));
        failure.map_or(Ok(()), Err)
    }

    /// Runs to where a stretch begins.
    fn reach(&mut self, from: &From, console: &mut dyn Console) -> Result<(), Failure> {
        let outcome = match from {
            From::Instructions(count) => {
                self.converse(Limit::instructions(*count), console).map(Some)
            }
            From::Place(place) => {
                let sought = Sought { at: self.address(place)? & !1, found: false };
                let sought = Arc::new(Mutex::new(sought));
                self.machine.set_engine(Seeking(Arc::clone(&sought)));
                let outcome = self.converse_until(Limit::NONE, console, || locked(&sought).found);
                self.usual_engine();
                outcome
            }
        };
        match outcome.map_err(Failure::Console)? {
            None | Some(Outcome::Limit) => Ok(()),
            Some(outcome) => Err(self.ended_before(&outcome)),
        }
    }

    fn ended_before(&self, outcome: &Outcome) -> Failure {
        let failure = Failure::of_outcome(outcome, &self.machine, &self.symbols);
        failure.unwrap_or_else(|| {
            let instructions = self.machine.processor().counts.instructions;
            Failure::Argument {
                problem: format!(
                    "the program ended after {instructions} instructions, before the stretch began"
                ),
                help: "begin earlier, or at a function that is called: --from main".into(),
            }
        })
    }
}
