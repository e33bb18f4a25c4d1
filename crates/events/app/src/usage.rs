//! Turns wrong usage into one line: the flag, its value, and what is allowed.

use crate::name::program;
use crate::{Failure, output};
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;
use std::ffi::OsString;

/// Prints help or the version if that is what was asked for; else says what was asked wrongly.
///
/// # Errors
/// If something was asked wrongly, or stdout can not be written.
pub(crate) fn explain(
    error: &clap::Error,
    command: &Command,
    arguments: &[OsString],
) -> Result<(), Failure> {
    if !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Err(failure(error, command, arguments));
    }
    // Clap decides on colours: on a terminal, and not if NO_COLOR is set.
    error.print().map_err(output::failure)
}

/// Clap's error, in one line.
pub(crate) fn failure(error: &clap::Error, command: &Command, arguments: &[OsString]) -> Failure {
    let arg = text(error, ContextKind::InvalidArg).map(|arg| flag(&arg));
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let help = format!("'{}{} --help' lists what is allowed", program(), typed(command, arguments));
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
            format!("'{name}' is no command: allowed are {}", commands(command, arguments))
        }
        (ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            format!("which command? allowed are {}; {help}", commands(command, arguments))
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
fn typed(command: &Command, arguments: &[OsString]) -> String {
    subcommand(command, arguments).map(|of| format!(" {}", of.get_name())).unwrap_or_default()
}

fn subcommand<'a>(command: &'a Command, arguments: &[OsString]) -> Option<&'a Command> {
    let first = arguments.get(1)?.to_str()?;
    command.get_subcommands().find(|command| command.get_name() == first)
}

/// The names that are allowed: the subcommands of the one that was typed, or all.
fn commands(command: &Command, arguments: &[OsString]) -> String {
    let of = subcommand(command, arguments).filter(|of| of.has_subcommands()).unwrap_or(command);
    of.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, value_parser};

    /// Has a flag, a subcommand, and a subcommand of that.
    fn program() -> Command {
        let count = Arg::new("count").long("count").value_parser(value_parser!(u8));
        let inner = Command::new("inner").subcommand(Command::new("innermost"));
        Command::new("program").arg(count).subcommand(inner.subcommand_required(true))
    }

    fn line(typed: &[&str]) -> String {
        let typed: Vec<OsString> = [&["program"], typed].concat().iter().map(Into::into).collect();
        let error = program().try_get_matches_from(&typed).expect_err("it is wrong");
        failure(&error, &program(), &typed).to_string()
    }

    #[test]
    fn what_was_asked_wrongly_is_one_line() {
        for (typed, part) in [
            (&["--count", "x"][..], "--count: "),
            (&["--count"], "--count: it needs a value: "),
            (&["--cuont", "1"], "--cuont: there is no such argument; did you mean --count?"),
            (&["--count", "1", "--count", "2"], "--count: given more than once"),
            (&["outer"], "'outer' is no command: allowed are inner"),
            (&["inner"], "which command? allowed are innermost"),
            (&["inner", "x"], "'x' is no command: allowed are innermost"),
            (&["inner", "--flag"], " inner --help' lists what is allowed"),
        ] {
            let line = line(typed);
            assert!(line.contains(part) && line.lines().count() == 1, "{part} in {line}");
        }
    }
}
