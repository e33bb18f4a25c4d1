//! Settings: values, and which of flag, environment, file or default gave each.

use clap::ArgMatches;
use clap::parser::ValueSource;

pub use actinium_report::setting::{
    Row, Setting, SettingsReport, Source, WrongSetting, flags, serialize, table,
};

/// Making a setting of what clap has parsed.
pub trait Parsed<T> {
    /// The value of the argument `id`: a flag's, or the default.
    fn parsed(value: T, matches: &ArgMatches, id: &str) -> Self;
}

impl<T> Parsed<T> for Setting<T> {
    fn parsed(value: T, matches: &ArgMatches, id: &str) -> Self {
        Setting::new(value, matches.value_source(id) == Some(ValueSource::CommandLine))
    }
}
