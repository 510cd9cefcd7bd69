//! The runs of a candidate: each case filled, worn and written to, the sizes of the flash mounted, the power cut.
//!
//! Layer: rank 10. Main types: [`Trials`], a candidate with what its runs will give; [`Tried`], one of these.

use super::candidate::{Candidate, Case, Choice, Measured};
use super::scenario::{Product, Scenario};
use crate::nandfs::flash::{Flash, Wired};
use crate::nandfs::run::columns;
use crate::nandfs::run::filesystem::timed;
use crate::nandfs::run::filling::{Filled, Filling};
use crate::nandfs::run::measure::Chip;
use crate::nandfs::run::powercut::{Survived, tried};
use crate::nandfs::run::stand::Stand;
use crate::nandfs::run::wear::{Base, Course};
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_result::prose::real;
use boardlab_sim::{Bytes, Clock, Duration, Rate, Seed};
use boardlab_workload::data::Data;
use boardlab_workload::tiobench::{self, Test, Tiobench};

/// What to try when no filesystem can be run.
pub(super) const HELP: &str = "a lower product.level or a larger part may do";
/// About what a run takes besides the content of the flash.
const MEMORY: Bytes = Bytes::mib(24);
/// The most bytes of a stream, and its share of the flash.
const STREAM: (Bytes, u64) = (Bytes::mib(16), 8);

/// What a piece of work gave, or why it could not be done: what one filesystem cannot do is no failure of the others.
struct Tried<T>(Slot<Result<T, String>>);

impl<T: Send + Sync> Tried<T> {
    fn add<'w>(
        crew: &mut Crew<'w>,
        choice: &Choice,
        memory: Bytes,
        work: impl FnOnce() -> Result<T, Cause> + Send + 'w,
    ) -> Self
    where
        T: 'w,
    {
        let tried = move || Ok(work().map_err(|error| error.to_string()));
        Self(crew.add_large(choice.name.as_str(), HELP, memory, tried))
    }

    fn take(self) -> Result<T, String> {
        self.0.take()
    }
}

/// A candidate with what its runs will give.
pub(super) struct Trials {
    choice: Choice,
    /// The product first.
    cases: Vec<(String, OfCase)>,
    chips: Vec<Tried<(Chip, Duration)>>,
    survived: Option<Tried<Survived>>,
}

/// The runs of a case. Of the product itself everything is measured; where something is changed, what limits need.
struct OfCase {
    filled: Tried<(Filled, Duration)>,
    streamed: Option<Tried<(f64, Duration)>>,
    worn: Option<Tried<Vec<Course>>>,
    blocks_of_part: f64,
}

/// What all runs of an advice have in common.
#[derive(Clone, Copy)]
pub(super) struct Basis<'w> {
    pub(super) scenario: &'w Scenario,
    pub(super) cases: &'w [Case],
    /// The sizes of the flash that are mounted empty.
    pub(super) sizes: &'w [Bytes],
    pub(super) seed: Seed,
}

impl<'w> Basis<'w> {
    /// The stand of a candidate in a case.
    fn stand(self, choice: &'w Choice, case: &'w Case) -> Stand<'w> {
        let Scenario { flash, kernel, .. } = self.scenario;
        let wired = match (flash.wired(), &case.part) {
            (Wired::Nand { port, errors, .. }, Some(part)) => Wired::Nand { part, port, errors },
            (wired, _) => wired,
        };
        let (machine, kernel, seed) = (flash.machine(), *kernel, self.seed);
        let system = &*choice.system;
        Stand { wired, machine, kernel, system, seed, read_only: false }
    }
}

impl Trials {
    /// Adds the runs of a candidate to a crew.
    pub(super) fn begin<'w>(basis: Basis<'w>, choice: &'w Choice, crew: &mut Crew<'w>) -> Self {
        let Basis { scenario, cases, sizes, .. } = basis;
        let each = cases
            .iter()
            .map(|case| (case.name.clone(), OfCase::begin(basis, (choice, case), crew)));
        let of_cases = each.collect();
        let stand = basis.stand(choice, &cases[0]);
        let each = sizes.iter().map(|&size| {
            let memory = Bytes::new(size.get() / 40);
            Tried::add(crew, choice, memory, move || stand.chip(size))
        });
        let chips = each.collect();
        let survived = scenario
            .product
            .cut()
            .map(|operations| Tried::add(crew, choice, MEMORY, move || tried(&stand, operations)));
        Self { choice: choice.clone(), cases: of_cases, chips, survived }
    }

    /// The candidate, once the crew has performed; its name and the reason where it
    /// cannot be run.
    pub(super) fn end(self) -> Result<Candidate, (String, String)> {
        let Self { choice, cases, chips, survived } = self;
        let whole = || {
            let mut cases = cases.into_iter().map(|(name, runs)| (name, runs.end()));
            let (_, measured) = cases.next().expect("the product");
            let chips: Vec<_> = chips.into_iter().map(Tried::take).collect::<Result<_, _>>()?;
            let survived = survived.map(Tried::take).transpose()?;
            Ok((measured?, cases.collect(), chips, survived))
        };
        match whole() {
            Ok((measured, cases, chips, survived)) => {
                let (chips, spent): (Vec<_>, Vec<_>) = chips.into_iter().unzip();
                let chips_spent = spent.into_iter().fold(Duration::ZERO, |sum, one| sum + one);
                Ok(Candidate { choice, measured, cases, chips, survived, chips_spent })
            }
            Err(reason) => Err((choice.name, reason)),
        }
    }
}

