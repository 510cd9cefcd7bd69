//! The grid: the keys that a sweep varies, and the points of their values.
//!
//! Layer: rank 10. Main types: [`Axis`], a key with its values, and [`Grid`], every combination of
//! them. Commas outside of quotes and brackets separate values; `FROM..TO` stands for the
//! whole numbers from one to the other, both included. The key `seed` is the seed of the run.
//! Points are numbered from 0; the last key varies fastest. A range is kept by its ends, so that a million seeds
//! take no more memory than two.

use crate::problem::GridProblem;
use boardlab_document::error::Error;
use boardlab_document::source::{GRID, Place, Source};
use boardlab_document::{Content, Override};
use boardlab_result::Value;
use boardlab_sim::Seed;
use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

/// The key of the seed, which no file has.
const SEED: &str = "seed";

/// Some values of a key, as one argument has them between its commas.
#[derive(Debug, Clone)]
enum Piece {
    /// A value as an override of the scenario.
    One(Override),
    /// The whole numbers from the first to the last.
    Numbers(RangeInclusive<u64>),
}

impl Piece {
    fn count(&self) -> u128 {
        match self {
            Self::One(_) => 1,
            Self::Numbers(numbers) => u128::from(*numbers.end()) - u128::from(*numbers.start()) + 1,
        }
    }

    /// The whole numbers that it has; `None` for another value.
    fn numbers(&self) -> Option<RangeInclusive<u64>> {
        match self {
            Self::One(value) => value.node().written().parse().ok().map(|number| number..=number),
            Self::Numbers(numbers) => Some(numbers.clone()),
        }
    }
}

/// A key with its values.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// The dotted key.
    pub(crate) key: String,
    pieces: Vec<Piece>,
    count: usize,
}

impl Axis {
    /// Reads the argument of a `--grid`, with at most `most` values.
    fn parse(argument: &str, most: usize) -> Result<Self, Error> {
        let source = Source::argument(GRID, argument);
        let refused = |span: Range<usize>, problem: GridProblem| {
            Err(problem.at(Some(Place::new(&source, span))))
        };
        // Says what is wrong with the key, before any value counts.
        let key = Override::of(&source, None)?.path();
        let start = argument.find('=').map_or(argument.len(), |equals| equals + 1);
        if argument[start..].trim().is_empty() {
            return refused(start.saturating_sub(1)..argument.len(), GridProblem::NO_VALUES);
        }
        let spans = match split(argument, start) {
            Ok(spans) => spans,
            Err(open) => return refused(open..open + 1, GridProblem::UNCLOSED),
        };
        let (mut axis, mut seen) = (Self { key, pieces: Vec::new(), count: 0 }, HashSet::new());
        for span in spans {
            let written = argument[span.clone()].trim();
            if written.is_empty() {
                let span = span.start..span.end.max(span.start + 1);
                return refused(span, GridProblem::EMPTY_VALUE);
            }
            let piece = match range(written) {
                Some((from, to)) if from >= to => return refused(span, GridProblem::RANGE_DOWN),
                Some((from, to)) => Piece::Numbers(from..=to),
                None => Piece::One(Override::of(&source, Some(span.clone()))?),
            };
            let count = axis.count as u128 + piece.count();
            axis.count = match usize::try_from(count) {
                Ok(count) if count <= most => count,
                _ => return refused(span, GridProblem::too_many(count, most)),
            };
            let no_seed = |value: &Override| axis.key == SEED && seed_of(value).is_none();
            if matches!(&piece, Piece::One(value) if no_seed(value)) {
                return refused(span, GridProblem::NO_SEED);
            }
            let is_new = match &piece {
                Piece::One(value) => seen.insert(value.node().written()),
                Piece::Numbers(_) => true,
            };
            if !is_new || axis.has(&piece) {
                return refused(span, GridProblem::VALUE_TWICE);
            }
            axis.pieces.push(piece);
        }
        Ok(axis)
    }

