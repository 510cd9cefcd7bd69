//! Published tables as printed, and our figures beside them.

use boardlab_document::error::Error;
use boardlab_document::source::{Kind, Source};
use boardlab_experiment::reference::{Print, Reference};
use boardlab_experiment::verdict::{Rules, apply, judge};
use boardlab_result::{Cell, Row, Table, Value, Verdict};

const TABLE: &str = r#"
[publication]
title = "何"
translation = "What"
authors = "Who"
publisher = "Where"
date = "2009"
cited_as = "nor.md"
question = "Why?"
[[table]]
id = "table5"
title = "Linux"
source = "nor.md, table 5"
[[table.row]]
id = "L-3"
[table.row.cells]
mean_ns = { printed = "11 ms" }
count = { printed = "16" }
total_ns = { printed = "176 ms", product_of = ["mean_ns", "count"] }
[[table.row]]
id = "L-7"
title = "wait"
[table.row.cells]
mean_ns = { printed = "253 us", note = "constant" }
count = { printed = "131,072" }
total_ns = { printed = "33.3 s", product_of = ["mean_ns", "count"] }
spread_ns = { range = ["170 us", "226 us"] }
policy = { printed = "fixed" }
[[table.row]]
id = "total"
[table.row.cells]
total_ns = { printed = "43.2 s", sum_of = ["L-3", "L-7"] }
"#;

fn reference(text: &str) -> Result<Reference, Error> {
    Reference::read(&Source::new(Kind::Reference, "ref.toml", text))
}

fn printed(row: &str, column: &str) -> Print {
    let reference = reference(TABLE).unwrap_or_else(|error| panic!("{error}"));
    reference.table("table5").unwrap().cell(row, column).unwrap().clone()
}

#[test]
fn the_print_is_kept_as_printed() {
    let mean = printed("L-7", "mean_ns");
    assert_eq!((mean.text.as_str(), mean.published), ("253 us", Value::Int(253_000)));
    assert_eq!(mean.note.as_deref(), Some("constant"));
    assert_eq!(printed("L-7", "count").published, Value::Int(131_072));
    assert_eq!(printed("L-7", "policy").published, Value::Text("fixed".into()));
    assert_eq!(printed("L-7", "spread_ns").text, "170 us to 226 us");
    let reference = reference(TABLE).unwrap();
    let told = "Who: 何 (What). Where, 2009. Cited as nor.md.";
    assert_eq!(reference.publication.to_string(), told);
    assert_eq!(reference.tables[0].rows[1].title, "wait");
}

#[test]
fn a_verdict_is_never_tighter_than_the_print() {
    let reference = reference(TABLE).unwrap_or_else(|error| panic!("{error}"));
    let table = reference.table("table5").unwrap();
    let judged = |ours: f64, row: &str, column: &str| judge(ours, &printed(row, column), table);
    for passes in [252_500.0, 253_000.0, 253_500.0] {
        assert_eq!(judged(passes, "L-7", "mean_ns"), Verdict::Pass, "{passes}");
    }
    for close in [252_499.0, 253_501.0, 240_350.0, 265_650.0] {
        assert_eq!(judged(close, "L-7", "mean_ns"), Verdict::Close, "{close}");
    }
    for fails in [240_349.0, 265_651.0, 0.0, f64::NAN, f64::INFINITY] {
        assert_eq!(judged(fails, "L-7", "mean_ns"), Verdict::Fail, "{fails}");
    }
    for (ours, verdict) in
        [(169_500.0, Verdict::Pass), (226_501.0, Verdict::Close), (238_000.0, Verdict::Fail)]
    {
        assert_eq!(judged(ours, "L-7", "spread_ns"), verdict, "{ours}");
    }
}

#[test]
fn a_repeated_figure_has_the_span_of_the_table_above() {
    let repeating = |total: &str, above: &str| {
        let table =
            "[[table]]\nid = \"table6\"\ntitle = \"Improved\"\nsource = \"nor.md, table 6\"\n";
        let row = "[[table.row]]\nid = \"L-3\"\n[table.row.cells]\n";
        let cell = format!("total_ns = {{ printed = \"{total}\", repeats = \"{above}\" }}\n");
        reference(&format!("{TABLE}{table}{row}{cell}"))
    };
    let right = repeating("176 ms", "table5").unwrap_or_else(|error| panic!("{error}"));
    let span = |table| right.table(table).unwrap().cell("L-3", "total_ns").unwrap().span.unwrap();
    assert_eq!(span("table6"), span("table5"));
    assert_eq!(span("table6").1, 184_500_000.0, "half a digit, and 16 times half a millisecond");
    for (total, above) in [("177 ms", "table5"), ("176 ms", "table4"), ("176 ms", "table6")] {
        let error = repeating(total, above).unwrap_err().to_string();
        let told = format!("unknown table above with this figure `{above}`");
        assert!(error.contains(&told) && error.contains("ref.toml:40:"), "{error}");
    }
}

