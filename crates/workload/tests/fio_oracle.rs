//! Jobs beside fio itself: how it reads them (`--showcmd`) and which requests it makes (`write_iolog`).
//!
//! fio is a Debian package, its examples another (`fio-examples`); a test that needs what is absent
//! says so.

use boardlab_block::{Event, Geometry, Kind, RamBlock, Tracer};
use boardlab_sim::{Bytes, Clock};
use boardlab_workload::fio::options::{OPTIONS, Tier};
use boardlab_workload::fio::{
    Diagnostics, Environment, Host, JobFile, Problem, parse, parse_arguments, run,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EXAMPLES: &str = "/usr/share/doc/fio/examples";

fn fio_is_here() -> bool {
    let version = Command::new("fio").arg("--version").output();
    let here = version.is_ok_and(|output| output.stdout.starts_with(b"fio-3."));
    if !here {
        eprintln!("skipped: needs fio");
    }
    here
}

/// A folder that is gone when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("boardlab-fio-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What fio itself would see: the environment of the test and the folder of the job file.
struct World<'a>(&'a Path);

impl Environment for World<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "pagesize" => Some("4096".to_owned()),
            "ncpus" => std::thread::available_parallelism().ok().map(|count| count.to_string()),
            name => std::env::var(name).ok(),
        }
    }

    fn include(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(file)).ok()
    }
}

/// A command line as its sections, each with its options sorted: fio sorts some of them.
fn sections(line: &str) -> Vec<Vec<String>> {
    let line = line.trim().strip_prefix("fio").unwrap();
    let mut sections = vec![Vec::new()];
    for option in line.split(" --").map(str::trim).filter(|option| !option.is_empty()) {
        // The first name opens the section; a second is an option of the job.
        if option.starts_with("name=") && !sections.last().unwrap().is_empty() {
            let within: &Vec<String> = sections.last().unwrap();
            let only = within.len() == 1 && within[0].starts_with("name=");
            if !only {
                sections.push(Vec::new());
            }
        } else if option.starts_with("name=") {
            sections.push(Vec::new());
        }
        sections.last_mut().unwrap().push(option.to_owned());
    }
    sections.iter_mut().for_each(|section| section.sort());
    sections.retain(|section| !section.is_empty());
    sections
}

fn showcmd(file: &Path, folder: &Path) -> Option<String> {
    let output = Command::new("fio")
        .arg("--showcmd")
        .arg(file)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

fn read(file: &Path, folder: &Path) -> Result<JobFile, Diagnostics> {
    parse(&file.display().to_string(), &std::fs::read(file).unwrap(), &World(folder))
}

#[test]
fn the_examples_of_fio_are_read_as_fio_reads_them_or_refused_with_a_reason() {
    if !fio_is_here() {
        return;
    }
    let Ok(folder) = std::fs::read_dir(EXAMPLES) else {
        eprintln!("skipped: needs fio-examples");
        return;
    };
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "fio"));
    files.sort();
    let mut accepted = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        match read(file, Path::new(EXAMPLES)) {
            Ok(ours) => {
                if let Some(theirs) = showcmd(file, Path::new(EXAMPLES)) {
                    assert_eq!(sections(&ours.to_string()), sections(&theirs), "{name}");
                    accepted.push(name.to_owned());
                }
            }
            Err(Diagnostics(wrong)) => {
                let known = showcmd(file, Path::new(EXAMPLES)).is_some();
                let refused = |problem: &Problem| {
                    matches!(
                        problem,
                        Problem::Refused { .. }
                            | Problem::Variable { .. }
                            | Problem::Contradiction { .. }
                    ) || engine_option(problem)
                };
                let other: Vec<_> =
                    wrong.iter().filter(|diagnostic| !refused(&diagnostic.problem)).collect();
                assert!(!known || other.is_empty(), "{name}: {other:?}");
            }
        }
    }
    for name in [
        "aio-read",
        "backwards-read",
        "dedupe-global",
        "fio-rand-RW",
        "fio-rand-read",
        "fio-rand-write",
        "fio-seq-RW",
        "fio-seq-read",
        "fio-seq-write",
        "iometer-file-access-server",
        "jesd219",
        "mtd",
        "null",
        "poisson-rate-submission",
        "rand-zones",
        "ssd-steadystate",
        "ssd-test",
        "tiobench-example",
        "zipf",
    ] {
        assert!(accepted.iter().any(|known| known == name), "{name} was not accepted");
    }
    // Those that read back what they wrote are refused.
    assert!(accepted.len() >= 22, "only {} of {}: {accepted:?}", accepted.len(), files.len());
}

