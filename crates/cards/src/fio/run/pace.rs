//! What a device did over time: bytes a second, and requests by what slowed them.
//!
//! Layer: rank 10. Main types: [`Pace`], a layer on a device, and [`Slowed`]. Time is cut into equal stretches; when
//! there are too many, each two become one, so that memory does not grow with the run.

use boardlab_block::{BlockDevice, Cause, Completion, Error, Kind, Layer as Around, Request};
use boardlab_result::prose::{float, round};
use boardlab_result::{Axis, Chart, RunResult, Style};
use boardlab_sim::{Duration, Instant};

/// The most stretches of time.
const STRETCHES: u64 = 1_024;

/// Requests that were slow for one reason.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slowed {
    /// How many.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their time on the device, one after the other.
    pub time: Duration,
    /// The slowest.
    pub slowest: Duration,
}

/// Counts what passes through.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    start: Instant,
    width: Duration,
    read: Vec<u64>,
    written: Vec<u64>,
    /// By kind; the last is of those that nothing slowed.
    slowed: [[Slowed; Cause::ALL.len() + 1]; Kind::ALL.len()],
    end: Instant,
}

impl Pace {
    /// Counts from `start` on.
    pub(crate) fn from(start: Instant) -> Self {
        let width = Duration::from_millis(1);
        let slowed = [[Slowed::default(); Cause::ALL.len() + 1]; Kind::ALL.len()];
        Self { start, width, read: Vec::new(), written: Vec::new(), slowed, end: start }
    }

    /// The requests of a kind by what slowed them, and those that nothing did.
    pub(crate) fn slowed(&self, kind: Kind) -> impl Iterator<Item = (Option<Cause>, Slowed)> {
        let causes = Cause::ALL.into_iter().map(Some).chain([None]);
        causes.zip(self.slowed[kind as usize]).filter(|(_, slowed)| slowed.requests > 0)
    }

    fn count(&mut self, (kind, bytes): (Kind, u64), done: &Completion) {
        let cause = done.cause.map_or(Cause::ALL.len(), |cause| cause as usize);
        let (slowed, time) =
            (&mut self.slowed[kind as usize][cause], done.ended.since(done.started));
        slowed.requests += 1;
        slowed.bytes += bytes;
        slowed.time += time;
        slowed.slowest = slowed.slowest.max(time);
        self.end = self.end.max(done.ended);
        if matches!(kind, Kind::Read | Kind::Write | Kind::WriteZeroes) {
            self.put(kind, bytes, done.ended);
        }
    }

    fn put(&mut self, kind: Kind, bytes: u64, ended: Instant) {
        let mut at = ended.since(self.start).as_nanos() / self.width.as_nanos();
        while at >= STRETCHES {
            at /= 2;
            self.width = self.width * 2;
            for moved in [&mut self.read, &mut self.written] {
                *moved = moved.chunks(2).map(|two| two.iter().sum()).collect();
            }
        }
        let at = usize::try_from(at).expect("below the number of stretches");
        let moved = if kind == Kind::Read { &mut self.read } else { &mut self.written };
        if moved.len() <= at {
            moved.resize(at + 1, 0);
        }
        moved[at] += bytes;
    }

    /// Adds the chart of throughput over time.
    pub(crate) fn draw(&self, run: &mut RunResult) {
        let axes = [Axis::from_zero("time (s)"), Axis::from_zero("throughput (MB/s)")];
        let caption = format!(
            "Bytes whose requests ended within each {:.3} s of virtual time.",
            self.width.as_secs_f64()
        );
        let mut chart = Chart::new("throughput", "Throughput over time", caption, axes);
        for (id, moved) in [("read", &self.read), ("written", &self.written)] {
            // The last stretch is seldom a whole one.
            let whole = &moved[..moved.len().saturating_sub(1)];
            if whole.is_empty() {
                continue;
            }
            let points = whole.iter().enumerate().map(|(at, &bytes)| {
                let seconds = self.width.as_secs_f64();
                (round(float(at) * seconds, 3), round(float(bytes) / 1e6 / seconds, 3))
            });
            let names = (format!("throughput_{id}"), id);
            run.plot(&mut chart, names, "mb_per_s", Style::Line, points);
        }
        if !chart.layers.is_empty() {
            run.charts.push(chart);
        }
    }
}

impl<D: BlockDevice> Around<D> for Pace {
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error> {
        let (kind, extent) = (request.kind(), request.extent());
        let done = device.submit(at, request)?;
        let bytes = device.geometry().bytes(extent).get();
        self.count((kind, bytes), &done);
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_block::{Costs, Extent, Geometry, Layered, RamBlock};
    use boardlab_sim::{Bytes, Clock};

    #[test]
    fn no_byte_is_lost_when_stretches_grow() {
        let write = Duration::from_micros(700);
        let ram = RamBlock::new(Geometry::of_size(Bytes::mib(1)))
            .with_costs(Costs { write, ..Costs::default() });
        let mut device = Layered::new(Pace::from(Instant::ZERO), ram);
        let mut clock = Clock::new();
        for _ in 0..5_000 {
            device.write(&mut clock, Extent::new(0, 1), &[0; 512]).unwrap();
        }
        let pace = device.layer();
        assert_eq!(pace.written.iter().sum::<u64>(), 5_000 * 512);
        assert!(pace.written.len() <= 1_024 && pace.width == Duration::from_millis(4));
        let (cause, slowed) = pace.slowed(Kind::Write).next().unwrap();
        assert_eq!((cause, slowed.requests, slowed.slowest), (None, 5_000, write));
    }
}
