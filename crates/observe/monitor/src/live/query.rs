//! Which actors are asked for, as text: what stands in an address, or is typed.

use actinium_actor::{ActorCursor, ActorOrder, ActorQuery, WrongCursor};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most actors on one page.
const PAGE_MAX: usize = 1_000;
/// Actors on one page unless the query says otherwise.
const PAGE: usize = 50;
/// Most characters of a text that is looked for.
const TEXT_MAX: usize = 1_000;

/// The names of orders.
const SORTS: [(&str, ActorOrder); 5] = [
    ("oldest", ActorOrder::Oldest),
    ("youngest", ActorOrder::Youngest),
    ("queued", ActorOrder::Queued),
    ("worker", ActorOrder::Worker),
    ("kind", ActorOrder::Kind),
];

/// Which actors, in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActorsQuery {
    /// The order: `oldest`, `youngest`, `queued`, `worker` or `kind`.
    pub sort: Option<String>,
    /// Only those that have this in their names or types, and the one with this number.
    pub search: Option<String>,
    /// Only those that have this in their types.
    pub kind: Option<String>,
    /// The next page: what the page before has named.
    pub after: Option<String>,
    /// Most on the page, at most 1,000; 50 unless said.
    pub take: Option<usize>,
}

/// Why a query is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryError {
    /// There is no such order.
    Sort(String),
    /// That is no place after which a page begins.
    After(WrongCursor),
    /// A text is too long: this many characters.
    Long(usize),
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryError::Sort(sort) => {
                let names = SORTS.map(|(name, _)| name).join(", ");
                write!(f, "sort '{sort}': expected one of {names}")
            }
            QueryError::After(wrong) => write!(f, "after: {wrong}"),
            QueryError::Long(found) => {
                write!(f, "a text of {found} characters: expected at most {TEXT_MAX}")
            }
        }
    }
}

impl std::error::Error for QueryError {}

impl ActorsQuery {
    /// Most actors on its page.
    pub(crate) fn page(&self) -> usize {
        self.take.unwrap_or(PAGE).clamp(1, PAGE_MAX)
    }

    /// The query of the actor crate, for one more than a page.
    pub(crate) fn parse(&self) -> Result<ActorQuery, QueryError> {
        for text in [&self.search, &self.kind, &self.after].into_iter().flatten() {
            if text.len() > TEXT_MAX {
                return Err(QueryError::Long(text.len()));
            }
        }
        let sort = self.sort.as_deref().filter(|it| !it.is_empty()).unwrap_or("queued");
        let found = SORTS.iter().find(|(name, _)| *name == sort);
        let &(_, order) = found.ok_or_else(|| QueryError::Sort(sort.to_owned()))?;
        let mut query = ActorQuery::new().order(order).take(self.page() + 1);
        if let Some(text) = &self.search {
            query = query.search(text);
        }
        if let Some(kind) = &self.kind {
            query = query.kind(kind);
        }
        if let Some(after) = self.after.as_deref().filter(|it| !it.is_empty()) {
            query = query.after(&after.parse::<ActorCursor>().map_err(QueryError::After)?);
        }
        Ok(query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        let query = |change: fn(&mut ActorsQuery)| {
            let mut query = ActorsQuery::default();
            change(&mut query);
            query.parse().map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(query(|_| ()), Ok(()));
        assert_eq!(
            query(|it| it.sort = Some("size".into())),
            Err("sort 'size': expected one of oldest, youngest, queued, worker, kind".into())
        );
        assert!(query(|it| it.after = Some("7".into())).is_err());
        let long = query(|it| it.search = Some("x".repeat(1_001)));
        assert_eq!(long, Err("a text of 1001 characters: expected at most 1000".into()));
        assert_eq!(ActorsQuery { take: Some(0), ..Default::default() }.page(), 1);
        assert_eq!(ActorsQuery { take: Some(usize::MAX), ..Default::default() }.page(), 1_000);
    }
}
