//! The report: one HTML file with charts that needs no network, for a browser, a phone and paper.
//!
//! Layer: rank 8, inside `report`. Function: [`render`]. In reading order: `view` turns the result
//! into what the page shows, `points` thins curves out, `vega` and `timeline` describe charts in
//! Vega-Lite 6, `theme` holds the colours, `page.html`, `page.css` and `page.js` are the page. The
//! drawing libraries are in `vendor/` and are inlined; a content security policy in the page
//! forbids every request. Left out: interaction beyond tooltips and the time axis of timelines.

mod points;
mod theme;
mod timeline;
mod vega;
mod view;

use crate::{Error, Options, timed};
use boardlab_result::{Reproduction, RunResult};
use minijinja::{Environment, Value, context};
use std::slice;

/// The largest report in bytes.
pub const SIZE_MAX: usize = 3_000_000;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The drawing libraries in the order in which they must load; see `vendor/README.md`.
const LIBRARIES: [&str; 3] = [
    include_str!("../../vendor/vega.min.js"),
    include_str!("../../vendor/vega-lite.min.js"),
    include_str!("../../vendor/vega-embed.min.js"),
];

/// Their names and licences, and those of the libraries bundled in them, which every page must include.
const LICENCES: [(&str, &str); 4] = [
    ("vega", include_str!("../../vendor/vega.LICENSE")),
    ("vega-lite", include_str!("../../vendor/vega-lite.LICENSE")),
    ("vega-embed", include_str!("../../vendor/vega-embed.LICENSE")),
    ("libraries bundled in these", include_str!("../../vendor/bundled.LICENSE")),
];

/// The whole page. Of `options` only the wall time matters.
///
/// # Errors
/// [`Error::TooLarge`] when the page would exceed [`SIZE_MAX`] although its curves were thinned out.
pub fn render(reproduction: &Reproduction, options: &Options) -> Result<String, Error> {
    let results = reproduction.results.iter().map(|run| timed(run, options)).collect();
    let reproduction = Reproduction { schema: reproduction.schema, results };
    let mut environment = Environment::new();
    // Auto-escaping is on for every name that ends in `.html`.
    environment.add_template("page.html", TEMPLATE).map_err(Error::Template)?;
    let template = environment.get_template("page.html").map_err(Error::Template)?;
    let libraries: Vec<Value> = LIBRARIES.iter().map(|text| trusted(text)).collect();
    let page = context! {
        page => minijinja::value::Serde(view::page(&reproduction)),
        style => trusted(STYLE),
        script => trusted(SCRIPT),
        themes => trusted(&json_in_script(&theme::both())),
        libraries,
        licences => minijinja::value::Serde(LICENCES),
    };
    let html = template.render(page).map_err(Error::Template)?;
    if html.len() > SIZE_MAX {
        return Err(Error::TooLarge { found: html.len(), expected: SIZE_MAX });
    }
    Ok(html)
}

/// A drawing of a result as a specification in Vega-Lite 6, with its data inside. Width, height and colours are left to
/// whoever draws it.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// Stable id within the result.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What to see in it.
    pub caption: String,
    /// The specification.
    pub spec: serde_json::Value,
}

/// The charts and then the timelines of `run`, as [`render`] draws them on a page of its own; those without points are
/// left out.
#[must_use]
pub fn drawings(run: &RunResult) -> Vec<Drawing> {
    let budget = points::Budget::of(slice::from_ref(run));
    let charts = run.charts.iter().filter_map(|chart| {
        let layers = points::plotted(run, chart, budget);
        let (id, title, caption) = (chart.id.clone(), chart.title.clone(), chart.caption.clone());
        let spec = || vega::spec(chart, &layers);
        (!layers.is_empty()).then(|| Drawing { id, title, caption, spec: spec() })
    });
    let timelines = run.timelines.iter().filter_map(|line| {
        let (spans, _) = timeline::drawable(line);
        let (id, title, caption) = (line.id.clone(), line.title.clone(), line.caption.clone());
        let spec = || timeline::spec(line, &spans);
        (!spans.is_empty()).then(|| Drawing { id, title, caption, spec: spec() })
    });
    charts.chain(timelines).collect()
}

/// Text of our own files, which the template does not escape.
fn trusted(text: &str) -> Value {
    Value::from_safe_string(text.to_owned())
}

/// JSON that cannot end the script element around it: `<` is written as an escape.
fn json_in_script(json: &serde_json::Value) -> String {
    json.to_string().replace('<', "\\u003c")
}
