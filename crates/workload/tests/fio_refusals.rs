//! Jobs that are wrong, and what is said about each; and that no bytes at all do harm.

use boardlab_workload::fio::{EmptyEnvironment, parse, parse_arguments};
use proptest::prelude::*;

/// A job with these lines, and how its first message must go on after the place.
const BAD: &[(&str, &str, &str)] = &[
    ("[j]\nrww=write", "2:1", "Bad option <rww=write>\nDid you mean rw?"),
    ("[j]\niodeph=4", "2:1", "Bad option <iodeph=4>\nDid you mean iodepth?"),
    ("[j]\nblocksise=4k", "2:1", "Bad option <blocksise=4k>\nDid you mean blocksize?"),
    ("[j]\nnonsense", "2:1", "Bad option <nonsense>"),
    ("[j]\n=5", "2:1", "Bad option <=5>"),
    ("[j]\nSIZE=1m", "2:1", "Bad option <SIZE=1m>"),
    ("[j]\nrw = write", "2:1", "Bad option <rw = write>\nDid you mean rw?"),
    ("[j]\n  rw=foo", "2:3", "failed parsing rw=foo\nvalid values: read, write, trim, randread, "),
    ("[j]\nrw=WRITE", "2:1", "failed parsing rw=WRITE\nvalid values: read"),
    ("[j]\nrw=", "2:1", "Option rw requires an argument"),
    ("[j]\nrw", "2:1", "Option rw requires an argument"),
    ("[j]\nrw=randread:x", "2:1", "failed parsing rw=x\nexpected a number"),
    ("[j]\nrw=randread:-1", "2:1", "rw: min value out of range: -1 (1 min)"),
    ("[j]\nbs=foo", "2:1", "failed parsing bs=foo\nexpected a number such as 4096, 4k"),
    ("[j]\nbs=4q", "2:1", "failed parsing bs=4q\nexpected a number"),
    ("[j]\nbs=0", "2:1", "bs: min value out of range: 0 (1 min)"),
    ("[j]\nbs=-4k", "2:1", "bs: min value out of range: -4k (1 min)"),
    ("[j]\nbs=8g", "2:1", "bs: max value out of range: 8g (4294967295 max)"),
    ("[j]\nbs=1,2,3,4", "2:1", "failed parsing bs=1,2,3,4\nexpected up to three values"),
    ("[j]\nbsrange=4k", "2:1", "failed parsing bsrange=4k\nexpected a range such as 1k-4k"),
    ("[j]\nbsrange=4k-x", "2:1", "failed parsing bsrange=x"),
    ("[j]\nbssplit=4k/60:8k/60", "2:1", "failed parsing bssplit=4k/60:8k/60\nexpected percent"),
    ("[j]\nbssplit=4k/60:8k/30", "2:1", "failed parsing bssplit=4k/60:8k/30\nexpected percent"),
    ("[j]\nbssplit=4k/x", "2:1", "failed parsing bssplit=x"),
    ("[j]\nblockalign=0", "2:1", "ba: min value out of range: 0 (1 min)"),
    ("[j]\niodepth=abc", "2:1", "failed parsing iodepth=abc"),
    ("[j]\niodepth=-1", "2:1", "iodepth: min value out of range: -1 (1 min)"),
    ("[j]\niodepth", "2:1", "Option iodepth requires an argument"),
    ("[j]\nrwmixread=101", "2:1", "rwmixread: max value out of range: 101 (100 max)"),
    ("[j]\nrwmixwrite=-5", "2:1", "rwmixwrite: min value out of range: -5 (0 min)"),
    ("[j]\nioengine=foo", "2:1", "failed parsing ioengine=foo\nvalid values: psync, sync"),
    ("[j]\nioengine=net", "2:1", "ioengine=net is not simulated: the engine does not send"),
    ("[j]\ndirect=2", "2:1", "failed parsing direct=2\nexpected 0 or 1"),
    ("[j]\ndirect=x", "2:1", "failed parsing direct=x\nexpected 0 or 1"),
    ("[j]\ndirect", "2:1", "Option direct requires an argument"),
    ("[j]\nstonewall=yes", "2:1", "failed parsing stonewall=yes\nexpected 0 or 1"),
    ("[j]\nsize=1.5m", "2:1", "failed parsing size=1.5m"),
    ("[j]\nsize=101%", "2:1", "size: max value out of range: 101 (100 max)"),
    ("[j]\nsize=99999999p", "2:1", "failed parsing size=99999999p\nexpected a size below 16 EiB"),
    ("[j]\nsize", "2:1", "Option size requires an argument"),
    ("[j]\noffset=x%", "2:1", "failed parsing offset=x"),
    ("[j]\nruntime=5x", "2:1", "failed parsing runtime=5x\nexpected a time such as 10"),
    (
        "[j]\nruntime=99999999999d",
        "2:1",
        "failed parsing runtime=99999999999d\nexpected a time below",
    ),
    ("[j]\nruntime=1m\ntime_based=", "3:1", "failed parsing time_based=\nexpected 0 or 1"),
    ("[j]\ntime_based", "1:1", "j: time_based requires a runtime/timeout setting"),
    ("[j]\nloops=0", "2:1", "loops: min value out of range: 0 (1 min)"),
    ("[j]\nnumjobs=0", "2:1", "numjobs: min value out of range: 0 (1 min)"),
    ("[j]\nnumjobs=5000", "1:1", "j: more than 1024 copies of jobs in all"),
    ("[j]\nnrfiles=100k", "1:1", "j: more than 65536 files, counted for each copy"),
    ("[j]\niodepth=2m", "2:1", "iodepth: max value out of range: 2m (1048576 max)"),
    ("[j]\nnrfiles=0", "2:1", "nrfiles: min value out of range: 0 (1 min)"),
    ("[j]\nfilename=a::b", "2:1", "failed parsing filename=a::b"),
    (
        "[j]\nrandom_distribution=foo",
        "2:1",
        "failed parsing random_distribution=foo\nvalid values: random, zipf",
    ),
    (
        "[j]\nrandom_distribution=zipf:1",
        "2:1",
        "failed parsing random_distribution=zipf:1\nexpected a theta",
    ),
    ("[j]\nrandom_distribution=zipf:-1", "2:1", "failed parsing random_distribution=zipf:-1"),
    ("[j]\nrandom_distribution=zipf:nan", "2:1", "failed parsing random_distribution=nan"),
    ("[j]\nrandom_distribution=pareto:2", "2:1", "failed parsing random_distribution=pareto:2"),
    ("[j]\nrandom_distribution=normal:500", "2:1", "failed parsing random_distribution=normal:500"),
    (
        "[j]\nrandom_distribution=zoned:50/5:30/15",
        "2:1",
        "failed parsing random_distribution=50/5:30/15\nexpected access percentages that add up to 100",
    ),
    (
        "[j]\nrandom_distribution=zoned:50",
        "2:1",
        "failed parsing random_distribution=50\nexpected zones",
    ),
    ("[j]\nzonemode=foo", "2:1", "failed parsing zonemode=foo\nvalid values: none, strided, zbd"),
    ("[j]\nzonemode=zbd", "2:1", "zonemode=zbd is not simulated: zoned block devices"),
    ("[j]\nzonemode=strided", "1:1", "j: zonesize must be specified when using zonemode=strided"),
    ("[j]\nrate=1m\nrate_iops=5", "1:1", "j: rate and rate_iops exclude each other"),
    ("[j]\nrate_process=x", "2:1", "failed parsing rate_process=x\nvalid values: linear, poisson"),
    ("[j]\nsync=x", "2:1", "failed parsing sync=x\nvalid values: none, 0, sync, 1, dsync"),
    ("[j]\nwait_for=x", "1:1", "j: waitee job x unknown"),
    ("[j]\nwait_for=j", "1:1", "j: waitee job j unknown"),
    ("[i]\n[j]\nwait_for=i\nstonewall", "2:1", "j: wait_for and stonewall exclude each other"),
    ("[j]\npercentile_list=a:b", "2:1", "failed parsing percentile_list=a:b\nexpected up to 20"),
    (
        "[j]\npercentile_list=50:101",
        "2:1",
        "failed parsing percentile_list=50:101\nexpected percentiles",
    ),
    (
        "[j]\npercentile_list=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21",
        "2:1",
        "failed parsing percentile_list=",
    ),
    ("[j]\nbuffer_pattern=0xgg", "2:1", "failed parsing buffer_pattern=0xgg"),
    (
        "[j]\nbuffer_pattern=foo",
        "2:1",
        "failed parsing buffer_pattern=foo\nexpected a number such as 0xff",
    ),
    (
        "[j]\nbuffer_compress_percentage=200",
        "2:1",
        "buffer_compress_percentage: max value out of range",
    ),
    ("[j]\ndedupe_percentage=x", "2:1", "failed parsing dedupe_percentage=x"),
    ("[j]\nkb_base=1023", "2:1", "failed parsing kb_base=1023\nvalid values: 1024, 1000"),
    ("[j]\nexec_prerun=rm", "2:1", "exec_prerun is not simulated: a simulation runs no programs"),
    ("[j]\nverify=crc32c", "2:1", "verify is not simulated: nothing is read back"),
    ("[j]\nrw=write\nverify=0\nverify=pattern", "4:1", "verify is not simulated"),
    ("[j]\nverify_pattern=0", "2:1", "verify_pattern is not simulated: nothing is read back"),
    ("[j]\ndo_verify=1", "2:1", "do_verify is not simulated: nothing is read back"),
    ("[j]\nverify_fatal", "2:1", "verify_fatal is not simulated"),
    ("[global]\nverify_backlog=16\n[j]", "2:1", "verify_backlog is not simulated"),
    ("[j]\nverify_only", "2:1", "verify_only is not simulated"),
    ("[j]\nserialize_overlap=1", "2:1", "serialize_overlap is not simulated: requests to"),
    ("[j]\nrate_min=1m", "2:1", "rate_min is not simulated: no job ends because it is too slow"),
    ("[j]\nratemin=1m", "2:1", "rate_min is not simulated"),
    ("[j]\nlockfile=exclusive", "2:1", "lockfile=exclusive is not simulated: jobs do not wait"),
    ("[j]\nlockfile=x", "2:1", "failed parsing lockfile=x\nvalid values: none, exclusive"),
    ("[j]\nnrfiles=4\nopenfiles=2", "1:1", "j: files are open all at once"),
    ("[j]\ncgroup=x", "2:1", "cgroup is not simulated: there are no control groups"),
    ("[j]\nread_iolog=x", "2:1", "read_iolog is not simulated: block traces are replayed"),
    ("[j]\nioscheduler=", "2:1", "Option ioscheduler requires an argument"),
    ("[j]\nlog_entries=x", "2:1", "failed parsing log_entries=x"),
    ("[j]\nbwavgtime=0", "2:1", "bwavgtime: min value out of range: 0 (1 min)"),
    (
        "[j]\nrw=trimwrite\nioengine=libaio\niodepth=4",
        "1:1",
        "j: trims before writes need iodepth=1",
    ),
    ("rw=read\n[j]", "1:1", "option <rw=read> outside of [] job section"),
    ("[j\nrw=read", "1:1", "bad section: expected ] at its end"),
    ("[]\nrw=read", "1:1", "bad section: it has no name"),
    ("[j]\ninclude foo", "2:1", "unable to include 'foo': no such file"),
    ("[j]\nsize=${NOPE}", "2:1", "the variable NOPE is not set"),
    ("", "1:1", "No jobs(s) defined"),
    ("[global]\nrw=read", "1:1", "No jobs(s) defined"),
];

