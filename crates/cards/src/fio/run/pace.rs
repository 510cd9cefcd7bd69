//! Throughput over time.
//!
//! Layer: rank 10. Main type: [`Pace`], a layer on a device. Time is divided into equal intervals; when
//! there are too many, each two become one, so that memory does not grow with the run. The bytes of a
//! request are spread evenly over the time that the device took for it. If they counted where it ended,
//! requests at an equal pace would seem to come and go, as often as one more ends within an interval.
//! For the same reason a point of the chart stands for several times the longest request: stalls at
//! equal distances, as garbage collection causes, give a level too.

use boardlab_block::{BlockDevice, Completion, Error, Kind, Layer, Request};
use boardlab_result::prose::{float, round};
use boardlab_result::{Axis, Chart, RunResult, Style};
use boardlab_sim::{Duration, Instant};

/// The most intervals.
const INTERVALS: u64 = 1_024;

/// The most points of a curve, and the least for which intervals are joined to hold more requests.
const MOST: usize = 256;
const LEAST: usize = 32;

/// A point stands for so many times the longest request.
const REQUESTS: u64 = 8;

/// Counts the bytes that are read and written in each interval.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    start: Instant,
    width: Duration,
    read: Vec<u64>,
    written: Vec<u64>,
    longest: Duration,
}

impl Pace {
    /// Counts from `start` on.
    pub(crate) fn from(start: Instant) -> Self {
        let width = Duration::from_millis(1);
        Self { start, width, read: Vec::new(), written: Vec::new(), longest: Duration::ZERO }
    }

    /// The number of intervals that a point of the chart stands for.
    fn joined(&self) -> usize {
        let all = self.read.len().max(self.written.len());
        let held = (self.longest * REQUESTS).as_nanos().div_ceil(self.width.as_nanos());
        let held = usize::try_from(held).unwrap_or(usize::MAX);
        held.clamp(all.div_ceil(MOST).max(1), (all / LEAST).max(1))
    }

    /// Spreads `bytes` over the time from `began` to `ended`.
    fn put(&mut self, kind: Kind, bytes: u64, began: Instant, ended: Instant) {
        self.longest = self.longest.max(ended.since(began));
        let [began, ended] = [began, ended].map(|at| at.since(self.start).as_nanos());
        self.widen_to(ended);
        let width = self.width.as_nanos();
        let [first, last] = [began, ended]
            .map(|at| usize::try_from(at / width).expect("below the number of intervals"));
        let moved = if kind == Kind::Read { &mut self.read } else { &mut self.written };
        if moved.len() <= last {
            moved.resize(last + 1, 0);
        }
        let mut put = 0;
        for (number, interval) in (began / width..).zip(&mut moved[first..last]) {
            // Bytes up to the end of this interval, less those of the intervals before.
            let until = u128::from((number + 1) * width - began);
            let share = u128::from(bytes) * until / u128::from(ended - began);
            let share = u64::try_from(share).unwrap_or(bytes);
            *interval += share - put;
            put = share;
        }
        moved[last] += bytes - put;
    }

    /// Makes two intervals one until there are few enough for `ended`, in nanoseconds from the start.
    fn widen_to(&mut self, ended: u64) {
        while ended / self.width.as_nanos() >= INTERVALS {
            self.width = self.width * 2;
            for moved in [&mut self.read, &mut self.written] {
                *moved = moved.chunks(2).map(|two| two.iter().sum()).collect();
            }
        }
    }

    /// Adds the chart of throughput over time.
    pub(crate) fn draw(&self, run: &mut RunResult) {
        let joined = self.joined();
        let seconds = self.width.as_secs_f64() * float(joined);
        let axes = [Axis::from_zero("time (s)"), Axis::from_zero("throughput (MB/s)")];
        let caption = format!(
            "Bytes within each {seconds:.3} s of virtual time; those of a request are spread over the time it took."
        );
        let mut chart = Chart::new("throughput", "Throughput over time", caption, axes);
        for (id, moved) in [("read", &self.read), ("written", &self.written)] {
            // The last interval is seldom a whole one.
            let whole = moved[..moved.len().saturating_sub(1)].chunks_exact(joined);
            if whole.len() == 0 {
                continue;
            }
            let points = whole.enumerate().map(|(at, bytes)| {
                let bytes: u64 = bytes.iter().sum();
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

impl<D: BlockDevice> Layer<D> for Pace {
    fn around(
        &mut self,
        device: &mut D,
        at: Instant,
        request: Request<'_>,
    ) -> Result<Completion, Error> {
        let (kind, extent) = (request.kind(), request.extent());
        let done = device.submit(at, request)?;
        let bytes = device.geometry().bytes(extent).get();
        if matches!(kind, Kind::Read | Kind::Write | Kind::WriteZeroes) {
            self.put(kind, bytes, done.accepted, done.ended);
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_block::{Costs, Extent, Geometry, Layered, RamBlock};
    use boardlab_sim::{Bytes, Clock};

    /// The pace of `count` sectors, one after the other, which take `write` each.
    fn sectors(count: u32, write: Duration) -> Pace {
        let ram = RamBlock::new(Geometry::of_size(Bytes::mib(1)))
            .with_costs(Costs { write, ..Costs::default() });
        let mut device = Layered::new(Pace::from(Instant::ZERO), ram);
        let mut clock = Clock::new();
        for _ in 0..count {
            device.write(&mut clock, Extent::new(0, 1), &[0; 512]).unwrap();
        }
        device.layer().clone()
    }

    #[test]
    fn an_equal_pace_is_level() {
        // From requests much shorter than an interval to requests that last several of them.
        for micros in [90, 700, 1_300, 7_700] {
            let pace = sectors(2_000, Duration::from_micros(micros));
            let expected = 512 * pace.width.as_nanos() / (micros * 1_000);
            let whole = &pace.written[..pace.written.len() - 1];
            let off = |bytes: &&u64| bytes.abs_diff(expected) > 1 + expected / 100;
            assert!(whole.len() > 100);
            assert_eq!(whole.iter().find(off), None, "{micros} us: {expected} an interval");
        }
    }

    #[test]
    fn stalls_at_equal_distances_are_level() {
        let mut pace = Pace::from(Instant::ZERO);
        let mut at = Instant::ZERO;
        for request in 0..400_000_u32 {
            // A stall of 1.8 s among a thousand requests of 1 ms each.
            let took = if request % 1_000 == 0 { 1_800 } else { 1 };
            let ended = at + Duration::from_millis(took);
            pace.put(Kind::Write, 4_096, at, ended);
            at = ended;
        }
        let mut run = RunResult::new("s", "t", 1, "0");
        pace.draw(&mut run);
        let y = &run.curve("throughput_written").unwrap().y;
        let mean = 4_096_000.0 / 2.8 / 1e6;
        assert!(
            y.len() >= LEAST && y.iter().all(|y| (y / mean - 1.0).abs() < 0.2),
            "{mean}: {y:?}"
        );
    }

    #[test]
    fn no_byte_is_lost_when_intervals_grow() {
        let pace = sectors(5_000, Duration::from_micros(700));
        assert_eq!(pace.written.iter().sum::<u64>(), 5_000 * 512);
        assert!(pace.written.len() <= 1_024 && pace.width == Duration::from_millis(4));
    }
}