    /// Whether a whole number of `piece` is among its own, of which at least one is in a range.
    fn has(&self, piece: &Piece) -> bool {
        let Some(numbers) = piece.numbers() else { return false };
        let is_range = |piece: &Piece| matches!(piece, Piece::Numbers(_));
        let own = self.pieces.iter().filter(|own| is_range(own) || is_range(piece));
        own.filter_map(Piece::numbers)
            .any(|own| own.start() <= numbers.end() && numbers.start() <= own.end())
    }

    /// The number of values.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// A value as an override of the scenario.
    pub(crate) fn value(&self, index: usize) -> Override {
        let mut rest = index as u128;
        for piece in &self.pieces {
            if rest < piece.count() {
                return match piece {
                    Piece::One(value) => value.clone(),
                    Piece::Numbers(numbers) => {
                        number(&self.key, u128::from(*numbers.start()) + rest)
                    }
                };
            }
            rest -= piece.count();
        }
        unreachable!("an axis of {} values has no value {index}", self.count)
    }

    /// Every value that is written as one, and both ends of every range.
    pub(crate) fn corners(&self) -> Vec<usize> {
        let (mut at, mut corners) = (0, Vec::new());
        for piece in &self.pieces {
            let count = usize::try_from(piece.count()).expect("an axis counts them");
            corners.push(at);
            if count > 1 {
                corners.push(at + count - 1);
            }
            at += count;
        }
        corners
    }

    /// The values as written.
    pub(crate) fn written(&self) -> Vec<String> {
        (0..self.count).map(|index| self.value(index).node().written()).collect()
    }

    /// Whether its key is the seed.
    fn is_seed(&self) -> bool {
        self.key == SEED
    }
}

/// A whole number as a value of `key`.
fn number(key: &str, number: u128) -> Override {
    let argument = format!("{key}={number}");
    Override::of(&Source::argument(GRID, argument), None).expect("the key was read before")
}

/// Both ends of `FROM..TO`, if `text` has that form.
fn range(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once("..")?;
    let number = |end: &str| match end.bytes().all(|byte| byte.is_ascii_digit()) {
        true => end.parse().ok(),
        false => None,
    };
    Some((number(from)?, number(to)?))
}

/// The stretches between the commas of `text` from `start` on; commas in quotes and brackets do
/// not separate. Fails with the offset of a quote or bracket that does not end.
fn split(text: &str, start: usize) -> Result<Vec<Range<usize>>, usize> {
    let (mut pieces, mut begin) = (Vec::new(), start);
    // What is open, with the sign that closes it.
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut escaped = false;
    for (offset, byte) in text.bytes().enumerate().skip(start) {
        let closing = open.last().map(|(_, closing)| *closing);
        let quoted = matches!(closing, Some(b'"' | b'\''));
        if std::mem::take(&mut escaped) {
            continue;
        }
        match byte {
            b'\\' if closing == Some(b'"') => escaped = true,
            _ if Some(byte) == closing => {
                open.pop();
            }
            _ if quoted => {}
            b'"' | b'\'' => open.push((offset, byte)),
            b'[' => open.push((offset, b']')),
            b'{' => open.push((offset, b'}')),
            b'(' => open.push((offset, b')')),
            b',' if open.is_empty() => {
                pieces.push(begin..offset);
                begin = offset + 1;
            }
            _ => {}
        }
    }
    pieces.push(begin..text.len());
    open.first().map_or(Ok(pieces), |(offset, _)| Err(*offset))
}

/// Every combination of the values of some keys.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    /// The keys, slowest first.
    pub(crate) axes: Vec<Axis>,
    /// The seed of all points, unless a key varies it.
    seed: Seed,
}

impl Grid {
    /// Reads the arguments of all `--grid`, of at most `most` points; `set` are the keys that `--set` gives.
    pub(crate) fn parse<S: AsRef<str>>(
        arguments: &[S],
        set: &[Override],
        seed: Seed,
        most: usize,
    ) -> Result<Self, Error> {
        let axes: Result<Vec<_>, _> =
            arguments.iter().map(|one| Axis::parse(one.as_ref(), most)).collect();
        let grid = Self { axes: axes?, seed };
        if grid.axes.is_empty() {
            return Err(GridProblem::EMPTY.at(None));
        }
        grid.check_keys(set)?;
        let sizes = grid.axes.iter().map(Axis::count);
        let points = sizes.fold(1_u128, |product, size| {
            product.saturating_mul(u128::try_from(size).unwrap_or(u128::MAX))
        });
        if points > most as u128 {
            return Err(GridProblem::too_many(points, most).at(None));
        }
        Ok(grid)
    }

