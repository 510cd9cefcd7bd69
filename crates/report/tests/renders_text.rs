//! The terminal, JSON, CSV and comparison renderers on the sample of the NOR evaluation.

use crate::sample;

use boardlab_report::{Error, Format, Options, Shown, compare, csv, html, json, render, terminal};
use boardlab_result::{Cell, Reproduction, Row, RunResult, Table, Value, Verdict};
use unicode_width::UnicodeWidthStr;

fn options(width: usize) -> Options {
    Options { width, ..Options::default() }
}

#[test]
fn a_table_shows_ours_the_print_and_the_verdict() {
    let text = terminal::run(&sample::nor_write(), &options(120));
    assert!(text.contains("254.3 us"), "{text}");
    assert!(text.contains("253 us ≈ close [1]"), "{text}");
    assert!(text.contains("43.2 s ✓ pass"), "{text}");
    assert!(text.contains("1 parameter fitted, 1 assumed, for 4 compared cells"), "{text}");
    assert!(text.contains("  1. A fixed wait of 256 us"), "{text}");
    assert!(text.contains('█'), "the histogram is a line of blocks: {text}");
    assert!(!text.contains('\u{1b}'), "no colour unless asked for");
}

#[test]
fn a_reproduction_begins_with_the_published_totals() {
    let text = terminal::reproduction(&sample::reproduction(), &options(100));
    let summary: Vec<&str> = text.lines().take(8).collect();
    assert_eq!(summary[0], "Published totals");
    let line = summary.iter().find(|line| line.contains("table5")).expect("table5 has a total");
    assert!(summary[2].starts_with(" nor-write "), "{text}");
    for part in ["43.2 s   43.2 s", "0.0 %", "✓ pass"] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}

#[test]
fn ours_stands_in_the_unit_of_the_print() {
    let mut run = RunResult::new("nand-filesystems", "NAND", 1, "0.1.0");
    let mut table = Table::new("table3.5", "Metadata").column("jffs2", "jffs2");
    let metadata = Cell {
        published: Some(Value::Int(12_764 << 10)),
        printed: Some("12764 KB".into()),
        ..Cell::int(12_185_600)
    };
    let row = Row::new("metadata", "").of_unit("bytes").at_the_head();
    table.rows.push(row.cell("jffs2", metadata));
    run.tables.push(table);
    let exact = render(Shown::Run(&run), Format::Json, &options(100));
    assert!(exact.contains("\"value\": 12185600"), "{exact}");
    let all = Reproduction::new(vec![run]);
    let text = terminal::reproduction(&all, &options(100));
    let (head, rest) = text.split_once("\n\n").unwrap();
    assert!(head.contains("12764 KB   11900 KB   -6.8 %"), "{head}");
    assert!(rest.contains("11900 KB") && !text.contains("MiB"), "{rest}");
    assert!(html::render(&all, &options(100)).unwrap().contains("11900 KB"));
}

#[test]
fn a_row_that_asks_for_it_stands_at_the_head() {
    let mut all = sample::reproduction();
    let row = all.results.iter_mut().flat_map(|run| &mut run.tables).find_map(|table| {
        let row = |row: &&mut boardlab_result::Row| {
            row.id != "total" && row.cells.values().any(|cell| cell.published.is_some())
        };
        table.rows.iter_mut().find(row)
    });
    let row = row.expect("the sample compares more than totals");
    row.headline = true;
    let named = format!("{}, ", row.id.replace('_', " "));
    let text = terminal::reproduction(&all, &options(120));
    let summary: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(summary[0], "Published figures");
    assert!(summary.iter().any(|line| line.contains(&named)), "{named}: {text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [60, 80, 120] {
        let text = terminal::reproduction(&sample::reproduction(), &options(width));
        for line in text.lines() {
            assert!(line.width() <= width, "{} columns of {width}: {line}", line.width());
        }
    }
}

#[test]
fn a_figure_and_its_unit_stay_together_at_every_width() {
    let mut run = waits([1.0, 33.0, 470.5]);
    let more = Table::new("", "").column("copy_bytes_per_s", "copy").column("note", "note");
    run.tables[0].columns.extend(more.columns);
    for row in &mut run.tables[0].rows {
        row.cells.insert("copy_bytes_per_s".into(), Cell::real(1.5e9));
    }
    let mut noted = run.clone();
    let note = "the cache was written back after 250 ms";
    noted.tables[0].rows[0].cells.insert("note".into(), Cell::text(note));
    for (width, run) in (60..=120).flat_map(|width| [(width, &run), (width, &noted)]) {
        let text = terminal::run(run, &options(width));
        for figure in ["1.000 ms", "470.5 ms", "60.61 kB/s", "1.500 GB/s"] {
            assert!(text.contains(figure), "{figure} in {width} columns:\n{text}");
        }
        assert!(run != &noted || text.contains("250 ms"), "{width} columns:\n{text}");
        for line in text.lines() {
            assert!(line.width() <= width, "{} columns of {width}: {line}", line.width());
        }
    }
}

