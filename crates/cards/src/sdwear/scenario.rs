//! The scenario of the SD experiment: which card, which fio jobs, how often, and which controllers are compared.
//!
//! Layer: rank 10. Main types: [`Scenario`] and its sections; function: [`read`].

mod limits;

use boardlab_document::quantity::Ratio;
use boardlab_document::{Override, Read, Section, section};
use boardlab_parts::card::board::{self, Host};
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::card::unused;
use boardlab_parts::managed::unused::{by_choice, choosers};
use boardlab_sim::{Bytes, Duration};
use boardlab_workload::fio::reading::Amount;
use boardlab_workload::fio::{self, JobFile};

/// A scenario of the SD experiment, checked.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The card.
    pub part: CardPart,
    /// What it is put into.
    pub host: Host,
    /// Plenty of unused space.
    pub free: Repeated,
    /// The comparison of wear levelling at the published volume.
    pub wear: WearSpec,
    /// No unused space.
    pub full: Repeated,
    /// What is zeroed before each iteration of it.
    pub zeroed: Bytes,
    /// Iterations of the first experiment with which each controller is tried.
    pub probes: u64,
    /// What the controller may be.
    pub controllers: Vec<Controller>,
}

/// A fio job, again and again.
#[derive(Debug, Clone)]
pub struct Repeated {
    /// The job.
    pub job: JobFile,
    /// How often.
    pub iterations: u64,
    /// What passes between two runs.
    pub between: Duration,
}

section! {
    /// How wear levelling is compared.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WearSpec(section) {
        /// What is written in all.
        pub volume: Bytes => within(Bytes::mib(1), limits::VOLUME),
        /// Erases that a block survives.
        pub endurance: u32 => within(1, limits::ERASES),
        /// Spread of erase counts at which static levelling moves data.
        pub threshold: u32 => within(1, limits::ERASES),
        /// Shares of over-provisioning; for each the run says which volume could tell the levelling policies apart.
        pub over_provisioning: Vec<Ratio>,
    }
    check(over_provisioning) {
        let possible = limits::LEAST_OVER_PROVISIONING..=limits::OVER_PROVISIONING;
        if over_provisioning.is_empty()
            || !over_provisioning.iter().all(|share| possible.contains(share)) {
            let expected = format!("one or more from {} to {}", limits::LEAST_OVER_PROVISIONING, limits::OVER_PROVISIONING);
            let (problem, help) = ("has an impossible share", "2 % and 7 % are usual");
            return Err(section.refuse("over_provisioning", problem, &expected, help));
        }
    }
}

section! {
    /// What the controller may be.
    #[derive(Debug, Clone)]
    pub struct Controller(section) {
        /// Its name in tables.
        pub id: String,
        /// What it does.
        pub title: String,
        /// What is set for it.
        pub set: Vec<Override> = section.required::<Vec<String>>("set") => overrides,
    }
}

fn overrides(section: &Section<'_>, set: Vec<String>) -> Read<Vec<Override>> {
    let refused = |problem: &str| {
        section.refuse("set", problem, "part.KEY=VALUE", "keys of the part, as --set takes them")
    };
    let each = set.into_iter().map(|one| {
        let parsed = Override::parse(&one).map_err(|_| refused(&format!("has `{one}`")))?;
        if parsed.path().starts_with("part.") {
            return Ok(parsed);
        }
        Err(refused(&format!("sets `{}`, which is not a key of the part", parsed.path())))
    });
    each.collect()
}

impl Controller {
    /// Whether it makes the choice on which `key` of the part depends, and leaves the value of the key alone.
    fn tries(&self, key: &str) -> bool {
        let sets =
            |key: &str| self.set.iter().any(|one| one.path().strip_prefix("part.") == Some(key));
        choosers(key).iter().any(|chooser| sets(chooser)) && !sets(key)
    }
}