    fn check_keys(&self, set: &[Override]) -> Result<(), Error> {
        // A value with an origin may be named with and without its last part.
        let bare = |key: &str| key.strip_suffix(".value").unwrap_or(key).to_owned();
        for (index, axis) in self.axes.iter().enumerate() {
            let key = bare(&axis.key);
            let earlier = self.axes[..index].iter().any(|other| bare(&other.key) == key);
            let other = match set.iter().any(|one| bare(&one.path()) == key) {
                true => "--set",
                false if earlier => "another --grid",
                false => continue,
            };
            let first = axis.value(0);
            let source = first.node().place().source();
            let place = Place::new(source, 0..source.text().find('=').unwrap_or_default());
            return Err(GridProblem::key_twice(&key, other).at(Some(place)));
        }
        Ok(())
    }

    /// The number of points.
    pub(crate) fn count(&self) -> usize {
        self.axes.iter().map(Axis::count).product()
    }

    /// The index of each key's value at the point `index`.
    pub(crate) fn at(&self, index: usize) -> Vec<usize> {
        let mut rest = index;
        let mut places: Vec<usize> = Vec::new();
        for axis in self.axes.iter().rev() {
            places.push(rest % axis.count());
            rest /= axis.count();
        }
        places.reverse();
        places
    }

    /// The values of the point `index`, one for each key.
    fn values(&self, index: usize) -> impl Iterator<Item = (&Axis, Override)> {
        self.axes.iter().zip(self.at(index)).map(|(axis, place)| (axis, axis.value(place)))
    }

    /// The overrides of the scenario at the point `index`.
    pub(crate) fn overrides(&self, index: usize) -> Vec<Override> {
        let changed = self.values(index).filter(|(axis, _)| !axis.is_seed());
        changed.map(|(_, value)| value).collect()
    }

    /// The seed of the point `index`.
    pub(crate) fn seed(&self, index: usize) -> Seed {
        let mut values = self.values(index);
        let given = values.find(|(axis, _)| axis.is_seed());
        given.and_then(|(_, value)| seed_of(&value)).unwrap_or(self.seed)
    }

    /// The seed of all points; `None` if a key varies it.
    pub(crate) fn one_seed(&self) -> Option<Seed> {
        (!self.axes.iter().any(Axis::is_seed)).then_some(self.seed)
    }

    /// The point `index` for people: `linux.wait=170us seed=2`.
    pub(crate) fn label(&self, index: usize) -> String {
        self.labels(index).join(" ")
    }

    /// As [`Grid::label`], without the first key.
    pub(crate) fn label_of_rest(&self, index: usize) -> String {
        self.labels(index)[1..].join(" ")
    }

    fn labels(&self, index: usize) -> Vec<String> {
        let values = self.values(index);
        values.map(|(axis, value)| format!("{}={}", axis.key, value.node().written())).collect()
    }

    /// The values of the point `index` as the cells of a table.
    pub(crate) fn cells(&self, index: usize) -> Vec<(&str, Value)> {
        self.values(index).map(|(axis, value)| (axis.key.as_str(), shown(&value))).collect()
    }
}

fn shown(value: &Override) -> Value {
    let node = value.node();
    let number = match node.content() {
        Content::Integer(Some(number)) => i64::try_from(*number).ok().map(Value::Int),
        Content::Float(text) => {
            text.parse().ok().filter(|real: &f64| real.is_finite()).map(Value::Real)
        }
        _ => None,
    };
    number.unwrap_or_else(|| Value::Text(node.written()))
}

