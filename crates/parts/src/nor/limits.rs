//! The largest values of a device; with larger ones the model would overflow or never end.

use boardlab_document::{Read, Section};
use boardlab_sim::{Bytes, Duration, Rate};

pub use boardlab_document::limits::{SHORTEST, some_span, times};

/// A bus cycle.
pub const BUS_CYCLE: Duration = Duration::from_millis(1);
/// Work or sleep of a CPU, and latencies of a chip's command interface.
pub const SPAN: Duration = Duration::from_secs(1);
/// The program of a word or of a buffer.
pub const PROGRAM: Duration = Duration::from_millis(10);
/// The erase of a sector.
pub const ERASE: Duration = Duration::from_secs(60);
/// The size of a part.
pub const PART: Bytes = Bytes::mib(2_048);
/// The slowest copy rate, in bytes a second.
const COPY: f64 = 1_000.0;

/// Reads the rate called `key`, and refuses one that is too slow for a transfer to end.
pub fn rate(section: &Section<'_>, key: &str) -> Read<Rate> {
    let rate = section.required::<Rate>(key)?;
    if rate.bytes_per_second() >= COPY {
        return Ok(rate);
    }
    Err(section.refuse(key, "is too slow", "a rate of at least 1 kB/s", "check the units"))
}
