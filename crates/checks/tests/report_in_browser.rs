//! The HTML report in a real browser: charts drawn, nothing requested, nothing complained about,
//! readable on a phone, in the dark and on paper.

#![allow(clippy::unwrap_used, reason = "test code")]

#[path = "../../report/tests/sample/mod.rs"]
mod sample;

use boardlab_checks::browser::{Browser, Look};
use boardlab_report::{Options, html};
use boardlab_result::{
    Activity, Axis, Chart, Curve, Layer, Mark, Reproduction, RunResult, Side, Span, Style, Timeline,
};
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The sample's report as a file that is removed in the end, unless `BOARDLAB_KEEP_REPORT` names
/// a place to keep it.
struct Page(PathBuf);

impl Page {
    fn new(name: &str) -> Self {
        Self::of(name, &sample::reproduction())
    }

    fn of(name: &str, result: &Reproduction) -> Self {
        let text = html::render(result, &Options::default()).unwrap();
        let name = format!("boardlab-{name}-{}.html", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, &text).unwrap();
        if let Some(kept) = std::env::var_os("BOARDLAB_KEEP_REPORT") {
            std::fs::write(kept, text).unwrap();
        }
        Self(path)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A browser, or `None` with a word about it where there is none. In CI there must be one.
fn browser() -> Option<Browser> {
    if Browser::find().is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI needs chromium");
        // Written past the capture of test output, so that it is seen.
        let _ = writeln!(std::io::stderr(), "skipped: needs chromium");
        return None;
    }
    Some(Browser::launch().unwrap_or_else(|error| panic!("{error}")))
}

/// Opens `page` in `look` and waits for its charts.
fn open(browser: &mut Browser, page: &Path, look: Look) {
    browser.look(look).unwrap();
    browser.open(page).unwrap();
    browser.wait_until("document.documentElement.dataset.ready === 'yes'").unwrap();
}

/// How many charts show at least one drawn mark in the part of the figure called `class`.
fn charts_drawn(browser: &mut Browser, class: &str) -> serde_json::Value {
    let script = format!(
        "[...document.querySelectorAll('figure .{class}')].filter(part => \
           part.getClientRects().length > 0 && \
           part.querySelector('svg .mark-rect path, svg .mark-line path, svg .mark-rect rect') \
         ).length"
    );
    browser.evaluate(&script).unwrap()
}

fn assert_quiet(browser: &Browser) {
    assert_eq!(browser.observed().complaints, [""; 0]);
    assert_eq!(browser.observed().requests, [""; 0]);
}

#[test]
fn a_report_draws_its_charts_and_asks_nobody() {
    let Some(mut browser) = browser() else { return };
    let page = Page::new("desktop");
    open(&mut browser, &page.0, Look::DESKTOP);
    assert_eq!(charts_drawn(&mut browser, "screen"), json!(3));
    let buttons = "document.querySelectorAll('button:disabled').length";
    assert_eq!(browser.evaluate(buttons).unwrap(), json!(0));
    assert_quiet(&browser);
}

#[test]
fn the_nor_evaluation_and_its_tuning_are_shown_whole() {
    let Some(mut browser) = browser() else { return };
    let quiet = |_: boardlab_experiment::Progress<'_>| ();
    let seed = boardlab_sim::Seed::new(1);
    let set = ["workload.bytes=1 MiB"];
    let mut result = boardlab_lab::registry::reproduce(&["nor"], seed, &quiet).unwrap();
    result.results.push(
        boardlab_lab::registry::perform(
            boardlab_experiment::Action::Tune,
            "nor-write",
            &set,
            seed,
            &quiet,
        )
        .unwrap(),
    );
    let page = Page::of("nor", &result);
    for look in [Look::DESKTOP, Look { dark: true, ..Look::DESKTOP }, Look::PHONE] {
        open(&mut browser, &page.0, look);
        assert_eq!(charts_drawn(&mut browser, "screen"), json!(4));
        let overflow = "document.documentElement.scrollWidth - innerWidth";
        assert_eq!(browser.evaluate(overflow).unwrap(), json!(0));
    }
    assert_quiet(&browser);
}

#[test]
fn a_report_never_scrolls_sideways_on_a_phone() {
    let Some(mut browser) = browser() else { return };
    let page = Page::new("phone");
    for width in [390, 320] {
        open(&mut browser, &page.0, Look { width, ..Look::PHONE });
        let overflow = "document.documentElement.scrollWidth - innerWidth";
        assert_eq!(browser.evaluate(overflow).unwrap(), json!(0), "at {width} px");
        assert_eq!(charts_drawn(&mut browser, "screen"), json!(3));
    }
    assert_quiet(&browser);
}

#[test]
fn charts_follow_the_reader_into_the_dark_and_back() {
    let Some(mut browser) = browser() else { return };
    let page = Page::new("dark");
    let dark = Look { dark: true, ..Look::DESKTOP };
    open(&mut browser, &page.0, dark);
    let drawn = |theme: &str| {
        format!("document.querySelectorAll('figure[data-drawn={theme}]').length === 3")
    };
    browser.wait_until(&drawn("dark")).unwrap();
    browser.look(Look::DESKTOP).unwrap();
    browser.wait_until(&drawn("light")).unwrap();
    browser.look(dark).unwrap();
    browser.wait_until(&drawn("dark")).unwrap();
    let ground = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.evaluate(ground).unwrap(), json!("rgb(23, 28, 34)"));
    assert_quiet(&browser);
}

