//! What flags and environment variables of several commands mean.

use crate::Failure;
use actinium::{Policy, Workers};
use actinium_cluster::route::Route;
use std::fmt::Display;
use std::str::FromStr;

/// A number within bounds.
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

/// As [`within`], for bounds that are known beforehand.
///
/// # Errors
/// If it is no whole number, or not within the bounds.
pub fn from_to<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u64, String> {
    within(text, LEAST, MOST)
}

/// A number of workers, or `all`.
///
/// # Errors
/// If it is neither.
pub fn workers(text: &str) -> Result<Workers, String> {
    text.parse()
}

/// A policy's name.
///
/// # Errors
/// If there is none of this name.
pub fn policy(text: &str) -> Result<Policy, String> {
    text.parse::<Policy>().map_err(|error| error.to_string())
}

/// How many workers there will be.
///
/// # Errors
/// If it is for the machine to say, and it can not be looked at.
pub fn count_workers(workers: Workers) -> Result<usize, Failure> {
    match workers {
        Workers::Count(count) => Ok(count),
        Workers::All => {
            let topology = actinium::topology::Topology::detect()
                .map_err(|error| Failure::Failed(error.to_string()))?;
            Ok(topology.usable_workers().workers)
        }
    }
}

/// How messages go through the nodes of a cluster.
///
/// # Errors
/// If there is no such route.
pub fn route(text: &str) -> Result<Route, String> {
    let named = Route::ALL.into_iter().find(|route| route.name() == text);
    named.ok_or_else(|| format!("'{text}' is not allowed: direct, 2d, 3d"))
}
