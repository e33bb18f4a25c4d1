//! Rows that belong together become one event.

use crate::{Cause, Next, Product, Source};

/// Rows, of which those in a row with the same key are one event. See [`RowsExt::group_by`].
///
/// [`RowsExt::group_by`]: super::RowsExt::group_by
pub struct Groups<I, T, F> {
    rows: I,
    key: F,
    /// The first row of the next event, or the error that comes next.
    held: Option<Result<T, Cause>>,
}

impl<I: std::fmt::Debug, T, F> std::fmt::Debug for Groups<I, T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Groups").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<I, T, F> Groups<I, T, F> {
    pub(super) fn new(rows: I, key: F) -> Self {
        Groups { rows, key, held: None }
    }
}

impl<I, T, E, F, K> Source for Groups<I, T, F>
where
    I: Iterator<Item = Result<T, E>> + Send + 'static,
    T: Product,
    E: Into<Cause>,
    F: FnMut(&T) -> K + Send + 'static,
    K: PartialEq,
{
    type Product = Vec<T>;

    fn next(&mut self, _number: u64) -> Result<Next<Vec<T>>, Cause> {
        let mut read = || self.rows.next().map(|row| row.map_err(Into::into));
        let Some(first) = self.held.take().or_else(&mut read) else { return Ok(Next::End) };
        let mut rows = vec![first?];
        let key = (self.key)(&rows[0]);
        for row in std::iter::from_fn(read) {
            match row {
                Ok(row) if (self.key)(&row) == key => rows.push(row),
                // What was read before an error is an event all the same.
                row => {
                    self.held = Some(row);
                    break;
                }
            }
        }
        Ok(Next::Event(rows))
    }
}