#[test]
fn a_report_prints_light_and_without_buttons() {
    let Some(mut browser) = browser() else { return };
    let page = Page::new("print");
    let print = Look { print: true, dark: true, width: 720, ..Look::DESKTOP };
    open(&mut browser, &page.0, print);
    assert_eq!(charts_drawn(&mut browser, "paper"), json!(3));
    assert_eq!(charts_drawn(&mut browser, "screen"), json!(0));
    let ground = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.evaluate(ground).unwrap(), json!("rgb(255, 255, 255)"));
    let shown = "[...document.querySelectorAll('button, nav')] \
                 .filter(element => element.getClientRects().length > 0).length";
    assert_eq!(browser.evaluate(shown).unwrap(), json!(0));
    assert_quiet(&browser);
}

#[test]
fn a_chart_is_saved_under_its_id() {
    let Some(mut browser) = browser() else { return };
    let page = Page::new("save");
    open(&mut browser, &page.0, Look::DESKTOP);
    let save = "new Promise(resolve => { \
        HTMLAnchorElement.prototype.click = function () { \
            resolve([this.download, this.href.slice(0, 14)]); }; \
        document.querySelector('button[data-save=KIND]').click(); })";
    let saved = browser.evaluate(&save.replace("KIND", "png")).unwrap();
    assert_eq!(saved, json!(["wait-histogram.png", "data:image/png"]));
    let saved = browser.evaluate(&save.replace("KIND", "svg")).unwrap();
    assert_eq!(saved[0], json!("wait-histogram.svg"));
    assert_quiet(&browser);
}

/// A chart in every style over numbers, powers of two and names, and charts with nothing to draw.
fn every_style() -> RunResult {
    let mut run = RunResult::new("styles", "Every style", 1, "0.1.0");
    let curve = |id: &str, x: Vec<f64>| Curve {
        id: id.into(),
        unit: "bytes_per_s".into(),
        y: x.iter().map(|x| 1e6 * (x + 1.0)).collect(),
        x,
    };
    run.series.push(curve("numbers", vec![0.0, 1.0, 2.0, 3.0]));
    run.series.push(curve("powers", vec![1.0, 2.0, 4.0, 8.0]));
    run.series.push(curve("one", vec![1.0]));
    run.series.push(curve("none", Vec::new()));
    let styles = [
        Style::Bars,
        Style::Stacked,
        Style::Line,
        Style::Dashed,
        Style::Steps,
        Style::Band,
        Style::Points,
        Style::Area,
        Style::Heat,
    ];
    for style in styles {
        for (curve, log2, names) in [
            ("numbers", false, false),
            ("powers", true, false),
            ("numbers", false, true),
            ("one", false, false),
            ("none", false, false),
        ] {
            let side = [Side::Left, Side::Left, Side::Right];
            let layer = |side: Side| Layer {
                side,
                to: Some(curve.into()),
                ..Layer::new("a \"layer\"", curve, style)
            };
            let names: &[&str] = if names { &["one", "two", "three", "four"] } else { &[] };
            run.charts.push(Chart {
                id: format!("{style:?}-{curve}"),
                title: format!("{style:?} over {curve}"),
                caption: String::new(),
                x: Axis { log2, ..Axis::fitting("x") },
                y: Axis::from_zero("rate (bytes/s)"),
                y2: Some(Axis { log2, ..Axis::fitting("rate (bytes/s)") }),
                categories: names.iter().map(|name| (*name).to_owned()).collect(),
                layers: side.map(layer).to_vec(),
                marks: vec![Mark { x: 2.0, label: "two 'quoted'".into() }],
            });
        }
    }
    run
}