#[test]
fn a_table_passes_within_the_spread_and_is_close_within_what_the_reference_allows() {
    let allowing = "source = \"nor.md, table 5\"\n\
        spread = { within = \"2 %\", reason = \"three runs\" }\n\
        close = { within = \"10 %\", reason = \"printed as about\" }\n\
        units = { KB = \"KiB\" }";
    let text = TABLE.replacen("source = \"nor.md, table 5\"", allowing, 1);
    let reference = reference(&text).unwrap_or_else(|error| panic!("{error}"));
    let table = reference.table("table5").unwrap();
    let judged = |ours: f64| judge(ours, table.cell("L-7", "mean_ns").unwrap(), table);
    for (ours, verdict) in [
        (258_060.0, Verdict::Pass),
        (258_070.0, Verdict::Close),
        (278_300.0, Verdict::Close),
        (278_310.0, Verdict::Fail),
    ] {
        assert_eq!(judged(ours), verdict, "{ours}");
    }
    let mut ours = ours();
    apply(&mut ours, table, &Rules::default()).unwrap();
    let source = "nor.md, table 5; KB means KiB; pass within 2 %: three runs; close within 10 %: \
         printed as about";
    assert_eq!(ours.source.as_deref(), Some(source));
}

#[test]
fn a_computed_print_is_widened_by_the_rounding_of_what_it_was_computed_from() {
    let span = |row: &str, column: &str| printed(row, column).span.unwrap();
    // 131,072 times half a microsecond is 65.536 ms, on top of the print's own 50 ms.
    assert_eq!(span("L-7", "total_ns"), (33_300e6 - 115.536e6, 33_300e6 + 115.536e6));
    // 16 times half a millisecond, and half a millisecond.
    assert_eq!(span("L-3", "total_ns"), (176e6 - 8.5e6, 176e6 + 8.5e6));
    // Half a millisecond, 50 ms, and the print's own 50 ms.
    assert_eq!(span("total", "total_ns"), (43_200e6 - 100.5e6, 43_200e6 + 100.5e6));
}

fn ours() -> Table {
    let mut table = Table::new("table5", "Linux").column("mean_ns", "mean");
    let row = |id: &str, mean: u64| Row::new(id, "").cell("mean_ns", Cell::int(mean));
    table.rows.push(row("L-3", 11_000_000));
    table.rows.push(row("L-7", 254_234));
    table
}

fn applied(rules: &Rules) -> Table {
    let mut table = ours();
    let reference = reference(TABLE).unwrap();
    apply(&mut table, reference.table("table5").unwrap(), rules).unwrap();
    table
}

fn verdict(table: &Table, row: &str, column: &str) -> Option<Verdict> {
    table.cell(row, column).unwrap().verdict
}

#[test]
fn our_figures_stand_beside_the_print() {
    let table = applied(&Rules::default());
    assert_eq!(table.source.as_deref(), Some("nor.md, table 5"));
    assert_eq!(verdict(&table, "L-3", "mean_ns"), Some(Verdict::Pass));
    assert_eq!(verdict(&table, "L-7", "mean_ns"), Some(Verdict::Close));
    let cell = table.cell("L-7", "mean_ns").unwrap();
    assert_eq!(cell.published, Some(Value::Int(253_000)));
    assert_eq!(cell.printed.as_deref(), Some("253 us"));
}

#[test]
fn what_we_do_not_have_is_not_built() {
    let table = applied(&Rules::default());
    for (row, column) in [("L-7", "policy"), ("total", "total_ns"), ("L-3", "count")] {
        assert_eq!(verdict(&table, row, column), Some(Verdict::NotBuilt));
        assert_eq!(table.cell(row, column).unwrap().value, Value::None);
        assert!(table.columns.iter().any(|known| known.id == column));
    }
    assert_eq!(table.rows.iter().map(|row| row.id.as_str()).next_back(), Some("total"));
}

#[test]
fn an_input_is_never_a_pass() {
    let table = applied(&Rules::default().input("L-3", "mean_ns").input("L-7", "policy"));
    assert_eq!(verdict(&table, "L-3", "mean_ns"), Some(Verdict::Input));
    assert_eq!(verdict(&table, "L-7", "policy"), Some(Verdict::NotBuilt));
}