fn seed_of(value: &Override) -> Option<Seed> {
    match value.node().content() {
        Content::Integer(Some(number)) => u64::try_from(*number).ok().map(Seed::new),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::POINTS_MAX;

    fn grid(arguments: &[&str]) -> Result<Grid, Error> {
        Grid::parse(arguments, &[], Seed::new(9), POINTS_MAX)
    }

    fn refused(arguments: &[&str]) -> String {
        grid(arguments).unwrap_err().to_string()
    }

    #[test]
    fn the_last_key_varies_fastest() {
        let grid = grid(&["a.b=x,y", "seed=1..3"]).unwrap();
        let labels: Vec<_> = (0..grid.count()).map(|index| grid.label(index)).collect();
        assert_eq!(labels[..4], ["a.b=x seed=1", "a.b=x seed=2", "a.b=x seed=3", "a.b=y seed=1"]);
        assert_eq!((grid.count(), grid.seed(4), grid.one_seed()), (6, Seed::new(2), None));
        assert_eq!(grid.overrides(4).len(), 1);
    }

    #[test]
    fn commas_in_quotes_and_brackets_do_not_separate() {
        let axis = Axis::parse(r#"a="x,\",y",[1, 2],f(1 us, {2}),'z,"'"#, POINTS_MAX).unwrap();
        assert_eq!(axis.written(), ["x,\",y", "[1, 2]", "f(1 us, {2})", "z,\""]);
    }

    #[test]
    fn a_range_is_of_whole_numbers_and_takes_both_ends() {
        let axis = Axis::parse("a=1..3,8, \"4..5\" ,6..x", POINTS_MAX).unwrap();
        assert_eq!(axis.written(), ["1", "2", "3", "8", "4..5", "6..x"]);
    }

    #[test]
    fn an_error_points_at_the_value() {
        for (argument, place, says) in [
            ("a=", "--grid:1:2", "the key has no values"),
            ("a", "--grid:1:1", "has no `=`"),
            ("a=1,,2", "--grid:1:5", "a value is empty"),
            ("a=1,", "--grid:1:", "a value is empty"),
            ("a=1,[2,3", "--grid:1:5", "does not end"),
            ("a=1,2,1", "--grid:1:7", "given twice"),
            ("a=1..4,3", "--grid:1:8", "given twice"),
            ("a=3,1..4", "--grid:1:5", "given twice"),
            ("a=1..4,4..9", "--grid:1:8", "given twice"),
            ("a=4..1", "--grid:1:3", "goes down"),
            ("seed=1,x", "--grid:1:8", "not a whole number"),
            ("seed=-1", "--grid:1:6", "not a whole number"),
            ("a=1..99999999999", "--grid:1:3", "99999999999 points, more than 10000"),
        ] {
            let text = refused(&[argument]);
            assert!(text.contains(place) && text.contains(says), "{argument}:\n{text}");
        }
    }

    #[test]
    fn a_large_range_is_planned_without_its_values() {
        let arguments = ["a=x,1..999999,y", "seed=0..18446744073709551615"];
        let text = Grid::parse(&arguments, &[], Seed::new(1), 1 << 62).unwrap_err().to_string();
        assert!(text.contains("18446744073709551616 points, more than"), "{text}");
        let grid = Grid::parse(&arguments[..1], &[], Seed::new(1), 1 << 30).unwrap();
        assert_eq!(grid.count(), 1_000_001);
        let labels = [0, 1, 2, 999_999, 1_000_000].map(|point| grid.label(point));
        assert_eq!(labels, ["a=x", "a=1", "a=2", "a=999999", "a=y"]);
        assert_eq!(grid.axes[0].corners(), [0, 1, 999_999, 1_000_000]);
    }

    #[test]
    fn keys_and_sizes_are_checked_over_all_arguments() {
        assert!(refused(&[]).contains("the grid is empty"));
        assert!(refused(&["a=1", "a.value=2"]).contains("by another --grid"));
        let set = [Override::parse("a=3").unwrap()];
        let text = Grid::parse(&["a=1"], &set, Seed::new(1), POINTS_MAX).unwrap_err().to_string();
        assert!(text.contains("by --set"), "{text}");
        let text = refused(&["a=1..101", "b=1..100"]);
        assert!(text.contains("10100 points, more than 10000"), "{text}");
        assert_eq!(grid(&["a=1..100", "b=1..100"]).unwrap().count(), POINTS_MAX);
    }
}
