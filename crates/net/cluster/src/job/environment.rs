//! The variables of this process's environment, as texts and numbers.

use super::join_error::JoinError;

/// Looks a variable up. Tests have variables of their own.
pub(super) struct Environment<'a>(&'a dyn Fn(&str) -> Option<String>);

/// Looks up the variable of this process.
pub(super) fn of_this_process(variable: &str) -> Option<String> {
    std::env::var_os(variable).map(|text| text.to_string_lossy().into_owned())
}

impl<'a> Environment<'a> {
    pub(super) fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Environment(variable)
    }

    /// Returns a variable's value. An empty one says nothing.
    pub(super) fn text(&self, variable: &str) -> Option<String> {
        (self.0)(variable).filter(|text| !text.is_empty())
    }

    /// Returns a variable's value that has to be a number.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn number(&self, variable: &str) -> Result<Option<u32>, JoinError> {
        let parse = |text: String| {
            text.parse().map_err(|error| {
                JoinError::wrong(variable, format!("'{}': {error}", text.escape_debug()))
            })
        };
        self.text(variable).map(parse).transpose()
    }

    /// Returns a number that has to be there because of another variable.
    ///
    /// # Errors
    /// If it is missing, or no number.
    pub(super) fn needed(&self, variable: &str, what: &'static str) -> Result<u32, JoinError> {
        let missing = || JoinError::Missing { variable: variable.to_owned(), what };
        self.number(variable)?.ok_or_else(missing)
    }
}
