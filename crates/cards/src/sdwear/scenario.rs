//! The scenario of the SD experiment: the card, the fio jobs and how often they run, and the
//! controllers to compare.
//!
//! Layer: rank 10. Main types: [`Scenario`] and its sections.

use boardlab_document::quantity::Ratio;
use boardlab_document::{Override, Read, Section, keys, section};
use boardlab_parts::card::board::{self, Host};
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::card::unused;
use boardlab_parts::managed::unused::{by_choice, choosers};
use boardlab_sim::{Bytes, Duration};
use boardlab_workload::fio::reading::Amount;
use boardlab_workload::fio::{self, JobFile};

/// The capacity that limits are taken from while the part cannot be read.
const CARD: Bytes = Bytes::mib(1 << 20);
/// The most erases of a block.
const ERASES: u64 = 10_000_000;
/// The least and the most spare of a card in the comparison of volumes.
const SPARES: [Ratio; 2] = [Ratio::from_millionths(10_000), Ratio::from_millionths(500_000)];
/// A sector of a card.
const SECTOR: Bytes = Bytes::new(512);

section! {
    /// A scenario of the SD experiment, checked.
    #[derive(Debug, Clone)]
    pub(crate) struct Scenario(section) {
        /// What it is about, in one line.
        pub title: String,
        /// The name of the experiment.
        pub experiment: String,
        /// The card.
        pub part: CardPart => section(part::read),
        /// The host with the card's slot.
        pub host as "board": Host => section(board::read),
        /// Experiment 1: plenty of unused space.
        pub free: RepeatedJob = section.section("experiment1", |free| {
            let repeated = repeated(&free, capacity(&part));
            free.finish().and(repeated)
        }),
        /// The comparison of wear levelling at the published volume.
        pub wear: WearSpec,
        /// Experiment 2: no unused space.
        pub full: Full = section.section("experiment2", |full| Full::read(full, capacity(&part))),
        /// The controllers to compare.
        pub controllers as "controller": Vec<Controller> => sections(Controller::read),
    }
    check(controllers) {
        let ids = || controllers.iter().map(|one| one.id.as_str());
        if ids().enumerate().any(|(at, id)| ids().take(at).any(|other| other == id)) {
            let (problem, help) = ("has two entries with the same id", "each is a row of a table");
            return Err(section.refuse("controller", problem, "ids that differ", help));
        }
    }
    check(part, controllers) {
        unused::described(&section, "part")?;
        unused::around(&section, part)?;
        let tried = |key: &str| controllers.iter().any(|one| one.tries(key));
        by_choice(&section, "part", &part.managed, &tried)?;
        for key in ["part.bus.read", "part.controller.erased"] {
            section.idle(key, "here: nothing is read", "`boardlab run card-fio` reads as well")?;
        }
    }
}

fn capacity(part: &Read<CardPart>) -> Bytes {
    part.as_ref().map_or(CARD, |part| part.face.capacity)
}

/// A fio job that runs again and again.
#[derive(Debug, Clone)]
pub(super) struct RepeatedJob {
    /// The job.
    pub job: JobFile,
    /// The number of runs.
    pub iterations: u64,
    /// The pause before each run.
    pub between: Duration,
}

impl RepeatedJob {
    /// The bytes that one pass of the job writes on a card of `capacity`.
    pub(crate) fn size(&self, capacity: Bytes) -> Bytes {
        let size = self.job.jobs[0].settings.area.size;
        size.map_or(capacity, |size| Bytes::new(size.of(capacity.get())))
    }
}

fn repeated(section: &Section<'_>, card: Bytes) -> Read<RepeatedJob> {
    keys!(section => RepeatedJob {
        job: JobFile = job(section, card),
        iterations: u64 => within(1, 1_000_000),
        between: Duration => up_to(Duration::from_secs(24 * 3_600)),
    })
}

section! {
    /// Experiment 2: the job rewrites the beginning of a full card.
    #[derive(Debug, Clone)]
    pub(crate) struct Full(section, card: Bytes) {
        /// The job.
        pub rewrites: RepeatedJob = repeated(&section, card),
        /// The bytes that are zeroed before each iteration.
        pub zeroed: Bytes => within(SECTOR, card),
        /// Iterations of experiment 1 with which each controller is tried.
        pub probes: u64 => within(1, 10_000),
    }
    check(zeroed) {
        if !zeroed.is_multiple_of(SECTOR) {
            let (problem, help) = ("is not a multiple of a sector", "a sector has 512 B");
            return Err(section.refuse("zeroed", problem, "whole sectors", help));
        }
    }
}

section! {
    /// How wear levelling is compared.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct WearSpec(section) {
        /// The bytes written in all.
        pub volume: Bytes => within(Bytes::mib(1), Bytes::mib(1 << 30)),
        /// The endurance of a block, in erases.
        pub endurance: u32 => within(1, ERASES),
        /// Spread of erase counts at which static levelling moves data.
        pub threshold: u32 => within(1, ERASES),
        /// The over-provisionings for which the volume is sought that tells levelling apart.
        pub over_provisioning: Vec<Ratio>,
    }
    check(over_provisioning) {
        let [least, most] = SPARES;
        if over_provisioning.is_empty() || !over_provisioning.iter().all(|spare| (least..=most).contains(spare)) {
            let expected = format!("one or more from {least} to {most}");
            let (problem, help) = ("has an impossible share", "2 % and 7 % are usual");
            return Err(section.refuse("over_provisioning", problem, &expected, help));
        }
    }
}

section! {
    /// A controller that the card may have.
    #[derive(Debug, Clone)]
    pub(crate) struct Controller(section) {
        /// Its name in tables.
        pub id: String,
        /// What it does.
        pub title: String,
        /// The keys of the part that it sets.
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
    /// Whether it makes the choice on which `key` of the part depends, and leaves the value of the key
    /// alone.
    fn tries(&self, key: &str) -> bool {
        let sets =
            |key: &str| self.set.iter().any(|one| one.path().strip_prefix("part.") == Some(key));
        choosers(key).iter().any(|chooser| sets(chooser)) && !sets(key)
    }
}

/// The job that the key `job` gives as a command line of fio; it writes to the card.
fn job(section: &Section<'_>, card: Bytes) -> Read<JobFile> {
    let text = section.required::<String>("job")?;
    let name = section.path().rsplit('.').next().unwrap_or_default();
    let arguments = [format!("--name={name}")].into_iter();
    let arguments: Vec<_> = arguments.chain(text.split_whitespace().map(str::to_owned)).collect();
    let refused = |problem: &str, help: &str| {
        section.refuse("job", problem, "the options of a fio job that writes to the card", help)
    };
    let file = fio::parse_arguments(&arguments).map_err(|wrong| {
        let lines: Vec<_> = wrong.0.iter().map(|one| one.problem.to_string()).collect();
        refused(
            &format!("is no job: {}", lines.join("; ")),
            "the page `fio jobs` of the documents lists the options",
        )
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
