//! What is answered at a socket: the same as at a live page's address.

use super::request::Refused;
use crate::live::{ActorsQuery, Live};
use serde::Serialize;

/// Members of a family that are told at a time.
const FAMILY: usize = 200;

/// Answers to a path with a query: JSON.
pub(crate) fn answer(live: &Live, target: &str) -> Result<String, Refused> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path {
        "/api/snapshot" => json(&live.snapshot()),
        "/api/actors" => {
            let query = actors_query(query)?;
            json(&live.actors(&query).map_err(|error| (400, error.to_string()))?)
        }
        "/api/family" => json(&live.family(parent(query)?, FAMILY)),
        _ => match path.strip_prefix("/api/actor/").map(str::parse::<u64>) {
            Some(Ok(number)) => {
                let gone = || (404, format!("actor {number} does not live"));
                json(&live.actor(number, FAMILY).ok_or_else(gone)?)
            }
            _ => Err((404, format!("{path} is nothing that can be looked at"))),
        },
    }
}

fn json(value: &impl Serialize) -> Result<String, Refused> {
    serde_json::to_string(value).map_err(|error| (500, error.to_string()))
}

fn actors_query(text: &str) -> Result<ActorsQuery, Refused> {
    let mut query = ActorsQuery::default();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        let value = value.into_owned();
        match &*name {
            "sort" => query.sort = Some(value),
            "search" => query.search = Some(value),
            "kind" => query.kind = Some(value),
            "after" => query.after = Some(value),
            "take" => {
                let take = value.parse().map_err(|_| (400, format!("take '{value}': a number")))?;
                query.take = Some(take);
            }
            _ => return Err((400, format!("{name} is no part of a query for actors"))),
        }
    }
    Ok(query)
}

fn parent(text: &str) -> Result<Option<u64>, Refused> {
    let mut parts = form_urlencoded::parse(text.as_bytes());
    let Some((_, value)) = parts.find(|(name, _)| name == "of") else { return Ok(None) };
    value.parse().map(Some).map_err(|_| (400, format!("of '{value}': the number of an actor")))
}