#[test]
fn bad_jobs_are_refused_with_place_and_reason() {
    assert!(BAD.len() >= 60, "only {}", BAD.len());
    for (text, place, message) in BAD {
        let wrong = parse("job", text.as_bytes(), &EmptyEnvironment).expect_err(text).to_string();
        let expected = format!("job:{place}: {message}");
        assert!(wrong.starts_with(&expected), "{text:?}\nexpected {expected}\nfound    {wrong}");
    }
    let latin = parse("job", b"[j]\n\xe9", &EmptyEnvironment).unwrap_err();
    assert_eq!(latin.to_string(), "job:1:1: cannot be read: it is not UTF-8");
    let large = parse("job", &vec![b';'; 2 << 20], &EmptyEnvironment).unwrap_err();
    assert_eq!(large.to_string(), "job:1:1: cannot be read: more than 1 MiB");
}

#[test]
fn all_mistakes_of_a_file_are_told() {
    let text = "[a]\nrww=write\nbs=4q\n[b]\nsize=x\n";
    let wrong = parse("job", text.as_bytes(), &EmptyEnvironment).unwrap_err();
    let lines: Vec<_> = wrong.0.iter().map(|diagnostic| diagnostic.place.line).collect();
    assert_eq!(lines, [2, 3, 5]);
}

