//! A setting's value and where it came from: flag > environment > file > default.

use crate::table::{Column, Table};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};

/// Where a setting's value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Given on the command line.
    Flag,
    /// The value of this environment variable.
    Environment(&'static str),
    /// The file that was named says so.
    File,
    /// Nobody said anything.
    Default,
}

impl Source {
    /// Returns the name of the source in JSON: `flag`, `env`, `file` or `default`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Flag => "flag",
            Source::Environment(_) => "env",
            Source::File => "file",
            Source::Default => "default",
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Environment(variable) => write!(f, "env {variable}"),
            _ => f.write_str(self.name()),
        }
    }
}

/// An error: a setting's value is not allowed. The text names the flag or variable, its value and
/// what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongSetting(pub String);

impl Display for WrongSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongSetting {}

/// A value and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// The source of the value.
    pub source: Source,
}

/// The default, of which nobody said anything.
impl<T> From<T> for Setting<T> {
    fn from(value: T) -> Self {
        Setting { value, source: Source::Default }
    }
}

impl<T> Setting<T> {
    /// A value that a flag has given, or else the default.
    #[must_use]
    pub fn new(value: T, is_given: bool) -> Self {
        Setting { value, source: if is_given { Source::Flag } else { Source::Default } }
    }

    /// Takes the value from an environment variable if there is one and no flag was given. A flag's
    /// value hides the variable, whatever its text.
    ///
    /// # Errors
    /// If the variable's value is not allowed.
    pub fn or_env(
        self,
        variable: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Self, WrongSetting> {
        if self.source == Source::Flag {
            return Ok(self);
        }
        match std::env::var_os(variable) {
            None => Ok(self),
            Some(text) => match parse(&text.to_string_lossy()) {
                Ok(value) => Ok(Setting { value, source: Source::Environment(variable) }),
                Err(problem) => Err(WrongSetting(format!("{variable}: {problem}"))),
            },
        }
    }

    /// Takes the value from the file if it has one and nobody nearer said anything.
    #[must_use]
    pub fn or_file(self, value: Option<T>) -> Self {
        match value {
            Some(value) if self.source == Source::Default => {
                Setting { value, source: Source::File }
            }
            _ => self,
        }
    }

    /// How a complaint about the value names it: the variable, or else the flag.
    pub fn origin(&self, flag: &'static str) -> &'static str {
        match self.source {
            Source::Environment(variable) => variable,
            Source::Flag | Source::File | Source::Default => flag,
        }
    }
}

impl<T: Display> Setting<T> {
    /// The setting with its value as text.
    pub fn text(&self) -> Setting<String> {
        Setting { value: self.value.to_string(), source: self.source }
    }

    /// A row of this name.
    pub fn row(&self, name: &'static str) -> Row {
        (name, self.value.to_string(), self.source)
    }
}

impl<T: Display> Setting<Vec<T>> {
    /// A row of this name; the values have commas between them.
    pub fn list(&self, name: &'static str) -> Row {
        let values: Vec<String> = self.value.iter().map(ToString::to_string).collect();
        (name, values.join(","), self.source)
    }
}

/// A setting for people: its name, its value as text, and its source.
pub type Row = (&'static str, String, Source);

impl<T: Serialize> Serialize for Setting<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Setting", 2)?;
        fields.serialize_field("value", &self.value)?;
        fields.serialize_field("source", self.source.name())?;
        fields.end()
    }
}

/// Returns the flags that repeat these settings: one for each setting that came from a flag or from
/// the environment.
pub fn flags(rows: impl IntoIterator<Item = Row>) -> String {
    let is_said = |source| matches!(source, Source::Flag | Source::Environment(_));
    let rows = rows.into_iter().filter(|&(_, _, source)| is_said(source));
    rows.map(|(name, value, _)| format!(" --{name} {value}")).collect()
}

/// Name, value and source of each setting, for people.
pub fn table(rows: impl IntoIterator<Item = Row>) -> Table {
    let mut table =
        Table::new([Column::left("setting"), Column::right("value"), Column::left("source")]);
    for (name, value, source) in rows {
        table.row([name.into(), value.into(), source.to_string().into()]);
    }
    table
}

/// Serializes the settings as a map from each setting's name, with `_` for `-`, to its value, as
/// text, and source.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(
    rows: impl IntoIterator<Item = Row, IntoIter: ExactSizeIterator>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let rows = rows.into_iter();
    let mut map = serializer.serialize_map(Some(rows.len()))?;
    for (name, value, source) in rows {
        map.serialize_entry(&name.replace('-', "_"), &Setting { value, source })?;
    }
    map.end()
}

/// A command's settings alone, as JSON.
#[derive(Debug, Serialize)]
pub struct SettingsReport<'a, S> {
    schema_version: u32,
    settings: &'a S,
}

impl<'a, S> SettingsReport<'a, S> {
    /// Wraps these settings, with the version of the command's JSON.
    pub fn new(schema_version: u32, settings: &'a S) -> Self {
        SettingsReport { schema_version, settings }
    }
}