/// Options and names of engines without a block device.
fn engine_option(problem: &Problem) -> bool {
    match problem {
        Problem::BadOption { .. } => true,
        Problem::NotOneOf { option, .. } => *option == "ioengine",
        _ => false,
    }
}

/// A value for every option that is simulated.
const VALUES: &[(&str, &str)] = &[
    ("description", "all of them"),
    ("name", "other"),
    ("filename", "/dev/x:/dev/y"),
    ("directory", "/tmp"),
    ("rw", "randrw:8"),
    ("bs", "4k,8k,512"),
    ("ba", "8k"),
    ("bsrange", "1k-4k,8k:16k"),
    ("bssplit", "4k/10:64k/50:32k"),
    ("bs_unaligned", ""),
    ("randrepeat", "0"),
    ("randseed", "42"),
    ("norandommap", "1"),
    ("rw_sequencer", "identical"),
    ("ioengine", "libaio"),
    ("iodepth", "4"),
    ("iodepth_batch", "2"),
    ("iodepth_batch_complete_min", "2"),
    ("iodepth_batch_complete_max", "4"),
    ("iodepth_low", "2"),
    ("size", "16m"),
    ("io_size", "1g"),
    ("fill_device", "0"),
    ("filesize", "1m-2m"),
    ("offset", "25%"),
    ("offset_increment", "1m"),
    ("offset_align", "4k"),
    ("number_ios", "100"),
    ("random_distribution", "zoned:50/5:30/15:20/80"),
    ("percentage_random", "50,100"),
    ("lockfile", "none"),
    ("filename_format", "f.$jobnum.$filenum"),
    ("nrfiles", "3"),
    ("openfiles", "3"),
    ("file_service_type", "sequential"),
    ("fsync", "2"),
    ("fdatasync", "3"),
    ("direct", "1"),
    ("buffered", "0"),
    ("loops", "5"),
    ("numjobs", "3"),
    ("startdelay", "1-2"),
    ("runtime", "1h"),
    ("time_based", ""),
    ("ramp_time", "10s"),
    ("zonemode", "strided"),
    ("zonesize", "1m"),
    ("zonerange", "2m"),
    ("zoneskip", "1m"),
    ("rwmixread", "30"),
    ("rwmixwrite", "70"),
    ("thinktime", "5ms"),
    ("thinktime_blocks", "4"),
    ("thinktime_blocks_type", "issue"),
    ("rate", "1m,2m"),
    ("rate_process", "poisson"),
    ("rate_ignore_thinktime", "1"),
    ("rate_iops", "0"),
    ("sync", "dsync"),
    ("end_fsync", "1"),
    ("fsync_on_close", "1"),
    ("stonewall", ""),
    ("new_group", "1"),
    ("thread", ""),
    ("threads", "1"),
    ("write_bw_log", "b"),
    ("bwavgtime", "250"),
    ("write_lat_log", "l"),
    ("write_iops_log", "i"),
    ("iopsavgtime", "250"),
    ("log_avg_msec", "100"),
    ("log_max_value", "1"),
    ("log_offset", "1"),
    ("group_reporting", ""),
    ("zero_buffers", ""),
    ("refill_buffers", "1"),
    ("scramble_buffers", "0"),
    ("buffer_pattern", "0xdeadface"),
    ("buffer_compress_percentage", "50"),
    ("buffer_compress_chunk", "4k"),
    ("dedupe_percentage", "20"),
    ("clat_percentiles", "0"),
    ("lat_percentiles", "1"),
    ("percentile_list", "50:99:99.9"),
    ("kb_base", "1000"),
    ("unit_base", "8"),
];

/// `wait_for` needs a job before.
const APART: &[&str] = &["wait_for"];

