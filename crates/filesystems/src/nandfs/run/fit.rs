//! The two platform constants that the publication leaves undetermined, from its own figures.
//!
//! Layer: rank 10. Main types: [`Observation`], a printed time with that of a run, and [`Fit`]. A run's
//! time T grows by one constant a command and by another a byte, so it is linear in both. [`fit`] takes
//! the two whole constants with the least sum of (T - P)^2 / (T P) over all printed times P: the square
//! of the relative difference, taken so that twice the print counts as much as half of it. The plain
//! square would count the first four times as much, and so prefer times that are too short. Written as
//! T / P + P / T - 2 each term is convex, so there is one best pair, which bisection finds. Neither
//! constant may be negative: a port cannot save time. No constant belongs to a row or to a filesystem.
//! Nothing is random: the same run gives the same constants.

use super::measure::TimedWork;
use boardlab_parts::nand::board::Port;
use boardlab_parts::nand::limits;
use boardlab_result::prose::float;
use boardlab_sim::Duration;

/// A printed time with that of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Observation {
    /// The printed time, in nanoseconds.
    pub printed_ns: f64,
    /// The run, with a port that costs nothing.
    pub run: TimedWork,
}

/// The constants that fit best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    /// The constants, to whole nanoseconds.
    pub port: Port,
    /// The residual, see [`residual`].
    pub residual: f64,
}

/// Fits the constants to all of `observations`.
pub(crate) fn fit(observations: &[Observation]) -> Fit {
    let port = |per_command, per_byte| Port {
        per_command: Duration::from_nanos(per_command),
        per_byte: Duration::from_nanos(per_byte),
    };
    let best_byte = |command| {
        least(limits::PER_BYTE.as_nanos(), |byte| squares(observations, port(command, byte)))
    };
    let command = least(limits::PER_COMMAND.as_nanos(), |command| {
        squares(observations, port(command, best_byte(command)))
    });
    let port = port(command, best_byte(command));
    Fit { port, residual: residual(observations, port) }
}

/// The first place from 0 to `high` at which the convex function `value` is least.
fn least(high: u64, value: impl Fn(u64) -> f64) -> u64 {
    let (mut low, mut high) = (0, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if value(middle) <= value(middle + 1) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The sum that [`fit`] minimises.
fn squares(observations: &[Observation], port: Port) -> f64 {
    let of = |one: &Observation| {
        let ratio = 1.0 + relative(one, port);
        ratio + 1.0 / ratio - 2.0
    };
    observations.iter().filter(|one| one.run.time > Duration::ZERO).map(of).sum()
}

/// The root of the mean of what [`fit`] minimises: approximately the mean relative difference, if that
/// is small.
pub(crate) fn residual(observations: &[Observation], port: Port) -> f64 {
    (squares(observations, port) / float(observations.len().max(1))).sqrt()
}

/// The difference of the run with `port` from the print, relative to the print.
pub(crate) fn relative(one: &Observation, port: Port) -> f64 {
    float(one.run.with(port).as_nanos()) / one.printed_ns - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::flash::Counts;

    fn observation(printed_ns: f64, time: u64, commands: u64, bytes: u64) -> Observation {
        let counts = Counts { commands, bytes, ..Counts::default() };
        Observation { printed_ns, run: TimedWork { time: Duration::from_nanos(time), counts } }
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
    fn twice_the_print_counts_as_much_as_half_of_it() {
        let off = |time| residual(&[observation(1e6, time, 0, 0)], Port::default());
        assert!((off(2_000_000) - off(500_000)).abs() < 1e-12);
        assert!((off(1_010_000) - 0.01).abs() < 1e-4, "as a relative difference where it is small");
    }

    #[test]
    fn runs_without_commands_leave_the_constants_at_nothing() {
        assert_eq!(fit(&[observation(5e6, 1_000_000, 0, 0)]).port, Port::default());
        assert_eq!(fit(&[]).port, Port::default());
    }
}
