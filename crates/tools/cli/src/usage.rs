//! Turns wrong usage into one line: the flag, its value, and what is allowed.

use crate::Failure;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;
use std::ffi::OsString;

/// Prints help or the version if that is what was asked for; else says what was asked wrongly.
///
/// # Errors
/// If something was asked wrongly, or stdout can not be written.
pub fn explain(error: &clap::Error, arguments: &[OsString]) -> Result<(), Failure> {
    if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Err(failure(error, arguments));
    }
    // Clap decides on colours: on a terminal, and not if NO_COLOR is set.
    error.print().map_err(crate::output::failure)
}

/// Clap's error, in one line.
pub fn failure(error: &clap::Error, arguments: &[OsString]) -> Failure {
    let arg = text(error, ContextKind::InvalidArg).map(|arg| flag(&arg));
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let help = format!("'actinium{} --help' lists what is allowed", command_of(arguments));
    let line = match (error.kind(), arg) {
        (ErrorKind::ValueValidation, Some(arg)) => {
            let source = error.source().map(ToString::to_string).unwrap_or_default();
            format!("{arg}: {source}")
        }
        (ErrorKind::InvalidValue, Some(arg)) => {
            let problem = match value.is_empty() {
                true => "it needs a value".to_owned(),
                false => format!("'{value}' is not allowed"),
            };
            let allowed =
                text(error, ContextKind::ValidValue).filter(|allowed| !allowed.is_empty());
            let allowed = allowed.unwrap_or(help);
            format!("{arg}: {problem}: {allowed}")
        }
        (ErrorKind::UnknownArgument, Some(arg)) => {
            let similar = text(error, ContextKind::SuggestedArg).map(|arg| flag(&arg));
            let similar = similar.map(|arg| format!("; did you mean {arg}?")).unwrap_or_default();
            format!("{arg}: there is no such argument{similar}; {help}")
        }
        (ErrorKind::ArgumentConflict, Some(arg)) => {
            match text(error, ContextKind::PriorArg).map(|prior| flag(&prior)) {
                Some(prior) if prior != arg => format!("{arg}: not together with {prior}"),
                _ => format!("{arg}: given more than once"),
            }
        }
        (ErrorKind::TooManyValues, Some(arg)) => format!("{arg}: '{value}': it takes no value"),
        (ErrorKind::InvalidSubcommand, _) => {
            let name = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("'{name}' is no command: allowed are {}", commands(arguments))
        }
        (ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            format!("which command? allowed are {}; {help}", commands(arguments))
        }
        (ErrorKind::MissingRequiredArgument, arg) => {
            format!("{} is missing; {help}", arg.unwrap_or_else(|| "an argument".to_owned()))
        }
        (ErrorKind::InvalidUtf8, _) => {
            let wrong = arguments.iter().find(|argument| argument.to_str().is_none());
            let wrong = wrong.map(|argument| argument.to_string_lossy()).unwrap_or_default();
            format!("'{wrong}': an argument has to be UTF-8; {help}")
        }
        _ => {
            let rendered = error.to_string();
            let first = rendered.lines().next().unwrap_or_default();
            format!("{}; {help}", first.trim_start_matches("error: "))
        }
    };
    Failure::Asked(line)
}

/// Returns a part of clap's context of an error, as text.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        ContextValue::StyledStrs(texts) => texts.first().map(ToString::to_string),
        _ => None,
    }
}

/// `--workers <N|all>` without what stands for the value; a positional argument stays as it is.
fn flag(arg: &str) -> String {
    match arg.starts_with('-') {
        true => arg.split([' ', '=']).next().unwrap_or_default().to_owned(),
        false => arg.to_owned(),
    }
}

/// The subcommand that was typed, with a space before it; empty if none was.
fn command_of(arguments: &[OsString]) -> String {
    let first = arguments.get(1).and_then(|argument| argument.to_str()).unwrap_or_default();
    let known = crate::cli::command_names().iter().any(|name| name == first);
    if known { format!(" {first}") } else { String::new() }
}

/// Returns the commands that are allowed: the subcommands of the typed command, or all commands.
fn commands(arguments: &[OsString]) -> String {
    let typed = arguments.get(1).and_then(|argument| argument.to_str()).unwrap_or_default();
    let below = crate::cli::subcommand_names(typed);
    if below.is_empty() { crate::cli::command_names().join(", ") } else { below.join(", ") }
}