#[test]
fn colour_adds_nothing_but_escape_sequences() {
    let plain = terminal::run(&sample::nor_write(), &options(100));
    let colored = terminal::run(&sample::nor_write(), &Options { color: true, ..options(100) });
    let mut stripped = String::new();
    for (index, part) in colored.split("\u{1b}[").enumerate() {
        let text = if index == 0 { part } else { part.split_once('m').unwrap().1 };
        stripped.push_str(text);
    }
    assert_ne!(plain, colored);
    assert_eq!(plain, stripped);
}

#[test]
fn json_is_stable_reads_back_and_keeps_curves_on_a_line() {
    let run = sample::nor_write();
    let text = json::run(&run);
    let back = json::read(&text).unwrap();
    assert_eq!(back.results, [run]);
    assert_eq!(json::run(&back.results[0]), text);
    assert!(text.lines().any(|line| line.trim_start().starts_with("\"x\": [160.0, 161.0,")));
    let both = sample::reproduction();
    assert_eq!(json::read(&json::reproduction(&both)).unwrap(), both);
}

#[test]
fn json_leaves_the_wall_time_out_on_request() {
    let run = sample::nor_write();
    let without = Options { wall_time: false, ..options(100) };
    assert!(render(Shown::Run(&run), Format::Json, &options(100)).contains("wall_time_ns"));
    for format in [Format::Json, Format::Table] {
        let text = render(Shown::Run(&run), format, &without);
        assert!(!text.contains("wall"), "{text}");
    }
}

#[test]
fn a_broken_result_is_refused_with_its_place() {
    let good = json::run(&sample::nor_write());
    let place = |text: &str| match json::read(text) {
        Err(Error::Json { line, column, found }) => (line, column, found),
        other => panic!("not a JSON error: {other:?}"),
    };
    assert_eq!(place("{\n  \"schema\": 2,").0, 2);
    let (line, _, found) = place(&good.replacen("\"seed\": 1", "\"sead\": 1", 1));
    assert_eq!(line, 14);
    assert!(found.contains("unknown field `sead`"), "{found}");
    assert!(found.contains("expected one of") && found.contains("`seed`"), "{found}");
    let (_, _, found) = place(&good.replacen("\"value\": 1141", "\"value\": [1141]", 1));
    assert_eq!(found, "expected a whole number, a number, a text or null");
    assert!(json::read("").is_err());
}

#[test]
fn a_result_that_is_not_an_object_is_refused() {
    let inner = "{\"schema\": 2, \"results\": [[1]]}";
    for (text, found) in [("[]", "sequence"), ("[1, 2]", "sequence"), ("[1, []]", "sequence")]
        .into_iter()
        .chain([(inner, "sequence"), ("1", "integer `1`"), ("\"a\"", "string \"a\"")])
    {
        let message = json::read(text).unwrap_err().to_string();
        assert!(message.contains(&format!("{found}, expected an object")), "{text}: {message}");
        assert!(message.starts_with("line 1, column "), "{text}: {message}");
    }
}

#[test]
fn another_schema_is_refused_by_its_number() {
    let good = json::reproduction(&sample::reproduction());
    let outer = good.replacen("\"schema\": 2", "\"schema\": 4", 1);
    let inner = good.replace("      \"schema\": 2", "      \"schema\": 3");
    for (text, place) in [(outer, "`schema`: found 4"), (inner, "`results[0].schema`: found 3")] {
        let message = json::read(&text).unwrap_err().to_string();
        assert!(message.starts_with(place), "{message}");
        assert!(message.contains("expected 1 or 2"), "{message}");
    }
    assert!(json::read("{}").unwrap_err().to_string().contains("found nothing"));
}

#[test]
fn what_schema_1_calls_explained_is_close_or_differs() {
    let good = json::reproduction(&sample::reproduction());
    let old = good.replace("\"schema\": 2", "\"schema\": 1").replace("\"close\"", "\"explained\"");
    assert_eq!(json::read(&old).unwrap(), json::read(&good).unwrap());
    let far = old.replacen("\"value\": 254264", "\"value\": 354264", 1);
    let far = json::read(&far).unwrap();
    let cells = far.results[0].tables.iter().flat_map(Table::cells);
    let differs = cells.filter(|(_, _, cell)| cell.verdict == Some(Verdict::Differs));
    assert_eq!(
        differs.map(|(row, column, _)| (row.id.as_str(), column)).collect::<Vec<_>>(),
        [("L-7", "mean_ns")]
    );
}

