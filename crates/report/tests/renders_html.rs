//! The HTML report as text: escaped, self-contained, complete and never too large.

use crate::sample;

use boardlab_report::html::{SIZE_MAX, render};
use boardlab_report::{Error, Options, compare};
use boardlab_result::{
    Attachment, Axis, Cell, Chart, Curve, Layer, Mark, Origin, Parameter, Reproduction, Row,
    RunResult, Style, Table, Value,
};

fn html(runs: Vec<RunResult>) -> String {
    render(&Reproduction::new(runs), &Options::default()).unwrap()
}

/// The page without the inlined libraries.
fn own_part(page: &str) -> &str {
    page.split("<script type=\"application/json\" id=\"themes\">").next().unwrap()
}

const EVIL: &str = "<script>alert('x')</script><img src=x onerror=\"alert(1)\">";

/// A run in which every text tries to be markup.
fn evil() -> RunResult {
    let mut run = RunResult::new(EVIL, EVIL, 1, EVIL);
    let mut table = Table::new(EVIL, EVIL).column(EVIL, EVIL);
    table.source = Some(EVIL.into());
    let mut cell = Cell::text(EVIL);
    cell.printed = Some(EVIL.into());
    cell.published = Some(boardlab_result::Value::Text(EVIL.into()));
    table.rows.push(Row::new(EVIL, EVIL).cell(EVIL, cell.clone()));
    table.rows.push(Row::new("total", EVIL).cell(EVIL, cell));
    run.tables.push(table);
    run.series.push(Curve { id: EVIL.into(), unit: EVIL.into(), x: vec![0.0], y: vec![1.0] });
    run.charts.push(chart(EVIL, EVIL));
    run.findings.push(format!("{EVIL} `{EVIL}`"));
    run.warnings.push(EVIL.into());
    run.parameters.push(Parameter {
        key: EVIL.into(),
        value: EVIL.into(),
        origin: Origin::Assumed,
        source: EVIL.into(),
    });
    let text = EVIL.to_owned();
    run.attachments.push(Attachment { name: EVIL.into(), title: EVIL.into(), text });
    run
}

fn chart(text: &str, curve: &str) -> Chart {
    Chart {
        id: text.into(),
        title: text.into(),
        caption: text.into(),
        x: Axis::fitting(text),
        y: Axis::fitting(text),
        y2: None,
        categories: vec![text.into()],
        layers: vec![Layer::new(text, curve, Style::Bars)],
        marks: vec![Mark { x: 0.0, label: text.into() }],
    }
}

#[test]
fn no_text_of_a_result_becomes_markup() {
    let page = html(vec![evil(), evil()]);
    let own = own_part(&page);
    assert!(own.contains("&lt;script&gt;alert("), "the texts are shown");
    assert!(!own.contains("<script>alert"), "a text became a script");
    assert!(!own.contains("<img"), "a text became an element");
    assert!(!own.contains("\"alert(1)\""), "a text left its attribute");
    assert!(own.contains("\\u003cscript>alert"), "specifications are safe in a script element");
}

#[test]
fn a_report_forbids_every_request() {
    let page = html(vec![sample::nor_write()]);
    let own = own_part(&page);
    assert!(own.contains("default-src 'none'"));
    for loading in ["src=", "@import", "<link", "<iframe", "url("] {
        assert!(!own.contains(loading), "{loading}");
    }
    let policy = own.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(!policy.contains("http") && !policy.contains("unsafe-eval"), "{policy}");
}