/// Reads a whole scenario, its part and board mounted in place of their names.
///
/// # Errors
/// Whatever is missing, unknown, of the wrong kind or cannot be.
pub fn read(section: &Section<'_>) -> Read<Scenario> {
    let title = section.required::<String>("title");
    let experiment = section.required::<String>("experiment");
    let part = section.section("part", part::read);
    let host = section.section("board", board::read);
    let card = part.as_ref().map_or(limits::CARD, |part| part.face.capacity);
    let free = section.section("experiment1", |section| {
        let repeated = repeated(&section, card);
        section.finish()?;
        repeated
    });
    let wear = section.section("wear", WearSpec::read);
    let full = section.section("experiment2", |section| {
        let repeated = repeated(&section, card);
        let smallest = Bytes::new(512);
        let zeroed = section.key::<Bytes>("zeroed").within(smallest, card).required();
        let probes = section.key::<u64>("probes").within(1, limits::PROBES).required();
        section.finish()?;
        Ok((repeated?, zeroed?, probes?))
    });
    let controllers = section.sections("controller", Controller::read);
    section.finish()?;
    let (_, _, controllers) = (title?, experiment?, controllers?);
    let ids = || controllers.iter().map(|one| one.id.as_str());
    if ids().enumerate().any(|(at, id)| ids().take(at).any(|other| other == id)) {
        let (problem, help) = ("has two entries with one id", "each is a row of a table");
        return Err(section.refuse("controller", problem, "ids that differ", help));
    }
    let (full, zeroed, probes) = full?;
    if !zeroed.is_multiple_of(Bytes::new(512)) {
        let (problem, help) = ("sets a `zeroed` that is no whole number of sectors", "512 B each");
        return Err(section.refuse("experiment2", problem, "whole sectors", help));
    }
    let (part, host, free, wear) = (part?, host?, free?, wear?);
    unused::described(section, "part")?;
    unused::around(section, &part)?;
    let tried = |key: &str| controllers.iter().any(|one| one.tries(key));
    by_choice(section, "part", &part.managed, &tried)?;
    for key in ["part.bus.read", "part.controller.erased"] {
        section.idle(key, "here: nothing is read", "`boardlab run card-fio` reads as well")?;
    }
    Ok(Scenario { part, host, free, wear, full, zeroed, probes, controllers })
}

fn repeated(section: &Section<'_>, card: Bytes) -> Read<Repeated> {
    let text = section.required::<String>("job");
    let iterations = section.key::<u64>("iterations").within(1, limits::ITERATIONS).required();
    let between =
        section.key::<Duration>("between").within(Duration::ZERO, limits::BETWEEN).required();
    let job = text.and_then(|text| job(section, &text, card));
    Ok(Repeated { job: job?, iterations: iterations?, between: between? })
}

/// A command line of fio, as a job that writes to the card.
fn job(section: &Section<'_>, text: &str, card: Bytes) -> Read<JobFile> {
    let name = section.path().rsplit('.').next().unwrap_or_default();
    let arguments = [format!("--name={name}")].into_iter();
    let arguments: Vec<_> = arguments.chain(text.split_whitespace().map(str::to_owned)).collect();
    let refused = |problem: &str, help: &str| {
        section.refuse("job", problem, "the options of a fio job that writes to the card", help)
    };
    let file = fio::parse_arguments(&arguments).map_err(|wrong| {
        let lines: Vec<_> = wrong.0.iter().map(|one| one.problem.to_string()).collect();
        refused(&format!("is no job: {}", lines.join("; ")), "see docs/formats/fio-jobs.md")
    })?;
    let [one] = file.jobs.as_slice() else {
        return Err(refused("is more than one job", "one --name is given already"));
    };
    if one.settings.access.directions != [false, true, false] || one.settings.copies != 1 {
        return Err(refused("does not only write", "--readwrite=write or randwrite, --numjobs=1"));
    }
    if one.settings.access.random {
        return Err(refused("writes in no order", "--readwrite=write: wear is compared by volume"));
    }
    let offset = match one.settings.area.offset {
        Some(Amount::Bytes(offset)) => offset,
        Some(share) => share.of(card.get()),
        None => 0,
    };
    if offset >= card.get() {
        let problem = format!("begins at {offset} B, beyond the card of {} B", card.get());
        return Err(refused(&problem, "a smaller --offset"));
    }
    if !one.settings.submission.direct {
        return Err(refused("goes through a page cache", "--direct=1"));
    }
    Ok(file)
}
