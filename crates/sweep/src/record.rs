//! The lines of a journal: one that identifies the sweep, and one for each point, each with its
//! checksum.
//!
//! Layer: rank 10. Main types: [`Header`], the identity of the sweep, and [`Contents`], the lines of a
//! journal. The module touches no file: it turns bytes into lines and damage.
//!
//! ```text
//! {"journal":"boardlab sweep","format":2,"crc32":"61c88647","sweep":{"version":...}}
//! {"crc32":"9e3779b9","done":{"point":0,"outcome":{...}}}
//! ```
//! A checksum is the CRC-32 of the value that follows it. That of a point begins with the checksum of
//! the first line: so a line of another sweep is rejected like a damaged one. What surrounds the
//! value is compared byte for byte, so that every byte of a line is checked. A line is damaged if
//! its checksum is wrong, and doubled if another line has its point; both are rejected.

use crate::figures::Line;
use crate::problem::POINTS_MAX;
use crate::problem::{JournalProblem, LineFlaw};
use boardlab_codec::crc32;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Read};

/// The beginning of the first line of every journal, those without checksums included.
const MAGIC: &str = "{\"journal\":\"boardlab sweep\",";

/// The longest line that is read; ours have some ten KiB.
const LINE_MAX: u64 = 64 << 20;

/// The most damaged lines that are reported one by one.
const DAMAGE_MAX: usize = 20;

/// The text around a checksum and its value.
struct Envelope {
    start: &'static str,
    middle: &'static str,
}

/// The first line.
const HEADER: Envelope = Envelope {
    start: "{\"journal\":\"boardlab sweep\",\"format\":2,\"crc32\":\"",
    middle: "\",\"sweep\":",
};

/// The line of a point.
const POINT: Envelope = Envelope { start: "{\"crc32\":\"", middle: "\",\"done\":" };

/// The checksum that a header begins with.
const SEED: u32 = u32::MAX;

impl Envelope {
    /// The line of `value`, without its end.
    fn seal(&self, seed: u32, value: &str) -> String {
        let Self { start, middle } = self;
        format!("{start}{:08x}{middle}{value}}}", crc32(seed, value.as_bytes()))
    }

    /// The value of a line, with its checksum.
    fn open<'t>(&self, seed: u32, text: &'t [u8]) -> Result<(u32, &'t [u8]), LineFlaw> {
        let (written, value) = self.split(text).ok_or(match text.ends_with(b"\r") {
            true => LineFlaw::CarriageReturn,
            false => LineFlaw::Form,
        })?;
        let content = crc32(seed, value);
        match written == content {
            true => Ok((content, value)),
            false => Err(LineFlaw::Checksum { written, content }),
        }
    }

    fn split<'t>(&self, text: &'t [u8]) -> Option<(u32, &'t [u8])> {
        let (digits, rest) = text.strip_prefix(self.start.as_bytes())?.split_at_checked(8)?;
        let value = rest.strip_prefix(self.middle.as_bytes())?.strip_suffix(b"}")?;
        let written = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        // Capitals and a sign are digits too, but not ours.
        (format!("{written:08x}").as_bytes() == digits).then_some((written, value))
    }
}

/// The identity of the sweep of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// The version of boardlab that runs the points.
    pub(crate) version: String,
    /// Name of the scenario.
    pub(crate) scenario: String,
    /// The seed of all points, unless the grid varies it.
    pub(crate) seed: Option<u64>,
    /// The keys and their values.
    pub(crate) grid: Vec<(String, Vec<String>)>,
    /// Every value of the scenario with its part and its board.
    pub(crate) inputs: IndexMap<String, String>,
    /// Checksum of all points' inputs, data files included.
    pub(crate) checksum: u32,
}

impl Header {
    /// The first line of a journal, without its end, and what the checksums of its points begin with.
    pub(crate) fn seal(&self) -> (u32, String) {
        let value = serde_json::to_string(self).expect("a header has text keys");
        (crc32(SEED, value.as_bytes()), HEADER.seal(SEED, &value))
    }

    /// The number of points of the grid, if a sweep may have as many.
    pub(crate) fn points(&self) -> Option<usize> {
        let mut sizes = self.grid.iter().map(|(_, values)| values.len());
        let points = sizes.try_fold(1_usize, usize::checked_mul)?;
        (1..=POINTS_MAX).contains(&points).then_some(points)
    }

