//! The colours of the charts for a light and a dark page.
//!
//! Layer: inside `report::html`. Main type: [`Theme`]. The series colours begin with the blue and
//! the vermilion of Okabe and Ito, "Color Universal Design" (2008), which people with any of the
//! common colour vision deficiencies tell apart; the later ones are darkened or lightened until
//! they stand out from their background by 3:1 at least (WCAG 2.2, 1.4.11), text by 4.5:1 (1.4.3).
//! The page's own colours are in `page.css`; `background` and `text` are the same in both.

use serde_json::{Value, json};

/// Fonts of the system, so that none is loaded.
const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', \
                    'Noto Sans CJK JP', 'Liberation Sans', Arial, sans-serif";

/// Colours for one appearance.
struct Theme {
    background: &'static str,
    text: &'static str,
    quiet: &'static str,
    grid: &'static str,
    series: [&'static str; 7],
}

const LIGHT: Theme = Theme {
    background: "#ffffff",
    text: "#1a2027",
    quiet: "#56616d",
    grid: "#e4e8ec",
    series: ["#0072b2", "#d55e00", "#00805f", "#a2457f", "#5d6873", "#8a6d00", "#6a51a3"],
};

const DARK: Theme = Theme {
    background: "#171c22",
    text: "#e8ecf0",
    quiet: "#a3adb8",
    grid: "#2b333c",
    series: ["#58a9e0", "#f08a4b", "#35bd97", "#e094c0", "#a9b3bd", "#dcc04a", "#b3a2e2"],
};

/// The Vega configuration of both appearances: `{"light": ..., "dark": ...}`.
pub(super) fn both() -> Value {
    json!({ "light": LIGHT.config(), "dark": DARK.config() })
}

impl Theme {
    fn config(&self) -> Value {
        json!({
            "background": self.background,
            "font": FONT,
            "padding": 4,
            "locale": { "number": {
                "decimal": ".", "thousands": crate::format::GROUP, "grouping": [3],
                "currency": ["", ""],
            } },
            "view": { "stroke": null },
            "range": {
                "category": self.series,
                "heatmap": [self.series[1], self.series[0]],
                "ramp": [self.grid, self.series[0]],
            },
            "axis": {
                "labelColor": self.quiet,
                "titleColor": self.text,
                "domainColor": self.quiet,
                "tickColor": self.quiet,
                "gridColor": self.grid,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": 500,
                "titlePadding": 10,
                "labelPadding": 5,
                "tickSize": 4,
            },
            "axisY": { "domain": false, "ticks": false },
            "legend": {
                "orient": "bottom",
                "direction": "horizontal",
                "title": null,
                "labelColor": self.text,
                "labelFontSize": 12,
                "labelLimit": 300,
                "columnPadding": 18,
                "rowPadding": 4,
                "symbolStrokeWidth": 2.5,
                "symbolSize": 110,
                "offset": 14,
            },
            "line": { "strokeWidth": 2.25, "strokeJoin": "round" },
            "style": {
                "mark-rule": { "color": self.text, "strokeDash": [4, 3], "strokeWidth": 1.25 },
                "mark-halo": {
                    "color": "transparent",
                    "stroke": self.background,
                    "strokeWidth": 4,
                    "fontSize": 12,
                },
                "mark-field": { "color": self.background, "fontSize": 12 },
                "mark-label": { "color": self.text, "fontSize": 12 },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, WCAG 2.2.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_colour_stands_out_from_its_background() {
        for theme in [LIGHT, DARK] {
            for colour in theme.series {
                assert!(contrast(colour, theme.background) >= 3.0, "{colour}");
            }
            for colour in [theme.text, theme.quiet] {
                assert!(contrast(colour, theme.background) >= 4.5, "{colour}");
            }
        }
    }

    #[test]
    fn the_page_has_the_same_ground_and_text_as_its_charts() {
        for theme in [LIGHT, DARK] {
            for colour in [theme.background, theme.text] {
                assert!(super::super::STYLE.contains(colour), "{colour} is not in page.css");
            }
        }
    }
}
