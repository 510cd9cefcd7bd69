//! The outputs of jobs beside those of fio itself: the same fields in the same order, and our figures.

use boardlab_block::{BlockDevice, Completion, Costs, Error, Extent, Geometry, RamBlock, Request};
use boardlab_sim::{Bytes, Clock, Duration, Instant, Rate};
use boardlab_workload::fio::account::Log;
use boardlab_workload::fio::options::{OPTIONS, Tier};
use boardlab_workload::fio::output::{human, json, log, table, terse};
use boardlab_workload::fio::{
    EmptyEnvironment, Failure, Host, JobFile, Run, parse, parse_arguments, run,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::{Command, Stdio};

const MIX: &str =
    "--name=j --filename=/dev/x --direct=1 --size=8m --rw=randrw --fsync=16 --stonewall";

fn ran(options: &str) -> (JobFile, Run) {
    let words: Vec<_> = options.split(' ').map(str::to_owned).collect();
    let file = parse_arguments(&words).unwrap_or_else(|wrong| panic!("{wrong}"));
    let each = Duration::from_millis(1);
    let costs = Costs { read: each / 2, write: each, flush: each * 2, ..Costs::default() };
    let mut device = RamBlock::new(Geometry::of_size(Bytes::mib(16))).with_costs(costs);
    let host = Host { submit: Duration::from_micros(3), ..Host::default() };
    let run = run(&mut device, &mut Clock::new(), &file, &host).unwrap();
    (file, run)
}

/// What fio prints about a file of 8 MiB, or nothing without fio.
fn fio(format: &str) -> Option<String> {
    let folder =
        std::env::temp_dir().join(format!("boardlab-fio-out-{format}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let output = Command::new("fio")
        .args(["--name=j", "--size=8m", "--rw=randrw", "--fsync=16", "--eta=never"])
        .arg(format!("--output-format={format}"))
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output();
    std::fs::remove_dir_all(&folder).unwrap();
    let text = output.ok().filter(|output| output.status.success());
    if text.is_none() {
        eprintln!("skipped: needs fio");
    }
    text.map(|output| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_terse_line_has_the_fields_of_version_3() {
    let (file, run) = ran(MIX);
    let text = terse::terse(&file, &run);
    let fields: Vec<_> = text.trim_end().split(';').collect();
    assert_eq!(fields.len(), 130);
    let writes = &run.reports[0].account.totals[1];
    let seconds = run.reports[0].account.elapsed().as_secs_f64();
    assert_eq!(fields[..5], ["3", concat!("boardlab-", env!("CARGO_PKG_VERSION")), "j", "0", "0"]);
    assert_eq!(fields[46], (writes.bytes >> 10).to_string());
    let bandwidth: f64 = fields[47].parse().unwrap();
    #[allow(clippy::cast_precision_loss, reason = "a check to a per cent")]
    let expected = (writes.bytes >> 10) as f64 / seconds;
    assert!((bandwidth / expected - 1.0).abs() < 0.01, "{bandwidth} {expected}");
    assert_eq!(fields[54..56], ["1000", "1000"]); // completion, the shortest and the longest
    assert_eq!(fields[64], "50.000000%=1000");
    assert_eq!(fields[78..80], ["1003", "1003"]);
    let Some(theirs) = fio("terse") else { return };
    let theirs: Vec<_> = theirs.trim_end().split(';').collect();
    assert_eq!(theirs.len(), fields.len());
    // The same kind of field at each place: percent, percentile, decimals, whole.
    let kind = |field: &str| {
        let decimals = field.trim_end_matches('%').split_once('.').map(|(_, after)| after.len());
        (field.ends_with('%'), field.contains("%="), decimals.filter(|_| !field.contains('=')))
    };
    for (index, (ours, theirs)) in fields.iter().zip(&theirs).enumerate().skip(4) {
        let same = kind(ours) == kind(theirs) || ours.contains("%=") && theirs.contains("%=");
        assert!(same, "field {}: {ours} and {theirs}", index + 1);
    }
}

/// All names in a value, as paths.
fn paths(value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(entries) => {
            for (name, value) in entries {
                let path = format!("{path}/{name}");
                found.push(path.clone());
                paths(value, &path, found);
            }
        }
        serde_json::Value::Array(values) => {
            if let Some(first) = values.first() {
                paths(first, path, found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_json_has_the_fields_of_fio() {
    let (file, run) = ran(MIX);
    let text = json::to_text(&json::json(&file, &run));
    let ours: serde_json::Value = serde_json::from_str(&text).unwrap();
    let job = &ours["jobs"][0];
    let options = job["job options"].as_object().unwrap();
    let names: Vec<_> = options.keys().map(String::as_str).collect();
    // fio leaves out options without a value.
    assert_eq!(names, ["direct", "filename", "fsync", "name", "rw", "size"]);
    assert_eq!(job["write"]["clat_ns"]["min"], 1_000_000);
    assert_eq!(job["write"]["lat_ns"]["max"], 1_003_000);
    assert_eq!(job["write"]["clat_ns"]["percentile"]["99.000000"], 1_000_000);
    assert_eq!(job["read"]["slat_ns"]["mean"], 3_000.0);
    assert!(job["sync"]["total_ios"].as_u64().unwrap() > 10);
    let Some(theirs) = fio("json") else { return };
    let theirs: serde_json::Value = serde_json::from_str(&theirs).unwrap();
    let names = |value: &serde_json::Value| {
        let mut found = Vec::new();
        paths(value, "", &mut found);
        found.retain(|path| !path.starts_with("/disk_util/") && !path.contains("/job options/"));
        found.sort();
        found
    };
    let (ours, theirs) = (names(&ours), names(&theirs));
    let missing: Vec<_> = theirs.iter().filter(|path| !ours.contains(path)).collect();
    let more: Vec<_> = ours.iter().filter(|path| !theirs.contains(path)).collect();
    assert!(missing.is_empty() && more.is_empty(), "missing {missing:?}, more {more:?}");
}

#[test]
fn the_text_for_people_has_the_lines_of_fio() {
    let (file, run) = ran(MIX);
    let text = human::human(&file, &run);
    for line in [
        "j: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1",
        "    clat (usec): min=1000, max=1000, avg=1000.00, stdev=0.00",
        "     |  1.00th=[ 1000],  5.00th=[ 1000], 10.00th=[ 1000], 20.00th=[ 1000],",
        "     | 99.99th=[ 1000]",
        "  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%",
        "Run status group 0 (all jobs):",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let Some(theirs) = fio("normal") else { return };
    // Each line of fio begins as one of ours, but for those of the kernel and of its own process.
    let begin =
        |line: &str| line.split([':', '(', '=']).next().unwrap_or_default().trim().to_owned();
    let ours: Vec<_> = text.lines().map(begin).collect();
    for line in theirs.lines() {
        let own = [
            "fio-",
            "Starting",
            "cpu",
            "submit",
            "complete",
            "Disk stats",
            "...",
            "j: Laying",
            "lat ",
        ];
        let trimmed = line.trim();
        let ignored = own.iter().any(|own| trimmed.starts_with(own)) || line.contains("ios=");
        let wide = ["bw", "iops", "|"].iter().any(|own| trimmed.starts_with(own));
        assert!(ignored || wide || ours.contains(&begin(line)), "{line}\n{text}");
    }
}

#[test]
fn logs_and_tables_hold_what_was_done() {
    let options = format!("{MIX} --write_lat_log=x --write_bw_log=x --log_offset=1");
    let (_, run) = ran(&options);
    let report = &run.reports[0];
    let lines = log::text(report, Log::Latency);
    assert_eq!(lines.lines().count(), 2_048);
    let first: Vec<u64> =
        lines.lines().next().unwrap().split(", ").map(|n| n.parse().unwrap()).collect();
    assert!(first[1] == 1_000_000 && first[2] == 1 || first[1] == 500_000 && first[2] == 0);
    assert_eq!(first[3], 4_096);
    assert!(log::text(report, Log::Rate).is_empty());
    let table = table::table("fio", "a job", &table::figures(&run));
    let bytes = table.cell("j.0.write", "moved_bytes").unwrap().value.as_f64();
    let reads = table.cell("j.0.read", "moved_bytes").unwrap().value.as_f64();
    assert_eq!(bytes.unwrap() + reads.unwrap(), 8_388_608.0);
    let averaged = ran(&format!("{MIX} --write_iops_log=x --log_avg_msec=100")).1;
    let lines = log::text(&averaged.reports[0], Log::Rate);
    assert!((10..60).contains(&lines.lines().count()), "{lines}");
}

/// What fio prints about a job of its engine `null`, with this description.
fn described(description: &str, format: &str) -> Option<String> {
    let output = Command::new("fio")
        .args(["--name=j", "--ioengine=null", "--size=1m", "--rw=read", "--eta=never"])
        .arg(format!("--description={description}"))
        .arg(format!("--output-format={format}"))
        .stdin(Stdio::null())
        .output();
    let text = output.ok().filter(|output| output.status.success());
    if text.is_none() {
        eprintln!("skipped: needs fio");
    }
    text.map(|output| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_description_is_in_every_output_where_fio_has_it() {
    let long = "a long one ".repeat(30);
    for words in ["what it is for", "with \"quotes\", and more", &long] {
        let option = format!("--description={words}");
        let arguments = ["--name=j", "--ioengine=null", "--size=1m", "--rw=read", &option];
        let file = parse_arguments(&arguments.map(str::to_owned)).unwrap();
        let mut device = RamBlock::new(Geometry::of_size(Bytes::mib(1)));
        let run = run(&mut device, &mut Clock::new(), &file, &Host::default()).unwrap();
        let kept = &words[..words.len().min(255)];
        let last = |text: &str| text.trim_end_matches('\n').rsplit(';').next().unwrap().to_owned();
        let terse = terse::terse(&file, &run);
        assert_eq!((last(&terse).as_str(), terse.split(';').count()), (kept, 131));
        let text = json::to_text(&json::json(&file, &run));
        let ends = |text: &str| {
            let at = text.find("\"latency_window\"").unwrap();
            let job = &text[..at + text[at..].find('}').unwrap()];
            job[at..]
                .lines()
                .skip(1)
                .map(|line| line.trim().replace(" : ", ": "))
                .collect::<String>()
        };
        assert!(ends(&text).starts_with("\"desc\": \""), "{}", ends(&text));
        let line = |text: &str| {
            text.lines().find(|line| line.contains("Description")).unwrap().trim().to_owned()
        };
        let human = human::human(&file, &run);
        assert_eq!(line(&human), format!("Description  : [{kept}]"));
        let Some(theirs) = described(words, "terse") else { return };
        assert_eq!(last(&theirs), last(&terse));
        let Some(theirs) = described(words, "json") else { return };
        assert_eq!(ends(&theirs), ends(&text));
        let Some(theirs) = described(words, "normal") else { return };
        assert_eq!(line(&theirs), line(&human));
    }
    let (file, run) = ran(MIX);
    assert!(!json::to_text(&json::json(&file, &run)).contains("\"desc\""));
}

/// Of each option that is simulated and shows in a run: lines of a job, and with it the same job.
/// `J` stands for the job that all have in common, `F` for one on files.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("description", "J", "J description=words"),
    ("name", "J", "J name=other"),
    ("wait_for", "J [b] J", "J [b] J wait_for=j"),
    ("filename", "F", "F filename=a:b"),
    ("filename_format", "F numjobs=2", "F numjobs=2 filename_format=a.$filenum"),
    ("rw", "J", "J rw=write"),
    ("bs", "J", "J bs=8k"),
    ("ba", "J", "J ba=16k"),
    ("bsrange", "J", "J bsrange=4k-8k"),
    ("bssplit", "J", "J bssplit=4k/50:8k/50"),
    ("bs_unaligned", "J bsrange=512-8k", "J bsrange=512-8k bs_unaligned"),
    ("randrepeat", "J", "J randrepeat=0"),
    ("randseed", "J", "J randseed=5"),
    ("norandommap", "J", "J norandommap"),
    ("rw_sequencer", "J rw=randwrite:4", "J rw=randwrite:4 rw_sequencer=identical"),
    ("ioengine", "J", "J ioengine=sync"),
    ("iodepth", "J", "J iodepth=1"),
    ("iodepth_batch_complete_min", "J", "J iodepth_batch_complete_min=3"),
    ("iodepth_low", "J", "J iodepth_low=1"),
    ("size", "J", "J size=128k"),
    ("io_size", "J", "J io_size=64k"),
    ("fill_device", "J", "J fill_device=1"),
    ("filesize", "F", "F filesize=64k"),
    ("offset", "J", "J offset=64k"),
    ("offset_increment", "J numjobs=2", "J numjobs=2 offset_increment=64k"),
    ("offset_align", "J offset=33%", "J offset=33% offset_align=64k"),
    ("number_ios", "J", "J number_ios=3"),
    ("random_distribution", "J norandommap", "J norandommap random_distribution=zipf:1.2"),
    ("percentage_random", "J", "J percentage_random=20"),
    ("nrfiles", "F", "F nrfiles=2"),
    ("file_service_type", "F nrfiles=4", "F nrfiles=4 file_service_type=sequential"),
    ("fsync", "J", "J fsync=2"),
    ("fdatasync", "J", "J fdatasync=2"),
    ("loops", "J", "J loops=2"),
    ("numjobs", "J", "J numjobs=2"),
    ("startdelay", "J", "J startdelay=1"),
    ("runtime", "J", "J runtime=3ms"),
    ("time_based", "J runtime=1", "J runtime=1 time_based"),
    ("ramp_time", "J", "J ramp_time=5ms"),
    ("zonemode", "J zonesize=16k zonerange=32k", "J zonesize=16k zonerange=32k zonemode=strided"),
    ("zonesize", "S zonesize=16k zonerange=64k", "S zonesize=32k zonerange=64k"),
    ("zonerange", "S zonesize=16k zonerange=32k", "S zonesize=16k zonerange=64k"),
    ("zoneskip", "S zonesize=16k", "S zonesize=16k zoneskip=16k"),
    ("rwmixread", "J", "J rwmixread=90"),
    ("rwmixwrite", "J", "J rwmixwrite=90"),
    ("thinktime", "J", "J thinktime=1ms"),
    ("thinktime_blocks", "J thinktime=1ms", "J thinktime=1ms thinktime_blocks=4"),
    ("thinktime_blocks_type", "J thinktime=1ms", "J thinktime=1ms thinktime_blocks_type=issue"),
    ("rate", "J", "J rate=1m"),
    ("rate_process", "J rate=1m", "J rate=1m rate_process=poisson"),
    (
        "rate_ignore_thinktime",
        "J rate=1m thinktime=9ms",
        "J rate=1m thinktime=9ms rate_ignore_thinktime=1",
    ),
    ("rate_iops", "J", "J rate_iops=100"),
    ("sync", "J", "J sync=dsync"),
    ("end_fsync", "J", "J end_fsync=1"),
    ("fsync_on_close", "J", "J fsync_on_close=1"),
    ("stonewall", "J [b] J", "J [b] J stonewall"),
    ("new_group", "J [b] J", "J [b] J new_group"),
    ("write_bw_log", "J", "J write_bw_log=l"),
    ("bwavgtime", "J", "J bwavgtime=2"),
    ("write_lat_log", "J", "J write_lat_log=l"),
    ("write_iops_log", "J", "J write_iops_log=l"),
    ("iopsavgtime", "J", "J iopsavgtime=2"),
    ("log_avg_msec", "J write_lat_log=l", "J write_lat_log=l log_avg_msec=5"),
    (
        "log_max_value",
        "J bssplit=4k/50:64k/50 write_lat_log=l log_avg_msec=9",
        "J bssplit=4k/50:64k/50 write_lat_log=l log_avg_msec=9 log_max_value=1",
    ),
    ("log_offset", "J write_lat_log=l", "J write_lat_log=l log_offset=1"),
    ("group_reporting", "J numjobs=2", "J numjobs=2 group_reporting"),
    ("zero_buffers", "J", "J zero_buffers"),
    ("refill_buffers", "J scramble_buffers=0", "J scramble_buffers=0 refill_buffers"),
    ("scramble_buffers", "J", "J scramble_buffers=0"),
    ("buffer_pattern", "J", "J buffer_pattern=0xff"),
    ("buffer_compress_percentage", "J", "J buffer_compress_percentage=50"),
    ("dedupe_percentage", "J", "J dedupe_percentage=90"),
    ("clat_percentiles", "J", "J clat_percentiles=0"),
    ("lat_percentiles", "J", "J lat_percentiles=1"),
    ("percentile_list", "J", "J percentile_list=50"),
    ("kb_base", "J bs=4096 size=512k", "J bs=4096 size=512k kb_base=1000"),
];

/// Options of which one value alone can be run, and one that asks for as many completions as there
/// are, which costs a host without batches of its own the same.
const WITHOUT_DIFFERENCE: &[&str] =
    &["direct", "buffered", "openfiles", "lockfile", "iodepth_batch_complete_max"];

/// A device that writes down what it is asked.
struct Recorder {
    device: RamBlock,
    asked: String,
}

impl BlockDevice for Recorder {
    fn geometry(&self) -> &Geometry {
        self.device.geometry()
    }

    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error> {
        let durable = matches!(request, Request::Write { durable: true, .. });
        let (kind, extent) = (request.kind(), request.extent());
        let done = self.device.submit(at, request)?;
        self.asked += &format!("{at} {kind:?} {extent:?} {durable} {}\n", done.ended);
        Ok(done)
    }
}

/// All that a job leaves behind: requests with their times, contents, outputs, logs.
fn left_behind(text: &str) -> Result<String, Failure> {
    const FILES: &str = "direct=1 ioengine=libaio iodepth=4 rw=randrw bs=4k size=256k";
    let text = match text.replace('S', "J rw=write zonemode=strided") {
        text if text.contains('F') => format!("[j] {}", text.replace('F', FILES)),
        text => format!("[j] {}", text.replace('J', &format!("filename=/dev/x {FILES}"))),
    };
    let file = parse("job", text.replace(' ', "\n").as_bytes(), &EmptyEnvironment);
    let file = file.unwrap_or_else(|wrong| panic!("{wrong}"));
    let transfer = Rate::new(Bytes::mib(16), Duration::from_secs(1));
    let each = Duration::from_millis(1);
    let costs =
        Costs { read: each, write: each * 2, flush: each, lanes: 4, transfer, ..Costs::default() };
    let geometry = Geometry { depth: 8, ..Geometry::of_size(Bytes::mib(8)) };
    let device = RamBlock::new(geometry).with_costs(costs);
    let mut device = Recorder { device, asked: String::new() };
    let mut clock = Clock::new();
    let run = run(&mut device, &mut clock, &file, &Host::default())?;
    let mut contents = vec![0; 8 << 20];
    device.read(&mut clock, Extent::new(0, 16_384), &mut contents).unwrap();
    let mut left = device.asked;
    let serde_json::Value::Object(mut all) =
        serde_json::from_str(&json::to_text(&json::json(&file, &run))).unwrap()
    else {
        panic!("an object")
    };
    for job in all["jobs"].as_array_mut().unwrap() {
        job.as_object_mut().unwrap().remove("job options");
    }
    let logs = run.reports.iter().flat_map(|report| {
        let asked = &file.jobs[report.job].settings.reporting.logs;
        let logs = [Log::Bandwidth, Log::Latency, Log::Rate];
        logs.into_iter()
            .zip(asked)
            .filter(|(_, name)| name.is_some())
            .map(|(log, _)| log::text(report, log))
    });
    left.extend(logs);
    left += &serde_json::Value::Object(all).to_string();
    left += &human::human(&file, &run);
    left += &terse::terse(&file, &run);
    let mut hasher = DefaultHasher::new();
    contents.hash(&mut hasher);
    left += &hasher.finish().to_string();
    Ok(left)
}

#[test]
fn every_option_that_is_simulated_makes_a_difference() {
    for spec in OPTIONS.iter().filter(|spec| matches!(spec.tier, Tier::Full(_))) {
        let tried = DIFFERENCES.iter().any(|(name, ..)| *name == spec.name);
        assert!(tried != WITHOUT_DIFFERENCE.contains(&spec.name), "{} is not tried", spec.name);
    }
    let mut idle: Vec<&str> = Vec::new();
    for (name, without, with) in DIFFERENCES {
        assert!(with.contains(&format!("{name}=")) || with.ends_with(name), "{with}");
        let (before, after) = (left_behind(without).unwrap(), left_behind(with));
        // The device has blocks, and cannot take any size.
        assert_eq!(after.is_err(), *name == "bs_unaligned", "{with}");
        idle.extend((after == Ok(before)).then_some(*with));
    }
    assert!(idle.is_empty(), "they change nothing: {idle:#?}");
}
