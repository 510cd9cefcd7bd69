//! Files of other programs, whole and damaged.

use super::*;
use boardlab_result::{RunResult, Value};

fn foreign(text: &str) -> Foreign {
    let form = form_of(text.as_bytes()).expect("a known form");
    read(form, "file", text.as_bytes()).unwrap_or_else(|problem| panic!("{problem}"))
}

fn problem(text: &str) -> String {
    let form = form_of(text.as_bytes()).expect("a known form");
    read(form, "file", text.as_bytes()).map(|_| ()).unwrap_err().to_string()
}

fn cell(run: &RunResult, table: &str, row: &str, column: &str) -> Value {
    let table = run.table(table).unwrap_or_else(|| panic!("no table {table}"));
    table.cell(row, column).unwrap_or_else(|| panic!("no {row} {column}")).value.clone()
}

fn number(run: &RunResult, table: &str, row: &str, column: &str) -> f64 {
    cell(run, table, row, column).as_f64().unwrap_or_else(|| panic!("{row} {column}"))
}

/// What fio 3.33 printed of a job that reads and writes, shortened to what is read.
const FIO: &str = r#"fio: 1 file extended
{
  "fio version" : "fio-3.33",
  "jobs" : [
    { "jobname" : "a", "error" : 0,
      "read" : { "total_ios" : 0, "io_bytes" : 0, "io_kbytes" : 0 },
      "write" : { "io_bytes" : 8388608, "io_kbytes" : 8192, "bw_bytes" : 1198372571, "bw" : 1170285,
        "iops" : 292571.428571, "runtime" : 7, "total_ios" : 2048,
        "clat_ns" : { "min" : 1983, "max" : 388990, "mean" : 2745.566406, "N" : 2048,
          "percentile" : { "50.000000" : 2192, "99.000000" : 5984, "99.990000" : 387072 } } },
      "trim" : { "total_ios" : 0 }, "sync" : { "total_ios" : 3 } }
  ] }
"#;

#[test]
fn the_json_of_fio_gives_the_table_that_a_predicted_run_has() {
    let Foreign { run, is_whole } = foreign(FIO);
    assert!(is_whole);
    assert_eq!(run.title, "Measured by fio-3.33: file");
    for (column, expected) in [
        ("requests_count", 2_048.0),
        ("moved_bytes", 8_388_608.0),
        ("bandwidth_bytes_per_s", 1_198_372_571.0),
        ("requests_per_s", 292_571.428_571),
        ("mean_ns", 2_746.0),
        ("median_ns", 2_192.0),
        ("percentile99_ns", 5_984.0),
        ("max_ns", 388_990.0),
        ("flushes_count", 3.0),
        ("elapsed_ns", 7e6),
    ] {
        assert_eq!(number(&run, "fio", "a.0.write", column), expected, "{column}");
    }
    assert_eq!(run.warnings, ["fio: fio: 1 file extended"]);
    assert_eq!(run.charts.len(), 1);
}

#[test]
fn fio_2_has_other_units() {
    let old = r#"{"fio version":"fio-2.2.10","jobs":[{"jobname":"a","error":0,"write":{"io_bytes":8192,"bw":1024,
        "iops":256.0,"runtime":8000,"total_ios":2048,"clat":{"mean":31.25,"max":900,"percentile":{"50.000000":30}}}}]}"#;
    let run = foreign(old).run;
    for (column, expected) in [
        ("moved_bytes", 8_388_608.0),
        ("bandwidth_bytes_per_s", 1_048_576.0),
        ("mean_ns", 31_250.0),
        ("median_ns", 30_000.0),
        ("max_ns", 900_000.0),
        ("elapsed_ns", 8e9),
    ] {
        assert_eq!(number(&run, "fio", "a.0.write", column), expected, "{column}");
    }
    assert_eq!(cell(&run, "fio", "a.0.write", "percentile99_ns"), Value::None);
}

