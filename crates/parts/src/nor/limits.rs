//! The largest values that any device has; beyond them a model would run out of numbers or time.

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
/// A part.
pub const PART: Bytes = Bytes::mib(2_048);
/// The slowest copy, bytes a second.
const COPY: f64 = 1_000.0;

/// Reads the rate called `key`, fast enough for any transfer to end.
pub fn rate(section: &Section<'_>, key: &str) -> Read<Rate> {
    let rate = section.required::<Rate>(key)?;
    if rate.bytes_per_second() >= COPY {
        return Ok(rate);
    }
    Err(section.refuse(key, "is too slow", "a rate of at least 1 kB/s", "check the units"))
}
