//! A chart that compares measured scaling with perfect scaling.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Unit;
use super::escape::rounded;
use super::frame::{described, figure, plot, values};

/// One measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalingPoint {
    /// How many slots, workers, nodes.
    pub x: f64,
    /// The measured value with this number of them.
    pub y: f64,
    /// The lowest and the highest of repeated runs.
    pub range: Option<(f64, f64)>,
}

/// One curve: a policy, a mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScalingCurve {
    /// The name of the curve in the legend.
    pub label: String,
    /// The points, in any order.
    pub points: Vec<ScalingPoint>,
}

impl ScalingCurve {
    /// A curve of these points, each measured once.
    #[must_use]
    pub fn new(label: impl Into<String>, points: &[(f64, f64)]) -> Self {
        let points = points.iter().map(|&(x, y)| ScalingPoint { x, y, range: None });
        ScalingCurve { label: label.into(), points: points.collect() }
    }
}

/// Curves against perfect scaling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The heading.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The label of the x axis: "slots".
    pub x_label: String,
    /// The unit of the measured values.
    pub unit: Unit,
    /// The measured curves.
    pub curves: Vec<ScalingCurve>,
    /// The points of perfect scaling. If empty, a line in proportion through the first curve's
    /// first point.
    pub perfect: Vec<(f64, f64)>,
    /// Whether there is nothing to compare with: what grows is not meant to.
    #[serde(default)]
    pub has_no_perfect: bool,
    /// Bounds that no number of slots passes: label and value.
    pub ceilings: Vec<(String, f64)>,
}

described!(Scaling);

impl Scaling {
    /// A chart without curves.
    #[must_use]
    pub fn new(title: impl Into<String>, x_label: impl Into<String>, unit: Unit) -> Self {
        Scaling { title: title.into(), x_label: x_label.into(), unit, ..Scaling::default() }
    }

    /// Adds what was measured.
    #[must_use]
    pub fn curve(mut self, curve: ScalingCurve) -> Self {
        self.curves.push(curve);
        self
    }

    /// Sets the points of perfect scaling, where they are known better than in proportion.
    #[must_use]
    pub fn perfect(mut self, points: Vec<(f64, f64)>) -> Self {
        self.perfect = points;
        self
    }

    /// Compares with nothing: what is measured is not meant to grow.
    #[must_use]
    pub fn without_perfect(mut self) -> Self {
        self.has_no_perfect = true;
        self
    }

    /// Adds a bound.
    #[must_use]
    pub fn ceiling(mut self, label: impl Into<String>, value: f64) -> Self {
        self.ceilings.push((label.into(), value));
        self
    }

    /// Perfect scaling over all that was measured, from the left.
    fn perfect_points(&self) -> Vec<(f64, f64)> {
        if self.has_no_perfect {
            return Vec::new();
        }
        if !self.perfect.is_empty() {
            let mut points: Vec<(f64, f64)> = self
                .perfect
                .iter()
                .copied()
                .filter(|&(x, y)| is_positive(x) && is_positive(y))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            return points;
        }
        let Some(first) = self.curves.first().and_then(|curve| drawn(curve).first().copied())
        else {
            return Vec::new();
        };
        let mut xs: Vec<f64> =
            self.curves.iter().flat_map(|curve| drawn(curve).into_iter().map(|p| p.x)).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs.into_iter()
            .map(|x| (x, first.y * (x / first.x)))
            .filter(|point| is_positive(point.1))
            .collect()
    }

    pub(super) fn render(&self, id: &str, html: &mut String) -> Json {
        figure(html, id, "scaling", &self.title, &self.note);
        plot(html, id);
        let perfect = self.perfect_points();
        let share = |point: &ScalingPoint| {
            let of = perfect.iter().find(|(x, _)| *x == point.x).map_or(f64::NAN, |(_, y)| *y);
            (Unit::default(), of)
        };
        let rows = self.curves.iter().flat_map(|curve| {
            drawn(curve).into_iter().map(|point| {
                let (_, of) = share(&point);
                vec![
                    format!("{} {}", Unit::Count.show(point.x), self.x_label),
                    curve.label.clone(),
                    self.unit.show(point.y),
                    self.unit.show(of),
                    Unit::Share.show(point.y / of),
                ]
            })
        });
        let ceilings = self
            .ceilings
            .iter()
            .map(|(label, value)| format!("{label}: {}", self.unit.show(*value)));
        let caption = ceilings.collect::<Vec<_>>().join("; ");
        values(html, &caption, &["", "curve", "measured", "perfect", "reached"], rows);
        html.push_str("</figure>\n");
        json!({
            "kind": "scaling", "unit": self.unit, "xLabel": self.x_label,
            "curves": self.curves.iter().map(|curve| json!({
                "label": curve.label,
                "points": drawn(curve).iter().map(|point| json!({
                    "x": rounded(point.x, 9), "y": rounded(point.y, 6),
                    "range": point.range.filter(|(low, high)| is_positive(*low) && is_positive(*high)),
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "perfect": perfect.iter().map(|&(x, y)| [rounded(x, 9), rounded(y, 6)]).collect::<Vec<_>>(),
            "ceilings": self.ceilings.iter().filter(|(_, value)| is_positive(*value))
                .map(|(label, value)| json!({"label": label, "value": value})).collect::<Vec<_>>(),
        })
    }
}

/// Returns whether a logarithmic axis can show the value.
fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// A curve's points that can be shown, from the left.
fn drawn(curve: &ScalingCurve) -> Vec<ScalingPoint> {
    let mut points: Vec<ScalingPoint> = curve
        .points
        .iter()
        .copied()
        .filter(|point| is_positive(point.x) && is_positive(point.y))
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfect_is_in_proportion_unless_it_is_given() {
        let curve =
            ScalingCurve::new("a", &[(4.0, 30.0), (1.0, 10.0), (0.0, 0.0), (2.0, f64::NAN)]);
        let chart = Scaling::new("t", "slots", Unit::PerSecond).curve(curve);
        assert_eq!(chart.perfect_points(), [(1.0, 10.0), (4.0, 40.0)]);
        let mut html = String::new();
        let data = chart.render("c", &mut html);
        assert_eq!(data["curves"][0]["points"].as_array().expect("an array").len(), 2);
        assert!(html.contains("75.0 %"), "{html}");

        assert_eq!(chart.clone().without_perfect().perfect_points(), []);

        let chart = chart.perfect(vec![(4.0, 20.0), (1.0, 11.0), (2.0, -1.0)]);
        assert_eq!(chart.perfect_points(), [(1.0, 11.0), (4.0, 20.0)]);
    }

    #[test]
    fn nothing_measured_is_no_curve() {
        let chart = Scaling::new("t", "slots", Unit::PerSecond).curve(ScalingCurve::default());
        assert_eq!(chart.perfect_points(), []);
        assert_eq!(chart.render("c", &mut String::new())["perfect"], json!([]));
    }
}
