//! What `flash_speed` of mtd-utils prints, and the kernel's module `mtd_speedtest`.
//!
//! Layer: rank 8. Function: [`read`]. Source: outputs of both in public reports. A line such as
//! `[ 53.0] mtd_speedtest: page write speed is 3279 KiB/s` is a figure; the kernel's clock and the name of the
//! module before it do not matter, nor do other lines. The speeds are of what was moved; of an erase, of the bytes
//! that were erased.

use super::{Foreign, TEXT_SHOWN, blank};
use boardlab_result::foreign::shown_at_most;
use boardlab_result::prose::counted;
use boardlab_result::{Cell, Row, Table};

const SPEED: &str = " speed is ";
/// How the last line of a whole output ends.
const LAST: &str = "finished";

/// Whether a file that begins so is such an output.
pub(super) fn is_one(head: &str) -> bool {
    head.contains("eraseblock") && head.contains(" speed")
}

/// A line with a figure: what was tried, and KiB a second.
fn figure(line: &str) -> Option<(String, u64)> {
    let (what, speed) = line.split_once(SPEED)?;
    let number = speed.trim().strip_suffix("KiB/s")?.trim_end();
    let what = what.rsplit_once(": ").map_or(what, |(_, what)| what);
    let words: Vec<_> = what.split_whitespace().collect();
    Some((words.join("-"), number.parse().ok()?)).filter(|(what, _)| !what.is_empty())
}

/// The numbers that follow names in the line on the device: `MTD device size 16777216, eraseblock size 4096`.
fn geometry(line: &str) -> impl Iterator<Item = (&'static str, u64)> {
    const NAMES: [(&str, &str); 5] = [
        ("size", "MTD device size "),
        ("eraseblock", "eraseblock size "),
        ("page", "page size "),
        ("eraseblocks", "count of eraseblocks "),
        ("oob", "OOB size "),
    ];
    NAMES.into_iter().filter_map(|(name, before)| {
        let rest = line.split_once(before)?.1;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
        Some((name, digits.parse().ok()?))
    })
}

/// Reads an output.
pub(super) fn read(name: &str, text: &str) -> Foreign {
    let mut run = blank("flash_speed", name);
    let mut steps = Vec::new();
    let mut device = Table::new("device", "Device").column("value", "value");
    let (mut ended, mut unread) = (false, Vec::new());
    for (line, number) in text.lines().zip(1..) {
        if let Some(figure) = figure(line) {
            steps.push(figure);
        } else if line.contains(SPEED) {
            unread.push((number, line.trim()));
        } else if line.contains("MTD device size ") && device.rows.is_empty() {
            for (name, value) in geometry(line) {
                let unit = if name == "eraseblocks" { "count" } else { "bytes" };
                device
                    .rows
                    .push(Row::new(name, "").of_unit(unit).cell("value", Cell::count(value)));
            }
        }
        ended |= line.trim_end().ends_with(LAST);
        if line.contains("error ") || line.contains(" are bad") && !line.contains(" 0 are bad") {
            run.warnings
                .push(format!("Line {number}: {}", shown_at_most(line.trim(), TEXT_SHOWN * 2)));
        }
    }
    let rows = steps.iter().map(|(what, kib)| (Row::new(what.as_str(), ""), *kib));
    let table = Table::new("steps", "Steps").of(rows);
    let table =
        table.column("bytes_per_s", "rate", |kib| Cell::count(kib.saturating_mul(1_024))).table();
    run.findings.push(format!("{} of {name}.", counted(steps.len(), "speed")));
    run.tables.push(table);
    run.tables.extend(Some(device).filter(|device| !device.rows.is_empty()));
    for (number, line) in &unread {
        let line = shown_at_most(line, TEXT_SHOWN);
        run.warnings.push(format!("Line {number} has no speed in KiB/s and is left out: {line}"));
    }
    if !ended {
        run.warnings.push(
            "The output has no line `finished`: it may have been cut off, or copied in part."
                .into(),
        );
    }
    Foreign { run, is_whole: !steps.is_empty() && unread.is_empty() }
}