#[test]
fn a_finding_belongs_to_what_does_not_pass() {
    let rules = Rules::default().explained("L-3", "mean_ns", 1).explained("L-7", "mean_ns", 2);
    let table = applied(&rules);
    assert_eq!(verdict(&table, "L-3", "mean_ns"), Some(Verdict::Pass));
    assert_eq!(table.cell("L-3", "mean_ns").unwrap().finding, None);
    assert_eq!(verdict(&table, "L-7", "mean_ns"), Some(Verdict::Close));
    assert_eq!(table.cell("L-7", "mean_ns").unwrap().finding, Some(2));
}

#[test]
fn what_is_not_close_differs_with_a_finding_and_fails_without() {
    let reference = reference(TABLE).unwrap();
    for (rules, expected) in [
        (Rules::default().explained("L-7", "mean_ns", 2), Verdict::Differs),
        (Rules::default(), Verdict::Fail),
    ] {
        let mut table = Table::new("table5", "Linux").column("mean_ns", "mean");
        table.rows.push(Row::new("L-7", "").cell("mean_ns", Cell::int(300_000)));
        apply(&mut table, reference.table("table5").unwrap(), &rules).unwrap();
        assert_eq!(verdict(&table, "L-7", "mean_ns"), Some(expected));
    }
}

#[test]
fn words_agree_with_the_same_words() {
    let mut table = Table::new("table5", "Linux");
    table.rows.push(Row::new("L-7", "").cell("policy", Cell::text("fixed")));
    let reference = reference(TABLE).unwrap();
    apply(&mut table, reference.table("table5").unwrap(), &Rules::default()).unwrap();
    assert_eq!(verdict(&table, "L-7", "policy"), Some(Verdict::Pass));
}

#[test]
fn a_rule_about_no_cell_is_an_error() {
    let reference = reference(TABLE).unwrap();
    let of = |rules: Rules| {
        apply(&mut ours(), reference.table("table5").unwrap(), &rules).unwrap_err().to_string()
    };
    let error = of(Rules::default().input("L-8", "mean_ns"));
    assert!(error.contains("unknown row `L-8`") && error.contains("L-7"), "{error}");
    let error = of(Rules::default().explained("L-7", "mean", 0));
    assert!(error.contains("unknown column `mean`"), "{error}");
    let error = reference.table("table7").unwrap_err().to_string();
    assert!(error.contains("did you mean `table5`?"), "{error}");
}

#[test]
fn a_bad_reference_says_where() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("\"253 us\"", "\"253\"", &["`table.0.row.1.cells.mean_ns.printed`: `253` has no unit"]),
        (
            "\"253 us\"",
            "\"253 KiB\"",
            &["a unit of size", "in the unit of `mean_ns`", "ref.toml:24:23"],
        ),
        ("\"253 us\"", "253", &["`253` is an integer", "expected text"]),
        ("\"131,072\"", "\"many\"", &["does not begin with a number"]),
        ("printed = \"16\"", "print = \"16\"", &["unknown key `print`", "did you mean `printed`?"]),
        ("printed = \"16\"", "", &["missing key `printed` in `table.0.row.0.cells.count`"]),
        ("\"226 us\"", "\"16 us\"", &["breaks the order LOW <= HIGH"]),
        (", \"226 us\"", "", &["`[170 us]`", "wrong arguments"]),
        (
            "sum_of = [\"L-3\"",
            "sum_of = [\"L-4\"",
            &["unknown row `L-4`", "did you mean `L-3`?", "ref.toml:32:44"],
        ),
        (
            "\"176 ms\", product_of = [\"mean_ns\"",
            "\"176 ms\", product_of = [\"mean\"",
            &["unknown column `mean`"],
        ),
        ("id = \"L-7\"", "id = \"L-3\"", &["two entries with the id `L-3`"]),
        ("title = \"Linux\"\n", "", &["missing key `title` in `table.0`"]),
        ("authors = \"Who\"\n", "", &["missing key `authors` in `publication`"]),
        (
            "source = \"nor.md, table 5\"",
            "sauce = \"nor.md\"",
            &["unknown key `sauce`", "`source`"],
        ),
    ];
    for (right, wrong, parts) in cases {
        assert!(TABLE.contains(right), "{right}");
        let error = reference(&TABLE.replacen(right, wrong, 1)).unwrap_err().to_string();
        for part in *parts {
            assert!(error.contains(part), "{wrong}: no `{part}` in\n{error}");
        }
        assert!(error.lines().last().unwrap().contains("= help: "), "{error}");
    }
}
