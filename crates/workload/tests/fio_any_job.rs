//! Any job that is read either runs to its end or fails with a reason: no panic, no hang, no request
//! beyond the device.

use boardlab_block::{Costs, Geometry, RamBlock, Tracer};
use boardlab_sim::{Bytes, Clock, Duration, Instant};
use boardlab_workload::fio::output::{human, json, table, terse};
use boardlab_workload::fio::{EmptyEnvironment, Host, parse, run};
use proptest::prelude::*;

/// Options with some of their values, odd ones among them.
const CHOICES: &[(&str, &[&str])] = &[
    (
        "rw",
        &[
            "read",
            "write",
            "trim",
            "randread",
            "randwrite",
            "randtrim",
            "rw",
            "randrw",
            "trimwrite",
            "randtrimwrite",
            "randrw:3",
            "read:4k",
            "write:-8k",
            "read:-1p",
            "write:1p",
        ],
    ),
    ("bs", &["512", "4k", "4k,512,8k", "1m", "3k", "512k"]),
    ("bssplit", &["512/50:4k/50", "4k/10:64k/50:32k"]),
    ("bsrange", &["512-8k", "1k-4k"]),
    ("ba", &["512", "16k", "1m"]),
    ("size", &["4k", "64k", "1m", "10%", "100%", "1g", "15p"]),
    ("io_size", &["4k", "100k", "3m", "250%", "50%"]),
    ("offset", &["0", "4k", "50%", "99%", "1m"]),
    ("offset_increment", &["4k", "10%", "8000p"]),
    ("filename", &["/dev/x", "/dev/x:/dev/y", "a:b", "a"]),
    ("nrfiles", &["1", "3"]),
    ("filesize", &["4k", "4k-64k"]),
    ("file_service_type", &["random", "sequential", "roundrobin"]),
    ("number_ios", &["1", "7", "100"]),
    ("loops", &["1", "3"]),
    ("numjobs", &["1", "3"]),
    ("ioengine", &["sync", "libaio", "null"]),
    ("iodepth", &["1", "4", "64"]),
    ("iodepth_low", &["1", "2", "100"]),
    ("iodepth_batch_complete_min", &["0", "3", "100"]),
    ("iodepth_batch_complete_max", &["1", "100"]),
    ("fsync", &["1", "3"]),
    ("end_fsync", &["1"]),
    ("fsync_on_close", &["1"]),
    ("sync", &["dsync"]),
    ("runtime", &["10ms", "2", "500d"]),
    ("ramp_time", &["5ms", "100d"]),
    ("startdelay", &["1", "0-3", "200000d"]),
    ("thinktime", &["1ms", "200000d"]),
    ("thinktime_blocks", &["1", "3"]),
    ("rate", &["1", "64k", "16p"]),
    ("rate_process", &["poisson"]),
    ("zonemode", &["strided"]),
    ("zonesize", &["512", "16k", "8p"]),
    ("zoneskip", &["0", "4k", "15p"]),
    (
        "random_distribution",
        &[
            "zipf:1.2",
            "zipf:0.5",
            "pareto:0.3",
            "normal:20",
            "normal:0",
            "zoned:50/5:50/95",
            "zoned:100/0",
            "zoned_abs:90/4k:10/1p",
        ],
    ),
    ("percentage_random", &["0", "50"]),
    ("norandommap", &["1"]),
    ("buffer_pattern", &["0xff", "\"abc\""]),
    ("dedupe_percentage", &["50"]),
    ("write_lat_log", &["l"]),
    ("log_avg_msec", &["1", "100000d"]),
    ("group_reporting", &["1"]),
    ("stonewall", &["1"]),
];

fn option() -> impl Strategy<Value = String> {
    proptest::sample::select(CHOICES.to_vec()).prop_flat_map(|(name, values)| {
        proptest::sample::select(values.to_vec()).prop_map(move |value| format!("{name}={value}\n"))
    })
}

fn section() -> impl Strategy<Value = String> {
    let options = proptest::collection::vec(option(), 1..10);
    options.prop_map(|options| format!("[j]\ndirect=1\nsize=256k\n{}", options.concat()))
}

fn cases() -> u32 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 50_000 } else { 2_000 }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: cases(),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_job_ends(sections in proptest::collection::vec(section(), 1..4)) {
        let text = sections.concat();
        let Ok(file) = parse("job", text.as_bytes(), &EmptyEnvironment) else { return Ok(()) };
        let each = Duration::from_millis(1);
        let costs = Costs { read: each, write: each, discard: each, flush: each, lanes: 4, transfer: None };
        let geometry = Geometry { depth: 8, ..Geometry::of_size(Bytes::mib(1)) };
        let mut last = Instant::ZERO;
        let sink = |event: &boardlab_block::Event| {
            assert!(event.at >= last);
            last = event.at;
        };
        let device = RamBlock::new(geometry).with_costs(costs);
        let mut device = Tracer::with_sink(device, 0, sink);
        if let Ok(run) = run(&mut device, &mut Clock::new(), &file, &Host::default()) {
            for report in &run.reports {
                prop_assert!(report.started <= report.ended);
                let account = &report.account;
                let all: u64 = account.totals.iter().map(|totals| totals.requests).sum();
                prop_assert_eq!(account.latencies.iter().sum::<u64>(), all);
            }
            prop_assert_eq!(terse::terse(&file, &run).lines().count(), run.reports.len());
            let text = json::to_text(&json::json(&file, &run));
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
            prop_assert!(!human::human(&file, &run).contains("NaN"));
            let _ = table::table("t", "t", &table::figures(&run));
        }
    }
}
