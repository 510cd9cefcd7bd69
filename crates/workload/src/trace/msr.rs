//! A line of the traces of Microsoft Research Cambridge.
//!
//! Layer: rank 6, a format. Main function: [`parse`].
//!
//! ```text
//!   128166372003061629,hm,1,Read,383496192,32768,1331
//!   time, 100 ns       |  | type offset    size  response time, 100 ns
//!                   host  disk
//! ```
//!
//! Source: the README of the traces (SNIA IOTTA, "MSR Cambridge Traces"; Narayanan, Donnelly,
//! Rowstron, FAST 2008): time of issue as Windows counts it, from 1601, bytes, no flushes and no
//! discards. Response times are read and not used.

use super::line::{Cursor, LineError};
use super::record::{DiskRef, Kind, Request};
use boardlab_sim::Bytes;

/// Line 1 may name the columns.
const HEADING: &[u8] = b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

pub(super) fn parse(line: &[u8], number: u64) -> Result<Option<Request<'_>>, LineError> {
    if line.is_empty() || (number == 1 && line == HEADING) {
        return Ok(None);
    }
    let mut cursor = Cursor::new(line);
    let ticks = cell(&mut cursor, "a time in ticks of 100 ns")?;
    let named = cursor;
    let host = cursor.until(|byte| byte == b',');
    let printable = !host.is_empty() && host.iter().all(u8::is_ascii_graphic);
    let Some(host) = std::str::from_utf8(host).ok().filter(|_| printable) else {
        return Err(named.expected("the name of a computer"));
    };
    comma(&mut cursor)?;
    let at = cursor;
    let disk = cell(&mut cursor, "the number of a disk")?;
    let disk = u32::try_from(disk)
        .map_err(|_| at.too_large("the number of a disk", disk.to_string().as_bytes()))?;
    let at = cursor;
    let kind = match cursor.until(|byte| byte == b',') {
        b"Read" => Kind::Read,
        b"Write" => Kind::Write,
        _ => return Err(at.expected("Read or Write")),
    };
    comma(&mut cursor)?;
    let at = cursor;
    let offset = cell(&mut cursor, "an offset in bytes")?;
    let sized = cursor;
    let length = cell(&mut cursor, "a size in bytes")?;
    if length == 0 {
        return Err(sized.expected("a size of at least one byte"));
    }
    if offset.checked_add(length).is_none() {
        return Err(at.too_large("the end of the request at offset", offset.to_string().as_bytes()));
    }
    cursor.number("a response time in ticks of 100 ns")?;
    if !cursor.rest().is_empty() {
        return Err(cursor.expected("the end of the line after the response time"));
    }
    let (offset, length) = (Bytes::new(offset), Bytes::new(length));
    let disk = DiskRef::Host(host, disk);
    let (flushed, durable) = (false, false);
    Ok(Some(Request { disk, ticks, kind, offset, length, flushed, durable }))
}

/// A number and the comma behind it.
fn cell(cursor: &mut Cursor<'_>, what: &'static str) -> Result<u64, LineError> {
    let (number, _) = cursor.number(what)?;
    comma(cursor)?;
    Ok(number)
}

fn comma(cursor: &mut Cursor<'_>) -> Result<(), LineError> {
    if cursor.take(b',') {
        return Ok(());
    }
    Err(cursor.expected("a comma and the next of seven fields"))
}
