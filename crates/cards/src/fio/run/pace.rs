//! Throughput over time.
//!
//! Layer: rank 10. Main type: [`Pace`], a layer on a device. Time is divided into equal intervals; when
//! there are too many, each two become one, so that memory does not grow with the run.

use boardlab_block::{BlockDevice, Completion, Error, Kind, Layer, Request};
use boardlab_result::prose::{float, round};
use boardlab_result::{Axis, Chart, RunResult, Style};
use boardlab_sim::{Duration, Instant};

/// The most intervals.
const INTERVALS: u64 = 1_024;

/// Counts the bytes that are read and written in each interval.
#[derive(Debug, Clone)]
pub(crate) struct Pace {
    start: Instant,
    width: Duration,
    read: Vec<u64>,
    written: Vec<u64>,
}

impl Pace {
    /// Counts from `start` on.
    pub(crate) fn from(start: Instant) -> Self {
        let width = Duration::from_millis(1);
        Self { start, width, read: Vec::new(), written: Vec::new() }
    }

    fn put(&mut self, kind: Kind, bytes: u64, ended: Instant) {
        let mut at = ended.since(self.start).as_nanos() / self.width.as_nanos();
        while at >= INTERVALS {
            at /= 2;
            self.width = self.width * 2;
            for moved in [&mut self.read, &mut self.written] {
                *moved = moved.chunks(2).map(|two| two.iter().sum()).collect();
            }
        }
        let at = usize::try_from(at).expect("below the number of intervals");
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
            // The last interval is seldom a whole one.
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
            self.put(kind, bytes, done.ended);
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_block::{Costs, Extent, Geometry, Layered, RamBlock};
    use boardlab_sim::{Bytes, Clock};

    #[test]
    fn no_byte_is_lost_when_intervals_grow() {
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
    }
}
