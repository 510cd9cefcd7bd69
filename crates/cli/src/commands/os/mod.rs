//! `boardlab os`: programs for an ARM926 on a simulated board.

mod console;
mod gdb;

use self::console::{Shows, Terminal};
use crate::args::{EngineName, Form, Options, OsAction, OsMachine, OsRun, OsTrace};
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::file::{Part, Target};
use crate::output::{Output, expect_stdout};
use crate::terminal::{self, Escaping};
use boardlab_computer::trace::Stretch;
use boardlab_computer::{CardFile, CardUpdate, Failure, Order, Plan, Session};
use boardlab_report::Shown;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Does `action`.
pub(super) fn perform(action: &OsAction, options: &Options) -> Result<Status, Error> {
    let done = match action {
        OsAction::Run(arguments) => run(arguments, options),
        OsAction::Trace(arguments) => trace(arguments, options),
        OsAction::Debug(arguments) => gdb::perform(arguments, options),
    };
    match done {
        // A closed pipe is not an error.
        Err(error) if reader_is_gone(&error) => Ok(Status::Done),
        done => done,
    }
}

fn reader_is_gone(error: &Error) -> bool {
    match error {
        Error::Os(Failure::Console(error) | Failure::Listing(error)) => {
            error.kind() == ErrorKind::BrokenPipe
        }
        _ => false,
    }
}

fn order(machine: &OsMachine) -> Result<Order, Error> {
    Ok(Order {
        program: machine.program.clone(),
        command_line: machine.command_line.clone(),
        set: machine.set.clone(),
        memory: machine.memory,
        loads: machine.load.clone(),
        card: machine.card.clone().map(|path| CardFile { path, write: machine.card_write }),
        restore: machine.restore.clone(),
        engine: machine.engine.map(EngineName::kind).transpose()?,
        check: false,
    })
}

fn run(arguments: &OsRun, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let OsRun { machine, limit, profile, timeline, save, check, live } = arguments;
    let [timeline, save] = targets(machine, &output.own(), [timeline, save])?;
    let mut session = Session::open(&Order { check: *check, ..order(machine)? })?;
    let plan = Plan { until: *limit, profile: *profile, timeline: timeline.is_some() };
    let shows = match options.form() {
        Form::Table => Shows::Stdout,
        _ => Shows::Stderr,
    };
    let mut terminal = terminal(machine, shows, *live)?;
    if limit.is_none() && !options.quiet {
        terminal = terminal.hinting();
    }
    let start = Instant::now();
    let ran = session.run(&plan, &mut terminal, options.seed);
    let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let card = keep_card(&mut session, options);
    let mut ran = match ran {
        Ok(ran) => ran,
        Err(failure) => {
            let asked = timeline.is_some() || save.is_some() || output.has_folder();
            let failed = gone(failure, asked || shows == Shows::Stderr);
            return Error::all([card, Err(failed)]).map(|()| Status::Done);
        }
    };
    ran.result.wall_time_ns = Some(elapsed).filter(|_| !options.no_wall_time);
    // All files are tried: one that cannot be written does not prevent the others.
    let text = ran.timeline.as_deref().unwrap_or_default();
    let timeline = timeline.map_or(Ok(()), |named| named.write(text.as_bytes()));
    let save = save.map_or(Ok(()), |named| named.write(&session.snapshot()?));
    let mut status = Status::Done;
    let shown = output.show_beside(Shown::Run(&ran.result)).map(|shown| status = shown);
    let failure = ran.failure.map_or(Ok(()), |failure| Err(failure.into()));
    Error::all([card, timeline, save, shown, failure]).map(|()| status)
}

fn trace(arguments: &OsTrace, options: &Options) -> Result<Status, Error> {
    no_result(options, "the lines of a trace go to standard output, or into the file of --file")?;
    let OsTrace { machine, from, count, file } = arguments;
    let [file] = targets(machine, &[], [file])?;
    if file.is_none() {
        expect_stdout()?;
    }
    let mut session = Session::open(&order(machine)?)?;
    let mut part = file.as_ref().map(Named::begin).transpose()?;
    let out: Box<dyn Write + Send> = match (&file, &mut part) {
        (Some(named), Some(part)) => {
            let lines = part.file().try_clone().map_err(|problem| named.failed(problem))?;
            Box::new(Escaping::new(BufWriter::new(lines)))
        }
        _ => Box::new(Escaping::new(BufWriter::new(io::stdout()))),
    };
    let mut terminal = terminal(machine, Shows::Stderr, false)?;
    let stretch = Stretch { from: from.clone(), count: *count };
    let traced = session.trace(&stretch, out, &mut terminal);
    let card = keep_card(&mut session, options);
    // An error of the guest ends the trace; the lines before it are complete.
    let whole = matches!(traced, Ok(()) | Err(Failure::Guest { .. }));
    let written = match (&file, part.filter(|_| whole)) {
        (Some(named), Some(part)) => named.finish(part),
        _ => Ok(()),
    };
    let traced = traced.map_err(|failure| match (failure, &file) {
        (Failure::Listing(problem), Some(named)) => named.failed(problem),
        (Failure::Listing(problem), None) if problem.kind() != ErrorKind::BrokenPipe => {
            Error::Stdout(problem)
        }
        (failure, file) => gone(failure, file.is_some()),
    });
    Error::all([card, written, traced]).map(|()| Status::Done)
}

