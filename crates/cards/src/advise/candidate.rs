//! A card as a candidate: the life that it has in the product, and what the jobs get from it.
//!
//! Layer: rank 10. Main types: [`Candidate`], and [`Trials`], the runs that give one.

use super::scenario::Scenario;
use crate::fio::findings::{Slowed, slowed};
use crate::fio::run::{JobsRun, perform};
use crate::fio::scenario::Composition;
use crate::life::findings::too_much;
use crate::life::run::factors::factors;
use crate::life::run::live::CardLife;
use crate::life::run::model::lacks;
use crate::life::run::places::{Source, Work};
use crate::life::run::study::{Band, study};
use crate::others::NamedCard;
use boardlab_block::Kind;
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_experiment::{Failure, NEVER};
use boardlab_result::prose::{MIB, real};
use boardlab_sd as sd;
use boardlab_sim::{Bytes, Duration, Seed};
use boardlab_workload::fio::JobFile;
use boardlab_workload::fio::output::table::figures;
use boardlab_workload::fio::settings::Direction;

/// What to try when no card can be ranked.
pub(super) const HELP: &str = "other cards: set compare=all; what there is: boardlab list parts sd";
/// About what a simulated card takes for each of its pages.
const PER_PAGE: u64 = 16;

/// What life of which card the product gets, in years; `None` beyond the horizon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lived {
    /// The first of the cards, or the first 5 %.
    pub(super) earliest: Option<f64>,
    /// Half of them.
    pub(super) median: Option<f64>,
}

/// What the jobs got from a card.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JobFigures {
    /// Bytes a second that the slowest job wrote.
    pub(super) rate: u64,
    /// The longest that 99 % of the writes of a job took.
    pub(super) latency: Duration,
    /// The longest write of all.
    pub(super) longest: Duration,
    /// What slowed the writes most.
    pub(super) slowed: Option<Slowed>,
    /// The time of all jobs.
    pub(super) time: Duration,
}

/// A card with its figures.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Its name.
    pub(super) name: String,
    /// What it is.
    pub(super) kind: sd::Kind,
    /// Bytes that it holds.
    pub(super) capacity: Bytes,
    /// Its life.
    pub(super) lived: Lived,
    /// Its jobs.
    pub(super) jobs: JobFigures,
}

/// A result, or why there is none: what one card cannot do is no failure of the others.
type Tried<T> = Slot<Result<T, String>>;

/// The runs of a card.
pub(super) struct Trials {
    name: String,
    kind: sd::Kind,
    capacity: Bytes,
    lived: Tried<Lived>,
    jobs: Tried<JobFigures>,
}

impl Trials {
    /// Gives the runs of a card to the crew.
    pub(super) fn begin<'w>(
        (scenario, file): (&'w Scenario, &'w JobFile),
        card: &'w NamedCard,
        seed: Seed,
        crew: &mut Crew<'w>,
    ) -> Self {
        let capacity = card.part.face.capacity;
        let memory = Bytes::new(capacity / card.part.managed.page * PER_PAGE);
        let name = |what: &str| format!("{}: {what}", card.name);
        let life = move || Ok(lived(scenario, card, seed));
        let lived = crew.add_large(name("life"), HELP, memory, life);
        let jobs = move || Ok(jobs(scenario, file, card, seed));
        let jobs = crew.add_large(name("jobs"), HELP, memory, jobs);
        Self { name: card.name.clone(), kind: card.part.face.kind, capacity, lived, jobs }
    }

    /// The card once the crew has performed, or its name with the reason.
    pub(super) fn end(self) -> Result<Candidate, (String, String)> {
        let Self { name, kind, capacity, lived, jobs } = self;
        match (lived.take(), jobs.take()) {
            (Ok(lived), Ok(jobs)) => Ok(Candidate { name, kind, capacity, lived, jobs }),
            (Err(reason), _) | (_, Err(reason)) => Err((name, reason)),
        }
    }
}

/// The life of `card`; as text why it has none that can be computed, or cannot take the product.
fn lived(scenario: &Scenario, card: &NamedCard, seed: Seed) -> Result<Lived, String> {
    let (part, product) = (&card.part, &scenario.product);
    if let Some(what) = lacks(part) {
        return Err(format!("it {what}"));
    }
    fits(scenario, card)?;
    let source = Source::Pattern(scenario.pattern(part.face.capacity));
    let work = Work { bytes_a_day: product.a_day(), source, days: product.days };
    let study = study(part, work, scenario.life, scenario.life.cards, seed, &NEVER);
    let study = study.map_err(|error| error.to_string())?;
    let factors = factors(study.median(), &study);
    if let Some(why) = too_much(part, product.days.powered, &study, &factors) {
        return Err(format!("it {why}"));
    }
    let Band([earliest, median, _]) = study.band(CardLife::first);
    let [earliest, median] = [earliest, median].map(|end| end.map(|point| point.years));
    Ok(Lived { earliest, median })
}

/// Refuses a card that is too small for the data.
fn fits(scenario: &Scenario, card: &NamedCard) -> Result<(), String> {
    let (data, capacity) = (scenario.data(), card.part.face.capacity);
    match data <= capacity {
        true => Ok(()),
        false => {
            let data = real(data) / MIB;
            Err(format!("it holds {capacity}, and the data are {data:.0} MiB"))
        }
    }
}

/// What the jobs get from `card`; as text why they cannot be run.
fn jobs(
    scenario: &Scenario,
    file: &JobFile,
    card: &NamedCard,
    seed: Seed,
) -> Result<JobFigures, String> {
    fits(scenario, card)?;
    let part = Box::new(card.part.clone());
    let fill = scenario.filled(part.face.capacity);
    let composition = Composition::Card(part, Box::new(scenario.host.clone()));
    let done = perform(&composition, fill, file, seed).map_err(|failure| reason(&failure))?;
    of_writes(&done).ok_or_else(|| "its jobs wrote nothing".into())
}

/// A failure in one line.
fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Input(error) => error.message().title,
        Failure::Run { system, error, .. } => format!("{system}: {error}"),
        failure @ (Failure::NoAction { .. } | Failure::Stopped) => failure.to_string(),
    }
}

/// The figures of the writes: of several jobs those of the one that does worst.
fn of_writes(done: &JobsRun) -> Option<JobFigures> {
    let end = format!(".{}", Direction::Write.name());
    let all = figures(&done.reported);
    let writes = || all.iter().filter(|one| one.name.ends_with(&end));
    let time = |ns: Option<u64>| Duration::from_nanos(ns.unwrap_or_default());
    Some(JobFigures {
        rate: writes().map(|one| one.bandwidth).min()?,
        latency: time(writes().filter_map(|one| one.percentile99_ns).max()),
        longest: time(writes().filter_map(|one| one.max_ns).max()),
        slowed: slowed(Kind::Write, &done.stats),
        time: done.time(),
    })
}
