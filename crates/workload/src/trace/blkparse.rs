//! A line as `blkparse` prints it.
//!
//! Layer: rank 6, a format. Main function: [`parse`].
//!
//! ```text
//!   8,0    3       11     0.009507758   697  D WFS 223490 + 8 [kjournald]
//!   device cpu sequence   seconds       pid  | |   sector   blocks  process
//!                                     action rwbs
//! ```
//!
//! Every line of an event is parsed up to its action, and lines of the chosen action completely.
//! The sums by processor and device that blkparse prints after the events are recognised by their
//! first words; any other line is an error. A request without blocks is a flush if its RWBS letters
//! say so; otherwise there is nothing to replay. A SCSI command, which has bytes and a dump
//! instead, is not replayed either.
//!
//! Source: the output of blkparse 1.2.0 for events of every kind (its default format, and with
//! `-t`), and its manual page. Left out: formats chosen with `-f`.

use super::line::{Cursor, LineError};
use super::reader::Action;
use super::record::{DiskRef, Kind, Request};
use boardlab_sim::Bytes;

/// Bytes of a sector, whatever the block size of the device.
const SECTOR: u64 = 512;

/// The beginnings of lines that are not events, without leading blanks.
const SUMMARY: [&[u8]; 15] = [
    b"CPU",
    b"Total (",
    b"Reads Queued:",
    b"Read Dispatches:",
    b"Reads Requeued:",
    b"Reads Completed:",
    b"Read Merges:",
    b"Read depth:",
    b"PC Read",
    b"IO unplugs:",
    b"Throughput (R/W):",
    b"Events (",
    b"Skips:",
    b"Input file ",
    b"Trace started at ",
];

/// The actions of events, as blkparse prints them.
const ACTIONS: [&[u8]; 18] = [
    b"Q", b"D", b"C", b"G", b"I", b"P", b"U", b"M", b"F", b"A", b"X", b"UT", b"R", b"S", b"B",
    b"T", b"m", b"d",
];

/// The request of a line, if it is of this action.
pub(super) fn parse(line: &[u8], action: Action) -> Result<Option<Request<'_>>, LineError> {
    Ok(event(line, &[action])?.map(|(_, request)| request))
}

/// The request of a line, if it is of one of these actions.
pub(super) fn event<'l>(
    line: &'l [u8],
    wanted: &[Action],
) -> Result<Option<(Action, Request<'l>)>, LineError> {
    let mut cursor = Cursor::new(line);
    cursor.skip_blanks();
    if !cursor.rest().first().is_some_and(u8::is_ascii_digit) {
        let known =
            cursor.rest().is_empty() || SUMMARY.iter().any(|s| cursor.rest().starts_with(s));
        let slip = "the device of an event, such as 8,0, or a line of blkparse's summary";
        return if known { Ok(None) } else { Err(cursor.expected(slip)) };
    }
    let major = small(&mut cursor, "a major number")?;
    if !cursor.take(b',') {
        return Err(cursor.expected("a comma and the minor number"));
    }
    let minor = small(&mut cursor, "a minor number")?;
    field(&mut cursor, "the number of a processor")?;
    field(&mut cursor, "a sequence number")?;
    let ticks = time(&mut cursor)?;
    field(&mut cursor, "a process id")?;
    cursor.skip_blanks();
    let start = cursor;
    let word = cursor.word();
    if !ACTIONS.contains(&word) {
        return Err(start.expected("an action: Q, D, C, G, I, P, U, M, F, A, X, UT, R, S, B, m"));
    }
    let Some(&action) = wanted.iter().find(|action| word == [action.letter()]) else {
        return Ok(None);
    };
    let letters = letters(&mut cursor)?;
    let Some((offset, length)) = place(&mut cursor, letters)? else { return Ok(None) };
    let kind = match letters.direction {
        _ if length == 0 => Kind::Flush,
        b'R' => Kind::Read,
        b'W' => Kind::Write,
        b'D' => Kind::Discard,
        _ => return Ok(None),
    };
    let flushed = letters.flush && kind != Kind::Flush;
    let durable = letters.durable && kind == Kind::Write;
    let (offset, length) = (Bytes::new(offset), Bytes::new(length));
    let disk = DiskRef::Device(major, minor);
    Ok(Some((action, Request { disk, ticks, kind, offset, length, flushed, durable })))
}