#[test]
fn bad_arguments_are_refused_by_their_number() {
    let wrong = |line: &str| {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        parse_arguments(&words).unwrap_err().to_string()
    };
    let expected = "command line:2:1: Bad option <rww=write>\nDid you mean rw?";
    assert_eq!(wrong("--name=a --rww=write"), expected);
    assert_eq!(wrong("--name"), "command line:1:1: Option name requires an argument");
    assert!(wrong("--name=a job.fio x").contains("expected an option such as --rw=write"));
    assert_eq!(
        wrong("--rw=read"),
        "command line:1:1: No jobs(s) defined: add a section such as [job1]"
    );
}

/// Pieces of job files, for texts that come further than arbitrary bytes.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "[j]\n",
        "[global]\n",
        "rw=",
        "randrw",
        ":8",
        "bs=",
        "4k",
        "-",
        ",",
        "/",
        "%",
        "zoned:",
        "50/5",
        "size=",
        "18446744073709551615",
        "p",
        "random_distribution=",
        "zipf:",
        "1.1",
        "time_based\n",
        "runtime=",
        "1d",
        "\n",
        "${A}",
        "$ncpus",
        "include x\n",
        ";",
        "#",
        "=",
        "bssplit=",
        ":",
        "0x",
        "buffer_pattern=",
        "\"",
        "filesize=",
        "startdelay=",
        "percentile_list=",
        "numjobs=",
        "é",
        "\0",
        "zonemode=strided\n",
        "zonesize=",
        "offset=",
        "rate=",
        "loops=",
        "wait_for=j\n",
    ];
    proptest::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse("job", &bytes, &EmptyEnvironment);
    }

    #[test]
    fn mixed_up_pieces_never_panic(pieces in proptest::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let _ = parse("job", text.as_bytes(), &EmptyEnvironment);
        let words: Vec<_> = text.split('\n').map(|line| format!("--{line}")).collect();
        let _ = parse_arguments(&words);
    }
}

