//! A table for a terminal or for Markdown.

use actinium_report::{Column, Table};
use std::fmt::Write;

/// The text of a cell without a result.
pub(crate) const NONE: &str = "-";

/// A table that may become either kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    pub(crate) title: String,
    /// The first column is text, all others are aligned to the right.
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) notes: Vec<String>,
}

impl Grid {
    /// For a terminal, with an empty line behind it.
    pub(crate) fn text(&self) -> String {
        let column = |(index, heading): (usize, &String)| match index {
            0 => Column::left(heading),
            _ => Column::right(heading),
        };
        let mut table = Table::new(self.headings.iter().enumerate().map(column));
        for row in &self.rows {
            table.row(row.iter().map(|cell| cell.clone().into()));
        }
        let mut text = format!("{}\n\n{table}", self.title);
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text + "\n"
    }

    /// For a page, with an empty line before it.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let rule = |index: usize| if index == 0 { "---" } else { "---:" }.to_owned();
        let mut text = format!("\n{}\n\n", self.title);
        text += &line(&self.headings);
        text += &line(&(0..self.headings.len()).map(rule).collect::<Vec<_>>());
        self.rows.iter().for_each(|row| text += &line(row));
        if !self.notes.is_empty() {
            text += "\n";
        }
        for note in &self.notes {
            let _ = writeln!(text, "- {note}");
        }
        text
    }
}
