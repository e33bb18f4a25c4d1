//! Values over time.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::downsample::in_order;
use super::escape::rounded;
use super::frame::{described, figure, plot, values};
use super::{Bucket, Unit, downsample};
use actinium_observe::number;

/// The most points that one chart embeds, all series together: about 400 KB.
const POINTS_MAX: usize = 24_000;
/// A single series gets no more than this, which is more than a screen has pixels.
const SERIES_POINTS_MAX: usize = 6_000;

/// One line of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The name of the line in the legend.
    pub label: String,
    /// Time in seconds (or whatever the chart's x axis is), and value; a value that is not finite
    /// is a gap.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// A series of these points.
    #[must_use]
    pub fn new(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { label: label.into(), points }
    }
}

/// Values over time: lines, steps, or areas on top of each other.
///
/// Drag to zoom; charts of the same [`link`](LineChart::link) zoom together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineChart {
    /// The heading.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The unit of the values.
    pub unit: Unit,
    /// The unit of the x axis: usually time.
    pub x_unit: Unit,
    /// The label of the x axis, where the axis is not plain time.
    pub x_label: String,
    /// The lines, in the legend's order.
    pub series: Vec<Series>,
    /// A value holds until the next point, instead of a straight line between them.
    pub steps: bool,
    /// Areas on top of each other, instead of lines.
    pub stacked: bool,
    /// Horizontal lines for comparison: label and value.
    pub marks: Vec<(String, f64)>,
    /// Charts with the same name share their x axis; empty for none.
    pub link: String,
}

described!(LineChart);

impl LineChart {
    /// A chart without series, over seconds.
    #[must_use]
    pub fn new(title: impl Into<String>, unit: Unit) -> Self {
        let (title, x_unit) = (title.into(), Unit::Seconds);
        LineChart { title, unit, x_unit, ..LineChart::default() }
    }

    /// Adds a line.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// A value holds until the next point: for counts that change at an instant.
    #[must_use]
    pub fn steps(mut self) -> Self {
        self.steps = true;
        self
    }

    /// Areas on top of each other: for parts of a whole.
    #[must_use]
    pub fn stacked(mut self) -> Self {
        self.stacked = true;
        self
    }

    /// Adds a horizontal line for comparison.
    #[must_use]
    pub fn mark(mut self, label: impl Into<String>, value: f64) -> Self {
        self.marks.push((label.into(), value));
        self
    }

    /// Puts something else than time on the x axis.
    #[must_use]
    pub fn x(mut self, label: impl Into<String>, unit: Unit) -> Self {
        (self.x_label, self.x_unit) = (label.into(), unit);
        self
    }

    /// Shares the x axis with all charts of this name.
    #[must_use]
    pub fn link(mut self, link: impl Into<String>) -> Self {
        self.link = link.into();
        self
    }

    pub(super) fn render(&self, id: &str, html: &mut String) -> Json {
        figure(html, id, "lines", &self.title, &self.note);
        plot(html, id);
        let points_max = (POINTS_MAX / self.series.len().max(1)).min(SERIES_POINTS_MAX);
        let mut buckets_max = None;
        let mut data = Vec::new();
        for series in &self.series {
            let points = in_order(&series.points);
            if points.len() <= points_max {
                data.push(json!({
                    "label": series.label,
                    "x": points.iter().map(|point| rounded(point.0, 10)).collect::<Vec<_>>(),
                    "y": points.iter().map(|point| rounded(point.1, 6)).collect::<Vec<_>>(),
                }));
                continue;
            }
            // A bucket is four numbers where a point is two.
            let buckets = downsample(&points, points_max / 2, self.steps);
            buckets_max = buckets_max.max(Some(buckets.len()));
            let column = |of: fn(&Bucket) -> f64, digits| {
                buckets.iter().map(|bucket| rounded(of(bucket), digits)).collect::<Vec<_>>()
            };
            data.push(json!({
                "label": series.label, "x": column(|b| b.start, 10), "y": column(|b| b.mean, 6),
                "low": column(|b| b.low, 6), "high": column(|b| b.high, 6),
            }));
        }
        let caption = buckets_max.map_or(String::new(), |buckets| {
            let buckets = number::count(buckets as u64);
            format!(
                "The drawing has {buckets} means with their extremes; this table is of all points."
            )
        });
        let marks = self.marks.iter();
        values(
            html,
            &caption,
            &["", "points", "lowest", "mean", "highest", "last"],
            self.series.iter().map(|series| self.row(series)).chain(marks.map(|(label, value)| {
                let shown = self.unit.show(*value);
                let none = String::from("-");
                vec![label.clone(), none.clone(), none.clone(), shown, none.clone(), none]
            })),
        );
        html.push_str("</figure>\n");
        let marks = self.marks.iter().filter(|(_, value)| value.is_finite());
        json!({
            "kind": "lines", "unit": self.unit, "xUnit": self.x_unit, "xLabel": self.x_label, "series": data,
            "steps": self.steps, "stacked": self.stacked, "link": self.link,
            "marks": marks.map(|(label, value)| json!({"label": label, "value": value})).collect::<Vec<_>>(),
        })
    }

