//! Rows and columns, to be sorted and filtered. Written as HTML; the script adds the buttons.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::Unit;
use super::frame::{described, figure};
use actinium_drawing::escaped;
use actinium_observe::number;

/// The most rows that a page takes.
const ROWS_MAX: usize = 5_000;

/// A column's heading, and what its numbers are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The heading.
    pub heading: String,
    /// The unit of its numbers; none for text, which stands left.
    pub unit: Option<Unit>,
}

impl Column {
    /// A column of texts.
    #[must_use]
    pub fn text(heading: impl Into<String>) -> Self {
        Column { heading: heading.into(), unit: None }
    }

    /// A column of numbers.
    #[must_use]
    pub fn number(heading: impl Into<String>, unit: Unit) -> Self {
        Column { heading: heading.into(), unit: Some(unit) }
    }
}

/// The content of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number, shown in its column's unit.
    Number(f64),
    /// A text.
    Text(String),
    /// Nothing: shown as "-", sorted last.
    #[default]
    Missing,
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Number(number as f64)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Missing, Into::into)
    }
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The heading.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The columns, from the left.
    pub columns: Vec<Column>,
    /// Rows from the top; a cell without a column is left out, a missing one is "-".
    pub rows: Vec<Vec<Value>>,
}

described!(Table);

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Self {
        Table { title: title.into(), columns, ..Table::default() }
    }

    /// Adds a row.
    #[must_use]
    pub fn row(mut self, row: Vec<Value>) -> Self {
        self.rows.push(row);
        self
    }

    pub(super) fn render(&self, id: &str, html: &mut String) {
        figure(html, id, "rows", &self.title, &self.note);
        html.push_str("<div class=\"scroll\"><table class=\"sortable\"><thead><tr>");
        for column in &self.columns {
            let class = if column.unit.is_some() { " class=\"number\"" } else { "" };
            let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escaped(&column.heading));
        }
        html.push_str("</tr></thead><tbody>\n");
        for row in self.rows.iter().take(ROWS_MAX) {
            html.push_str("<tr>");
            for (at, column) in self.columns.iter().enumerate() {
                cell(html, column, row.get(at).unwrap_or(&Value::Missing));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody></table></div>");
        if self.rows.is_empty() {
            html.push_str("<p class=\"empty\">No data</p>");
        }
        if self.rows.len() > ROWS_MAX {
            let more = number::count((self.rows.len() - ROWS_MAX) as u64);
            let _ = write!(html, "<p class=\"note\">{more} more rows are left out.</p>");
        }
        html.push_str("</figure>\n");
    }
}

fn cell(html: &mut String, column: &Column, value: &Value) {
    let class = if column.unit.is_some() { " class=\"number\"" } else { "" };
    let plain = Unit::Count;
    let _ = match value {
        Value::Number(number) if number.is_finite() => {
            let shown = column.unit.as_ref().unwrap_or(&plain).show(*number);
            // What is sorted by: the number itself and not its text.
            write!(html, "<td{class} data-value=\"{number:e}\">{}</td>", escaped(&shown))
        }
        Value::Text(words) => write!(html, "<td{class}>{}</td>", escaped(words)),
        Value::Number(_) | Value::Missing => write!(html, "<td{class} data-missing>-</td>"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(table: Table) -> String {
        let mut html = String::new();
        table.render("c", &mut html);
        html
    }

    #[test]
    fn numbers_keep_their_value_beside_their_text() {
        let columns = vec![Column::text("module"), Column::number("time", Unit::Seconds)];
        let table = Table::new("t", columns)
            .row(vec!["<a>".into(), 0.0125.into()])
            .row(vec!["short".into()])
            .row(vec!["long".into(), f64::NAN.into(), "extra".into()]);
        let html = html(table);
        assert!(html.contains("<td>&lt;a&gt;</td>"));
        assert!(
            html.contains("<td class=\"number\" data-value=\"1.25e-2\">12.5 ms</td>"),
            "{html}"
        );
        assert_eq!(html.matches("data-missing>-</td>").count(), 2);
        assert!(!html.contains("extra"));
    }

    #[test]
    fn too_many_rows_are_counted() {
        let rows = vec![vec![Value::from(1_u64)]; ROWS_MAX + 7];
        let columns = vec![Column::number("n", Unit::Count)];
        let html = html(Table { columns, rows, ..Table::default() });
        assert!(html.contains("7 more rows are left out"));
        assert_eq!(html.matches("<td").count(), ROWS_MAX);
    }
}
