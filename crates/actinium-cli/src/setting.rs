//! A setting's value and where it came from: flag > environment > file > default.

use crate::Failure;
use actinium_observe::{Column, Table};
use clap::ArgMatches;
use clap::parser::ValueSource;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};

/// Where a setting's value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Given on the command line.
    Flag,
    /// From this environment variable.
    Environment(&'static str),
    /// The file that was named says so.
    File,
    /// Nobody said anything.
    Default,
}

impl Source {
    /// As JSON has it: `flag`, `env`, `file` or `default`.
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

/// A value and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

impl<T> Setting<T> {
    /// What clap has parsed for the argument `id`: a flag's value, or the default.
    pub fn parsed(value: T, matches: &ArgMatches, id: &str) -> Self {
        let source = match matches.value_source(id) {
            Some(ValueSource::CommandLine) => Source::Flag,
            _ => Source::Default,
        };
        Setting { value, source }
    }

    /// Takes the value from an environment variable if there is one and no flag was given.
    ///
    /// # Errors
    /// If the variable's value is not allowed. A flag's value hides the variable, whatever stands in it.
    pub fn or_env(
        self,
        variable: &'static str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Self, Failure> {
        if self.source == Source::Flag {
            return Ok(self);
        }
        match std::env::var_os(variable) {
            None => Ok(self),
            Some(text) => match parse(&text.to_string_lossy()) {
                Ok(value) => Ok(Setting { value, source: Source::Environment(variable) }),
                Err(problem) => Err(Failure::Asked(format!("{variable}: {problem}"))),
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

impl<T: Serialize> Serialize for Setting<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Setting", 2)?;
        fields.serialize_field("value", &self.value)?;
        fields.serialize_field("source", self.source.name())?;
        fields.end()
    }
}

/// What one would type for the same: a flag for each that was said here, with a flag or in the environment.
pub fn flags(rows: impl IntoIterator<Item = (&'static str, String, Source)>) -> String {
    let is_said = |source| matches!(source, Source::Flag | Source::Environment(_));
    let rows = rows.into_iter().filter(|&(_, _, source)| is_said(source));
    rows.map(|(name, value, _)| format!(" --{name} {value}")).collect()
}

/// Name, value and source of each setting, for people.
pub fn table(rows: impl IntoIterator<Item = (&'static str, String, Source)>) -> Table {
    let mut table =
        Table::new([Column::left("setting"), Column::right("value"), Column::left("source")]);
    for (name, value, source) in rows {
        table.row([name.into(), value.into(), source.to_string().into()]);
    }
    table
}

/// As a map from each setting's name, with `_` for `-`, to its value, as text, and source.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(
    rows: impl IntoIterator<Item = (&'static str, String, Source), IntoIter: ExactSizeIterator>,
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
    /// Of these settings, as the version of the command's JSON has them.
    pub fn new(schema_version: u32, settings: &'a S) -> Self {
        SettingsReport { schema_version, settings }
    }
}