/// The terminal of the guest. If the user interrupts a run, the guest's writes to its card are kept.
fn terminal(machine: &OsMachine, shows: Shows, live: bool) -> Result<Terminal, Error> {
    let terminal = Terminal::open(shows, live).map_err(Error::Stdin)?.safe(machine.safe_console);
    if !machine.card_write {
        return Ok(terminal);
    }
    terminal.interruptible().map_err(|problem| Error::Os(Failure::Console(problem)))
}

/// Writes the guest's changes of the card back to its image, however the run ended, and reports it.
fn keep_card(session: &mut Session, options: &Options) -> Result<(), Error> {
    if let Some(CardUpdate { path, changed, blocks }) = session.write_card()? {
        let path = shown_path(&path);
        tell(options, &format!("card: {changed} of {blocks} blocks changed, written to {path}"));
    }
    Ok(())
}

/// The error of a run without result. If only the output of the program was requested, a closed
/// pipe is not an error; otherwise the requested files are missing.
fn gone(failure: Failure, more_was_asked: bool) -> Error {
    match Error::Os(failure) {
        Error::Os(Failure::Console(problem)) if problem.kind() == ErrorKind::Interrupted => {
            Error::Interrupted
        }
        error if more_was_asked && reader_is_gone(&error) => Error::ReaderGone,
        error => error,
    }
}

/// A trace and a debugger have no typed result; `instead` says what to type.
fn no_result(options: &Options, instead: &'static str) -> Result<(), Error> {
    let asked = options.out.is_some() || !matches!(options.form(), Form::Table);
    if asked { Err(Error::NoResult(instead)) } else { Ok(()) }
}

/// Prints `words` on standard error, unless `--quiet` is set.
fn tell(options: &Options, words: &str) {
    if !options.quiet {
        terminal::tell(words);
    }
}

/// A file that the user named, and the option or argument.
struct Named {
    name: PathBuf,
    target: Target,
}

impl Named {
    fn at(name: &Path) -> Result<Self, Error> {
        let target = Target::at(name).map_err(|problem| Failure::unwritable(name, &problem))?;
        Ok(Self { name: name.into(), target })
    }

    fn failed(&self, problem: io::Error) -> Error {
        Error::Incomplete { path: self.name.clone(), problem }
    }

    fn begin(&self) -> Result<Part, Error> {
        self.target.begin().map_err(|problem| self.failed(problem))
    }

    fn finish(&self, part: Part) -> Result<(), Error> {
        self.target.finish(part).map_err(|problem| self.failed(problem))
    }

    fn write(&self, content: &[u8]) -> Result<(), Error> {
        self.target.write(content).map_err(|problem| self.failed(problem))
    }
}

/// The files to write, checked before the run, which may be long: they must differ from each other,
/// from files that are read, and from the `others`.
fn targets<const N: usize>(
    machine: &OsMachine,
    others: &[PathBuf],
    paths: [&Option<PathBuf>; N],
) -> Result<[Option<Named>; N], Error> {
    let read = [Some(&machine.program), machine.card.as_ref()].into_iter().flatten();
    let read = read.chain(machine.load.iter().map(|load| &load.path));
    let taken: Vec<_> = read.chain(others).collect();
    let mut named = [const { None }; N];
    for (number, path) in paths.into_iter().enumerate() {
        let Some(path) = path else { continue };
        let this = Named::at(path)?;
        let before = named.iter().flatten().map(|other: &Named| &other.name);
        let twice = before.chain(taken.iter().copied()).find(|other| this.target.is(other));
        if let Some(other) = twice {
            let [path, other] = [path, other].map(|path| shown_path(path));
            return Err(Error::Os(Failure::Argument {
                problem: format!("`{path}` would be written over `{other}`"),
                help: "name a file of its own for each output".into(),
            }));
        }
        named[number] = Some(this);
    }
    Ok(named)
}