#[test]
fn a_brief_text_has_what_was_published_and_says_what_it_leaves_out() {
    let mut all = sample::reproduction();
    let run = &mut all.results[0];
    run.tables.push(Table::new("own", "Only ours").column("mean_ns", "mean"));
    run.findings[0] = "The wait is fixed. It measures 254.3 us.".into();
    let brief = Options { full: false, ..options(100) };
    let (brief, full) =
        (terminal::reproduction(&all, &brief), terminal::reproduction(&all, &options(100)));
    for part in ["table5 – ", "1. The wait is fixed.", "--full prints them"] {
        assert!(brief.contains(part), "{part} is not in {brief}");
    }
    for part in ["own – Only ours", "It measures 254.3 us."] {
        assert!(!brief.contains(part) && full.contains(part), "{part}");
    }
    let ours = Options { full: false, ..options(100) };
    let mut plain = all.results[0].clone();
    for cell in plain.tables.iter_mut().flat_map(|table| &mut table.rows) {
        cell.cells.values_mut().for_each(|cell| cell.published = None);
    }
    let text = terminal::reproduction(&boardlab_result::Reproduction::new(vec![plain]), &ours);
    assert!(text.contains("own – Only ours"), "without a print nothing is left out: {text}");
}

#[test]
fn a_run_begins_with_its_agreement() {
    let text = terminal::run(&sample::nor_write(), &options(400));
    let line = text.lines().find(|line| line.contains("cells compared")).unwrap();
    for part in ["of them input", "pass", "close", "median", "90th percentile", "largest +"] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}

#[test]
fn csv_has_one_line_a_cell_and_quotes_what_must_be() {
    let both = sample::reproduction();
    let text = csv::cells(&both.results);
    let mut lines = text.lines();
    let header = "scenario,table,row,column,value,published,printed,verdict,finding";
    assert_eq!(lines.next(), Some(header));
    assert!(
        text.contains("nor-write,table5,total,total_ns,43202000000,43200000000,43.2 s,pass,\n")
    );
    assert!(text.contains(",254264,253000,253 us,close,\"A fixed wait of 256 us measures"));
    assert!(
        text.contains("verdicts,table3.3,mount,note,\"copied, \"\"as is\"\"\nover two lines\",")
    );
    let series = csv::series(&both.results);
    assert!(series.contains("nor-write,wait_histogram,count,204,4681\n"), "{series}");
}

#[test]
fn a_comparison_has_both_sides_and_their_ratio() {
    let a = sample::nor_write();
    let mut b = a.clone();
    b.seed = 2;
    let table = b.tables.iter_mut().find(|table| table.id == "table5").unwrap();
    table.cell_mut("total", "total_ns").unwrap().value = Value::Int(21_601_000_000);
    table.rows.retain(|row| row.id != "L-6");
    b.tables.retain(|table| table.id != "table4");
    b.parameters[5].value = "2 us".into();
    let result = compare(&a, &b);
    let table = result.table("table5").unwrap();
    let cell = |column| table.cell("total", column).map(|cell: &Cell| cell.value.as_f64().unwrap());
    assert_eq!(cell("a_total_ns"), Some(43_202_000_000.0));
    assert_eq!(cell("b_total_ns"), Some(21_601_000_000.0));
    assert_eq!(cell("total_ns_ratio"), Some(0.5));
    assert!(table.columns.iter().all(|column| !column.id.contains("mean")), "equal columns go");
    assert!(result.warnings.contains(&"table5: only A has the row `L-6`".into()));
    assert!(result.warnings.contains(&"only A has the table `table4`".into()));
    let parameters = result.table("parameters").unwrap();
    assert_eq!(parameters.rows.len(), 1);
    assert_eq!(parameters.rows[0].id, "bus.poll_gap");
    let text = terminal::run(&result, &options(100));
    assert!(text.contains("50.00 %") && text.contains("2 us (assumed)"), "{text}");
}

/// A table of two quantities in three rows.
fn waits(scale: [f64; 3]) -> RunResult {
    let mut run = RunResult::new("waits", "Waits", 1, "0.1.0");
    let mut table = Table::new("waits", "Waits").column("mean_ns", "mean");
    table = table.column("polls_count", "polls").column("rate_bytes_per_s", "rate");
    table = table.column("same_count", "same");
    for (index, scale) in scale.into_iter().enumerate() {
        let row = Row::new(format!("w{index}"), "waits for long").cell("same_count", Cell::int(7));
        let row = row.cell("mean_ns", Cell::real(1e6 * scale)).cell("polls_count", Cell::int(10));
        table.rows.push(row.cell("rate_bytes_per_s", Cell::real(2e6 / scale)));
    }
    run.tables.push(table);
    run
}

