//! Plots as data; who draws them is another matter.

use serde::Serialize;

/// A figure with its 95 % interval, where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl Estimate {
    /// A figure without an interval.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, low: None, high: None }
    }

    /// In a unit of which one is `1 / factor` of the old.
    pub fn scaled(self, factor: f64) -> Estimate {
        let by = |bound: Option<f64>| bound.map(|bound| bound * factor);
        Estimate { value: self.value * factor, low: by(self.low), high: by(self.high) }
    }
}

/// What an axis shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// In words.
    pub title: String,
    /// Its unit, empty for none.
    pub unit: String,
    /// Whether equal ratios lie equally far apart.
    pub logarithmic: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(title: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { title: title.into(), unit: unit.into(), logarithmic: false }
    }

    /// A logarithmic axis.
    pub fn log(title: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { title: title.into(), unit: unit.into(), logarithmic: true }
    }
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// Below it.
    pub label: String,
    /// Its length.
    pub estimate: Estimate,
    /// Bars of one group stand together; empty for none.
    pub group: String,
}

/// Then and now on one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dumbbell {
    /// Beside it.
    pub label: String,
    /// What was printed long ago.
    pub then: Option<f64>,
    /// Where it is printed.
    pub source: String,
    /// What was measured now.
    pub now: Option<Estimate>,
}

/// One line of a line plot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// Its points, by rising x.
    pub points: Vec<(f64, Estimate)>,
}

/// A place on the x axis that means something, such as the number of cores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// Where.
    pub at: f64,
    /// What.
    pub label: String,
}

/// One of several that are ranked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rank {
    /// Its name.
    pub name: String,
    /// Its mean rank; 1 is best.
    pub mean_rank: f64,
}

/// A stretch of time in a lane.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// Which lane, from 0.
    pub lane: usize,
    /// Begin, from the start of the plot.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// What happened.
    pub label: String,
}

/// Something to draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plot {
    /// Historic figures beside today's, on a logarithmic axis.
    Dumbbell {
        /// Above it.
        title: String,
        /// The unit of all.
        unit: String,
        /// The lines.
        rows: Vec<Dumbbell>,
    },
    /// A table of figures by colour, such as every CPU against every CPU.
    Heat {
        /// Above it.
        title: String,
        /// The unit of all.
        unit: String,
        /// Names of the rows.
        rows: Vec<String>,
        /// Names of the columns.
        columns: Vec<String>,
        /// `cells[row][column]`.
        cells: Vec<Vec<Option<f64>>>,
        /// Rows and columns after which a line is drawn, such as the last seat of a core.
        borders: Vec<usize>,
    },
    /// Lines with shaded intervals.
    Lines {
        /// Above it.
        title: String,
        /// What is varied.
        x: Axis,
        /// What is measured.
        y: Axis,
        /// The lines.
        series: Vec<Series>,
        /// Places on the x axis.
        marks: Vec<Mark>,
    },
    /// Mean ranks, with those joined that cannot be told apart.
    Ranks {
        /// Above it.
        title: String,
        /// The ranked.
        ranks: Vec<Rank>,
        /// The smallest difference of mean ranks that counts.
        critical_difference: f64,
    },
    /// Who did what when.
    Timeline {
        /// Above it.
        title: String,
        /// Names of the lanes.
        lanes: Vec<String>,
        /// What happened.
        spans: Vec<Span>,
    },
    /// Bars.
    Bars {
        /// Above it.
        title: String,
        /// What is measured.
        axis: Axis,
        /// The bars.
        bars: Vec<Bar>,
    },
}
