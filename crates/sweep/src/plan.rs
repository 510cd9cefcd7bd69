//! The plan: the grid over a scenario, with every point checked.
//!
//! Layer: rank 10. Main type: [`Plan`]. A point is composed and read as for a run, and discarded. So a
//! wrong value costs no run, and no point costs memory before its turn.

use crate::Order;
use crate::grid::Grid;
use crate::record::Header;
use boardlab_codec::crc32;
use boardlab_document::error::{BadValue, Error};
use boardlab_document::problems::Problems;
use boardlab_document::source::{Kind, Source};
use boardlab_document::{Document, Override, RenamedKey};
use boardlab_experiment::crew::in_order;
use boardlab_experiment::{Action, Experiment, Failure, Request, Stop, VERSION, scenario_name};
use boardlab_parts::catalog;
use boardlab_result::RunResult;
use boardlab_sim::Seed;
use indexmap::IndexMap;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// A sweep whose points can be run.
#[derive(Debug)]
pub(crate) struct Plan<'o> {
    /// Name of the scenario, as results carry it.
    pub(crate) scenario: String,
    /// The keys and their values.
    pub(crate) grid: Grid,
    /// What every point changes in the scenario.
    pub(crate) set: Vec<Override>,
    /// Old names in the scenario, its files and the arguments.
    pub(crate) renamed: Vec<RenamedKey>,
    experiments: &'static [Experiment],
    source: Arc<Source>,
    action: Action,
    stop: &'o Stop,
}

/// A pool of so many threads; as many as there are cores for 0.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Failure::run("threads", error, "ask for fewer with --threads"))
}

/// The inputs of a point: their checksum, all values, and those of `--set` and `--grid` that it does
/// not use.
type Inputs = (u32, IndexMap<String, String>, Vec<BadValue>);

/// The checksum of the inputs of a point, and of the first point all values.
type Checked = (u32, Option<IndexMap<String, String>>);

impl<'o> Plan<'o> {
    /// Reads the grid of `order`, of at most `most` points. Of them the first one is composed.
    pub(crate) fn make(order: &Order<'o>, most: usize) -> Result<Self, Failure> {
        let set: Result<Vec<_>, _> = order.set.iter().map(|one| Override::parse(one)).collect();
        let set = set?;
        let grid = Grid::parse(order.grid, &set, order.seed, most)?;
        let source = match order.source {
            Some(source) => Arc::clone(source),
            None => catalog::find(Kind::Scenario, order.scenario, None)?,
        };
        let scenario = scenario_name(order.scenario);
        let (experiments, renamed) = (order.experiments, Vec::new());
        let (action, stop) = (order.action, order.stop);
        let mut plan = Self { scenario, grid, set, renamed, experiments, source, action, stop };
        plan.renamed = plan.document(0)?.renamed().to_vec();
        Ok(plan)
    }

    /// Checks every point, and records its inputs: the identity of the sweep, for its journal.
    ///
    /// # Errors
    /// That of the first wrong point, whichever thread is faster, and a key that no point uses.
    pub(crate) fn check(&self, pool: &ThreadPool) -> Result<Header, Failure> {
        let mut header = Header {
            version: VERSION.into(),
            scenario: self.scenario.clone(),
            seed: self.grid.one_seed().map(Seed::get),
            grid: self.grid.axes.iter().map(|axis| (axis.key.clone(), axis.written())).collect(),
            inputs: IndexMap::new(),
            checksum: 0,
        };
        let points: Vec<usize> = (0..self.grid.count()).collect();
        for (checksum, values) in self.check_points(pool, &points)? {
            header.checksum = crc32(header.checksum, &checksum.to_le_bytes());
            header.inputs.extend(values.unwrap_or_default());
        }
        Ok(header)
    }

    /// Checks some of the points: the checksum of the inputs of each, and all values of the first point.
    ///
    /// # Errors
    /// Those of [`Plan::check`].
    pub(crate) fn check_points(
        &self,
        pool: &ThreadPool,
        points: &[usize],
    ) -> Result<Vec<Checked>, Failure> {
        let inputs = |&point: &usize| {
            let (checksum, values, idle) = self.inputs(point)?;
            Ok::<_, Failure>(((checksum, (point == 0).then_some(values)), idle))
        };
        let mut unused: Option<Vec<BadValue>> = None;
        let mut all = Vec::with_capacity(points.len());
        for (checked, idle) in pool.install(|| in_order(points.par_iter().map(inputs)))? {
            match &mut unused {
                None => unused = Some(idle),
                Some(all) => all.retain(|one| idle.iter().any(|other| other.key == one.key)),
            }
            all.push(checked);
        }
        let problems = Problems::default();
        for bad in unused.into_iter().flatten() {
            let _ = problems.report(Error::Value(Box::new(bad)));
        }
        problems.into_error().map_or(Ok(all), |error| Err(error.into()))
    }

    /// What ends the sweep early.
    pub(crate) const fn stop(&self) -> &'o Stop {
        self.stop
    }

    fn inputs(&self, point: usize) -> Result<Inputs, Failure> {
        self.stop.check()?;
        let document = self.document(point)?;
        let experiment = Experiment::named_by(&document, self.experiments)?;
        let files = (experiment.check)(&self.request(&document, point))?;
        let values = document.values();
        let mut checksum = crc32(files, experiment.scenario.as_bytes());
        for (key, value) in &values {
            for text in [key, value] {
                checksum = crc32(checksum, text.as_bytes());
                checksum = crc32(checksum, &[0]);
            }
        }
        Ok((checksum, values, document.take_idle()))
    }

    fn document(&self, point: usize) -> Result<Document, Failure> {
        let overrides = [self.set.clone(), self.grid.overrides(point)].concat();
        Ok(catalog::compose_overrides(&self.source, &overrides)?)
    }

    fn request<'a>(&'a self, document: &'a Document, point: usize) -> Request<'a> {
        let seed = self.grid.seed(point);
        Request { document, scenario: &self.scenario, seed, progress: &|_| {}, stop: self.stop }
    }

    /// Runs the point `point`.
    pub(crate) fn run(&self, point: usize) -> Result<RunResult, Failure> {
        let document = self.document(point)?;
        let experiment = Experiment::named_by(&document, self.experiments)?;
        experiment.perform(self.action, &self.request(&document, point))
    }
}
