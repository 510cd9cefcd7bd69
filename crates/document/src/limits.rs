//! Times of files held below what any device has; beyond that a model would run out of numbers.
//!
//! Layer: rank 7. The limits themselves stand with the parts and the experiments.

use crate::{Read, Section};
use boardlab_sim::{Duration, QuantileTable};

/// The shortest time that is not zero.
pub const SHORTEST: Duration = Duration::from_nanos(1);

/// Reads the span called `key`, more than nothing and at most `most`.
pub fn some_span(section: &Section<'_>, key: &str, most: Duration) -> Read<Duration> {
    section.key::<Duration>(key).within(SHORTEST, most).required()
}

/// Reads the distribution called `key`, whose longest duration is at most `most`.
pub fn times(section: &Section<'_>, key: &str, most: Duration) -> Read<QuantileTable> {
    let table = section.required::<QuantileTable>(key)?;
    if table.max() <= most {
        return Ok(table);
    }
    Err(section.refuse(
        key,
        &format!("may take {}", table.max()),
        &format!("durations up to {most}"),
        "check the unit",
    ))
}
