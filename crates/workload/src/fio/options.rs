//! Every option of fio 3.33, once: its names, its tier, its effect here.
//!
//! Layer: rank 6. Main types: [`Spec`], [`Tier`]; [`OPTIONS`] is the list. Reading, help and
//! docs/formats/fio-jobs.md follow it. Names, aliases and limits are those that `fio --cmdhelp=all` of
//! version 3.33 prints, plus the engine options `skip_bad`, `hipri` and `userspace_reap`.

use crate::fio::problem::Problem;
use crate::fio::reading::Reading;
use crate::fio::setters as set;
use crate::fio::settings::Settings;

/// How far an option is supported.
#[derive(Debug, Clone, Copy)]
pub enum Tier {
    /// Simulated, by this function.
    Full(fn(&mut Settings, &Reading<'_>) -> Result<(), Problem>),
    /// Read, checked and noted: without effect on a simulation.
    NoEffect(Kind),
    /// Refused, for this reason.
    Refused(&'static str),
    /// The same, unless its value is 0, which means off.
    OnlyOff(&'static str),
}

/// The form of the value of an option without effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A number, its suffix included.
    Number,
    /// 0 or 1, or nothing.
    Flag,
    /// A time.
    Time,
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Its name.
    pub name: &'static str,
    /// Another name, or empty.
    pub alias: &'static str,
    /// How far it is supported.
    pub tier: Tier,
    /// Its effect, in a few words.
    pub help: &'static str,
}

type Setter = fn(&mut Settings, &Reading<'_>) -> Result<(), Problem>;

const fn full(name: &'static str, alias: &'static str, set: Setter, help: &'static str) -> Spec {
    Spec { name, alias, tier: Tier::Full(set), help }
}

const fn idle(name: &'static str, alias: &'static str, kind: Kind, help: &'static str) -> Spec {
    Spec { name, alias, tier: Tier::NoEffect(kind), help }
}

const fn refused(name: &'static str, reason: &'static str) -> Spec {
    Spec { name, alias: "", tier: Tier::Refused(reason), help: reason }
}

const fn off(name: &'static str, alias: &'static str, reason: &'static str) -> Spec {
    Spec { name, alias, tier: Tier::OnlyOff(reason), help: reason }
}

const PROGRAM: &str = "a simulation runs no programs";
const CGROUP: &str = "there are no control groups in a simulation";
const REPLAY: &str = "block traces are replayed by their own workload";
const ZONED: &str = "zoned block devices are not modelled";
const FEEDBACK: &str = "it would change the load by feedback that is not modelled";
const VERIFY: &str =
    "nothing is read back and compared; give 0, or read the same area in a job of its own";
const OVERLAP: &str = "requests to the same blocks do not wait for each other; give 0";
const MINIMUM: &str = "no job ends because it is too slow; give 0";
const TRIMS: &str = "trims mixed into other requests are not modelled";

use Kind::{Flag, Number, Text, Time};

/// All options, in the order of fio's own list.
#[rustfmt::skip]
pub const OPTIONS: &[Spec] = &[
    full("description", "", set::description, "text about the job"),
    full("name", "", set::name, "name of the job, instead of the section's"),
    full("wait_for", "", set::wait_for, "start when all copies of the named job are done"),
    full("filename", "", set::filename, "device or files, with colons between"),
    full("lockfile", "", set::lockfile, "lock files: none"),
    idle("directory", "", Text, "where files are"),
    full("filename_format", "", set::filename_format, "how names of files are made up"),
    idle("unique_filename", "", Flag, "names of files of network clients"),
    refused("opendir", "a simulated device has no directories to search"),
    full("rw", "readwrite", set::rw, "reads, writes or trims, in order or random"),
    full("bs", "blocksize", set::bs, "size of blocks"),
    full("ba", "blockalign", set::ba, "alignment of random blocks"),
    full("bsrange", "blocksize_range", set::bsrange, "smallest and largest block"),
    full("bssplit", "", set::bssplit, "sizes of blocks with percentages"),
    full("bs_unaligned", "blocksize_unaligned", set::bs_unaligned, "any size within bsrange"),
    full("randrepeat", "", set::randrepeat, "the same random places in each run"),
    full("randseed", "", set::randseed, "seed of what is random"),
    full("norandommap", "", set::norandommap, "random places may come again before all have come"),
    idle("ignore_error", "", Text, "errors that do not end a job"),
    full("rw_sequencer", "", set::rw_sequencer, "how rw=...:N makes places"),
    full("ioengine", "", set::ioengine, "how requests are made"),
    full("iodepth", "", set::iodepth, "requests under way at once"),
    idle("iodepth_batch", "iodepth_batch_submit", Number, "requests submitted at once"),
    full("iodepth_batch_complete_min", "iodepth_batch_complete", set::complete_min, "requests waited for at once"),
    full("iodepth_batch_complete_max", "", set::complete_max, "requests taken at once"),
    full("iodepth_low", "", set::iodepth_low, "how far a full queue is emptied"),
    off("serialize_overlap", "", OVERLAP),
    idle("io_submit_mode", "", Text, "submission by a thread of its own"),
    full("size", "", set::size, "bytes of the area"),
    full("io_size", "io_limit", set::io_size, "bytes moved in all"),
    full("fill_device", "fill_fs", set::fill_device, "go on to the end of the device"),
    full("filesize", "", set::filesize, "size of each file"),
    refused("file_append", "a device has no end to append to"),
    full("offset", "fileoffset", set::offset, "where the area begins"),
    full("offset_increment", "", set::offset_increment, "offset of each further copy"),
    full("offset_align", "", set::offset_align, "alignment of an offset in percent"),
    full("number_ios", "", set::number_ios, "requests in all"),
    idle("random_generator", "", Text, "fio's generator of random numbers"),
    full("random_distribution", "", set::random_distribution, "how random places are distributed"),
    full("percentage_random", "", set::percentage_random, "share of random places"),
    idle("allrandrepeat", "", Flag, "as randrepeat, for everything random"),
    full("nrfiles", "nr_files", set::nrfiles, "number of files"),
    full("file_service_type", "", set::file_service_type, "which file is next"),
    full("openfiles", "", set::openfiles, "files open at once: all"),
    idle("fallocate", "", Text, "how files are laid out"),
    idle("fadvise_hint", "", Text, "advice about the page cache"),
    full("fsync", "", set::fsync, "flush after so many writes"),
    full("fdatasync", "", set::fdatasync, "flush data after so many writes"),
    idle("write_barrier", "", Number, "every so many writes is a barrier"),
    idle("sync_file_range", "", Text, "start writing back after so many writes"),
    full("direct", "", set::direct, "without the page cache"),
    idle("atomic", "", Flag, "atomic direct writes"),
    full("buffered", "", set::buffered, "with the page cache"),
    idle("overwrite", "", Flag, "lay files out before they are written"),
    full("loops", "", set::loops, "how often the job is done"),
    full("numjobs", "", set::numjobs, "copies of the job"),
    full("startdelay", "", set::startdelay, "start so much later"),
    full("runtime", "timeout", set::runtime, "stop after so long"),
    full("time_based", "", set::time_based, "go on until the runtime is over"),
    off("verify_only", "", VERIFY),
    full("ramp_time", "", set::ramp_time, "time before anything is counted"),
    idle("clocksource", "", Text, "fio's clock"),
    idle("mem", "iomem", Text, "where buffers are"),
    off("verify", "", VERIFY),
    off("do_verify", "", VERIFY),
    off("verify_interval", "", VERIFY),
    off("verify_offset", "", VERIFY),
    refused("verify_pattern", VERIFY),
    off("verify_fatal", "", VERIFY),
    off("verify_dump", "", VERIFY),
    off("verify_async", "", VERIFY),
    off("verify_backlog", "", VERIFY),
    off("verify_backlog_batch", "", VERIFY),
    off("experimental_verify", "", VERIFY),
    off("verify_state_load", "", VERIFY),
    off("verify_state_save", "", VERIFY),
    off("trim_percentage", "", TRIMS),
    off("trim_verify_zero", "", TRIMS),
    off("trim_backlog", "", TRIMS),
    off("trim_backlog_batch", "", TRIMS),
    refused("write_iolog", "use the trace of the device instead"),
    refused("read_iolog", REPLAY),
    refused("read_iolog_chunked", REPLAY),
    refused("replay_no_stall", REPLAY),
    refused("replay_redirect", REPLAY),
    refused("replay_scale", REPLAY),
    refused("replay_align", REPLAY),
    refused("replay_time_scale", REPLAY),
    refused("replay_skip", REPLAY),
    refused("merge_blktrace_file", REPLAY),
    refused("merge_blktrace_scalars", REPLAY),
    refused("merge_blktrace_iters", REPLAY),
    refused("exec_prerun", PROGRAM),
    refused("exec_postrun", PROGRAM),
    idle("ioscheduler", "", Text, "the kernel's scheduler"),
    full("zonemode", "", set::zonemode, "strided or not"),
    full("zonesize", "", set::zonesize, "bytes used of each zone"),
    refused("zonecapacity", ZONED),
    full("zonerange", "", set::zonerange, "size of a zone"),
    full("zoneskip", "", set::zoneskip, "bytes left out between zones"),
    refused("read_beyond_wp", ZONED),
    refused("max_open_zones", ZONED),
    refused("job_max_open_zones", ZONED),
    refused("ignore_zone_limits", ZONED),
    refused("zone_reset_threshold", ZONED),
    refused("zone_reset_frequency", ZONED),
    idle("lockmem", "", Text, "memory taken away"),
    full("rwmixread", "", set::rwmixread, "share of reads"),
    full("rwmixwrite", "", set::rwmixwrite, "share of writes"),
    idle("nice", "", Text, "priority of the process"),
    idle("prio", "", Number, "priority of requests"),
    idle("prioclass", "", Number, "class of priority of requests"),
    full("thinktime", "", set::thinktime, "pause between blocks"),
    idle("thinktime_spin", "", Time, "how much of the pause is spent spinning"),
    full("thinktime_blocks", "", set::thinktime_blocks, "blocks between pauses"),
    full("thinktime_blocks_type", "", set::thinktime_blocks_type, "pause after issue or completion"),
    refused("thinktime_iotime", FEEDBACK),
    full("rate", "", set::rate, "bytes a second at most"),
    off("rate_min", "ratemin", MINIMUM),
    full("rate_process", "", set::rate_process, "linear or poisson"),
    idle("rate_cycle", "ratecycle", Number, "window of rate_min"),
    full("rate_ignore_thinktime", "", set::rate_ignore_thinktime, "do not catch up pauses"),
    full("rate_iops", "", set::rate_iops, "requests a second at most"),
    off("rate_iops_min", "", MINIMUM),
    refused("max_latency", FEEDBACK),
    refused("latency_target", FEEDBACK),
    refused("latency_window", FEEDBACK),
    refused("latency_percentile", FEEDBACK),
    refused("latency_run", FEEDBACK),
    idle("invalidate", "", Flag, "empty the page cache first"),
    full("sync", "", set::sync, "writes that wait for the medium"),
    idle("write_hint", "", Text, "how long data will live"),
    idle("create_serialize", "", Flag, "lay files out one by one"),
    idle("create_fsync", "", Flag, "flush files after laying them out"),
    idle("create_on_open", "", Flag, "lay files out when opened"),
    refused("create_only", "it would make no request"),
    idle("allow_file_create", "", Flag, "make files"),
    idle("allow_mounted_write", "", Flag, "write to mounted devices"),
    refused("pre_read", "it would fill a page cache that is not modelled"),
    idle("cpumask", "", Number, "processors"),
    idle("cpus_allowed", "", Text, "processors"),
    idle("cpus_allowed_policy", "", Text, "processors"),
    idle("numa_cpu_nodes", "", Text, "processors"),
    idle("numa_mem_policy", "", Text, "memory"),
    full("end_fsync", "", set::end_fsync, "flush at the end"),
    full("fsync_on_close", "", set::fsync_on_close, "flush when a file is closed"),
    idle("unlink", "", Flag, "remove files at the end"),
    idle("unlink_each_loop", "", Flag, "remove files after each loop"),
    refused("exitall", FEEDBACK),
    refused("exit_what", FEEDBACK),
    idle("exitall_on_error", "", Flag, "stop all jobs at an error; a device's error always does"),
    full("stonewall", "wait_for_previous", set::stonewall, "wait for all jobs before"),
    full("new_group", "", set::new_group, "a new group of reports"),
    idle("thread", "", Flag, "threads instead of processes"),
    idle("threads", "", Flag, "as thread"),
    idle("per_job_logs", "", Flag, "logs by job"),
    full("write_bw_log", "", set::write_bw_log, "log of bandwidth"),
    full("bwavgtime", "", set::bwavgtime, "window of bandwidth"),
    full("write_lat_log", "", set::write_lat_log, "logs of latency"),
    full("write_iops_log", "", set::write_iops_log, "log of requests a second"),
    full("iopsavgtime", "", set::iopsavgtime, "window of requests a second"),
    idle("log_entries", "", Number, "entries kept before writing"),
    full("log_avg_msec", "", set::log_avg_msec, "mean over windows in logs"),
    idle("log_hist_msec", "", Number, "window of the log of histograms"),
    idle("log_hist_coarseness", "", Number, "bins of the log of histograms"),
    refused("write_hist_log", "histograms over time are not kept; use write_lat_log"),
    full("log_max_value", "", set::log_max_value, "largest instead of mean in logs"),
    full("log_offset", "", set::log_offset, "places in logs"),
    idle("log_prio", "", Flag, "priorities in logs"),
    idle("log_compression", "", Number, "compression of logs"),
    idle("log_compression_cpus", "", Text, "compression of logs"),
    idle("log_store_compressed", "", Flag, "compression of logs"),
    idle("log_unix_epoch", "", Flag, "wall clock in logs"),
    idle("log_alternate_epoch", "", Flag, "wall clock in logs"),
    idle("log_alternate_epoch_clock_id", "", Number, "wall clock in logs"),
    idle("block_error_percentiles", "", Flag, "erase blocks that failed"),
    full("group_reporting", "", set::group_reporting, "one report for a group"),
    idle("stats", "", Flag, "reports"),
    full("zero_buffers", "", set::zero_buffers, "write zeros"),
    full("refill_buffers", "", set::refill_buffers, "new data for each write"),
    full("scramble_buffers", "", set::scramble_buffers, "change old data a little for each write"),
    full("buffer_pattern", "", set::buffer_pattern, "write this pattern"),
    full("buffer_compress_percentage", "", set::buffer_compress_percentage, "compressible share"),
    idle("buffer_compress_chunk", "", Number, "unit of the compressible share"),
    full("dedupe_percentage", "", set::dedupe_percentage, "share of equal blocks"),
    idle("dedupe_mode", "", Text, "which blocks are equal"),
    idle("dedupe_working_set_percentage", "", Number, "which blocks are equal"),
    idle("dedupe_global", "", Flag, "which blocks are equal"),
    full("clat_percentiles", "", set::clat_percentiles, "percentiles of completion"),
    full("lat_percentiles", "", set::lat_percentiles, "percentiles of the whole latency"),
    idle("slat_percentiles", "", Flag, "percentiles of submission"),
    full("percentile_list", "", set::percentile_list, "which percentiles"),
    idle("significant_figures", "", Number, "digits shown"),
    idle("disk_util", "", Flag, "the kernel's statistics"),
    idle("gtod_reduce", "", Flag, "fewer looks at the clock"),
    idle("disable_lat", "", Flag, "fewer looks at the clock"),
    idle("disable_clat", "", Flag, "fewer looks at the clock"),
    idle("disable_slat", "", Flag, "fewer looks at the clock"),
    idle("disable_bw_measurement", "disable_bw", Flag, "fewer looks at the clock"),
    idle("gtod_cpu", "", Number, "processor of the clock"),
    refused("unified_rw_reporting", "reports keep reads, writes and trims apart"),
    idle("continue_on_error", "", Text, "errors that do not end a job"),
    idle("error_dump", "", Flag, "information about errors"),
    refused("profile", "there are no built-in profiles"),
    refused("cgroup", CGROUP),
    refused("cgroup_nodelete", CGROUP),
    refused("cgroup_weight", CGROUP),
    idle("uid", "", Number, "user"),
    idle("gid", "", Number, "group"),
    full("kb_base", "", set::kb_base, "what a k stands for"),
    idle("unit_base", "", Number, "bytes or bits in reports"),
    idle("hugepage-size", "", Number, "memory"),
    refused("flow_id", FEEDBACK),
    refused("flow", FEEDBACK),
    refused("flow_sleep", FEEDBACK),
    refused("steadystate", FEEDBACK),
    refused("ss", FEEDBACK),
    refused("steadystate_duration", FEEDBACK),
    refused("ss_dur", FEEDBACK),
    refused("steadystate_ramp_time", FEEDBACK),
    refused("ss_ramp", FEEDBACK),
    idle("skip_bad", "", Flag, "leave out bad blocks of raw flash"),
    idle("hipri", "", Flag, "poll for completion"),
    idle("userspace_reap", "", Flag, "take completions without a system call"),
    idle("cmdprio_percentage", "", Text, "priorities of requests"),
];

/// The option called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Spec> {
    OPTIONS.iter().find(|spec| spec.name == name || (!name.is_empty() && spec.alias == name))
}

/// The option whose name is nearest to `name`, if one is near enough.
#[must_use]
pub fn nearest(name: &str) -> Option<&'static str> {
    let names = OPTIONS.iter().flat_map(|spec| [spec.name, spec.alias]);
    let names = names.filter(|known| !known.is_empty());
    let scored = names.map(|known| (strsim::damerau_levenshtein(known, name), known));
    let (distance, known) = scored.min()?;
    (distance <= 2.max(name.len() / 3) && distance < name.len()).then_some(known)
}

/// Reads the value of an option into `settings`. Returns whether it has an effect.
///
/// # Errors
/// Those of the option; [`Problem::Refused`].
pub fn apply(spec: &Spec, settings: &mut Settings, reading: &Reading<'_>) -> Result<bool, Problem> {
    match spec.tier {
        Tier::Full(set) => set(settings, reading).map(|()| true),
        Tier::NoEffect(kind) => check(kind, reading).map(|()| false),
        Tier::OnlyOff(_) if reading.text == Some("0") => Ok(true),
        Tier::Refused(reason) | Tier::OnlyOff(reason) => {
            Err(Problem::Refused { option: spec.name.to_owned(), reason })
        }
    }
}

fn check(kind: Kind, reading: &Reading<'_>) -> Result<(), Problem> {
    match kind {
        Text => reading.text().map(|_| ()),
        Number => reading.signed_size().map(|_| ()),
        Flag => reading.flag().map(|_| ()),
        Time => reading.time(boardlab_sim::Duration::from_micros(1)).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_twice_in_the_list() {
        let mut names: Vec<_> = OPTIONS.iter().flat_map(|spec| [spec.name, spec.alias]).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn every_option_is_found_by_both_names_and_has_help() {
        for spec in OPTIONS {
            assert_eq!(find(spec.name).unwrap().name, spec.name);
            assert!(spec.alias.is_empty() || find(spec.alias).unwrap().name == spec.name);
            assert!(!spec.help.is_empty());
        }
        assert!(find("").is_none());
    }

    #[test]
    fn a_slip_of_the_pen_has_a_nearest_name_and_nonsense_has_none() {
        assert_eq!(nearest("rww"), Some("rw"));
        assert_eq!(nearest("iodeph"), Some("iodepth"));
        assert_eq!(nearest("nonsense"), None);
        assert_eq!(nearest(""), None);
    }
}