#[test]
fn every_simulated_option_is_read_as_fio_reads_it() {
    for spec in OPTIONS.iter().filter(|spec| matches!(spec.tier, Tier::Full(_))) {
        let tried = VALUES.iter().any(|(name, _)| *name == spec.name) || APART.contains(&spec.name);
        assert!(tried, "{} has no value to try", spec.name);
    }
    if !fio_is_here() {
        return;
    }
    let scratch = Scratch::new("options");
    let line = |(name, value): &(&str, &str)| match *value {
        "" => format!("{name}\n"),
        value => format!("{name}={value}\n"),
    };
    let all: String = VALUES.iter().map(line).collect();
    let aliases = "readwrite=write\nblocksize=8k\ntimeout=5\nio_limit=1m\nfileoffset=4k\n";
    let cases = [
        format!("[a]\n{all}"),
        format!("[global]\n{all}[a]\n[b]\nrw=write\n"),
        format!("[a]\n{aliases}[b]\nwait_for=a\nbs=1M ; why\n"),
    ];
    for (index, text) in cases.iter().enumerate() {
        let file = scratch.0.join(format!("{index}.fio"));
        std::fs::write(&file, text).unwrap();
        let theirs = showcmd(&file, &scratch.0).expect("fio accepts it");
        let ours = read(&file, &scratch.0).unwrap_or_else(|wrong| panic!("{wrong}"));
        // A name within a job looks as a section on a command line, so that all are compared as one.
        let all = |line: &str| {
            let mut all = sections(line).concat();
            all.sort();
            all
        };
        assert_eq!(all(&ours.to_string()), all(&theirs), "{text}");
        // The command line that fio shows means the same jobs again.
        let words: Vec<_> =
            ours.to_string().split(" --").skip(1).map(|o| format!("--{o}")).collect();
        let again = parse_arguments(&words).unwrap_or_else(|wrong| panic!("{wrong}"));
        let settings = |file: &JobFile| -> Vec<_> {
            file.jobs.iter().map(|job| job.settings.clone()).collect()
        };
        if index != 0 && index != 1 {
            assert_eq!(settings(&again), settings(&ours));
        }
    }
}

/// A request as both sides write it down: direction, offset, length.
type Asked = (char, u64, u64);

fn fio_asks(scratch: &Path, options: &str) -> Vec<Asked> {
    let log = scratch.join("log");
    let _ = std::fs::remove_file(&log);
    let output = Command::new("fio")
        .args(["--name=j", "--ioengine=null", "--filename=file", "--eta=never"])
        .arg(format!("--write_iolog={}", log.display()))
        .args(options.split_whitespace())
        .current_dir(scratch)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&log).unwrap();
    let asked = text.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [.., action, offset, length] = words[..] else { return None };
        let direction = match action {
            "read" => 'r',
            "write" => 'w',
            "trim" => 't',
            "sync" | "datasync" => return Some(('s', 0, 0)),
            _ => return None,
        };
        Some((direction, offset.parse().ok()?, length.parse().ok()?))
    });
    asked.collect()
}

fn we_ask(options: &str) -> Vec<Asked> {
    let words = ["--name=j", "--ioengine=sync", "--direct=1", "--filename=/dev/ram"];
    let words = words.into_iter().chain(options.split_whitespace());
    let jobs = parse_arguments(&words.map(str::to_owned).collect::<Vec<_>>());
    let jobs = jobs.unwrap_or_else(|wrong| panic!("{options}: {wrong}"));
    let mut asked = Vec::new();
    let sink = |event: &Event| {
        let extent = event.extent;
        asked.push(match event.kind {
            Kind::Read => ('r', extent.first.0 * 512, extent.count * 512),
            Kind::Write => ('w', extent.first.0 * 512, extent.count * 512),
            Kind::Discard | Kind::WriteZeroes => ('t', extent.first.0 * 512, extent.count * 512),
            Kind::Flush => ('s', 0, 0),
        });
    };
    let device = RamBlock::new(Geometry::of_size(Bytes::mib(4)));
    let mut device = Tracer::with_sink(device, 0, sink);
    let ran = run(&mut device, &mut Clock::new(), &jobs, &Host::default());
    ran.unwrap_or_else(|failure| panic!("{options}: {failure}"));
    drop(device);
    asked
}

