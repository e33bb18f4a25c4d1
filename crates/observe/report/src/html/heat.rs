//! Rows of colour over time.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Unit;
use super::escape::rounded;
use super::frame::{described, figure, plot, values};
use actinium_observe::number;

/// The most cells that one chart embeds: about 500 KB.
const CELLS_MAX: usize = 100_000;
/// More columns than this are finer than what a screen shows.
const COLUMNS_MAX: usize = 800;
/// More rows than this cannot be told apart.
const ROWS_MAX: usize = 1_024;

/// One row: a CPU, a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatRow {
    /// The text before the row.
    pub label: String,
    /// One value per step; one that is not finite is left blank.
    pub values: Vec<f64>,
}

impl HeatRow {
    /// A row of these values.
    #[must_use]
    pub fn new(label: impl Into<String>, values: Vec<f64>) -> Self {
        HeatRow { label: label.into(), values }
    }
}

/// One row per thing, its value over time as colour: the load of each CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// The heading.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The unit of the values.
    pub unit: Unit,
    /// The time at which the first column begins.
    pub start_s: f64,
    /// The length of a column in time.
    pub step_s: f64,
    /// The rows, from the top.
    pub rows: Vec<HeatRow>,
    /// The value of the strongest colour; the largest value if none.
    pub full: Option<f64>,
    /// Charts with the same name share their time axis; empty for none.
    pub link: String,
}

described!(HeatMap);

impl HeatMap {
    /// A chart without rows whose columns are `step_s` long, from time 0.
    #[must_use]
    pub fn new(title: impl Into<String>, unit: Unit, step_s: f64) -> Self {
        HeatMap { title: title.into(), unit, step_s, ..HeatMap::default() }
    }

    /// Adds a row.
    #[must_use]
    pub fn row(mut self, row: HeatRow) -> Self {
        self.rows.push(row);
        self
    }

    /// The value of the strongest colour.
    #[must_use]
    pub fn full(mut self, full: f64) -> Self {
        self.full = Some(full);
        self
    }

    /// Shares the time axis with all charts of this name.
    #[must_use]
    pub fn link(mut self, link: impl Into<String>) -> Self {
        self.link = link.into();
        self
    }

    pub(super) fn render(&self, id: &str, html: &mut String) -> Json {
        figure(html, id, "heat", &self.title, &self.note);
        plot(html, id);
        let rows = &self.rows[..self.rows.len().min(ROWS_MAX)];
        let columns = rows.iter().map(|row| row.values.len()).max().unwrap_or(0);
        let columns_max = (CELLS_MAX / rows.len().max(1)).clamp(1, COLUMNS_MAX);
        let together = columns.div_ceil(columns_max).max(1);
        let caption = match self.rows.len() - rows.len() {
            0 => String::new(),
            more => format!("{} more rows are left out.", number::count(more as u64)),
        };
        let show = |value| self.unit.show(value);
        values(
            html,
            &caption,
            &["", "lowest", "mean", "highest"],
            rows.iter().map(|row| {
                let fold = |f: fn(f64, f64) -> f64| finite(&row.values).fold(f64::NAN, f);
                let cells = [fold(f64::min), mean(&row.values), fold(f64::max)].map(show);
                [row.label.clone()].into_iter().chain(cells).collect()
            }),
        );
        html.push_str("</figure>\n");
        let valid = self.start_s.is_finite() && self.step_s.is_finite() && self.step_s > 0.0;
        let drawn = if valid { rows } else { &[] };
        json!({
            "kind": "heat", "unit": self.unit, "start": self.start_s, "step": self.step_s * together as f64,
            // The last column may stand for less than a whole step.
            "columns": columns as f64 / together as f64,
            "full": self.full.filter(|full| full.is_finite() && *full > 0.0), "link": self.link,
            "rows": drawn.iter().map(|row| json!({
                "label": row.label,
                "values": row.values.chunks(together).map(|cells| rounded(mean(cells), 4)).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        })
    }
}

fn finite(values: &[f64]) -> impl Iterator<Item = f64> {
    values.iter().copied().filter(|value| value.is_finite())
}

fn mean(values: &[f64]) -> f64 {
    finite(values).sum::<f64>() / finite(values).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_columns_are_averaged_and_keep_their_time() {
        let row = |value: f64| HeatRow::new("cpu", vec![value; 8_000]);
        let chart = HeatMap::new("load", Unit::Share, 0.01).row(row(0.25)).row(row(f64::NAN));
        let data = chart.render("c", &mut String::new());
        let cells = data["rows"][0]["values"].as_array().expect("an array");
        assert_eq!(cells.len(), COLUMNS_MAX);
        assert!(cells.iter().all(|cell| cell == 0.25));
        assert!(data["rows"][1]["values"][0].is_null());
        let length = data["step"].as_f64().expect("a number") * COLUMNS_MAX as f64;
        assert!((length - 80.0).abs() < 1e-9);
    }

    #[test]
    fn many_rows_stay_small_and_say_what_is_left_out() {
        let rows = (0..2_000).map(|n| HeatRow::new(format!("cpu {n}"), vec![0.123456; 10_000]));
        let chart = HeatMap { rows: rows.collect(), step_s: 1.0, ..HeatMap::default() };
        let mut html = String::new();
        let data = chart.render("c", &mut html);
        assert_eq!(data["rows"].as_array().expect("an array").len(), ROWS_MAX);
        assert!(html.contains("976 more rows are left out"));
        assert!(data.to_string().len() < 1_000_000, "{}", data.to_string().len());
    }

    #[test]
    fn a_step_that_is_none_draws_nothing() {
        for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let chart = HeatMap::new("t", Unit::Share, step).row(HeatRow::new("a", vec![1.0]));
            assert_eq!(chart.render("c", &mut String::new())["rows"], json!([]));
        }
    }
}
