//! From lines to measurements.
//!
//! Layer: rank 8. Function: [`read`]; main type: [`Gatherer`]. A text may hold several measurements, such as the log of a
//! serial line: each head begins one.

use super::line::{self, Flaw, Line};
use super::{DAMAGE_MAX, Damage, LINE_MAX, Reading, StepReading};
use crate::plan::{STEPS_MAX, Step};
use std::collections::HashSet;
use std::io::{self, BufRead, Read};

/// Reads all measurements of a text, in order. Lines before the first head are told of the first one, unless
/// figures are among them; then their head is lost.
///
/// # Errors
/// Those of `reader`.
pub fn read(mut reader: impl BufRead) -> io::Result<Vec<Reading>> {
    let mut gatherer = Gatherer::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        match next_line(&mut reader, &mut line)? {
            Next::End => return Ok(gatherer.finish()),
            Next::Line => gatherer.line(&line),
            Next::TooLong => gatherer.damaged(Flaw::TooLong),
        }
    }
}

enum Next {
    Line,
    TooLong,
    End,
}

/// Reads the next line, without its newline, into the empty `line`, and skips what is too long.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Next> {
    let got = (&mut *reader).take(LINE_MAX).read_until(b'\n', line)?;
    if got == 0 {
        return Ok(Next::End);
    }
    if line.pop_if(|last| *last == b'\n').is_some()
        || got < usize::try_from(LINE_MAX).unwrap_or(usize::MAX)
    {
        return Ok(Next::Line);
    }
    reader.skip_until(b'\n')?;
    Ok(Next::TooLong)
}

/// Gathers measurements from lines.
#[derive(Debug, Default)]
pub struct Gatherer {
    /// The number of lines so far.
    lines: usize,
    /// The measurements that ended.
    ended: Vec<Reading>,
    /// The current one.
    current: Reading,
    /// The names of its steps that ended.
    names: HashSet<String>,
    /// The step that began, and its line of the plan.
    begun: Option<(String, Option<Step>)>,
}

impl Gatherer {
    /// Takes the next line, without its newline.
    pub fn line(&mut self, line: &[u8]) {
        match line::parse(line) {
            None => {
                self.lines += 1;
                // Empty lines are nobody's.
                self.current.foreign += usize::from(!line.trim_ascii().is_empty());
            }
            Some(Err(flaw)) => self.damaged(flaw),
            Some(Ok(line)) => match self.take(line) {
                Ok(()) => self.lines += 1,
                Err(flaw) => self.damaged(flaw),
            },
        }
    }

    /// Takes the next line, which is damaged.
    fn damaged(&mut self, flaw: Flaw) {
        self.lines += 1;
        if self.current.damage.len() < DAMAGE_MAX {
            self.current.damage.push(Damage { line: self.lines, flaw });
        } else {
            self.current.damage_hidden += 1;
        }
    }

    fn take(&mut self, line: Line) -> Result<(), Flaw> {
        match line {
            Line::Head(head) => {
                if !self.current.is_empty() {
                    self.next();
                }
                self.current.head = Some(*head);
            }
            Line::Begin { name, planned } => {
                let earlier = self.begun.replace((name, planned));
                self.lose(earlier)?;
            }
            Line::Step(step) => self.step(*step)?,
            Line::Refused(refusal) => self.current.refusal = Some(refusal),
            Line::End(end) => self.current.end = Some(end),
        }
        Ok(())
    }

    fn step(&mut self, mut step: StepReading) -> Result<(), Flaw> {
        if self.current.steps.len() == STEPS_MAX {
            return Err(Flaw::Content("more steps than a plan can have".into()));
        }
        if !self.names.insert(step.name.clone()) {
            return Err(Flaw::Content("another line has this step".into()));
        }
        match self.begun.take() {
            Some((name, planned)) if name == step.name => step.planned = planned,
            earlier => {
                self.current.strays += 1;
                self.lose(earlier)?;
            }
        }
        self.current.steps.push(step);
        Ok(())
    }

    /// Notes that the figures of a step that began are lost.
    fn lose(&mut self, earlier: Option<(String, Option<Step>)>) -> Result<(), Flaw> {
        if self.current.lost.len() == STEPS_MAX {
            return Err(Flaw::Content("more steps than a plan can have".into()));
        }
        self.current.lost.extend(earlier.map(|(name, _)| name));
        Ok(())
    }

    /// Ends the current measurement.
    fn next(&mut self) {
        self.current.unfinished = self.begun.take().map(|(name, _)| name);
        self.names.clear();
        self.ended.push(std::mem::take(&mut self.current));
    }

    /// The measurements so far.
    #[must_use]
    pub fn finish(mut self) -> Vec<Reading> {
        self.current.unfinished = self.begun.take().map(|(name, _)| name);
        // Where only damage is left of a measurement, that is told as well.
        if !self.current.is_empty() || !self.current.damage.is_empty() {
            self.ended.push(self.current);
        }
        self.ended
    }
}
