//! One command on the wire, dword by dword, as a timeline.
//!
//! Layer: rank 11. Function: [`timelines`]. The dword engine runs a short read and a short write on the drive of table 6-1, which
//! throttles both, and its trace becomes spans: a lane an end, HOLD shaded.

use super::what_if::small;
use crate::sata::scenario::Scenario;
use crate::sata::tables::told::short;
use boardlab_experiment::Cause;
use boardlab_parts::drive::compose::{DriveOnHost, compose};
use boardlab_result::prose::{float, round};
use boardlab_result::{Activity, Span, Timeline};
use boardlab_sata::device::Ssd;
use boardlab_sata::host::{Build, Data, Direction, Host, Job, Limits, Transfer};
use boardlab_sata::link::{Engine, Item, Run};
use boardlab_sata::wire::Primitive;
use boardlab_sata::{Speed, Tick};
use boardlab_sim::Seed;

/// Sectors of the read, three Data FISes of 8 KiB, and of the write: enough to fill the drive's buffer.
const READ: u32 = 48;
const WRITE: u32 = 640;
/// Kinds of spans, in the order of the legend.
const KINDS: [&str; 5] = ["payload", "frame", "handshake", "HOLD", "FIS"];
/// The one that is shaded.
const HOLD: usize = 3;

/// A read and a write.
pub(crate) fn timelines(scenario: &Scenario, seed: Seed) -> Result<Vec<Timeline>, Cause> {
    let all = [
        (Direction::Write, WRITE, "sata-write", "WRITE DMA EXT"),
        (Direction::Read, READ, "sata-read", "READ DMA EXT"),
    ];
    let each = all.into_iter().map(|(direction, sectors, id, name)| {
        let drive = short(&scenario.drives.g_monster);
        let title = format!("{name} of {sectors} sectors on the wire, {drive}");
        let caption = "What each end sends, dword by dword; SYNC is left out. Where HOLD is shaded one end waits for the other.";
        let mut timeline = Timeline::new(id, title, caption, "time (us)");
        timeline.lanes = vec!["host".into(), "drive".into()];
        timeline.activities = KINDS.iter().map(|name| Activity::new(*name)).collect();
        timeline.activities[HOLD].shaded = true;
        timeline.spans = spans(scenario, (direction, sectors), seed)?;
        Ok(timeline)
    });
    each.collect()
}

fn spans(
    scenario: &Scenario,
    (direction, sectors): (Direction, u32),
    seed: Seed,
) -> Result<Vec<Span>, Cause> {
    let part = small(&scenario.drives.g_monster);
    let DriveOnHost { wiring, storage, identify } =
        compose(&part, scenario.host.port(), true, seed)?;
    let ssd = Ssd::new(wiring.speed, storage, identify)?;
    let settings = scenario.host.settings(Build::Single, Limits::default());
    let mut engine = Engine::new(wiring, Host::new(wiring.speed, settings), ssd);
    let data = Data::Pattern(scenario.continuous.pattern);
    let transfer = |direction| {
        Job::Transfer(Transfer::looped(direction, 0, sectors, 1).with_data(data.clone()))
    };
    engine.host_mut().push(Job::Identify);
    if direction == Direction::Read {
        engine.host_mut().push(transfer(Direction::Write));
    }
    engine.run(Tick::NEVER);
    engine.record();
    engine.host_mut().push(transfer(direction));
    engine.run(Tick::NEVER);
    for report in engine.host_mut().take_reports() {
        report.outcome?;
    }
    let trace = engine.trace();
    let lanes = [trace.host, trace.device];
    let busy = |run: &&Run| kind(run.item).is_some();
    let first = lanes.iter().flatten().filter(busy).map(|run| run.from).min();
    let start = first.unwrap_or(Tick::ZERO);
    let both = lanes.iter().enumerate();
    let spans = both.flat_map(|(lane, runs)| {
        runs.iter().filter_map(move |run| span(wiring.speed, start, lane, run))
    });
    Ok(spans.collect())
}

fn span(speed: Speed, start: Tick, lane: usize, run: &Run) -> Option<Span> {
    let activity = kind(run.item)?;
    let at = |tick: Tick| {
        let ticks = float(tick.since(start));
        round(ticks * 1e6 / float(speed.dword_clock().get()), 4)
    };
    let label = format!("{}, {} dwords", run.item, run.ticks());
    Some(Span { lane, activity, from: at(run.from), to: at(run.until), label })
}

/// The index of its kind; nothing where an end is idle.
const fn kind(item: Item) -> Option<usize> {
    match item {
        Item::Data => Some(0),
        Item::Header | Item::Crc | Item::Primitive(Primitive::Sof | Primitive::Eof) => Some(1),
        Item::Primitive(Primitive::Hold | Primitive::Holda) => Some(HOLD),
        Item::Fis(_) => Some(4),
        Item::Nothing | Item::Primitive(Primitive::Sync) => None,
        Item::Primitive(_) => Some(2),
    }
}
