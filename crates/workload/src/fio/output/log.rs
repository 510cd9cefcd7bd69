//! The text of fio's logs: time in ms, value, direction, block size, offset, priority.
//!
//! Layer: rank 6. Priorities are always 0; offsets are 0 without `log_offset`.

use crate::fio::account::{Log, LogEntry};
use crate::fio::engine::Report;
use std::fmt::Write;

/// The lines of a log of a report.
#[must_use]
pub fn text(report: &Report, log: Log) -> String {
    let mut text = String::new();
    for entry in &report.account.logs[log as usize] {
        let LogEntry { time, value, direction, block, offset } = *entry;
        let (time, direction) = (time.as_micros() / 1_000, direction.number());
        let offset = offset.unwrap_or(0);
        writeln!(text, "{time}, {value}, {direction}, {block}, {offset}, 0")
            .expect("a string takes all");
    }
    text
}