fn small(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u32, LineError> {
    let start = *cursor;
    let (number, _) = cursor.number(what)?;
    u32::try_from(number).map_err(|_| start.too_large(what, number.to_string().as_bytes()))
}

/// A number with a blank behind it.
fn field(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u64, LineError> {
    cursor.skip_blanks();
    let start = *cursor;
    let (number, _) = cursor.number(what)?;
    match cursor.rest().first() {
        Some(byte) if !byte.is_ascii_whitespace() => Err(start.expected(what)),
        _ => Ok(number),
    }
}

/// Seconds and nine digits, in nanoseconds.
fn time(cursor: &mut Cursor<'_>) -> Result<u64, LineError> {
    const WHAT: &str = "a time in seconds with nine digits, such as 0.009507758";
    cursor.skip_blanks();
    let start = *cursor;
    let (seconds, _) = cursor.number(WHAT)?;
    if !cursor.take(b'.') {
        return Err(start.expected(WHAT));
    }
    let (nanos, digits) = cursor.number(WHAT)?;
    let blank = cursor.rest().first().is_none_or(u8::is_ascii_whitespace);
    if digits != 9 || !blank {
        return Err(start.expected(WHAT));
    }
    let whole = seconds.checked_mul(1_000_000_000).and_then(|time| time.checked_add(nanos));
    whole.ok_or_else(|| start.too_large("the time", seconds.to_string().as_bytes()))
}

/// The meaning of the RWBS letters of a request.
#[derive(Clone, Copy)]
struct Letters {
    flush: bool,
    direction: u8,
    durable: bool,
}

/// RWBS: F for a flush before, R W D or N, then F (on the medium), S, M, A, B, E.
fn letters(cursor: &mut Cursor<'_>) -> Result<Letters, LineError> {
    const WHAT: &str = "letters such as R, W, WS, FWFS, D, FN";
    cursor.skip_blanks();
    let start = *cursor;
    let word = cursor.word();
    let (flush, rest) = match word {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match rest {
        [direction @ (b'R' | b'W' | b'D' | b'N'), more @ ..]
            if more.iter().all(|letter| b"FSMABE".contains(letter)) =>
        {
            Ok(Letters { flush, direction: *direction, durable: more.contains(&b'F') })
        }
        [] if flush => Ok(Letters { flush, direction: b'N', durable: false }),
        _ => Err(start.expected(WHAT)),
    }
}

/// Offset and length in bytes; length 0 for a flush, `None` when there is nothing to replay.
fn place(cursor: &mut Cursor<'_>, letters: Letters) -> Result<Option<(u64, u64)>, LineError> {
    cursor.skip_blanks();
    let none = letters.flush.then_some((0, 0));
    if cursor.rest().first() == Some(&b'[') {
        return Ok(none);
    }
    let start = *cursor;
    let sector = field(cursor, "a sector, or [process]")?;
    cursor.skip_blanks();
    if cursor.rest().first().is_some_and(|byte| matches!(byte, b'(' | b'[')) {
        return Ok(none);
    }
    if !cursor.take(b'+') {
        return Err(cursor.expected("+ and the number of blocks"));
    }
    cursor.skip_blanks();
    let counted = *cursor;
    let blocks = field(cursor, "the number of blocks")?;
    if blocks == 0 {
        return Err(counted.expected("at least one block"));
    }
    let bytes = |number: u64, place: Cursor<'_>, what| {
        let bytes = number.checked_mul(SECTOR);
        bytes.ok_or_else(|| place.too_large(what, number.to_string().as_bytes()))
    };
    let (offset, length) = (bytes(sector, start, "sector")?, bytes(blocks, counted, "count")?);
    if offset.checked_add(length).is_none() {
        return Err(
            start.too_large("the end of the request at sector", sector.to_string().as_bytes())
        );
    }
    cursor.skip_blanks();
    match cursor.rest().first() {
        Some(b'[' | b'(') | None => Ok(Some((offset, length))),
        Some(_) => Err(cursor.expected("[process]")),
    }
}
