//! Results of measurements: figures, predictions, findings, charts, warnings.

use super::*;
use crate::reading::read;
use crate::reading::tests::{WHOLE, line, one, text};
use boardlab_result::{Table, Value};

/// A measurement of steps with these operations, time and predictions; each operation takes as long.
fn measured(steps: &[(u64, u64, &str)]) -> RunResult {
    let count = steps.len();
    let mut lines = line(&format!(
        r#"{{"boardlab_measurement":1,"agent":"0.1.0","plan":{{"scenario":"","steps":{count},"crc32":"0"}}"#
    ));
    for (index, (operations, ns, predictions)) in steps.iter().enumerate() {
        lines += &line(&format!(
            r#"{{"begin":"s{index}","line":"step s{index} mtd.read device=/dev/mtd0 {predictions}""#
        ));
        let (elapsed, bytes) = (operations * ns, operations * 1_000);
        lines += &line(&format!(
            r#"{{"step":"s{index}","state":"done","operations":{operations},"bytes":{bytes},"elapsed_ns":{elapsed},"sum_ns":{elapsed},"min_ns":{ns},"max_ns":{ns},"histogram":[[{ns},{operations}]]"#
        ));
    }
    lines += &line(&format!(r#"{{"end":"complete","steps":{count},"done":{count},"restored":[]"#));
    let reading = one(&lines);
    assert!(reading.is_whole());
    result(&reading)
}

fn whole() -> RunResult {
    result(&one(&text(&WHOLE)))
}

fn value(table: &Table, row: &str, column: &str) -> Value {
    table.cell(row, column).unwrap_or_else(|| panic!("{row} {column}")).value.clone()
}

#[test]
fn a_result_has_the_figures_of_the_steps_and_of_the_board() {
    let run = whole();
    assert_eq!((run.scenario.as_str(), run.title.as_str()), ("nor-write", "Measured on 書"));
    let ids: Vec<_> = run.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["predictions", "steps", "values", "wear", "board"]);
    let steps = run.table("steps").unwrap();
    for (column, expected) in [
        ("operation", Value::Text("mtd.erase".into())),
        ("state", Value::Text("done".into())),
        ("operations_count", Value::Int(3)),
        ("bytes", Value::Int(393_216)),
        ("elapsed_ns", Value::Int(2_000)),
        ("mean_ns", Value::Int(500)),
        ("p50_ns", Value::Int(501)),
        ("p999_ns", Value::Int(601)),
        ("max_ns", Value::Int(601)),
        ("bytes_per_s", Value::Int(196_608_000_000)),
    ] {
        assert_eq!(value(steps, "erase", column), expected, "{column}");
    }
    assert_eq!(value(steps, "write", "mean_ns"), Value::None);
    assert_eq!(value(run.table("values").unwrap(), "erase.bad_blocks", "value"), Value::Int(0));
    assert_eq!(value(run.table("wear").unwrap(), "/dev/mtd0", "used_ratio"), Value::Real(1e-5));
    assert_eq!(value(run.table("board").unwrap(), "clock.read_ns", "value"), Value::Int(20));
    assert!(run.parameters.iter().all(|one| one.origin == Origin::Measured));
    assert!(run.parameters.iter().any(|one| one.key == "board.kernel" && one.value == "6.1"));
}

#[test]
fn the_same_measurement_gives_the_same_bytes() {
    let json = |run: &RunResult| serde_json::to_string(run).unwrap();
    let first = json(&whole());
    assert_eq!(first, json(&whole()));
    assert!(!first.contains("wall_time_ns"));
    assert_eq!(json(&serde_json::from_str(&first).unwrap()), first);
}

#[test]
fn every_metric_is_compared_with_its_figure() {
    let predictions = "predict.elapsed_ns=200 predict.mean_ns=110 predict.p50_ns=100 predict.p90_ns=100 \
                       predict.p99_ns=100 predict.p999_ns=50 predict.min_ns=100 predict.max_ns=100 \
                       predict.bytes_per_s=10000000000 predict.operations_per_s=10000000";
    let run = measured(&[(2, 100, predictions)]);
    let table = run.table("predictions").unwrap();
    let off: Vec<_> = table.rows.iter().map(|row| row.cells["off_ratio"].value.clone()).collect();
    let real = Value::Real;
    let zero = real(0.0);
    let mut expected = vec![zero.clone(); 10];
    (expected[1], expected[5]) = (real(0.1), real(-0.5));
    assert_eq!(off, expected);
    assert_eq!(value(table, "s0.mean_ns", "measured"), Value::Int(100));
    assert_eq!(value(table, "s0.operations_per_s", "measured"), real(1e7));
    let units = [table.rows[0].unit.as_str(), &table.rows[8].unit, &table.rows[9].unit];
    assert_eq!(units, ["ns", "bytes_per_s", ""]);
    assert_eq!(predictions::METRICS.len(), table.rows.len());
    assert_eq!(run.warnings, Vec::<String>::new());
}

#[test]
fn findings_say_what_is_within_the_band_and_what_is_worst() {
    let finding = |steps: &[(u64, u64, &str)]| measured(steps).findings[1..].join(" | ");
    let within = finding(&[(1, 100, "predict.mean_ns=110"), (1, 100, "predict.mean_ns=91")]);
    assert_eq!(
        within,
        "All 2 predictions are within 10 % of what was measured. The worst is s0.mean_ns: predicted 110 ns, measured \
         100 ns, off by +10.0 %."
    );
    let three = [
        (1, 100, "predict.mean_ns=111"),
        (1, 100, "predict.mean_ns=50 predict.bytes_per_s=9500000000"),
    ];
    assert_eq!(
        finding(&three),
        "1 of 3 predictions are within 10 % of what was measured. The worst is s1.mean_ns: predicted 50 ns, measured \
         100 ns, off by -50.0 %. | Off by more than 10 %: s1.mean_ns (-50.0 %), s0.mean_ns (+11.0 %)."
    );
    assert_eq!(finding(&[(1, 100, "")]), "");
    assert!(
        finding(&[(1, 100, "predict.mean_ns=1")]).starts_with("The prediction is not within 10 %")
    );
}

#[test]
fn what_is_no_figure_is_told() {
    let run = measured(&[(1, 100, "predict.median_ns=3 predict.mean_ns=100")]);
    assert!(run.warnings[0].contains("predicts `median_ns`, which is no figure of a step"));
    assert_eq!(value(&run.tables[0], "s0.median_ns", "measured"), Value::None);
    assert_eq!(run.warnings.len(), 1);
}

#[test]
fn the_scatter_has_a_line_between_the_bounds_of_the_band() {
    let run = measured(&[(1, 100 << 20, "predict.mean_ns=83886080 predict.bytes_per_s=7")]);
    let ids: Vec<_> = run.charts.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(ids, ["predicted-times", "predicted-rates"]);
    let chart = &run.charts[0];
    assert!(chart.x.log2 && chart.y.log2 && chart.layers.len() == 4);
    assert_eq!(run.curve("predicted-times-points").unwrap().x, [83.886_08]);
    let line = |id: &str| run.curve(&format!("predicted-times-{id}")).unwrap();
    for (x, (high, low)) in line("high").x.iter().zip(line("high").y.iter().zip(&line("low").y)) {
        // A prediction on a line is off by exactly 10 % of what was measured there.
        assert!(((x - high) / high - BAND).abs() < 1e-9 && ((x - low) / low + BAND).abs() < 1e-9);
    }
    assert!(
        run.charts.iter().all(|chart| chart.layers.iter().all(|l| run.curve(&l.curve).is_some()))
    );
}

#[test]
fn latencies_in_order_become_a_chart() {
    let run = whole();
    let chart = run.charts.iter().find(|chart| chart.id == "latency-erase").unwrap();
    assert_eq!(run.curve(&chart.layers[0].curve).unwrap().y, [0.0004, 0.0005, 0.000_601]);
}

#[test]
fn what_is_missing_is_told() {
    let warnings = |lines: &[&str]| result(&one(&text(lines))).warnings.join("\n");
    let has = |text: &str, part: &str| assert!(text.contains(part), "{part}: {text}");
    let partial = warnings(&WHOLE[..2]);
    has(
        &partial,
        "The measurement is partial: it broke off in step `erase`, after 0 steps that ended.",
    );
    has(&warnings(&WHOLE[..3]), "The measurement is partial: its end is missing, after 1 step");
    has(&warnings(&WHOLE[1..]), "The first line is lost");
    let failed = WHOLE[4].replace("\"stopped\"", "\"failed\",\"error\":\"EIO \\u001b[2J\"");
    let failed = warnings(&[WHOLE[0], &failed, &WHOLE[5].replace("complete", "failed")]);
    has(&failed, "Step `write` failed: EIO \\u{1b}[2J.");
    has(&failed, "Steps failed: 2 of 2 steps were done.");
    has(&failed, "The plan of 1 step is lost");
    has(
        &warnings(&WHOLE),
        "Step `write` was stopped by its limit or a signal, after 0 operations.",
    );
    let refused = warnings(&[WHOLE[0], r#"{"refused":"/dev/sda is mounted","step":"write""#]);
    assert_eq!(
        refused,
        "The agent refused the plan because of step `write`: /dev/sda is mounted. Nothing was written."
    );
    let stuck = WHOLE[5].replace("sda\"}", "sda\",\"error\":\"EIO\"}");
    let reading = one(&text(&[&WHOLE[..5], &[&stuck]].concat()));
    assert!(!reading.is_whole());
    has(&result(&reading).warnings.join(" "), "the cache of /dev/sda could not be set back: EIO.");
    let damaged = format!("hello\n{}", text(&WHOLE).replacen("500", "501", 1));
    let damaged = result(&one(&damaged)).warnings.join("\n");
    has(&damaged, "Line 3 is damaged and was left out: its checksum is");
    has(&damaged, "1 line that the agent did not write");
}

#[test]
fn a_flood_of_everything_is_cut() {
    let mut lines = String::new();
    for n in 0..3_000 {
        lines += &line(&format!(
            r#"{{"step":"s{n}","state":"failed","error":"x","operations":0,"bytes":0,"elapsed_ns":9223372036854775807"#
        ));
        lines += "{\"step\":1\n";
    }
    let readings = read(lines.as_bytes()).unwrap();
    let run = result(&readings[0]);
    assert!(run.warnings.len() < 50, "{}", run.warnings.len());
    assert_eq!(run.table("steps").unwrap().rows.len(), 3_000);
}

#[test]
fn a_register_that_was_not_read_is_told_and_kept() {
    let step = line(
        r#"{"step":"erase","values":{"ext_csd":"00zz"},"state":"done","operations":0,"bytes":0,"elapsed_ns":1"#,
    );
    let run = result(&one(&step));
    let table = run.table("values").unwrap();
    assert_eq!(value(table, "erase.ext_csd", "value"), Value::Text("00zz".into()));
    let told = "`ext_csd` of step `erase` is not the bytes of that register: it was not read.";
    assert!(run.warnings.iter().any(|warning| warning == told), "{:?}", run.warnings);
}