#[test]
fn what_is_not_whole_of_fio_is_told() {
    let failed = foreign(&FIO.replace("\"error\" : 0", "\"error\" : 5"));
    assert!(!failed.is_whole);
    assert!(
        failed.run.warnings[0].contains("a.0 failed: ")
            && failed.run.warnings[0].contains("error 5)"),
        "{failed:?}"
    );
    let twice =
        format!("{FIO}{}", FIO.replace("fio: 1 file extended\n", "").replace("2048", "4096"));
    let run = foreign(&twice).run;
    assert_eq!(number(&run, "fio", "a.0.write", "requests_count"), 4_096.0);
    assert!(run.warnings[0].contains("2 reports"));
    let nothing = foreign(r#"{"fio version":"fio-3.33","jobs":[]}"#);
    assert!(!nothing.is_whole && nothing.run.warnings == ["fio reports no request."]);
    let mixed = foreign(
        r#"{"fio version":"fio-3.33","jobs":[{"jobname":"a","error":0,"mixed":{"total_ios":9}}]}"#,
    );
    assert!(!mixed.is_whole && mixed.run.warnings[0].contains("unified_rw_reporting"), "{mixed:?}");
    let cut = &FIO[..FIO.len() / 2];
    assert_eq!(
        problem(cut),
        "line 8, column 24: found the end of the file, expected a whole report of fio"
    );
    assert!(problem("{\"fio version\" : 1, }").starts_with("line 1, column 21: found no JSON"));
    assert!(problem("{\"fio version\" : 1}").contains("found no list of jobs"));
}

#[test]
fn a_latency_that_fio_did_not_take_is_none() {
    let latency = "\"min\" : 1983, \"max\" : 388990, \"mean\" : 2745.566406, \"N\" : 2048";
    let run =
        foreign(&FIO.replace(latency, "\"min\" : 0, \"max\" : 0, \"mean\" : 0.0, \"N\" : 0")).run;
    for column in ["mean_ns", "max_ns"] {
        assert_eq!(cell(&run, "fio", "a.0.write", column), Value::None, "{column}");
    }
}

#[test]
fn hostile_figures_of_fio_are_no_panic() {
    for (from, to) in [
        ("2048", "18446744073709551615"),
        ("2048", "-1"),
        ("7,", "1e300,"),
        ("\"mean\" : 2745.566406", "\"mean\" : \"x\""),
        ("\"50.000000\"", "\"nan\""),
        ("\"percentile\" : {", "\"percentile\" : 7, \"x\" : {"),
        ("\"jobname\" : \"a\"", "\"jobname\" : \"\\u001b[2J\""),
    ] {
        let run = foreign(&FIO.replace(from, to)).run;
        assert!(run.tables[0].rows.iter().all(|row| !row.id.contains('\u{1b}')), "{to}");
    }
}

/// Two reports of sysstat 12, and a device that comes in the second alone.
const IOSTAT: &str = "\
Linux 6.1.0 (board) \t11/26/26 \t_armv7l_\t(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          58.51    2.71    7.69    0.10    0.06   30.92

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
mmcblk0        100.00    400.00     0.00   0.00    9.00     4.00    0.00      0.00     0.00   0.00    0.00     0.00    1.00  90.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
mmcblk0         10.00     40.00     0.00   0.00    1.00     4.00    0.00      0.00     0.00   0.00    0.00     0.00    0.01   1.00
sda              0.00      0.00     0.00   0.00    0.00     0.00   20.00   2048.00     0.00   0.00    2.00   102.40    0.04   8.00

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
mmcblk0         30.00    120.00     0.00   0.00    3.00     4.00    0.00      0.00     0.00   0.00    0.00     0.00    0.09   9.00
";

#[test]
fn the_reports_of_iostat_are_averaged_without_the_first() {
    let Foreign { run, is_whole } = foreign(IOSTAT);
    assert!(is_whole);
    for (column, expected) in [
        ("requests_per_s", 20.0),
        ("bytes_per_s", 81_920.0),
        ("most_bytes_per_s", 122_880.0),
        // 10 requests waited 1 ms and 30 waited 3 ms.
        ("mean_ns", 2_500_000.0),
        ("longest_mean_ns", 3_000_000.0),
    ] {
        assert_eq!(number(&run, "requests", "mmcblk0.read", column), expected, "{column}");
    }
    // With -z a report leaves out what was idle.
    assert_eq!(number(&run, "requests", "sda.write", "bytes_per_s"), 1_048_576.0);
    assert_eq!(number(&run, "requests", "sda.write", "most_bytes_per_s"), 2_097_152.0);
    assert_eq!(number(&run, "requests", "sda.write", "mean_ns"), 2_000_000.0);
    assert_eq!(number(&run, "devices", "sda", "busy_ratio"), 0.04);
    assert_eq!(number(&run, "devices", "sda", "reports_count"), 1.0);
    assert_eq!(run.table("requests").unwrap().rows.len(), 2);
    assert_eq!(number(&run, "devices", "mmcblk0", "reports_count"), 2.0);
    assert_eq!(number(&run, "devices", "mmcblk0", "most_busy_ratio"), 0.09);
    assert!(run.warnings[0].contains("It is left out"), "{:?}", run.warnings);
    assert_eq!(run.charts.len(), 2);
}

#[test]
fn iostat_of_other_languages_units_and_forms_is_the_same() {
    let german = IOSTAT.replace('.', ",");
    assert_eq!(foreign(&german).run.tables, foreign(IOSTAT).run.tables);
    let megabytes = "Device: rrqm/s wrqm/s r/s w/s rMB/s wMB/s avgrq-sz avgqu-sz await r_await w_await svctm %util\n\
                     sda 0 0 2 0 1.5 0 8 0.5 4 4 0 1 20\n";
    let run = foreign(megabytes).run;
    assert_eq!(number(&run, "requests", "sda.read", "bytes_per_s"), 1_572_864.0);
    assert_eq!(number(&run, "devices", "sda", "queue"), 0.5);
    assert!(run.warnings[0].contains("The only report"));
    let sectors = foreign(&megabytes.replace("rMB/s wMB/s", "rsec/s wsec/s")).run;
    assert_eq!(number(&sectors, "requests", "sda.read", "bytes_per_s"), 768.0);
    let short = "Device tps kB/s rqm/s await areq-sz aqu-sz %util\nsda 2 1536 0 4 768 0.5 20\n";
    let run = foreign(short).run;
    for (column, expected) in
        [("requests_per_s", 2.0), ("bytes_per_s", 1_572_864.0), ("mean_ns", 4_000_000.0)]
    {
        assert_eq!(number(&run, "requests", "sda.all", column), expected, "{column}");
    }
    let json = r#"{"sysstat": {"hosts": [{"statistics": [{"disk": [
        {"disk_device": "sda", "r/s": 2.00, "w/s": 0.00, "rkB/s": 1536.0, "wkB/s": 0.0, "r_await": 4.0, "w_await": 0.0,
         "aqu-sz": 0.5, "util": 20.0}]}]}]}}"#;
    let of_json = foreign(json).run;
    assert_eq!(number(&of_json, "requests", "sda.read", "mean_ns"), 4_000_000.0);
    assert_eq!(number(&of_json, "devices", "sda", "busy_ratio"), 0.2);
}

