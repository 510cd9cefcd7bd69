//! Distributions of durations, from text to integer quantile table.
//!
//! Layer: rank 7, the only place where a model's times pass through floating point. Only `+ - * /`
//! and the square root are used, which IEEE 754 rounds alike on every machine: the C library's
//! `exp` and `log` differ between machines, and the same seed must give the same bytes.
//!
//! | text | meaning |
//! |---|---|
//! | `202 us`, `constant(202 us)` | always the same |
//! | `uniform(MIN, MAX)` | each duration equally likely |
//! | `triangular(MIN, MODE, MAX)` | rises to the mode, falls to the maximum |
//! | `normal(MEAN, SD, MIN, MAX)` | normal, what lies outside drawn again; ends at 6 SD |
//! | `percentiles(p0=MIN, p50=..., p100=MAX)` | straight lines between the percentiles |
//!
//! A table has 4,097 points. Main function: [`parse`]; [`QuantileTable`] is a [`Value`], so a
//! section reads it like any quantity.

use crate::misfit::Misfit;
use crate::quantity::{self, Decimal, Dimension};
use crate::{Content, Description, Node, PlacedMisfit, Value};
use boardlab_sim::{Duration, QuantileTable};
use std::ops::Range;

/// Steps of probability in a table.
const STEPS: u32 = 4_096;

/// A misfit of a part of the text: the bytes of that part, and why.
pub type Refused = (Range<usize>, Misfit);