    /// The first difference from the sweep that `there` identifies.
    pub(crate) fn difference(&self, there: &Self) -> Option<JournalProblem> {
        let compared =
            |what: &str, of: &dyn Fn(&Self) -> String| (what.into(), of(there), of(self));
        let seed =
            |header: &Self| header.seed.map_or("in the grid".into(), |seed| seed.to_string());
        let sum = |header: &Self| format!("{:08x}", header.checksum);
        let keys = there.inputs.keys().chain(self.inputs.keys());
        let inputs = keys.map(|key| {
            compared(&format!("`{key}`"), &|header| match header.inputs.get(key) {
                Some(value) => format!("`{value}`"),
                None => "nothing".into(),
            })
        });
        let before = [
            compared("the version of boardlab", &|header| format!("`{}`", header.version)),
            compared("the scenario", &|header| format!("`{}`", header.scenario)),
            compared("the grid", &|header| shown(&header.grid)),
            compared("the seed", &seed),
        ];
        let after = compared("the checksum of the files that it names", &sum);
        let mut all = before.into_iter().chain(inputs).chain([after]);
        let (what, there, here) = all.find(|(_, there, here)| there != here)?;
        Some(JournalProblem::Differs { what, there, here })
    }
}

fn shown(grid: &[(String, Vec<String>)]) -> String {
    let axes = grid.iter().map(|(key, values)| format!("`{key}={}`", values.join(",")));
    axes.collect::<Vec<_>>().join(" ")
}

/// A stretch of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Where it begins.
    pub(crate) offset: u64,
    /// How many bytes it has.
    pub(crate) length: u64,
}

/// A rejected line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The number of the line, from 1.
    pub(crate) line: usize,
    /// The point that it names, from 0, if that is legible.
    pub(crate) point: Option<usize>,
    /// The reason.
    pub(crate) flaw: LineFlaw,
}

/// The kind of content of a journal.
#[derive(Debug)]
pub(crate) enum JournalContent {
    /// No bytes.
    Nothing,
    /// The beginning of a possible first line.
    Begun(Vec<u8>),
    /// A whole first line, and perhaps others.
    Contents(Box<Contents>),
}

/// The lines of a journal.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The identity of its sweep.
    pub(crate) header: Header,
    /// What the checksums of its points begin with.
    pub(crate) seal: u32,
    /// The bytes of the first line, its end included.
    pub(crate) header_length: u64,
    /// The place of the one valid line of each point, without its end.
    pub(crate) lines: Vec<Option<Stretch>>,
    /// The first rejected lines, in order.
    pub(crate) damage: Vec<Damage>,
    /// The number of further rejected lines.
    pub(crate) hidden: usize,
    /// Whether one of them is more than a last line that a kill tore.
    pub(crate) holes: bool,
    /// The bytes up to the end of the last line that has one.
    pub(crate) ended: u64,
}

/// The line of a point, without its end, in a journal whose header has the checksum `seal`.
pub(crate) fn write(seal: u32, line: &Line) -> String {
    POINT.seal(seal, &line.write())
}

/// The point that was written as `text`.
pub(crate) fn read(seal: u32, text: &[u8]) -> Result<Line, LineFlaw> {
    let (_, value) = POINT.open(seal, text)?;
    Line::read(value).ok_or(LineFlaw::Content)
}

/// Reads a journal to its end.
pub(crate) fn scan(mut reader: impl BufRead) -> Result<JournalContent, JournalProblem> {
    let Some(first) = Text::next(&mut reader)? else { return Ok(JournalContent::Nothing) };
    if first.is_torn() && !is_other(&first.bytes) {
        return Ok(JournalContent::Begun(first.bytes));
    }
    let opened = first.flaw.map_or_else(|| HEADER.open(SEED, &first.bytes), Err);
    let (seal, value) = opened.map_err(|flaw| header_problem(&first.bytes, flaw))?;
    let content = || JournalProblem::Header(LineFlaw::Content);
    let header: Header = serde_json::from_slice(value).map_err(|_| content())?;
    let points = header.points().ok_or_else(content)?;
    let contents = Contents {
        header,
        seal,
        header_length: first.length,
        lines: vec![None; points],
        damage: Vec::new(),
        hidden: 0,
        holes: false,
        ended: first.length,
    };
    contents.scan(reader).map(|contents| JournalContent::Contents(Box::new(contents)))
}

/// Why a first line is rejected.
fn header_problem(text: &[u8], flaw: LineFlaw) -> JournalProblem {
    let unchecked = [MAGIC.as_bytes(), b"\"version\":"].concat();
    match text.starts_with(&unchecked) {
        true => JournalProblem::Unchecked,
        false if is_other(text) => JournalProblem::NotAJournal,
        false => JournalProblem::Header(flaw),
    }
}

