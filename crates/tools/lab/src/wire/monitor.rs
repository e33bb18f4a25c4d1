//! Measures the cost of a protocol's monitor. For each message that comes in, a monitor decides
//! whether the state allows it and which state follows.

use super::measure::{ROUNDS, median};
use actinium_wire::protocol;
use actinium_wire::protocol::{Monitor, Spoken};
use std::hint::black_box;
use std::time::Duration;

protocol! {
    /// A shop: two requests, a stream, two signals.
    protocol Shop, version 1, between client and server;

    state Idle {
        client request Place(u32) -> server Placed(u64) -> Idle;
        client request Count -> server Counted(u64);
        client signal Watch(u32) -> Watching;
        client signal Bye -> end;
    }
    state Watching {
        server stream Tick(f64);
        client signal Stop -> Idle;
    }
}

use shop::Message;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Everything that can be said, but the end.
fn conversation() -> [(Message, usize); 8] {
    [
        (Message::Place(7), CLIENT),
        (Message::Placed(1), SERVER),
        (Message::Watch(7), CLIENT),
        (Message::Tick(1.5), SERVER),
        (Message::Tick(2.5), SERVER),
        (Message::Stop, CLIENT),
        (Message::Count, CLIENT),
        (Message::Counted(1), SERVER),
    ]
}

/// CPU time of the monitor for one message that it lets through.
///
/// # Errors
/// If it does not let one through.
pub fn cost(time: Duration) -> Result<f64, String> {
    let conversation = conversation();
    let mut monitor = Monitor::new(Message::MODEL);
    for (message, from) in &conversation {
        monitor.step(message.number(), *from).map_err(|violation| violation.to_string())?;
    }
    let mut is_allowed = true;
    let ns = median(time / ROUNDS as u32, || {
        for (message, from) in black_box(&conversation) {
            is_allowed &= monitor.step(message.number(), *from).is_ok();
        }
    });
    match is_allowed {
        true => Ok(ns / conversation.len() as f64),
        false => Err("the monitor has refused what it let through before".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_can_be_said_but_the_end_is_measured() {
        let said: Vec<usize> = conversation().iter().map(|(message, _)| message.number()).collect();
        let words = &Message::MODEL.words;
        let unsaid = (0..words.len()).filter(|word| !said.contains(word));
        assert_eq!(unsaid.map(|word| words[word].name).collect::<Vec<_>>(), ["Bye"]);
        assert!(cost(Duration::ZERO).is_ok_and(|ns| ns >= 0.0));
    }
}
