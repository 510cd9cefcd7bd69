//! The two platform constants that the publication leaves undetermined, from its own figures.
//!
//! Layer: rank 8. Main types: [`Observation`], a printed time and what a run says of it, and [`Fit`].
//! A run's time grows by one constant a command and by another a byte, so the printed times are linear
//! in both. [`fit`] takes the two constants that leave the least sum of squared *relative* differences:
//! a print of two seconds weighs as much as one of ten. Neither may be negative: a port cannot give time
//! back. No constant belongs to a row or to a filesystem. Nothing is random: the same run gives the same
//! constants.

use super::board::Port;
use super::measure::Timed;
use boardlab_sim::Duration;

/// A printed time and what a run says of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// As printed, in nanoseconds.
    pub printed_ns: f64,
    /// Of the run, with a port that costs nothing.
    pub run: Timed,
}

/// The constants that fit best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The constants, to whole nanoseconds.
    pub port: Port,
    /// The root of the mean squared relative difference that is left.
    pub residual: f64,
}

/// One row of the linear problem: a relative difference of `start`, which grows by `command` and `byte`
/// for every nanosecond of the constants.
struct Row {
    start: f64,
    command: f64,
    byte: f64,
}

impl Row {
    #[allow(clippy::cast_precision_loss, reason = "analysis; counts below 2^53")]
    fn new(one: &Observation) -> Self {
        let of = |value: u64| value as f64 / one.printed_ns;
        Self {
            start: of(one.run.time.as_nanos()) - 1.0,
            command: of(one.run.counts.commands),
            byte: of(one.run.counts.bytes),
        }
    }

    fn at(&self, (command, byte): (f64, f64)) -> f64 {
        self.start + self.command * command + self.byte * byte
    }
}

/// The constants that bring all of `observations` nearest to the print.
#[must_use]
pub fn fit(observations: &[Observation]) -> Fit {
    let rows: Vec<Row> = observations.iter().map(Row::new).collect();
    let sum = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).sum::<f64>();
    let (cc, bb) = (sum(&|row| row.command * row.command), sum(&|row| row.byte * row.byte));
    let cb = sum(&|row| row.command * row.byte);
    let (cs, bs) = (sum(&|row| row.command * row.start), sum(&|row| row.byte * row.start));
    let determinant = cc * bb - cb * cb;
    // The best point lies inside, or on one of the two edges, or in the corner.
    let inside = ((cb * bs - bb * cs) / determinant, (cb * cs - cc * bs) / determinant);
    let candidates = [inside, ((-cs / cc).max(0.0), 0.0), (0.0, (-bs / bb).max(0.0)), (0.0, 0.0)];
    let possible = |point: &(f64, f64)| {
        point.0.is_finite() && point.1.is_finite() && point.0 >= 0.0 && point.1 >= 0.0
    };
    let squares = |point: (f64, f64)| rows.iter().map(|row| row.at(point).powi(2)).sum::<f64>();
    let best = candidates.into_iter().filter(possible).min_by(|a, b| {
        let order = squares(*a).total_cmp(&squares(*b));
        order
    });
    let best = best.expect("the corner is always possible");
    let port = Port { per_command: whole(best.0), per_byte: whole(best.1) };
    Fit { port, residual: residual(observations, port) }
}

/// The root of the mean squared relative difference between the print and the run with `port`.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "analysis; a small count")]
pub fn residual(observations: &[Observation], port: Port) -> f64 {
    let of = |one: &Observation| relative(one, port).powi(2);
    let count = observations.len().max(1) as f64;
    (observations.iter().map(of).sum::<f64>() / count).sqrt()
}

/// How far the run with `port` is from the print, relative to the print.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "analysis; below 2^53")]
pub fn relative(one: &Observation, port: Port) -> f64 {
    one.run.with(port).as_nanos() as f64 / one.printed_ns - 1.0
}

/// Nanoseconds as a duration, to the nearest.
fn whole(nanos: f64) -> Duration {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a span, rounded")]
    Duration::from_nanos(nanos.round().max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::measure::Counts;

    fn observation(printed_ns: f64, time: u64, commands: u64, bytes: u64) -> Observation {
        let counts = Counts { commands, bytes, ..Counts::default() };
        Observation { printed_ns, run: Timed { time: Duration::from_nanos(time), counts } }
    }

    #[test]
    fn constants_that_made_the_print_are_found_again() {
        let made = |time, commands, bytes| {
            let printed = time + 700 * commands + 30 * bytes;
            observation(f64::from(u32::try_from(printed).unwrap()), time, commands, bytes)
        };
        let all = [made(5_000_000, 100, 200_000), made(1_000_000, 900, 10_000), made(9, 50, 50)];
        let fit = fit(&all);
        assert_eq!(fit.port.per_command, Duration::from_nanos(700));
        assert_eq!(fit.port.per_byte, Duration::from_nanos(30));
        assert!(fit.residual < 1e-9);
    }

    #[test]
    fn no_constant_is_negative_and_no_other_pair_is_better() {
        // The second print is shorter than the run, and only bytes could shorten it.
        let all = [observation(5e6, 1_000_000, 1_000, 10), observation(1e6, 2_000_000, 10, 90_000)];
        let best = fit(&all);
        assert_eq!(best.port.per_byte, Duration::ZERO);
        for command in [0, 1_000, 3_000, 5_000] {
            for byte in [0, 1, 10] {
                let port = Port {
                    per_command: Duration::from_nanos(command),
                    per_byte: Duration::from_nanos(byte),
                };
                assert!(residual(&all, port) >= best.residual - 1e-9, "{port:?}");
            }
        }
    }

    #[test]
    fn runs_without_commands_leave_the_constants_at_nothing() {
        assert_eq!(fit(&[observation(5e6, 1_000_000, 0, 0)]).port, Port::default());
        assert_eq!(fit(&[]).port, Port::default());
    }
}
