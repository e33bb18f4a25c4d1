//! Rows and columns of colour: two things compared by one number. Drawn by HTML alone.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::Unit;
use super::frame::{described, figure};
use actinium_drawing::escaped;
use actinium_observe::number;

/// The most rows that a page takes.
const ROWS_MAX: usize = 1_000;

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GridRow {
    /// The text before the row.
    pub label: String,
    /// For each column its value, which is the colour, and a word more about it.
    pub cells: Vec<(f64, String)>,
}

impl GridRow {
    /// A row of these cells.
    #[must_use]
    pub fn new(label: impl Into<String>, cells: Vec<(f64, String)>) -> Self {
        GridRow { label: label.into(), cells }
    }
}

/// A heat map of rows by columns: how each policy does for each size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The heading.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The unit of the values.
    pub unit: Unit,
    /// The headings of the columns.
    pub columns: Vec<String>,
    /// The rows, from the top.
    pub rows: Vec<GridRow>,
    /// The value of the strongest colour; the largest value if none.
    pub full: Option<f64>,
    /// The value without colour, which may be above that of the strongest; the least value if none.
    pub pale: Option<f64>,
}

described!(Grid);

impl Grid {
    /// A heat map without rows.
    #[must_use]
    pub fn new(title: impl Into<String>, unit: Unit, columns: Vec<String>) -> Self {
        Grid { title: title.into(), unit, columns, ..Grid::default() }
    }

    /// Adds a row.
    #[must_use]
    pub fn row(mut self, row: GridRow) -> Self {
        self.rows.push(row);
        self
    }

    /// The value of the strongest colour.
    #[must_use]
    pub fn full(mut self, full: f64) -> Self {
        self.full = Some(full);
        self
    }

    /// The value without colour.
    #[must_use]
    pub fn pale(mut self, pale: f64) -> Self {
        self.pale = Some(pale);
        self
    }

    pub(super) fn render(&self, id: &str, html: &mut String) {
        figure(html, id, "rows", &self.title, &self.note);
        let rows = &self.rows[..self.rows.len().min(ROWS_MAX)];
        let values = || rows.iter().flat_map(|row| row.cells.iter().map(|cell| cell.0));
        let finite = || values().filter(|value| value.is_finite());
        let given = |value: Option<f64>| value.filter(|value| value.is_finite());
        let pale = given(self.pale).unwrap_or_else(|| finite().fold(f64::INFINITY, f64::min));
        let full = given(self.full).unwrap_or_else(|| finite().fold(0.0, f64::max));
        html.push_str("<div class=\"scroll\"><table class=\"grid\"><thead><tr><th></th>");
        for column in &self.columns {
            let _ = write!(html, "<th scope=\"col\" class=\"number\">{}</th>", escaped(column));
        }
        html.push_str("</tr></thead><tbody>\n");
        for row in rows {
            let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escaped(&row.label));
            for at in 0..self.columns.len() {
                self.cell(html, row.cells.get(at), pale, full);
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody></table></div>");
        if rows.is_empty() {
            html.push_str("<p class=\"empty\">No data</p>");
        }
        if self.rows.len() > rows.len() {
            let more = number::count((self.rows.len() - rows.len()) as u64);
            let _ = write!(html, "<p class=\"note\">{more} more rows are left out.</p>");
        }
        html.push_str("</figure>\n");
    }

    fn cell(&self, html: &mut String, cell: Option<&(f64, String)>, pale: f64, full: f64) {
        let Some((value, word)) = cell.filter(|cell| cell.0.is_finite()) else {
            html.push_str("<td class=\"number\">-</td>");
            return;
        };
        let share = (value - pale) / (full - pale);
        let share = if share.is_finite() { share.clamp(0.0, 1.0).abs() * 100.0 } else { 0.0 };
        let _ = write!(
            html,
            "<td class=\"number\" style=\"--share:{share:.1}%\">{}",
            escaped(&self.unit.show(*value))
        );
        if !word.is_empty() {
            let _ = write!(html, " <small>{}</small>", escaped(word));
        }
        html.push_str("</td>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(grid: Grid) -> String {
        let mut html = String::new();
        grid.render("c", &mut html);
        html
    }

    #[test]
    fn colour_follows_the_value_from_the_least_to_the_full() {
        let cells = [1.0, 2.0, 3.0, 9.0, f64::NAN].map(|value| (value, String::new()));
        let columns = (0..5).map(|n| n.to_string()).collect();
        let grid =
            Grid::new("t", Unit::Count, columns).full(3.0).row(GridRow::new("<a>", cells.to_vec()));
        let html = html(grid);
        for share in ["0.0%", "50.0%"] {
            assert!(html.contains(&format!("--share:{share}\"")), "{share} in {html}");
        }
        assert_eq!(html.matches("--share:100.0%").count(), 2);
        assert!(html.contains("&lt;a&gt;") && html.contains(">-</td>"), "{html}");
    }

    #[test]
    fn where_more_is_better_colour_follows_what_is_missing() {
        let cells = [1.0, 0.75, 0.5, 0.1].map(|value| (value, String::new()));
        let columns = (0..4).map(|n| n.to_string()).collect();
        let grid = Grid::new("t", Unit::Share, columns).pale(1.0).full(0.5);
        let html = html(grid.row(GridRow::new("r", cells.to_vec())));
        for (share, times) in [("0.0%", 1), ("50.0%", 1), ("100.0%", 2)] {
            assert_eq!(html.matches(&format!("--share:{share}\"")).count(), times, "{html}");
        }
    }

    #[test]
    fn odd_grids_are_drawn_as_far_as_they_go() {
        assert!(html(Grid::default()).contains("No data"));
        let equal = Grid::new("t", Unit::Count, vec!["a".into(), "b".into()])
            .row(GridRow::new("r", vec![(2.0, "two".into())]));
        let html = html(equal);
        assert!(html.contains("--share:0.0%") && html.contains("<small>two</small>"), "{html}");
        assert!(html.contains(">-</td>"), "a missing cell is blank: {html}");
    }

    #[test]
    fn too_many_rows_are_counted() {
        let rows = vec![GridRow::new("r", vec![(1.0, String::new())]); ROWS_MAX + 7];
        let html = html(Grid { columns: vec!["a".into()], rows, ..Grid::default() });
        assert!(html.contains("7 more rows are left out"));
    }
}
