//! The machine of the menu: a drive on its link, driven dword by dword, and a host that sends single commands.
//!
//! Layer: rank 11. Main type: [`Bench`]; function: [`open`]. Every dword goes over the link with its CRC and its
//! scrambling, to the flash and back. Between two commands no time passes.

use super::Machine;
use boardlab_document::error::Error;
use boardlab_document::source::{Kind, Source};
use boardlab_document::{Document, Reading};
use boardlab_experiment as experiment;
use boardlab_parts::catalog;
use boardlab_parts::drive::compose::Flash;
use boardlab_parts::drive::{self, DrivePart, SataHost, compose};
use boardlab_sata::Tick;
use boardlab_sata::device::Ssd;
use boardlab_sata::host::{
    Addressing, Build, Data, Direction, Failure, Host, Job, Limits, Report, Transfer,
};
use boardlab_sata::link::Engine;
use boardlab_sata::wire::Identify;
use boardlab_sim::{Duration, Seed};

/// The drive of the figures, where no other is chosen.
pub const DRIVE: &str = "intel-x25-e-32gb";
/// What stands around the drive.
const SCENARIO: &str = "part = \"\"\nboard = \"ml505\"\n";

/// A drive on a host.
#[derive(Debug, Clone)]
pub struct Bench {
    engine: Engine<Host, Ssd<Flash>>,
    is_short: bool,
}

/// The bench of the drive `part`, a built-in one by name or a file by path, with the arguments of all `--set`: keys of
/// the drive (`part.*`) and the board (`board`, `board.*`).
///
/// # Errors
/// What is wrong with a file or an argument, or what of them does not fit together.
pub fn open<S: AsRef<str>>(
    part: &str,
    set: &[S],
    seed: Seed,
) -> Result<Bench, experiment::Failure> {
    let reading = read(&document(part, set)?)?;
    let (part, host) = reading.value;
    let help = "compare the part with a built-in one: boardlab list parts";
    let bench = Bench::new(&part, &host, seed);
    bench.map_err(|error| experiment::Failure::run("the drive and its host", error, help))
}

/// The document of a bench of the drive `part`, with the arguments of all `--set`.
///
/// # Errors
/// What is wrong with a file or an argument.
pub fn document<S: AsRef<str>>(part: &str, set: &[S]) -> Result<Document, Error> {
    // Found twice, so that an unknown name is told as one that was typed, not as one in a text of ours.
    catalog::find(Kind::Part, part, None)?;
    let source = Source::new(Kind::Scenario, "sata console", SCENARIO);
    let chosen = format!("part={part}");
    let set: Vec<&str> =
        std::iter::once(chosen.as_str()).chain(set.iter().map(AsRef::as_ref)).collect();
    catalog::compose_source(&source, &set)
}

/// The drive and the host of the `document` of a bench.
///
/// # Errors
/// What is missing, unknown or of the wrong kind.
pub fn read(document: &Document) -> Result<Reading<(DrivePart, SataHost)>, Error> {
    document.read(|top| {
        let part = top.section("part", drive::part::read);
        let host = top.section("board", drive::board::read);
        top.finish()?;
        Ok((part?, host?))
    })
}

impl Bench {
    /// A drive of `part`, new and empty, on `host`.
    ///
    /// # Errors
    /// What does not fit together.
    pub fn new(
        part: &DrivePart,
        host: &SataHost,
        seed: Seed,
    ) -> Result<Self, boardlab_parts::Failure> {
        let composed = compose(part, host.port(), true, seed)?;
        let speed = composed.wiring.speed;
        let settings = host.settings(Build::Single, Limits::default());
        let ssd = Ssd::new(speed, composed.storage, composed.identify)?;
        let engine = Engine::new(composed.wiring, Host::new(speed, settings), ssd);
        Ok(Self { engine, is_short: !part.drive.lba48 })
    }

    fn perform(&mut self, job: Job) -> Report {
        self.engine.host_mut().push(job);
        self.engine.run(Tick::NEVER);
        let reports = self.engine.host_mut().take_reports();
        reports.into_iter().next_back().expect("Bench: a host that is idle has reported every job")
    }
}

impl Machine for Bench {
    fn identify(&mut self) -> Result<Identify, Failure> {
        self.perform(Job::Identify).outcome?;
        let drive = self.engine.host().drive();
        Ok(drive.expect("Bench: a host knows the drive that it has identified").clone())
    }

    fn transfer(
        &mut self,
        direction: Direction,
        first: u64,
        sectors: u32,
        buffer: &mut Vec<u32>,
    ) -> Result<Duration, Failure> {
        let data = match direction {
            Direction::Read => Data::Captured,
            Direction::Write => Data::Words(buffer.clone()),
        };
        let addressing = if self.is_short { Addressing::Lba28 } else { Addressing::Lba48 };
        let transfer = Transfer::looped(direction, first, sectors, 1);
        let transfer = transfer.with_addressing(addressing).with_data(data);
        let report = self.perform(Job::Transfer(transfer));
        let time = report.time(self.engine.host().speed());
        report.outcome?;
        if direction == Direction::Read {
            *buffer = report.data;
        }
        Ok(time)
    }
}