#[test]
fn a_report_has_every_part_of_its_result() {
    let page = html(vec![sample::nor_write(), sample::with_every_verdict()]);
    for part in [
        "Published and computed",
        "<td class=\"num print\" data-label=\"Published\">43.2 s</td>",
        "<li id=\"run1-finding1\">",
        "href=\"#run1-finding1\"",
        "<code>udelay</code>",
        "<span class=\"ours\">254.3 us</span>",
        "print 253 us<span class=\"diff\">+0.5 %</span>",
        "1 parameter fitted, 1 assumed, for 4 compared cells.",
        "data-chart=\"wait-histogram\"",
        "badge origin fitted",
        "linux-6.1-cfi-wait.patch",
        "<dt>Wall time</dt><dd>843.0 ms</dd>",
        "<span class=\"quiet\">マウント</span>",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
}

#[test]
fn a_comparison_has_a_line_for_each_difference() {
    let a = sample::nor_write();
    let mut b = a.clone();
    let table = b.tables.iter_mut().find(|table| table.id == "table5").unwrap();
    table.cell_mut("total", "total_ns").unwrap().value = Value::Int(21_601_000_000);
    let page = html(vec![compare(&a, &b)]);
    let lines =
        ["<th scope=\"col\">quantity</th>", "<th scope=\"col\" class=\"num\">B&#x2f;A</th>"];
    for part in lines.into_iter().chain(["21.60 s</span>", "50.00 %</span>"]) {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(!page.contains("<dt>Seed</dt>"), "nothing ran");
}

#[test]
fn a_report_without_wall_time_is_the_same_every_time() {
    let options = Options { wall_time: false, ..Options::default() };
    let mut later = sample::reproduction();
    later.results[0].wall_time_ns = Some(1);
    let page = render(&later, &options).unwrap();
    assert_eq!(page, render(&sample::reproduction(), &options).unwrap());
    assert!(!page.contains("Wall time"));
}

/// The text that an element shows: entities are characters again.
fn unescaped(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ];
    entities.iter().fold(text.to_owned(), |text, (entity, sign)| text.replace(entity, sign))
}

#[test]
fn a_report_brings_the_licence_of_every_library_that_it_brings() {
    let vendor = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor");
    let page = html(vec![sample::nor_write()]);
    let shown = unescaped(&page);
    let without = unescaped(&html(vec![sample::with_every_verdict()]));
    let mut libraries = 0;
    for entry in std::fs::read_dir(&vendor).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(library) = name.strip_suffix(".min.js") else { continue };
        assert!(page.contains(&std::fs::read_to_string(&path).unwrap()), "{name} is not brought");
        let licence = std::fs::read_to_string(vendor.join(format!("{library}.LICENSE"))).unwrap();
        assert!(licence.contains("Copyright") && shown.contains(&licence), "{library}");
        assert!(!without.contains(&licence), "{library}: a page without charts brings none");
        libraries += 1;
    }
    assert_eq!(libraries, 3);
    let bundled = std::fs::read_to_string(vendor.join("bundled.LICENSE")).unwrap();
    for holder in
        ["Mike Bostock", "Mapbox", "Joachim Wester", "Isaac Z. Schlueter", "Charles Karney"]
    {
        assert!(bundled.contains(holder), "{holder}");
    }
    assert!(shown.contains(&bundled));
}

#[test]
fn a_report_without_charts_brings_no_libraries() {
    let page = html(vec![sample::with_every_verdict()]);
    assert!(page.len() < 60_000, "{} bytes", page.len());
}

/// A run with `count` charts, each with its own long curve.
fn long(count: u32) -> RunResult {
    let mut run = RunResult::new("long", "Long curves", 1, "0.1.0");
    for index in 0..count {
        let id = format!("curve{index}");
        let x: Vec<f64> = (0..50_000).map(|x| f64::from(x) * 1.000_123).collect();
        let y = x.iter().map(|x| (x / 700.0 + f64::from(index)).sin()).collect();
        let mut chart = chart("a curve of many points", &id);
        chart.categories.clear();
        chart.layers[0].style = Style::Line;
        run.charts.push(chart);
        run.series.push(Curve { id, unit: "us".into(), x, y });
    }
    run
}

#[test]
fn an_axis_of_whole_positions_has_no_ticks_between_them() {
    for (positions, whole) in [([2.0, 3.0, 4.0], true), ([2.0, 2.5, 4.0], false)] {
        let mut run = RunResult::new("ticks", "Ticks", 1, "0.1.0");
        let mut chart = chart("processes", "curve");
        chart.categories.clear();
        chart.layers[0].style = Style::Line;
        run.charts.push(chart);
        let (x, y) = (positions.to_vec(), vec![1.0; 3]);
        run.series.push(Curve { id: "curve".into(), unit: "us".into(), x, y });
        assert_eq!(own_part(&html(vec![run])).contains("\"tickMinStep\":1"), whole);
    }
}

#[test]
fn percentiles_are_placed_by_their_nines_and_bands_have_two_edges() {
    let mut run = RunResult::new("bands", "Bands", 1, "0.1.0");
    let mut chart = chart("percentile", "high");
    chart.categories.clear();
    chart.marks.clear();
    chart.x = Axis::of_percentiles("requests");
    chart.layers =
        vec![Layer::band("between", "high", "low"), Layer::new("high", "high", Style::Steps)];
    run.charts.push(chart);
    for (id, y) in [("low", vec![1.0, 1.5]), ("high", vec![3.0, 4.0])] {
        run.series.push(Curve { id: id.into(), unit: "ms".into(), x: vec![50.0, 99.9], y });
    }
    let page = html(vec![run]);
    let page = own_part(&page);
    for part in ["\"field\":\"place\"", "log(1 - datum.x", "\"y2\":1.5", "step-after"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn long_curves_keep_the_report_small() {
    for count in [1, 12, 100] {
        let page = html(vec![long(count)]);
        assert!(page.len() < SIZE_MAX, "{count} curves: {} bytes", page.len());
        assert!(page.contains("measured: 50000"), "thinning out is said");
    }
}

#[test]
fn a_report_that_is_too_large_anyway_is_refused() {
    let mut run = sample::with_every_verdict();
    let text = "x".repeat(SIZE_MAX);
    run.attachments.push(Attachment { name: "large".into(), title: "large".into(), text });
    let error = render(&Reproduction::new(vec![run]), &Options::default()).unwrap_err();
    assert!(matches!(error, Error::TooLarge { expected: SIZE_MAX, .. }), "{error}");
}
