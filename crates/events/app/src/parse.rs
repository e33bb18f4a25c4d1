//! Parsers of flags and environment variables.

use actinium_actor::{Policy, Workers};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::fmt::Display;
use std::str::FromStr;

/// Parses a number within bounds.
///
/// # Errors
/// If it is none, or not within them.
pub fn within<N: FromStr + PartialOrd + Display>(
    text: &str,
    least: N,
    most: N,
) -> Result<N, String> {
    match text.parse() {
        Ok(number) if (&least..=&most).contains(&&number) => Ok(number),
        _ => Err(format!("'{text}' is not allowed: {least} to {most}")),
    }
}

/// Parses like [`within`], with bounds that are known at compile time.
///
/// # Errors
/// If the text is no whole number, or not within the bounds.
pub fn from_to<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u64, String> {
    within(text, LEAST, MOST)
}

/// Parses a number of workers, or `all`.
///
/// # Errors
/// If it is neither.
pub fn workers(text: &str) -> Result<Workers, String> {
    text.parse()
}

/// Parses a policy's name.
///
/// # Errors
/// If there is none of this name.
pub fn policy(text: &str) -> Result<Policy, String> {
    text.parse::<Policy>().map_err(|error| error.to_string())
}

/// Parses a list of policies, separated by commas, as are the parameters behind one:
/// `pinned,affine,affine,colocate_after=8` are three.
///
/// # Errors
/// If there is none of a name, or a policy has no such parameter.
///
/// ```
/// let policies = actinium_app::parse::policies("pinned,affine,colocate_after=8")?;
/// assert_eq!(policies.len(), 2);
/// # Ok::<(), String>(())
/// ```
pub fn policies(text: &str) -> Result<Vec<Policy>, String> {
    let mut each: Vec<String> = Vec::new();
    for part in text.split(',') {
        match each.last_mut() {
            Some(last) if part.contains('=') => *last = format!("{last},{part}"),
            _ => each.push(part.to_owned()),
        }
    }
    each.iter().map(|text| policy(text)).collect()
}

/// Returns a parser of a value that has one of these names; each comes with its explanation.
pub fn one_of<T>(names: &'static [(&str, &str)]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    let names = names.iter().map(|&(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}
