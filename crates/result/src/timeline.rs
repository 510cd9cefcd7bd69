//! Timelines: spans in lanes over one time axis. The renderer decides how to draw them.

use serde::{Deserialize, Serialize};

/// Spans of time: a lane for each party, a colour for each activity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// Stable id; the file name of a downloaded image.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What to see in it, one or two sentences.
    pub caption: String,
    /// Label of the time axis with its unit: `time (us)`.
    pub time: String,
    /// The parties, from top to bottom.
    pub lanes: Vec<String>,
    /// The activities, in the order of the legend.
    pub activities: Vec<Activity>,
    /// The spans; those of one lane do not overlap.
    pub spans: Vec<Span>,
}

/// An activity of a party.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activity {
    /// Name in the legend.
    pub label: String,
    /// Whether its time is shaded over all lanes, for a wait that stops all parties.
    #[serde(default)]
    pub shaded: bool,
}

/// One activity of one party from one time to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Index of the lane.
    pub lane: usize,
    /// Index of the activity.
    pub activity: usize,
    /// When it began, in the unit of the axis.
    pub from: f64,
    /// When it ended.
    pub to: f64,
    /// The details.
    pub label: String,
}

impl Timeline {
    /// A timeline without lanes, activities or spans.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        caption: impl Into<String>,
        time: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            caption: caption.into(),
            time: time.into(),
            lanes: Vec::new(),
            activities: Vec::new(),
            spans: Vec::new(),
        }
    }
}

impl Activity {
    /// An activity that is not shaded.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), shaded: false }
    }

    /// A wait that stops all parties.
    #[must_use]
    pub fn shaded(label: impl Into<String>) -> Self {
        Self { label: label.into(), shaded: true }
    }
}