#[test]
fn every_style_is_drawn_without_a_complaint() {
    let Some(mut browser) = browser() else { return };
    let page = Page::of("styles", &Reproduction::new(vec![every_style()]));
    open(&mut browser, &page.0, Look::DESKTOP);
    let drawn = "document.querySelectorAll('figure[data-drawn=light][data-paper] svg').length";
    assert_eq!(browser.evaluate(drawn).unwrap(), json!(72), "36 charts, on screen and on paper");
    let empty = "[...document.querySelectorAll('figure')] \
                 .filter(figure => figure.textContent.includes('nothing to draw')).length";
    assert_eq!(browser.evaluate(empty).unwrap(), json!(9));
    assert_quiet(&browser);
}

/// Two parties of a link; a wait of both.
fn timeline() -> Timeline {
    let mut timeline = Timeline::new("link", "A link", "Who sent what.", "time (us)");
    timeline.lanes = vec!["host".into(), "device".into()];
    timeline.activities = vec![Activity::new("data"), Activity::shaded("HOLD")];
    let span = |lane, activity, from: f64, to| {
        let label = format!("span of {from}");
        Span { lane, activity, from, to, label }
    };
    timeline.spans = vec![
        span(0, 0, 0.0, 10.0),
        span(1, 1, 10.0, 14.0),
        span(0, 0, 14.0, 20.0),
        span(1, 0, 21.0, 22.0),
        span(7, 0, 1.0, 2.0),
        span(0, 0, 5.0, 5.0),
    ];
    timeline
}

#[test]
fn a_timeline_is_drawn_and_its_time_axis_can_be_stretched() {
    let Some(mut browser) = browser() else { return };
    let mut run = RunResult::new("link", "A link", 1, "0.1.0");
    run.timelines.push(timeline());
    let page = Page::of("timeline", &Reproduction::new(vec![run]));
    open(&mut browser, &page.0, Look::DESKTOP);
    let bars = "document.querySelectorAll('.screen .mark-rect.role-mark path').length";
    assert_eq!(browser.evaluate(bars).unwrap(), json!(5), "four spans and a band");
    let ticks = "[...document.querySelectorAll('.screen .role-axis-label text')] \
                 .map(text => text.textContent).join(' ')";
    let before = browser.evaluate(ticks).unwrap();
    let zoom = "(async () => { \
        const canvas = document.querySelector('.screen svg'); \
        canvas.scrollIntoView({ behavior: 'instant' }); \
        const box = canvas.getBoundingClientRect(); \
        const [x, y] = [box.left + box.width / 2, box.top + box.height / 3]; \
        document.elementFromPoint(x, y).dispatchEvent(new WheelEvent('wheel', { deltaY: -400, \
            ctrlKey: true, bubbles: true, cancelable: true, clientX: x, clientY: y })); \
        await new Promise(done => setTimeout(done, 300)); })()";
    browser.evaluate(zoom).unwrap();
    assert_ne!(browser.evaluate(ticks).unwrap(), before);
    assert_quiet(&browser);
}

#[test]
fn words_of_mark_labels_do_not_overlap() {
    let Some(mut browser) = browser() else { return };
    let page = Page::new("marks");
    for look in [Look::DESKTOP, Look::PHONE] {
        open(&mut browser, &page.0, look);
        let overlaps = "(() => { \
            const texts = [...document.querySelectorAll( \
                'figure[data-chart=wait-histogram] .screen .mark-text.role-mark text')] \
                .filter(text => !text.hasAttribute('stroke')) \
                .map(text => text.getBoundingClientRect()); \
            const meet = (a, b) => a.left < b.right && b.left < a.right \
                && a.top + 2 < b.bottom && b.top + 2 < a.bottom; \
            return [texts.length, texts.some((a, i) => texts.some((b, j) => i < j && meet(a, b)))]; \
        })()";
        assert_eq!(browser.evaluate(overlaps).unwrap(), json!([3, false]));
    }
}