#[test]
fn a_comparison_names_what_is_equal_and_has_a_line_for_each_difference() {
    let mut b = waits([1.0, 1.5, -2.0]);
    b.tables[0].cell_mut("w1", "polls_count").unwrap().value = Value::Int(13_000);
    let result = compare(&waits([1.0, 1.0, 1.0]), &b);
    let table = result.table("waits").unwrap();
    assert_eq!(table.rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["w1", "w2"]);
    assert!(!table.rows[1].cells.contains_key("a_polls_count"), "equal cells are left out");
    assert!(!table.rows[1].cells.contains_key("mean_ns_ratio"), "another sign has no ratio");
    assert_eq!(result.findings[0], "waits: 1 row equal; equal in all rows: same");
    let text = terminal::run(&result, &options(80));
    for line in [
        "                      quantity            A             B       B/A",
        " w1  waits for long   mean         1.000 ms      1.500 ms   150.0 %",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let same = |shown: &str| shown.split_whitespace().collect::<Vec<_>>() == words;
        assert!(text.lines().any(same), "{line:?} is not in\n{text}");
    }
    assert!(text.contains("13\u{202f}000") && text.contains("-2.000 ms"), "{text}");
    assert_eq!(text.matches("waits for long").count(), 2, "a row is named once: {text}");
    assert!(!text.contains("seed 1, version"), "nothing ran: {text}");
    let equal = compare(&waits([1.0; 3]), &waits([1.0; 3]));
    assert!(equal.tables.is_empty());
    assert_eq!(equal.findings, ["waits: all rows equal (3)", "all parameters are equal"]);
}

#[test]
fn the_names_of_rows_do_not_break_within_a_word() {
    let mut run = waits([1.0, 2.0, 3.0]);
    for (index, title) in
        ["as released", "learns the wait", "the buffer time of CFI"].into_iter().enumerate()
    {
        run.tables[0].rows[index].title = format!("{title}, one bit an operation and a chip");
        run.tables[0].columns[index].title = format!("{title} in turn");
    }
    let text = terminal::run(&run, &options(80));
    let words: Vec<&str> = text.split_whitespace().collect();
    for word in ["released,", "learns", "operation", "buffer"] {
        assert!(words.contains(&word), "{word} is broken in\n{text}");
    }
    assert!(text.contains("1.000 ms") && text.contains("2.000 MB/s"), "{text}");
}

#[test]
fn a_list_has_no_seed_and_no_time() {
    let run = RunResult::new("list", "What there is", 0, "0.1.0");
    assert_eq!(terminal::run(&run, &options(80)), "list – What there is\n");
    let ran = RunResult { virtual_time_ns: 5, ..run };
    assert!(terminal::run(&ran, &options(80)).contains("virtual time 5 ns"));
}

#[test]
fn foreign_text_is_shown_as_escapes_in_tables_and_kept_exactly_in_json() {
    let evil = "\u{1b}[2Ja\nb\u{202e}\u{9b}\u{e0041}";
    let shown = "\\u{1b}[2Ja\\u{a}b\\u{202e}\\u{9b}\\u{e0041}";
    let mut run = RunResult::new(evil, evil, 1, evil);
    let mut table = Table::new(evil, evil).column("words", evil);
    table.rows.push(Row::new(evil, evil).cell("words", Cell::text(evil)));
    table.rows.push(Row::new("plain", "plain").cell("words", Cell::text("plain")));
    run.tables.push(table);
    run.warnings.push(evil.replace('\n', " "));
    let text = terminal::run(
        &run,
        &Options { width: 200, color: true, wall_time: false, full: true, notes: true },
    );
    let allowed =
        ["\u{1b}[1m", "\u{1b}[0m"].iter().fold(text.clone(), |text, code| text.replace(code, ""));
    assert!(
        allowed.chars().all(|c| c == '\n' || boardlab_result::foreign::is_harmless(c)),
        "{text}"
    );
    assert!(text.matches(shown).count() >= 3, "{text}");
    // Columns are as wide as what is shown.
    let rows: Vec<&str> =
        text.lines().filter(|line| line.contains("plain") || line.contains(shown)).collect();
    let place = |line: &str, what: &str| line.rfind(what).unwrap();
    let [.., evil_row, plain_row] = rows[..] else { panic!("{text}") };
    assert_eq!(place(evil_row, shown), place(plain_row, "plain"), "{text}");
    let json = json::run(&run);
    assert!(json.chars().all(|c| c == '\n' || boardlab_result::foreign::is_harmless(c)), "{json}");
    let back = json::read(&json).unwrap();
    assert_eq!(back.results[0].title, evil);
    assert_eq!(back.results[0].tables, run.tables);
}