/// Makes a table of the arguments of a shape.
type Shape = fn(&Arguments<'_>) -> Result<QuantileTable, Refused>;

/// The shapes: the name, the form of a call, and the reader of its arguments.
const SHAPES: [(&str, &str, Shape); 5] = [
    ("constant", "constant(VALUE)", constant),
    ("uniform", "uniform(MIN, MAX)", uniform),
    ("triangular", "triangular(MIN, MODE, MAX)", triangular),
    ("normal", "normal(MEAN, SD, MIN, MAX)", normal),
    ("percentiles", "percentiles(p0=MIN, p50=MEDIAN, p100=MAX)", percentiles),
];

/// Reads a distribution.
///
/// ```
/// use boardlab_document::distribution::parse;
///
/// let table = parse("triangular(170 us, 204 us, 226 us)").expect("a distribution");
/// assert_eq!(table.min().as_micros(), 170);
/// assert!(table.mean().as_nanos().abs_diff(200_000) <= 1);
/// ```
///
/// # Errors
/// [`Refused`], with the bytes of `text` that do not fit.
pub fn parse(text: &str) -> Result<QuantileTable, Refused> {
    let whole = 0..text.len();
    let Some(open) = text.find('(') else {
        let value = quantity::duration(text).map_err(|misfit| (whole, misfit))?;
        return Ok(QuantileTable::constant(value));
    };
    let name = text[..open].trim();
    let shape = SHAPES.iter().find(|(known, ..)| *known == name);
    let Some(inside) = text[open + 1..].trim_end().strip_suffix(')') else {
        // An unknown shape gets an example.
        let form = shape.map_or("triangular(MIN, MODE, MAX)", |(_, form, _)| form);
        return Err((whole, Misfit::Arguments(form)));
    };
    let Some((_, form, read)) = shape else {
        let names = SHAPES.map(|(name, ..)| name.into()).to_vec();
        return Err((0..open, Misfit::UnknownName(names)));
    };
    read(&Arguments::split(text, open + 1, inside.len(), form))
}

/// The arguments of a call, with where each stands.
struct Arguments<'t> {
    items: Vec<(Range<usize>, &'t str)>,
    /// All of them.
    span: Range<usize>,
    form: &'static str,
}

impl<'t> Arguments<'t> {
    fn split(text: &'t str, start: usize, length: usize, form: &'static str) -> Self {
        let mut items = Vec::new();
        let mut from = start;
        for piece in text[start..start + length].split(',') {
            let begin = from + (piece.len() - piece.trim_start().len());
            let item = piece.trim();
            items.push((begin..begin + item.len(), item));
            from += piece.len() + 1;
        }
        Self { items, span: start..start + length, form }
    }

    /// Exactly `N` durations.
    fn durations<const N: usize>(&self) -> Result<[Duration; N], Refused> {
        if self.items.len() != N {
            return Err((self.span.clone(), Misfit::Arguments(self.form)));
        }
        let mut values = [Duration::ZERO; N];
        for (value, (span, item)) in values.iter_mut().zip(&self.items) {
            *value = quantity::duration(item).map_err(|misfit| (span.clone(), misfit))?;
        }
        Ok(values)
    }

    fn disorder<T>(&self, order: &'static str) -> Result<T, Refused> {
        Err((self.span.clone(), Misfit::Order(order)))
    }
}

fn constant(arguments: &Arguments<'_>) -> Result<QuantileTable, Refused> {
    arguments.durations().map(|[value]| QuantileTable::constant(value))
}

fn uniform(arguments: &Arguments<'_>) -> Result<QuantileTable, Refused> {
    let [min, max] = arguments.durations()?;
    if min > max {
        return arguments.disorder("MIN <= MAX");
    }
    Ok(QuantileTable::new(&[min, max]).expect("two points in order"))
}

fn triangular(arguments: &Arguments<'_>) -> Result<QuantileTable, Refused> {
    let [min, mode, max] = arguments.durations()?;
    if min > mode || mode > max {
        return arguments.disorder("MIN <= MODE <= MAX");
    }
    if min == max {
        return Ok(QuantileTable::constant(min));
    }
    let (low, peak, high) = (real(min), real(mode), real(max));
    let (rise, fall, width) = (peak - low, high - peak, high - low);
    // The inverse of the distribution function, which is a parabola on either side of the mode.
    let quantile = |probability: f64| {
        if probability * width < rise {
            low + (probability * width * rise).sqrt()
        } else {
            high - ((1.0 - probability) * width * fall).sqrt()
        }
    };
    Ok(table(min, max, (0..=STEPS).map(|step| quantile(f64::from(step) / f64::from(STEPS)))))
}

fn normal(arguments: &Arguments<'_>) -> Result<QuantileTable, Refused> {
    /// Beyond this many standard deviations lies less than one in 10^9.
    const WIDEST: f64 = 6.0;
    /// Intervals of the integration: fine enough that straight lines between them are exact to
    /// 10^-9 of the standard deviation.
    const INTERVALS: u32 = 1 << 16;
    let [mean, sd, min, max] = arguments.durations()?;
    if sd.is_zero() {
        return Err((arguments.items[1].0.clone(), Misfit::Zero));
    }
    if min > mean || mean > max || min == max {
        return arguments.disorder("MIN <= MEAN <= MAX");
    }
    let (centre, scale) = (real(mean), real(sd));
    let low = ((real(min) - centre) / scale).max(-WIDEST);
    let high = ((real(max) - centre) / scale).min(WIDEST);
    let width = (high - low) / f64::from(INTERVALS);
    let at = |index: u32| low + width * f64::from(index);
    let density = |index: u32| exp_negative(at(index) * at(index) / 2.0);
    let mut below = vec![0.0];
    let mut sum = 0.0;
    for index in 0..INTERVALS {
        sum += density(index) + density(index + 1);
        below.push(sum);
    }
    let mut interval = 0;
    let points = (0..=STEPS).map(|step| {
        let target = sum * f64::from(step) / f64::from(STEPS);
        while interval + 2 < below.len() && below[interval + 1] < target {
            interval += 1;
        }
        let (left, right) = (below[interval], below[interval + 1]);
        let within = ((target - left) / (right - left)).clamp(0.0, 1.0);
        let index = u32::try_from(interval).expect("fewer than 2^17 intervals");
        centre + scale * (at(index) + width * within)
    });
    Ok(table(min, max, points))
}

/// e to the power of `-power`, for a power from 0 to 18, by basic arithmetic alone.
///
/// The power is divided by 1,024, the series taken to its eighth term (the ninth is below 10^-21),
/// and the result squared ten times.
fn exp_negative(power: f64) -> f64 {
    let small = power / 1_024.0;
    let series = (1..=8_u32).rev().fold(1.0, |sum, term| 1.0 + small / f64::from(term) * sum);
    let grown = (0..10).fold(series, |value, _| value * value);
    1.0 / grown
}

fn percentiles(arguments: &Arguments<'_>) -> Result<QuantileTable, Refused> {
    const ALL: u64 = 1_000_000;
    let mut known: Vec<(u64, u64)> = Vec::new();
    for (span, item) in &arguments.items {
        let malformed = || (span.clone(), Misfit::Arguments(arguments.form));
        let (percent, value) = item.split_once('=').ok_or_else(malformed)?;
        let percent = percent.trim().strip_prefix('p').ok_or_else(malformed)?;
        let (percent, rest) = Decimal::split(percent).map_err(|_| malformed())?;
        // One percent is 10,000 millionths.
        let place = percent.exactly(10_000, Dimension::Ratio).map_err(|m| (span.clone(), m))?;
        if !rest.is_empty() || place > ALL {
            return Err(malformed());
        }
        let value = quantity::duration(value).map_err(|misfit| (span.clone(), misfit))?;
        if known.last().is_some_and(|&(before, low)| place <= before || value.as_nanos() < low) {
            return Err((span.clone(), Misfit::Order("p0 < ... < p100, values rising")));
        }
        known.push((place, value.as_nanos()));
    }
    if known.len() < 2 || known[0].0 != 0 || known[known.len() - 1].0 != ALL {
        return Err((arguments.span.clone(), Misfit::Arguments(arguments.form)));
    }
    let mut pair = 0;
    let points: Vec<_> = (0..=STEPS)
        .map(|step| {
            // Both sides in parts of 10^6 * STEPS, so that nothing is rounded before the end.
            let position = u128::from(step) * u128::from(ALL);
            let scaled = |place: u64| u128::from(place) * u128::from(STEPS);
            while pair + 2 < known.len() && scaled(known[pair + 1].0) < position {
                pair += 1;
            }
            let ((from, low), (to, high)) = (known[pair], known[pair + 1]);
            let (from, to) = (scaled(from), scaled(to));
            let rise = u128::from(high - low) * (position - from) / (to - from);
            Duration::from_nanos(low + u64::try_from(rise).expect("at most high - low"))
        })
        .collect();
    Ok(QuantileTable::new(&points).expect("percentiles rise"))
}

/// A table from real quantiles: rounded to nanoseconds, kept in order and within the ends.
fn table(min: Duration, max: Duration, points: impl Iterator<Item = f64>) -> QuantileTable {
    let mut least = min;
    let points: Vec<_> = points
        .map(|point| {
            least = whole(point).clamp(least, max);
            least
        })
        .collect();
    QuantileTable::new(&points).expect("each point is at least the one before")
}

#[allow(clippy::cast_precision_loss, reason = "a model's time; exact below 104 days")]
fn real(span: Duration) -> f64 {
    span.as_nanos() as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, as wanted")]
fn whole(nanos: f64) -> Duration {
    Duration::from_nanos((nanos + 0.5).floor() as u64)
}

impl Value for QuantileTable {
    const NUMBER: bool = true;
    fn description() -> Description {
        let expected = "a duration or a distribution of durations";
        let example = "\"256 us\" or \"triangular(100 us, 150 us, 300 us)\"";
        Description::new(expected, example)
            .hint(format!("shapes: {}", SHAPES.map(|(name, ..)| name).join(", ")))
    }
    fn read(node: &Node) -> Result<Self, PlacedMisfit> {
        match node.content() {
            Content::Text(text) => parse(text).map_err(|(span, misfit)| PlacedMisfit {
                place: node.within(&span),
                found: text.get(span).unwrap_or(text).into(),
                misfit,
            }),
            Content::Integer(_) | Content::Float(_) => Duration::read(node).map(Self::constant),
            _ => Err(PlacedMisfit::of_type(node)),
        }
    }
    fn is_zero(&self) -> bool {
        self.min().is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table_of(text: &str) -> QuantileTable {
        parse(text).unwrap_or_else(|refused| panic!("{text}: {refused:?}"))
    }

    fn mean_is(text: &str, nanos: u64, tolerance: u64) {
        let mean = table_of(text).mean().as_nanos();
        assert!(mean.abs_diff(nanos) <= tolerance, "{text}: {mean} ns");
    }

    #[test]
    fn a_table_has_the_mean_of_its_distribution() {
        mean_is("triangular(169.5 us, 202.7 us, 223.8 us)", 198_666, 10);
        mean_is("triangular(170 us, 204 us, 226 us)", 200_000, 10);
        mean_is("triangular(100 us, 100 us, 400 us)", 200_000, 10);
        mean_is("triangular(100 us, 400 us, 400 us)", 300_000, 10);
        mean_is("uniform(100 us, 300 us)", 200_000, 1);
        mean_is("normal(200 us, 10 us, 100 us, 300 us)", 200_000, 10);
        mean_is("percentiles(p0=100 us, p50=200 us, p100=400 us)", 225_000, 10);
        mean_is("constant(5 ms)", 5_000_000, 0);
        mean_is("5 ms", 5_000_000, 0);
    }

    #[test]
    fn a_table_ends_where_its_distribution_ends() {
        let ends = |text| (table_of(text).min().as_nanos(), table_of(text).max().as_nanos());
        assert_eq!(ends("triangular(169.5 us, 202.7 us, 223.8 us)"), (169_500, 223_800));
        assert_eq!(ends("uniform(1 ns, 9 ns)"), (1, 9));
        assert_eq!(ends("normal(200 us, 10 us, 190 us, 230 us)"), (190_000, 230_000));
        assert_eq!(ends("normal(200 us, 1 us, 0 us, 1 s)"), (194_000, 206_000));
        assert_eq!(ends("percentiles(p0=1 us, p99.9=2 us, p100=9 us)"), (1_000, 9_000));
    }

    #[test]
    fn a_triangle_has_its_median_where_half_the_area_lies() {
        // F(x) = (x-a)^2 / ((b-a)(c-a)) = 1/2 below the mode: a + sqrt(56 * 34 / 2) us.
        let median = table_of("triangular(170 us, 204 us, 226 us)").at(1 << 63);
        assert!(median.as_nanos().abs_diff(170_000 + 30_854) <= 1, "{median}");
    }

    #[test]
    fn a_normal_table_has_the_known_quantiles() {
        let table = table_of("normal(1 ms, 100 us, 400 us, 1600 us)");
        let quantile = |step: u64| table.at(step << 52).as_nanos();
        // Phi^-1(0.75) = 0.6744897502, Phi^-1(1/4096 * 4000) = Phi^-1(0.9765625) = 1.9874278859.
        assert!(quantile(3_072).abs_diff(1_067_449) <= 1, "{}", quantile(3_072));
        assert!(quantile(4_000).abs_diff(1_198_743) <= 1, "{}", quantile(4_000));
        assert!(quantile(2_048).abs_diff(1_000_000) <= 1, "{}", quantile(2_048));
        assert!((exp_negative(1.0) - (-1.0_f64).exp()).abs() < 1e-12);
        assert!((exp_negative(18.0) / (-18.0_f64).exp() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_part_that_does_not_fit_is_named() {
        let refused = |text: &str| {
            let (span, misfit) = parse(text).unwrap_err();
            (text[span].to_owned(), misfit)
        };
        let (part, misfit) = refused("triangular(170 us, 204, 226 us)");
        assert_eq!((part.as_str(), misfit), ("204", Misfit::NoUnit));
        let (part, misfit) = refused("triangula(170 us, 204 us, 226 us)");
        assert!(part == "triangula" && matches!(misfit, Misfit::UnknownName(_)));
        let (part, misfit) = refused("uniform(2 us, 1 us)");
        assert!(part == "2 us, 1 us" && matches!(misfit, Misfit::Order(_)));
        let (part, misfit) = refused("normal(2 us, 0 us, 1 us, 3 us)");
        assert_eq!((part.as_str(), misfit), ("0 us", Misfit::Zero));
        for text in ["uniform(1 us)", "uniform(1 us, 2 us", "percentiles(p0=1 us)", "constant()"] {
            let misfit = refused(text).1;
            assert!(matches!(misfit, Misfit::Arguments(_) | Misfit::Empty), "{misfit:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn any_call_is_read_or_refused(
            name in "constant|uniform|triangular|normal|percentiles",
            arguments in "((p[0-9]{1,3}(\\.5)?=)?[0-9]{1,20} ?(ns|us|h|)[, ]{0,2}){0,4}",
        ) {
            let text = format!("{name}({arguments})");
            if let Err((span, _)) = parse(&text) {
                prop_assert!(text.get(span).is_some());
            }
        }
    }
}
