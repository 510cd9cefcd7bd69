//! Steps as scenarios have them, and the plan that they make.
//!
//! Layer: rank 10. Main type: [`Step`]; functions: [`perform`], [`plan`].

use crate::latencies::StepRun;
use boardlab_document::{Read, Section, section};
use boardlab_experiment::{Failure, PlanRequest, Progress, Request};
use boardlab_measure::pattern::{ORDERS, Order, Pattern};
use boardlab_measure::plan::{self, Plan};
use boardlab_sim::{Bytes, Duration};

/// The most operations of a step.
const OPERATIONS: u64 = 10_000_000;

/// Operations by their names in plans.
pub(crate) type Names = &'static [(&'static str, &'static str)];

section! {
    /// A step of a scenario. Its keys mean what they mean in a plan.
    #[derive(Debug, Clone, PartialEq)]
    pub(crate) struct Step(section, names: Names) {
        /// The name, a row of the result.
        pub name: String,
        /// The operation.
        pub operation: &'static str = section.one_of("operation", names),
        /// The first byte of the range.
        pub offset: Bytes => or(Bytes::ZERO),
        /// Bytes of the range; to the end of the device if it is missing.
        pub length: Option<Bytes> => positive(),
        /// Bytes of an operation; the smallest unit of the device if it is missing.
        pub size: Option<Bytes> => positive(),
        /// Number of operations; every place of the range once if it is missing.
        pub count: Option<u64> => within(1, OPERATIONS),
        /// The order of places.
        pub order: Order => one_of(ORDERS).or(Order::Sequential),
        /// The seed of random places.
        pub seed: u64 => or(1),
        /// Operations that are outstanding at once.
        pub depth: u32 => within(1, 256).or(1),
    }
    check(name) {
        if !plan::is_name(name) {
            let (expected, help) = ("1 to 64 letters, digits, `.`, `_` and `-`", "it is a name in the plan");
            return Err(section.refuse("name", "is no name of a step", expected, help));
        }
    }
}

/// A device, as far as the places on it are concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) capacity: Bytes,
    /// What offset and size are multiples of.
    pub(crate) unit: Bytes,
    /// The bytes of an operation that names none.
    pub(crate) size: Bytes,
}

impl Step {
    /// Its places in `room`.
    ///
    /// # Errors
    /// The key that does not fit, the problem, and what is expected.
    pub(crate) fn pattern(&self, room: Room) -> Result<Pattern, (&'static str, String, String)> {
        let (unit, capacity) = (room.unit, room.capacity);
        let size = self.size.unwrap_or(room.size);
        let whole = format!("a multiple of {unit}");
        for (key, value) in [("offset", self.offset), ("size", size)] {
            if !value.is_multiple_of(unit) {
                return Err((key, format!("is not a multiple of {unit}"), whole));
            }
        }
        let left = if self.offset < capacity { capacity - self.offset } else { Bytes::ZERO };
        let length = self.length.unwrap_or(left);
        if length > left {
            return Err((
                "length",
                format!("ends beyond the {capacity} of the device"),
                format!("at most {left}"),
            ));
        }
        if length < size {
            return Err((
                "size",
                format!("exceeds the range of {length}"),
                format!("at most {length}"),
            ));
        }
        Ok(Pattern::new((self.offset, length), size, self.count, (self.order, self.seed)))
    }

    /// The step of a plan on `device`.
    fn planned(&self, device: &str, run: &StepRun) -> plan::Step {
        let mut step = plan::Step::new(&self.name, self.operation).device(device);
        let sizes = [("offset", Some(self.offset)), ("length", self.length), ("size", self.size)];
        for (key, size) in sizes {
            if let Some(size) = size.filter(|size| !size.is_zero()) {
                step = step.key(key, size.get());
            }
        }
        if let Some(count) = self.count {
            step = step.key("count", count);
        }
        if self.order != Order::Sequential {
            let name = ORDERS.iter().find(|(_, order)| *order == self.order);
            step = step.key("order", name.map_or("", |(name, _)| name));
            step = step.key("seed", self.seed);
        }
        if self.depth > 1 {
            step = step.key("depth", u64::from(self.depth)).key("engine", "threads");
        }
        predict(step, run)
    }
}

/// The predictions of a step: what an operation takes, and with several at once how long all of them take. What is
/// between operations is the board's own, so the time of single operations one after the other is not predicted.
fn predict(step: plan::Step, run: &StepRun) -> plan::Step {
    let is_queued = step.number("depth").is_some_and(|depth| depth > 1);
    let elapsed = is_queued.then(|| run.elapsed.as_nanos());
    let mean = run.latencies.mean().map(Duration::as_nanos);
    step.predict("mean_ns", mean).predict("elapsed_ns", elapsed)
}

/// Refuses a step with places that are not on the device, and two steps of one name.
pub(crate) fn fit(section: &Section<'_>, steps: &[Step], room: impl Fn(&Step) -> Room) -> Read<()> {
    for (index, step) in steps.iter().enumerate() {
        let key = |key: &str| format!("step.{index}.{key}");
        if steps[..index].iter().any(|other| other.name == step.name) {
            let help = "results are named after their steps";
            return Err(section.refuse(
                &key("name"),
                "is the name of two steps",
                "a name of its own",
                help,
            ));
        }
        if let Err((wrong, problem, expected)) = step.pattern(room(step)) {
            let help = "compare it with the part";
            return Err(section.refuse(&key(wrong), &problem, &expected, help));
        }
    }
    Ok(())
}

/// Performs `steps` in order, and reports the progress.
pub(crate) fn perform(
    request: &Request<'_>,
    steps: &[Step],
    mut perform: impl FnMut(&Step) -> Result<StepRun, Failure>,
) -> Result<Vec<StepRun>, Failure> {
    let mut runs = Vec::new();
    for step in steps {
        request.stop.check()?;
        runs.push(perform(step)?);
        let (done, total) = (runs.len(), steps.len());
        (request.progress)(Progress { step: &step.name, done, total });
    }
    Ok(runs)
}

/// The plan of a scenario whose steps gave `runs` on the model.
pub(crate) fn plan(
    request: &PlanRequest<'_>,
    steps: &[Step],
    runs: &[StepRun],
    device: &str,
) -> Plan {
    let device = request.target("device", device);
    let mut plan = Plan::new(request.request.scenario);
    steps.iter().zip(runs).for_each(|(step, run)| plan.push(step.planned(device, run)));
    plan
}