    fn row(&self, series: &Series) -> Vec<String> {
        let finite: Vec<(f64, f64)> =
            series.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        let of = |value: f64| self.unit.show(value);
        let fold = |f: fn(f64, f64) -> f64| finite.iter().map(|point| point.1).fold(f64::NAN, f);
        vec![
            series.label.clone(),
            number::count(finite.len() as u64),
            of(fold(f64::min)),
            of(mean(&finite, self.steps)),
            of(fold(f64::max)),
            of(finite.last().map_or(f64::NAN, |point| point.1)),
        ]
    }
}

/// The mean over x, which need not be sampled evenly.
fn mean(points: &[(f64, f64)], steps: bool) -> f64 {
    let (mut area, mut width) = (0.0, 0.0);
    for two in points.windows(2) {
        let dx = two[1].0 - two[0].0;
        if dx > 0.0 {
            width += dx;
            area += dx * if steps { two[0].1 } else { (two[0].1 + two[1].1) / 2.0 };
        }
    }
    match width > 0.0 {
        true => area / width,
        // Points of one instant have no area: their plain mean.
        false => points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_time() {
        let points = [(0.0, 1.0), (1.0, 3.0), (4.0, 0.0)];
        assert_eq!(mean(&points, true), (1.0 + 9.0) / 4.0);
        assert_eq!(mean(&points, false), (2.0 + 4.5) / 4.0);
        assert_eq!(mean(&[(1.0, 2.0)], true), 2.0);
        assert_eq!(mean(&[(1.0, 2.0), (1.0, 4.0)], false), 3.0);
        assert!(mean(&[], true).is_nan());
    }

    #[test]
    fn a_long_series_is_thinned_and_says_so() {
        let points = (0..1_000_000).map(|n| (f64::from(n), f64::from(n % 1_000))).collect();
        let chart = LineChart::new("t", Unit::Count).series(Series::new("s", points));
        let mut html = String::new();
        let data = chart.render("c", &mut html);
        let kept = data["series"][0]["x"].as_array().expect("an array").len();
        assert_eq!(kept, SERIES_POINTS_MAX / 2);
        assert!(html.contains("The drawing has 3,000 means"), "{html}");
        assert!(html.contains("<td class=\"number\">1,000,000</td>"), "{html}");
        assert!(data.to_string().len() < 150_000);
    }

    #[test]
    fn what_is_no_number_is_a_gap() {
        let points = vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, f64::INFINITY), (f64::NAN, 5.0)];
        let chart = LineChart::new("t", Unit::Count)
            .series(Series::new("s", points))
            .mark("nowhere", f64::NAN);
        let data = chart.render("c", &mut String::new());
        assert_eq!(data["series"][0]["x"], json!([0.0, 1.0, 2.0]));
        assert_eq!(data["series"][0]["y"], json!([1.0, null, null]));
        assert_eq!(data["marks"], json!([]));
    }
}
