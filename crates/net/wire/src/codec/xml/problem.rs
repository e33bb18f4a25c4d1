//! A problem with a message whose place is not known yet.

use std::fmt::{self, Display};

/// One line: what was expected, and what was found.
#[derive(Debug)]
pub(crate) struct Problem(pub(crate) String);

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl serde::ser::Error for Problem {
    fn custom<T: Display>(problem: T) -> Self {
        Problem(problem.to_string())
    }
}

impl serde::de::Error for Problem {
    fn custom<T: Display>(problem: T) -> Self {
        Problem(problem.to_string())
    }
}
