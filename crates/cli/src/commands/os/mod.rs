//! `boardlab os`: programs for an ARM926 on a simulated board.

mod console;
mod gdb;

use self::console::{Shows, Terminal};
use crate::args::{Form, Options, OsAction, OsMachine, OsRun, OsTrace};
use crate::error::Error;
use crate::exit::Status;
use crate::output::Output;
use boardlab_lab::os::trace::Stretch;
use boardlab_lab::os::{CardFile, Failure, Order, Plan, Session};
use boardlab_report::Shown;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::time::Instant;

/// Does `action`.
pub(super) fn perform(action: &OsAction, options: &Options) -> Result<Status, Error> {
    let done = match action {
        OsAction::Run(arguments) => run(arguments, options),
        OsAction::Trace(arguments) => trace(arguments, options),
        OsAction::Debug(arguments) => gdb::perform(arguments, options),
    };
    match done {
        // A reader that closed its pipe has seen enough.
        Err(Error::Os(Failure::Console(error))) if error.kind() == ErrorKind::BrokenPipe => {
            Ok(Status::Done)
        }
        done => done,
    }
}

fn order(machine: &OsMachine) -> Order {
    Order {
        program: machine.program.clone(),
        command_line: machine.command_line.clone(),
        set: machine.set.clone(),
        memory: machine.memory,
        loads: machine.load.clone(),
        card: machine.card.clone().map(|path| CardFile { path, write: machine.card_write }),
        restore: machine.restore.clone(),
        way: machine.engine.way(),
        check: false,
    }
}

fn run(arguments: &OsRun, options: &Options) -> Result<Status, Error> {
    let output = Output::open(options, None)?;
    let OsRun { machine, limit, profile, timeline, save, check, live } = arguments;
    let mut session = Session::open(&Order { check: *check, ..order(machine) })?;
    for path in
        timeline.iter().chain(save).chain(machine.card.iter().filter(|_| machine.card_write))
    {
        writable(path)?;
    }
    let plan = Plan { until: *limit, profile: *profile, timeline: timeline.is_some() };
    let shows = match options.format {
        Form::Table => Shows::Stdout,
        _ => Shows::Stderr,
    };
    let mut terminal = Terminal::open(shows, *live).map_err(Error::Stdin)?;
    let start = Instant::now();
    let mut ran = session.run(&plan, &mut terminal, options.seed)?;
    let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    ran.result.wall_time_ns = Some(elapsed).filter(|_| !options.no_wall_time);
    if let (Some(path), Some(text)) = (timeline, &ran.timeline) {
        write(path, text.as_bytes())?;
    }
    if let Some(path) = save {
        write(path, &session.snapshot()?)?;
    }
    if let Some((path, contents)) = session.card_to_write() {
        write(path, &contents)?;
    }
    let status = output.show_beside(Shown::Run(&ran.result))?;
    ran.failure.map_or(Ok(status), |failure| Err(failure.into()))
}

fn trace(arguments: &OsTrace, options: &Options) -> Result<Status, Error> {
    no_result(options)?;
    let mut session = Session::open(&order(&arguments.machine))?;
    let OsTrace { from, count, file, .. } = arguments;
    let out: Box<dyn Write + Send> = match file {
        Some(path) => {
            let file = File::create(path).map_err(|problem| unwritable(path, &problem))?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(BufWriter::new(io::stdout())),
    };
    let mut terminal = Terminal::open(Shows::Stderr, false).map_err(Error::Stdin)?;
    session.trace(&Stretch { from: from.clone(), count: *count }, out, &mut terminal)?;
    Ok(Status::Done)
}

/// A trace and a debugger have no typed result.
fn no_result(options: &Options) -> Result<(), Error> {
    let asked = options.out.is_some() || !matches!(options.format, Form::Table);
    if asked { Err(Error::NoResult) } else { Ok(()) }
}

/// Whether the end of the run can write its file: the run may be long.
fn writable(path: &Path) -> Result<(), Error> {
    let opened = File::options().write(true).create(true).truncate(false).open(path);
    opened.map(drop).map_err(|problem| unwritable(path, &problem))
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    fs::write(path, content).map_err(|problem| unwritable(path, &problem))
}

fn unwritable(path: &Path, problem: &io::Error) -> Error {
    Failure::unwritable(path, problem).into()
}
