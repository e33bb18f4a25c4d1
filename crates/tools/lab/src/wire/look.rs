//! Prints the live messages of another program's nodes and gateways.

use super::tap::Output;
use crate::Failure;
use actinium_tap::{Heard, TapClient, TapFilter, TapPlace};
use std::io::Write;

/// What to print.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which messages.
    pub filter: TapFilter,
    /// The end comes when so many have been printed.
    pub count: Option<u64>,
    /// As lines of JSON.
    pub json: bool,
}

/// Prints until it has seen enough, or the program ends.
///
/// # Errors
/// If no program serves taps there, the connection breaks, or nothing can be written.
pub fn run<W: Write, N: FnMut(&str)>(
    place: &TapPlace,
    wanted: &Wanted,
    mut output: Output<W, N>,
) -> Result<(), Failure> {
    let client = TapClient::connect(place, &wanted.filter);
    let mut client = client.map_err(|error| {
        Failure::Failed(format!(
            "{place}: {error}: a program serves taps there if ACTINIUM_TAP says so"
        ))
    })?;
    let points = if client.points().is_empty() {
        "no nodes and no gateways yet".to_owned()
    } else {
        client.points().join(", ")
    };
    (output.note)(&format!(
        "looking at process {}, {}: {points}",
        client.process(),
        client.program()
    ));
    let mut printed = 0;
    while wanted.count.is_none_or(|count| printed < count) {
        let heard = client.next_heard();
        match heard.map_err(|error| Failure::Failed(format!("{place}: {error}")))? {
            None => {
                (output.note)("the program has ended");
                break;
            }
            Some(Heard::Missed(missed)) => {
                let (overflow, rate) = (missed.overflow, missed.rate);
                (output.note)(&format!(
                    "not shown so far: {rate} beyond the rate, {overflow} that did not fit"
                ));
            }
            Some(Heard::Message(message)) => {
                let line = match wanted.json {
                    true => serde_json::to_string(&message)
                        .map_err(|error| Failure::Failed(error.to_string()))?,
                    false => message.to_string(),
                };
                printed += 1;
                let written = writeln!(output.messages, "{line}");
                let written = written.and_then(|()| output.messages.flush());
                written.map_err(actinium_app::output::failure)?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}