#[test]
fn the_chart_of_iostat_is_at_0_where_reports_leave_a_device_out() {
    let report = |rate: Option<u32>| {
        let row = rate.map(|rate| format!("sda {rate} {rate} 1\n")).unwrap_or_default();
        format!("Device r/s rkB/s r_await\n{row}\n")
    };
    let rates = [Some(9), None, Some(1_000), None, None, None, Some(2_000), None, None];
    let run = foreign(&rates.map(report).concat()).run;
    assert_eq!(run.series[0].x, [1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(run.series[0].y, [0.0, 1.024, 0.0, 0.0, 2.048, 0.0, 0.0]);
}

#[test]
fn what_is_wrong_with_a_report_of_iostat_is_told() {
    let cut = foreign(&IOSTAT[..IOSTAT.len() - 60]);
    assert!(!cut.is_whole);
    let told = &cut.run.warnings[1];
    assert!(told.starts_with("Line 14 has 7 figures where there are 14 columns"), "{told}");
    let head = &IOSTAT[..IOSTAT.rfind("r_await").unwrap()];
    assert!(!foreign(head).is_whole);
    let pretty = "     r/s     rkB/s r_await Device\n    2.00    1.5M    4.00 sda\n";
    assert!(problem(pretty).ends_with("expected iostat -x without -h and --pretty"));
    let huge = "Device r/s rkB/s r_await\nsda 1e308 1e308 1e308\n".repeat(3);
    assert!(!foreign(&huge).is_whole);
    let plain =
        "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\nsda 1 2 3 4 5\n";
    assert_eq!(
        problem(plain),
        "line 1, column 1: found columns without waits, expected those of iostat -x"
    );
    assert!(problem("{\"sysstat\": {").contains("found the end of the file"));
    for wrong in ["nan", "inf", "-1", "x", "1e999"] {
        let hostile = foreign(&IOSTAT.replace("30.00", wrong));
        assert!(!hostile.is_whole, "{wrong}");
    }
}

/// Events of two processors: a write in two parts, a read that overtakes it, a flush, and one that does not end.
const TRACE: &str = "\
  8,0    3        1     0.000000000   697  Q   W 2048 + 16 [fio]
  8,0    3        2     0.000001000   697  D   W 2048 + 16 [fio]
  8,0    1        3     0.000002000   697  D   R 0 + 8 [fio]
  8,0    1        4     0.000102000     0  C   R 0 + 8 [0]
  8,0    3        5     0.000201000     0  C   W 2048 + 8 [0]
  8,0    3        6     0.000501000     0  C   W 2056 + 8 [0]
  8,0    3        7     0.000600000   697  D  FN [fio]
  8,0    3        8     0.002600000     0  C  FN 0 [0]
  8,16   3        9     0.003000000   697  D   R 0 + 8 [fio]
  8,0    3       10     0.004000000     0  C   W 4096 + 8 [0]
CPU0 (board):
 Reads Queued:           2,        8KiB  Writes Queued:           1,        8KiB
";

#[test]
fn a_trace_gives_the_time_from_issue_to_completion() {
    let Foreign { run, is_whole } = foreign(TRACE);
    assert!(is_whole);
    let rows: Vec<_> = run.tables[0].rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(rows, ["8,0.read", "8,0.write", "8,0.flush"]);
    for (row, column, expected) in [
        ("8,0.read", "mean_ns", 100_000.0),
        ("8,0.write", "mean_ns", 500_000.0),
        ("8,0.write", "moved_bytes", 8_192.0),
        ("8,0.write", "requests_count", 1.0),
        ("8,0.write", "bytes_per_s", 16_384_000.0),
        ("8,0.flush", "max_ns", 2_000_000.0),
    ] {
        assert_eq!(number(&run, "requests", row, column), expected, "{row} {column}");
    }
    assert_eq!(run.findings, ["3 requests completed; at most 2 outstanding at once."]);
    assert_eq!(
        run.warnings,
        [
            "Left out: 1 request completed, but the trace has no issue.",
            "Left out: 1 request issued, but not completed in the trace."
        ]
    );
}

#[test]
fn what_is_wrong_with_a_trace_is_told() {
    let cut = foreign(&TRACE[..TRACE.find("FN 0").unwrap() - 4]);
    assert!(!cut.is_whole);
    assert!(cut.run.warnings.last().unwrap().contains("to line 8 alone"), "{:?}", cut.run.warnings);
    let early = "  8,0    3        1     0.000000000   697  D   W 2048 * 16 [fio]\n";
    assert_eq!(problem(early), "line 1, column 55: found `*`, expected + and the number of blocks");
    let issues: String = TRACE
        .lines()
        .filter(|line| !line.contains(" C "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(!foreign(&issues).is_whole);
    for magic in [0x6561_7407_u32.to_le_bytes(), 0x6561_7407_u32.to_be_bytes()] {
        assert_eq!(form_of(&magic), Some(Form::Blktrace));
    }
    let binary = read(Form::Blktrace, "x", &b""[..]).map(|_| ()).unwrap_err().to_string();
    assert!(binary.contains("blkparse -i"), "{binary}");
}

#[test]
fn speeds_of_flash_are_read_from_a_terminal_and_from_the_log_of_the_kernel() {
    let kernel = "\
[   49.859583] mtd_speedtest: MTD device size 8388608, eraseblock size 131072, page size 2048, count of eraseblocks 64, pages per eraseblock 64, OOB size 128
[   49.879433] mtd_test: scanned 64 eraseblocks, 2 are bad
[   53.083380] mtd_speedtest: eraseblock write speed is 2756 KiB/s
[   61.612427] mtd_speedtest: 2 page write speed is 2757 KiB/s
[   62.903617] mtd_speedtest: erase speed is 37063 KiB/s
[   63.134083] mtd_speedtest: 2x multi-block erase speed is 37292 KiB/s
[   63.134084] mtd_speedtest: finished
";
    let Foreign { run, is_whole } = foreign(kernel);
    assert!(is_whole);
    assert_eq!(number(&run, "steps", "eraseblock-write", "bytes_per_s"), 2_822_144.0);
    assert_eq!(number(&run, "steps", "2x-multi-block-erase", "bytes_per_s"), 38_187_008.0);
    assert_eq!(number(&run, "device", "eraseblocks", "value"), 64.0);
    assert_eq!(run.warnings.len(), 1, "{:?}", run.warnings);
    let terminal = "eraseblock write speed is 2028 KiB/s\npage       write speed is 2028 KiB/s\nerase speed is fast\n";
    let Foreign { run, is_whole } = foreign(terminal);
    assert!(!is_whole);
    let rows: Vec<_> = run.tables[0].rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(rows, ["eraseblock-write", "page-write"]);
    assert!(run.warnings[0].starts_with("Line 3 has no speed in KiB/s"), "{:?}", run.warnings);
}

#[test]
fn files_of_the_agent_and_of_nobody_are_not_foreign() {
    for text in [
        "",
        "{\"boardlab_measurement\":1,\"agent\":\"fio version\"}",
        "[  1.0] boot\n",
        "Device tree\n",
        "{\"jobs\": []}",
    ] {
        assert_eq!(form_of(text.as_bytes()), None, "{text}");
    }
}

/// Whatever a byte becomes and wherever a file ends, it is read or refused with a reason.
#[test]
fn no_byte_that_is_changed_or_missing_breaks_the_readers() {
    let speed =
        "eraseblock write speed is 2028 KiB/s\nMTD device size 8, eraseblock size 4\nfinished\n";
    let json = r#"{"sysstat": {"hosts": [{"statistics": [{"disk": [{"disk_device": "sda", "r/s": 2.0, "r_await": 4.0}]}]}]}}"#;
    for (form, text) in [
        (Form::Fio, FIO),
        (Form::Iostat, IOSTAT),
        (Form::Iostat, json),
        (Form::Blkparse, TRACE),
        (Form::FlashSpeed, speed),
    ] {
        let tried = |bytes: &[u8]| match read(form, "file", bytes) {
            Ok(foreign) => assert!(foreign.run.tables.iter().all(|table| !table.id.is_empty())),
            Err(problem) => assert!(!problem.to_string().is_empty()),
        };
        (0..text.len()).for_each(|end| tried(&text.as_bytes()[..end]));
        for at in 0..text.len() {
            for byte in *b"\0\n 9-\"{\xff" {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = byte;
                tried(&bytes);
            }
        }
    }
}