#[test]
fn sequential_jobs_ask_for_what_fio_asks_for() {
    if !fio_is_here() {
        return;
    }
    let scratch = Scratch::new("order");
    for options in [
        "--rw=write --size=64k",
        "--rw=read --size=64k --bs=12k",
        "--rw=write --size=66k",
        "--rw=read:4k --size=64k",
        "--rw=read:12k --size=64k",
        "--rw=read:-8k --size=64k",
        "--rw=trimwrite --size=64k",
        "--rw=write --size=64k --offset=8k",
        "--rw=write --size=64k --io_size=96k",
        "--rw=write --size=64k --io_size=20k",
        "--rw=write --size=64k --loops=2 --bs=16k",
        "--rw=write --size=64k --zonemode=strided --zonesize=8k --zoneskip=8k",
        "--rw=write --size=64k --zonemode=strided --zonesize=8k --zonerange=16k",
        "--rw=write --size=64k --zonemode=strided --zonesize=16k --zonerange=8k --zoneskip=8k",
        "--rw=write --size=64k --zonemode=strided --zonesize=12k --zonerange=8k --zoneskip=4k",
        "--rw=write --size=64k --number_ios=3",
        "--rw=write --size=64k --fsync=2",
        "--rw=write --size=64k --fdatasync=3 --end_fsync=1",
        "--rw=write --size=64k --bs=4k,8k",
        "--rw=trim --size=64k --bs=,,16k",
        "--rw=write --kb_base=1000 --size=1MiB --bs=64KiB",
        "--rw=write --size=1MiB --bs=64KiB --kb_base=1000",
    ] {
        assert_eq!(we_ask(options), fio_asks(&scratch.0, options), "{options}");
    }
}

#[test]
fn random_jobs_ask_for_as_much_as_fio_does_in_each_direction() {
    if !fio_is_here() {
        return;
    }
    let scratch = Scratch::new("random");
    for options in [
        "--rw=randread --size=1m",
        "--rw=randwrite --size=1m --norandommap",
        "--rw=randtrim --size=256k --bs=16k",
        "--rw=randtrimwrite --size=64k",
        "--rw=randrw --size=1m --rwmixread=100",
        "--rw=randread:4 --size=256k",
        "--rw=randread:4 --size=256k --rw_sequencer=identical",
    ] {
        let count = |asked: &[Asked]| {
            ['r', 'w', 't'].map(|kind| {
                let ours: Vec<_> = asked.iter().filter(|(found, ..)| *found == kind).collect();
                (ours.len(), ours.iter().map(|(.., length)| length).sum::<u64>())
            })
        };
        let (ours, theirs) = (we_ask(options), fio_asks(&scratch.0, options));
        assert_eq!(count(&ours), count(&theirs), "{options}");
        if !options.contains("norandommap") && !options.contains(":4") {
            let places = |asked: &[Asked]| {
                let mut places = asked.to_vec();
                places.sort_unstable();
                places
            };
            assert_eq!(places(&ours), places(&theirs), "{options}");
        }
    }
}

/// Of each hundred requests, how many go to the 10, 50 and 200 blocks that are asked for most.
fn concentration(asked: &[Asked]) -> [f64; 3] {
    let mut counts = std::collections::BTreeMap::new();
    asked.iter().for_each(|(_, offset, _)| *counts.entry(*offset).or_insert(0_u32) += 1);
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all = f64::from(counts.iter().sum::<u32>());
    [10, 50, 200].map(|most| f64::from(counts.iter().take(most).sum::<u32>()) * 100.0 / all)
}

#[test]
fn skewed_places_are_as_concentrated_as_those_of_fio() {
    if !fio_is_here() {
        return;
    }
    let scratch = Scratch::new("skew");
    for kind in
        ["random", "zipf:1.2", "zipf:0.7", "pareto:0.2", "normal:10", "zoned:60/10:30/20:10/70"]
    {
        let options = format!(
            "--rw=randread --size=4m --io_size=64m --norandommap --random_distribution={kind}"
        );
        let (ours, theirs) =
            (concentration(&we_ask(&options)), concentration(&fio_asks(&scratch.0, &options)));
        for (ours_at, theirs_at) in ours.into_iter().zip(theirs) {
            let close = (ours_at - theirs_at).abs() < 3.0 + theirs_at * 0.05;
            assert!(close, "{kind}: {ours:?} and fio {theirs:?}");
        }
    }
}