/// Whether `text` cannot have been the first line of a journal: more than a quarter of the bytes of
/// its beginning differ.
fn is_other(text: &[u8]) -> bool {
    let differ = MAGIC.bytes().zip(text).filter(|(expected, found)| expected != *found).count();
    text.is_empty() || differ * 4 > MAGIC.len().min(text.len())
}

/// A line as read.
struct Text {
    /// Its bytes without its end; the first ones of a line that is too long.
    bytes: Vec<u8>,
    /// The number of its bytes, its end included.
    length: u64,
    /// Whether the file ends before it does, or it is too long to be read.
    flaw: Option<LineFlaw>,
}

impl Text {
    /// The next line; `None` at the end of the file.
    fn next(reader: &mut impl BufRead) -> Result<Option<Self>, JournalProblem> {
        let mut bytes = Vec::new();
        let taken = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes);
        let mut length = as_u64(taken?);
        let flaw = match bytes.pop_if(|end| *end == b'\n') {
            Some(_) => None,
            None if length < LINE_MAX => Some(LineFlaw::Torn),
            None => {
                length += as_u64(reader.skip_until(b'\n')?);
                Some(LineFlaw::TooLong)
            }
        };
        Ok((length > 0).then_some(Self { bytes, length, flaw }))
    }

    fn is_torn(&self) -> bool {
        self.flaw == Some(LineFlaw::Torn)
    }
}

impl Contents {
    /// Reads the lines after the first one.
    fn scan(mut self, mut reader: impl BufRead) -> Result<Self, JournalProblem> {
        // Of each point the number of its first whole line, and the points that have another one.
        let mut numbers = vec![0; self.lines.len()];
        let mut doubled = Vec::new();
        let mut number = 1;
        while let Some(text) = Text::next(&mut reader)? {
            number += 1;
            let stretch = Stretch { offset: self.ended, length: as_u64(text.bytes.len()) };
            if !text.is_torn() {
                self.ended += text.length;
            }
            let point = match self.point(&text) {
                Ok(point) => point,
                Err((flaw, point)) => {
                    self.damaged(Damage { line: number, point, flaw });
                    continue;
                }
            };
            match self.lines[point].replace(stretch) {
                None => numbers[point] = number,
                Some(_) => {
                    doubled.push(point);
                    let flaw = LineFlaw::Doubled(numbers[point]);
                    self.damaged(Damage { line: number, point: Some(point), flaw });
                }
            }
        }
        for point in doubled {
            self.lines[point] = None;
        }
        Ok(self)
    }

    /// The point whose line is `text`; otherwise the flaw, and the point that it names.
    fn point(&self, text: &Text) -> Result<usize, (LineFlaw, Option<usize>)> {
        let points = self.lines.len();
        let flaw = |flaw| (flaw, named(&text.bytes).filter(|point| *point < points));
        let line = text.flaw.map_or_else(|| read(self.seal, &text.bytes), Err);
        let point = line.map_err(flaw)?.point;
        if point < points { Ok(point) } else { Err(flaw(LineFlaw::Content)) }
    }

    fn damaged(&mut self, damage: Damage) {
        self.holes |= damage.flaw != LineFlaw::Torn;
        if self.damage.len() < DAMAGE_MAX { self.damage.push(damage) } else { self.hidden += 1 }
    }
}

/// The point that a damaged line names, if that is legible.
fn named(text: &[u8]) -> Option<usize> {
    const KEY: &[u8] = b"\"point\":";
    let start = text.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit());
    String::from_utf8(digits.copied().collect()).ok()?.parse().ok()
}

