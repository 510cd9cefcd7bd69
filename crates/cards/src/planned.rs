//! A job of fio as a step of a plan, for the agent on a board without fio.
//!
//! Layer: rank 10. Function: [`step`]. The agent reads or writes, in blocks of one size, in sequence or at
//! places that are equally likely; jobs that do more are for fio itself.

use boardlab_measure::plan::Step;
use boardlab_workload::fio::settings::{Access, Blocks, Distribution, Settings, SyncMode};

/// The largest operation of a step.
const SIZE_MAX: u64 = 1 << 30;
/// The most that is outstanding at once.
const DEPTH_MAX: u64 = 256;

/// The step called `name` that does on `device`, a device of `capacity` bytes, what the job does.
///
/// # Errors
/// What the agent cannot do, as a clause.
pub(crate) fn step(
    name: &str,
    settings: &Settings,
    device: &str,
    capacity: u64,
) -> Result<Step, &'static str> {
    let direction = direction(&settings.access)?;
    check(settings, direction)?;
    let Blocks::Fixed(size) = settings.blocks[direction] else {
        return Err("its blocks have several sizes");
    };
    let (area, submission) = (&settings.area, &settings.submission);
    let offset = area.offset.map_or(0, |offset| offset.of(capacity));
    let room = capacity.saturating_sub(offset);
    let length = area.size.map_or(room, |length| length.of(capacity)).min(room);
    let volume = area.io_size.map_or(length, |volume| volume.of(capacity));
    if size == 0 || size > SIZE_MAX || length < size {
        return Err("its blocks do not fit its area");
    }
    let operation = ["block.read", "block.write"][direction];
    let mut step = Step::new(name, operation).device(device).key("size", size);
    if offset > 0 {
        step = step.key("offset", offset);
    }
    step = step.key("length", length).key("direct", submission.direct);
    let passes = settings.loops.max(1);
    step = step.key("count", (volume / size).max(1).saturating_mul(passes));
    if settings.access.random {
        step = step.key("order", "random");
    }
    if submission.engine.queues && submission.depth > 1 {
        let depth = submission.depth.min(DEPTH_MAX);
        let engine = if submission.direct { "aio" } else { "threads" };
        step = step.key("depth", depth).key("engine", engine);
    }
    let writes = direction == 1;
    if writes && (submission.fsync == 1 || submission.fdatasync == 1) {
        step = step.key("sync", "each");
    } else if writes && (submission.end_fsync || submission.fsync_on_close) {
        step = step.key("sync", "end");
    }
    if writes && settings.contents.zero {
        step = step.key("data", "zero");
    }
    if let Some(runtime) = settings.timing.runtime {
        step = step.key("limit_ms", runtime.as_nanos() / 1_000_000);
    }
    Ok(step)
}

/// Reads or writes, as an index.
fn direction(access: &Access) -> Result<usize, &'static str> {
    match access.directions {
        [true, false, false] => Ok(0),
        [false, true, false] => Ok(1),
        [false, false, true] => Err("it trims"),
        _ => Err("it mixes reads and writes"),
    }
}

fn check(settings: &Settings, direction: usize) -> Result<(), &'static str> {
    let (timing, submission, area) = (&settings.timing, &settings.submission, &settings.area);
    let paced = timing.rate != [0; 3] || timing.rate_iops != [0; 3];
    let sometimes = |every: u64| every > 1;
    let refused = [
        (settings.copies > 1, "it has several copies"),
        (!timing.think.is_zero() || paced, "it pauses between its requests"),
        (!timing.ramp.is_zero(), "it has a ramp time"),
        (settings.access.modifier != 0, "it leaves holes, or stays at a place"),
        (
            settings.randomness.distribution[direction] != Distribution::Uniform,
            "its places are not equally likely",
        ),
        (settings.randomness.share[direction] != 100, "a part of its places is random"),
        (submission.sync != SyncMode::None, "it opens the device with O_SYNC"),
        (
            sometimes(submission.fsync) || sometimes(submission.fdatasync),
            "it syncs after several writes",
        ),
        (area.strided || area.number_ios > 0 || area.fill_device, "its area is not a range"),
        (timing.time_based && area.io_size.is_some(), "it repeats a part of its area"),
    ];
    match refused.into_iter().find(|(is_so, _)| *is_so) {
        Some((_, reason)) => Err(reason),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_workload::fio;

    fn planned(arguments: &str) -> Result<String, &'static str> {
        let arguments: Vec<String> = arguments.split(' ').map(Into::into).collect();
        let file = fio::parse_arguments(&arguments).unwrap();
        step("job", &file.jobs[0].settings, "/dev/sdx", 1 << 30).map(|step| step.to_string())
    }

    #[test]
    fn a_job_of_one_kind_becomes_a_step() {
        let job = "--name=j --rw=randwrite --bs=4k --size=1m --io_size=2m --iodepth=8 --ioengine=libaio --direct=1 --runtime=60";
        assert_eq!(
            planned(job).unwrap(),
            "step job block.write device=/dev/sdx size=4096 length=1048576 direct=1 count=512 order=random depth=8 \
             engine=aio limit_ms=60000"
        );
        let job = "--name=j --rw=read --bs=64k --offset=1m --size=50% --direct=0";
        assert_eq!(
            planned(job).unwrap(),
            "step job block.read device=/dev/sdx size=65536 offset=1048576 length=536870912 direct=0 count=8192"
        );
        assert!(
            planned("--name=j --rw=write --bs=4k --size=1m --fsync=1")
                .unwrap()
                .contains("sync=each")
        );
        assert!(
            planned("--name=j --rw=write --bs=4k --size=1m --loops=3")
                .unwrap()
                .contains("count=768")
        );
    }

    #[test]
    fn what_the_agent_cannot_do_is_told() {
        for (job, reason) in [
            ("--rw=randrw", "it mixes reads and writes"),
            ("--rw=trim", "it trims"),
            ("--rw=read --bsrange=4k-8k", "its blocks have several sizes"),
            ("--rw=read --numjobs=2", "it has several copies"),
            ("--rw=read --rate=1m", "it pauses between its requests"),
            ("--rw=randread --random_distribution=zipf:1.1", "its places are not equally likely"),
            ("--rw=write --fsync=4", "it syncs after several writes"),
            ("--rw=read --bs=2g --size=1g", "its blocks do not fit its area"),
        ] {
            let told =
                planned(&format!("--name=j --size=1m {job}").replace(
                    "--size=1m --rw=read --bs=2g --size=1g",
                    "--rw=read --bs=2g --size=1g",
                ));
            assert_eq!(told, Err(reason), "{job}");
        }
    }
}