impl OfCase {
    fn begin<'w>(
        basis: Basis<'w>,
        (choice, case): (&'w Choice, &'w Case),
        crew: &mut Crew<'w>,
    ) -> Self {
        let product = &basis.scenario.product;
        let stand = basis.stand(choice, case);
        let flash = stand.wired.size();
        let kind = product.files(flash, &case.data, basis.seed);
        let load = product.load(stand.wired, &kind);
        let blocks_of_part = real(flash) / real(load.chip);
        let until_full = case.is_product() || product.room.is_some();
        let filling = Filling { levels: case.levels.clone(), until_full, files: kind };
        let memory = columns::memory(flash, filling.highest(), filling.files.size.mean());
        let fill = move || {
            let fresh = stand.fresh()?;
            timed(&fresh, |flash, clock: &mut Clock| stand.fill(&filling, flash, clock))
        };
        let filled = Tried::add(crew, choice, memory, fill);
        let wanted = case.is_product() || product.throughput.is_some();
        let stream = move || {
            let fresh = stand.fresh()?;
            let what = (product.write, &case.data);
            timed(&fresh, |flash, clock: &mut Clock| streamed(&stand, what, flash, clock))
        };
        let streamed = wanted.then(|| Tried::add(crew, choice, STREAM.0 * 2 + MEMORY, stream));
        let memory = load.chip + MEMORY;
        let worn = levels_of_life(case, product).map(|levels| {
            let Stand { wired, machine, kernel, seed, .. } = stand;
            let wear = move || {
                let (endurance, check_levels) = (&[u64::from(wired.endurance())], &[][..]);
                let check_cycles = 0;
                let base = Base {
                    wired,
                    machine,
                    kernel,
                    load,
                    levels,
                    endurance,
                    check_cycles,
                    check_levels,
                    seed,
                };
                base.courses_in_turn((choice.filesystem, &choice.system))
            };
            Tried::add(crew, choice, memory, wear)
        });
        Self { filled, streamed, worn, blocks_of_part }
    }

    fn end(self) -> Result<Measured, String> {
        let Self { filled, streamed, worn, blocks_of_part } = self;
        let (Filled { mountings, capacity }, mut spent) = filled.take()?;
        let streamed = streamed.map(Tried::take).transpose()?;
        let courses = worn.map(Tried::take).transpose()?.unwrap_or_default();
        let (room, rate) = (capacity.map(|one| one.stored), streamed.map(|one| one.0));
        let times = streamed.map(|one| one.1).into_iter();
        for time in times.chain(courses.iter().map(|one| one.spent)) {
            spent += time;
        }
        Ok(Measured { mountings, courses, blocks_of_part, room, rate, spent })
    }
}

/// The levels of a case at which the flash is worn.
fn levels_of_life<'c>(case: &'c Case, product: &'c Product) -> Option<&'c [Ratio]> {
    match (product.life, case.is_product()) {
        (Some(_), _) => Some(&case.levels),
        (None, true) => Some(std::slice::from_ref(&product.level)),
        (None, false) => None,
    }
}

/// Bytes a second of a long file that is written in pieces and synced at its end, on an empty flash.
fn streamed(
    stand: &Stand<'_>,
    (block, data): (Bytes, &Data),
    flash: Flash,
    clock: &mut Clock,
) -> Result<f64, Cause> {
    let size = Bytes::new(flash.size().get() / STREAM.1);
    let size = size.min(STREAM.0).max(block * 2);
    let job = Tiobench {
        size,
        block,
        data: data.clone(),
        seed: stand.seed.child("stream"),
        tests: vec![Test::Write],
        keep: true,
        ..Tiobench::default()
    };
    let mut mount = stand.mount(flash, clock, stand.page_cache())?;
    let begun = clock.now();
    tiobench::run(&mut mount, clock, &job, &mut |_, _, _, _| ())?;
    mount.sync(clock)?;
    Ok(Rate::new(size, clock.now().since(begun)).map_or(0.0, Rate::bytes_per_second))
}