/// A length in memory as one in a file.
pub(crate) fn as_u64(length: usize) -> u64 {
    u64::try_from(length).expect("a length in memory has at most 64 bits")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::figures::{Figure, Figures, Outcome};

    /// The order in which the points were done.
    const ORDER: [usize; 3] = [2, 0, 1];

    pub(crate) fn header() -> Header {
        Header {
            version: "0".into(),
            scenario: "x".into(),
            seed: Some(1),
            grid: vec![("a".into(), vec!["1".into(), "2".into(), "3".into()])],
            inputs: IndexMap::from([("a".into(), "1".into())]),
            checksum: 7,
        }
    }

    fn line(point: usize) -> Line {
        let cells = IndexMap::from([("t/total/mean_ns".into(), Figure::Int(1207))]);
        match point {
            1 => Line { point, outcome: Outcome::Failed("erase at 0x40 \n\"".into()) },
            _ => Line { point, outcome: Outcome::Done(Figures { virtual_time_ns: 90, cells }) },
        }
    }

    /// The journal of `header` with the points in this order.
    fn journal(header: &Header, points: &[usize]) -> Vec<u8> {
        let (seal, text) = header.seal();
        let points = points.iter().map(|point| write(seal, &line(*point)));
        [text].into_iter().chain(points).flat_map(|line| (line + "\n").into_bytes()).collect()
    }

    /// The points that are believed, each with the very line that was written, and the damage;
    /// `None` when all is refused.
    #[track_caller]
    fn believed(bytes: &[u8]) -> Option<(Vec<usize>, Vec<Damage>)> {
        let Ok(JournalContent::Contents(contents)) = scan(bytes) else { return None };
        assert_eq!(contents.header, header());
        let mut points = Vec::new();
        for (point, stretch) in contents.lines.iter().enumerate() {
            let Some(Stretch { offset, length }) = *stretch else { continue };
            let [from, to] = [offset, offset + length].map(|at| usize::try_from(at).unwrap());
            assert_eq!(read(contents.seal, &bytes[from..to]), Ok(line(point)));
            points.push(point);
        }
        Some((points, contents.damage))
    }

    /// Asserts that of `damaged` the very lines of `whole` are believed and every other one is told.
    #[track_caller]
    fn assert_told(whole: &[u8], damaged: &[u8], how: &str) {
        let lines = |bytes| <[u8]>::split_inclusive(bytes, |byte| *byte == b'\n');
        let written: Vec<&[u8]> = lines(whole).collect();
        let mut found = lines(damaged);
        let Some((points, damage)) = believed(damaged) else {
            assert_ne!(found.next(), Some(written[0]), "{how}: refused");
            return;
        };
        assert_eq!(found.next(), Some(written[0]), "{how}");
        let (known, unknown): (Vec<_>, Vec<_>) = found.partition(|line| written.contains(line));
        let mut expected: Vec<usize> = known
            .into_iter()
            .map(|line| ORDER[written.iter().position(|one| one == &line).unwrap() - 1])
            .collect();
        expected.sort_unstable();
        assert_eq!((points, damage.len()), (expected, unknown.len()), "{how}: {damage:?}");
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let whole = journal(&header(), &ORDER);
        assert_eq!(believed(&whole), Some((vec![0, 1, 2], vec![])));
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_told(&whole, &damaged, &format!("bit {bit}"));
        }
    }

    #[test]
    fn no_changed_lost_or_added_byte_goes_unnoticed() {
        let whole = journal(&header(), &ORDER);
        for at in 0..whole.len() {
            for byte in 0..=255 {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                assert_told(&whole, &damaged, &format!("byte {at} is {byte}"));
            }
            for byte in [whole[at], b'0', b' ', b'\r', b'\n', 0, 0xff] {
                let mut damaged = whole.clone();
                damaged.insert(at, byte);
                assert_told(&whole, &damaged, &format!("byte {byte} before byte {at}"));
            }
        }
    }

    #[test]
    fn a_stretch_that_is_gone_takes_no_other_line_with_it() {
        let whole = journal(&header(), &ORDER);
        for from in 0..whole.len() {
            for to in from + 1..=whole.len() {
                let damaged = [&whole[..from], &whole[to..]].concat();
                assert_told(&whole, &damaged, &format!("{from}..{to} is gone"));
            }
        }
    }

    #[test]
    fn a_doubled_line_is_not_believed_and_neither_is_its_double() {
        let (seal, _) = header().seal();
        let whole = journal(&header(), &[2, 0, 1, 0, 0]);
        let doubled = |line| Damage { line, point: Some(0), flaw: LineFlaw::Doubled(3) };
        assert_eq!(believed(&whole), Some((vec![1, 2], vec![doubled(5), doubled(6)])));
        // Of another outcome, with a checksum of its own.
        let other = Line { point: 0, outcome: Outcome::Failed("no".into()) };
        let mut whole = journal(&header(), &[2, 0]);
        whole.extend_from_slice((write(seal, &other) + "\n").as_bytes());
        assert_eq!(believed(&whole), Some((vec![2], vec![doubled(4)])));
    }

    #[test]
    fn a_line_of_another_sweep_is_damage_and_lines_may_change_places() {
        let mut other = header();
        other.checksum = 8;
        let theirs = journal(&other, &[1]);
        let line = theirs.split_inclusive(|byte| *byte == b'\n').nth(1).unwrap();
        let whole = [&journal(&header(), &[2, 0]), line].concat();
        let (points, damage) = believed(&whole).unwrap();
        assert_eq!((points, damage.len()), (vec![0, 2], 1));
        assert!(matches!(damage[0].flaw, LineFlaw::Checksum { .. }));
        assert_eq!((damage[0].line, damage[0].point), (4, Some(1)));
        assert_eq!(believed(&journal(&header(), &[1, 2, 0])), Some((vec![0, 1, 2], vec![])));
    }

    #[test]
    fn what_other_programs_do_to_a_file_is_told() {
        let whole = String::from_utf8(journal(&header(), &ORDER)).unwrap();
        let problem = |text: &[u8]| scan(text).unwrap_err();
        let header_flaw = |text: &[u8]| match problem(text) {
            JournalProblem::Header(flaw) => flaw,
            other => panic!("{other:?}"),
        };
        assert_eq!(header_flaw(whole.replace('\n', "\r\n").as_bytes()), LineFlaw::CarriageReturn);
        let replaced = header_flaw(whole.replacen('x', "\u{fffd}", 1).as_bytes());
        assert!(matches!(replaced, LineFlaw::Checksum { .. }), "{replaced:?}");
        let unchecked = br#"{"journal":"boardlab sweep","version":"0.1.0","scenario":"x"}"#;
        assert_eq!(problem(&[&unchecked[..], b"\n"].concat()), JournalProblem::Unchecked);
        for other in [&b"my notes"[..], b"my notes\n", b"\0\0\0\0", b"\xff\xfe{\n", b"[]\n", b"\n"]
        {
            assert_eq!(problem(other), JournalProblem::NotAJournal, "{other:?}");
        }
        assert!(matches!(scan(&b""[..]), Ok(JournalContent::Nothing)));
        let lines: Vec<&str> = whole.lines().collect();
        for middle in ["", "\0\0\0", "\u{feff}", "{}", &"9".repeat(100_000)] {
            let damaged = [lines[0], lines[1], middle, lines[3], ""].join("\n");
            let (points, damage) = believed(damaged.as_bytes()).unwrap();
            assert_eq!((points, damage.len(), damage[0].line), (vec![1, 2], 1, 3), "{middle:.9}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_passed_over() {
        let mut whole = journal(&header(), &[2]);
        whole.resize(whole.len() + usize::try_from(LINE_MAX).unwrap() + 9, b'1');
        let length = as_u64(whole.len()) + 1;
        whole.extend_from_slice(b"\n{\n");
        let Ok(JournalContent::Contents(contents)) = scan(&whole[..]) else {
            panic!("it has a header")
        };
        let flaws: Vec<_> = contents.damage.iter().map(|damage| damage.flaw).collect();
        assert_eq!(flaws, [LineFlaw::TooLong, LineFlaw::Form]);
        assert_eq!(contents.ended, length + 2);
    }

    #[test]
    fn a_first_line_that_promises_too_much_is_refused() {
        let mut many = header();
        many.grid = vec![("a".into(), vec![String::new(); POINTS_MAX + 1])];
        for grid in [many.grid, vec![("a".into(), vec![])]] {
            let refused = scan(&journal(&Header { grid, ..header() }, &[])[..]);
            assert_eq!(refused.unwrap_err(), JournalProblem::Header(LineFlaw::Content));
        }
    }

    #[test]
    fn a_flood_of_damage_is_counted() {
        let mut whole = journal(&header(), &[2]);
        whole.extend_from_slice(&[b'\n'; 1000]);
        let Ok(JournalContent::Contents(contents)) = scan(&whole[..]) else {
            panic!("it has a header")
        };
        assert_eq!((contents.damage.len(), contents.hidden), (DAMAGE_MAX, 1000 - DAMAGE_MAX));
    }

    #[test]
    fn every_part_of_a_header_tells_sweeps_apart() {
        let here = header();
        assert_eq!(here.difference(&here), None);
        let mut others = vec![header(); 6];
        others[0].version = "1".into();
        others[1].scenario = "y".into();
        others[2].grid[0].1.push("4".into());
        others[3].seed = None;
        others[4].inputs.insert("b".into(), "2".into());
        others[5].checksum = 8;
        let what = ["version", "scenario", "grid", "seed", "`b`", "files"];
        for (there, what) in others.iter().zip(what) {
            let Some(JournalProblem::Differs { what: found, .. }) = here.difference(there) else {
                panic!("{what}")
            };
            assert!(found.contains(what), "{found}");
        }
    }
}
