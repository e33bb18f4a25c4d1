//! Tables for people: aligned columns of text, on top of [`comfy_table`].
//!
//! Programs read the JSON of the same figures; a table's layout may change.

use std::fmt;
use std::time::Duration;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle};

use actinium_observe::number;

/// A heading and an alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    heading: String,
    is_right: bool,
}

impl Column {
    /// Text: aligned to the left, and wrapped where the table has to be narrower.
    pub fn left(heading: impl Into<String>) -> Self {
        Column { heading: heading.into(), is_right: false }
    }

    /// Numbers: aligned to the right, never wrapped.
    pub fn right(heading: impl Into<String>) -> Self {
        Column { heading: heading.into(), is_right: true }
    }

    /// Says in the heading in which unit the column's numbers are.
    ///
    /// ```
    /// use actinium_report::{Column, Table};
    ///
    /// let table = Table::new([Column::right("size").unit("KiB")]);
    /// assert!(table.to_string().starts_with("size (KiB)\n"));
    /// ```
    #[must_use]
    pub fn unit(mut self, unit: &str) -> Self {
        self.heading = format!("{} ({unit})", self.heading);
        self
    }
}

/// The text of one field. Numbers get thousands separators, durations the unit that suits them; for
/// anything else see [`number`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell(String);

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell(text)
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Self {
        Cell(number::count(n))
    }
}

impl From<usize> for Cell {
    fn from(n: usize) -> Self {
        Cell(number::count(n as u64))
    }
}

impl From<Duration> for Cell {
    fn from(duration: Duration) -> Self {
        Cell(number::duration(duration))
    }
}

/// `None` becomes an empty cell.
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map(Into::into).unwrap_or_default()
    }
}

/// Rows under headings; [`Display`](fmt::Display) lays it out, each line with its end.
///
/// ```
/// use std::time::Duration;
/// use actinium_report::{Column, Table};
///
/// let mut table = Table::new([
///     Column::left("policy"),
///     Column::right("messages"),
///     Column::right("p99"),
/// ]);
/// table.row(["affine".into(), 1_234_567u64.into(), Duration::from_nanos(1_250).into()]);
/// table.row(["pool".into(), 98_765u64.into(), Duration::from_millis(12).into()]);
/// assert_eq!(
///     table.to_string(),
///     "\
/// policy   messages      p99
/// ──────────────────────────
/// affine  1,234,567  1.25 µs
/// pool       98,765  12.0 ms
/// "
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    width: Option<u16>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Table { columns: columns.into_iter().collect(), rows: Vec::new(), width: None }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has not as many fields as there are columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) -> &mut Self {
        let row: Vec<Cell> = cells.into_iter().collect();
        let (fields, columns) = (row.len(), self.columns.len());
        assert_eq!(fields, columns, "a row has as many fields as there are columns");
        self.rows.push(row);
        self
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Makes it at most `columns` wide, by wrapping text; numbers stay whole and may stand out.
    /// `None`: as wide as it needs to be.
    ///
    /// ```
    /// use actinium_report::{Column, Table};
    ///
    /// let mut table = Table::new([Column::right("n"), Column::left("what it says")]);
    /// table.row([1u64.into(), "work stays where its memory is".into()]);
    /// assert_eq!(
    ///     table.width(Some(20)).to_string(),
    ///     "\
    /// n  what it says
    /// ────────────────────
    /// 1  work stays where
    ///    its memory is
    /// "
    /// );
    /// ```
    pub fn width(&mut self, columns: Option<u16>) -> &mut Self {
        self.width = columns;
        self
    }

    /// Makes it as wide as the terminal at most, if stdout is one.
    pub fn fit_terminal(&mut self) -> &mut Self {
        let size = console::Term::stdout().size_checked();
        self.width(size.map(|(_, columns)| columns))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        let rule = LineStyle::none().fill('─');
        table.load_style(TableStyle::new().header_separator(rule));
        table.set_header(self.columns.iter().map(|column| column.heading.as_str()));
        for row in &self.rows {
            table.add_row(row.iter().map(|cell| cell.0.as_str()));
        }
        if let Some(width) = self.width {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
        }
        let last = self.columns.len().saturating_sub(1);
        for (index, column) in self.columns.iter().enumerate() {
            if let Some(laid_out) = table.column_mut(index) {
                laid_out.set_padding((0, if index == last { 0 } else { 2 }));
                if column.is_right {
                    laid_out.set_cell_alignment(CellAlignment::Right);
                    laid_out.set_constraint(ColumnConstraint::ContentWidth);
                }
            }
        }
        for line in table.lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_field() {
        let mut table = Table::new([Column::right("n"), Column::left("name"), Column::right("µ")]);
        table.row([7u64.into(), "long name".into(), "µµ".into()]);
        table.row([1_000usize.into(), "x".into(), None::<&str>.into()]);
        let expected =
            "    n  name        µ\n────────────────────\n    7  long name  µµ\n1,000  x\n";
        assert_eq!(table.to_string(), expected);
        assert_eq!((table.len(), table.is_empty()), (2, false));
    }

    #[test]
    fn a_table_without_rows_is_its_headings() {
        let table = Table::new([Column::left("a"), Column::right("b").unit("ns")]);
        assert_eq!(table.to_string(), "a  b (ns)\n─────────\n");
        assert!(table.is_empty());
    }

    #[test]
    fn text_wraps_and_numbers_stay_whole() {
        let mut table = Table::new([Column::left("text"), Column::right("number")]);
        table.row(["one two three four".into(), 123_456_789u64.into()]);
        let text = table.width(Some(22)).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 22), "{text}");
        assert!(text.contains("123,456,789"), "{text}");
        let narrow = table.width(Some(3)).to_string();
        assert!(narrow.contains("123,456,789"), "{narrow}");
        let wide = table.width(Some(200)).to_string();
        assert_eq!(wide, table.width(None).to_string());
    }

    #[test]
    #[should_panic(expected = "as many fields as there are columns")]
    fn a_row_that_does_not_fit_is_refused() {
        Table::new([Column::left("a")]).row(["1".into(), "2".into()]);
    }
}