#[test]
fn an_option_that_asks_for_nothing_is_as_good_as_absent() {
    use boardlab_workload::fio::options::{OPTIONS, Tier};
    let plain = parse("job", b"[j]\nnrfiles=4\n", &EmptyEnvironment).unwrap();
    let off = OPTIONS.iter().filter(|spec| matches!(spec.tier, Tier::OnlyOff(_)));
    let lines: String = off.map(|spec| format!("{}=0\n", spec.name)).collect();
    assert!(lines.contains("verify=0\n") && lines.contains("\ndo_verify=0\n"), "{lines}");
    let text = format!("[j]\nnrfiles=4\nopenfiles=4\nlockfile=none\n{lines}");
    let file =
        parse("job", text.as_bytes(), &EmptyEnvironment).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(file.notes, []);
    let mut settings = file.jobs[0].settings.clone();
    settings.area.open_files = 0;
    assert_eq!(settings, plain.jobs[0].settings);
}

#[test]
fn the_document_names_every_option_in_its_tier() {
    use boardlab_workload::fio::options::{OPTIONS, Tier};
    let text = include_str!("../../../docs/formats/fio-jobs.md");
    for (title, tier) in
        [("## Simulated", 0), ("## Without effect", 1), ("## Refused", 2), ("## Only as 0", 3)]
    {
        let (_, rest) = text.split_once(title).expect("the section is there");
        let section = rest.split("\n## ").next().unwrap();
        // Names stand alone on their lines; what prose quotes begins a sentence or stands within one.
        let lines = section.lines().filter(|line| line.starts_with('`') && line.ends_with('`'));
        let mut named: Vec<_> =
            lines.flat_map(|line| line.split(' ')).map(|name| name.trim_matches('`')).collect();
        let of_tier = |tier: Tier| match tier {
            Tier::Full(_) => 0,
            Tier::NoEffect(_) => 1,
            Tier::Refused(_) => 2,
            Tier::OnlyOff(_) => 3,
        };
        let specs = OPTIONS.iter().filter(|spec| of_tier(spec.tier) == tier);
        let mut listed: Vec<_> = specs.map(|spec| spec.name).collect();
        named.sort_unstable();
        listed.sort_unstable();
        assert_eq!(named, listed, "{title}");
    }
}
