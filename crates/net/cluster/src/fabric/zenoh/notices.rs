//! Notices about connections: refused certificates, numbers that two processes have, addresses at
//! which nobody is. Zenoh says such things to `tracing` only, partly at its level for debugging. A
//! program with a subscriber of its own sees them there; one without can have just these.

use actinium_scheduler::logging;
use std::fmt::{Debug, Write};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The beginnings of the messages that Zenoh logs at its debug level although people need them.
const NEEDED: &[&str] = &[
    "Can not accept TLS connection",
    "Unable to connect to configured peer",
    "Unable to connect to newly",
];
/// Where it says that.
const NEEDED_FROM: &[&str] = &["zenoh_link", "zenoh::net::runtime"];

struct Notices<F>(F);

impl<F: Fn(&str) + Send + Sync + 'static> Subscriber for Notices<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let from = |starts: &[&str]| starts.iter().any(|it| metadata.target().starts_with(it));
        metadata.is_event()
            && match *metadata.level() {
                Level::ERROR | Level::WARN => from(&["zenoh", "actinium"]),
                Level::DEBUG => from(NEEDED_FROM),
                _ => false,
            }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let is_needed = *event.metadata().level() <= Level::WARN
            || NEEDED.iter().any(|start| line.message.starts_with(start));
        let target = event.metadata().target();
        if target.starts_with("actinium") && !target.starts_with("actinium_cluster") {
            // Not about connections: said as by a program without a subscriber.
            let level = if *event.metadata().level() == Level::WARN { "warning: " } else { "" };
            logging::to_stderr(&format_args!("{level}{}", line.message));
        } else if is_needed {
            (self.0)(&for_people(&line.for_target(target)));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event's message, and its other fields.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Line {
    /// The message, and the fields behind it; the messages of Actinium say what their fields say.
    fn for_target(self, target: &str) -> String {
        if target.starts_with("actinium") { self.message } else { self.message + &self.fields }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        // Strings take all.
        debug_assert!(written.is_ok());
    }
}

/// Said of a connection that QUIC closes while it is made: the error that Zenoh hands on leaves out
/// what the other end has said.
const CLOSED: &str =
    " (why, QUIC tells the other end only: it may not believe this node's certificate)";

/// Without the places in Zenoh's sources, and without its advice on open files where something else
/// was wrong; with what it leaves out.
fn for_people(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once(" at /") {
        let place = behind.find(|c: char| c.is_whitespace() || c == ']').unwrap_or(behind.len());
        text += before;
        if !behind[..place].contains(".rs:") {
            text += " at /";
            rest = behind;
            continue;
        }
        // Its full stops end sentences of ours.
        let ends = behind[..place].trim_end_matches('.').len();
        rest = &behind[ends..];
    }
    text += rest;
    if let Some((why, "increase the system open file limit.")) = text.split_once(". Hint: ")
        && !why.contains("os error")
    {
        return format!("A connection was refused: {why}");
    }
    if text.starts_with("Unable to connect") && text.contains(" error on QUIC link ") {
        text += CLOSED;
    }
    text
}

/// Calls `tell` with a line for each notice of this fabric and of Zenoh from now on, on any thread:
/// it must not block. False if the process has a subscriber of `tracing` already: then that one is
/// told.
pub fn tell_notices(tell: impl Fn(&str) + Send + Sync + 'static) -> bool {
    tracing::subscriber::set_global_default(Notices(tell)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_notice_names_no_place_in_sources() {
        for (line, told) in [
            ("a: b at /x/y/z.rs:12.. Retry in 1s.", "a: b.. Retry in 1s."),
            ("a [b at /x/y.rs:1.] at /z.rs:2.", "a [b.]."),
            ("look at /etc/hosts", "look at /etc/hosts"),
            (
                "alert: UnknownCA. Hint: increase the system open file limit.",
                "A connection was refused: alert: UnknownCA",
            ),
            (
                "Unable to connect to x! Write error on QUIC link a => b: Connection closed.",
                "Unable to connect to x! Write error on QUIC link a => b: Connection closed. (why, QUIC tells the other end only: it may not believe this node's certificate)",
            ),
            (
                "Too many open files (os error 24). Hint: increase the system open file limit.",
                "Too many open files (os error 24). Hint: increase the system open file limit.",
            ),
        ] {
            assert_eq!(for_people(line), told);
        }
    }

    #[test]
    fn what_people_need_is_told_and_nothing_else() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let lines = told.clone();
        let notices = Notices(move |line: &str| lines.lock().unwrap().push(line.to_owned()));
        tracing::subscriber::with_default(notices, || {
            tracing::warn!(target: "zenoh_transport", id = 7, "one");
            tracing::warn!(target: "hyper", "no");
            tracing::info!(target: "zenoh", "no");
            tracing::debug!(target: "zenoh_link_tls::unicast", "Can not accept TLS connection: {}", 1);
            tracing::debug!(target: "zenoh_link_tls::unicast", "no");
            tracing::debug!(target: "zenoh::api", "Can not accept TLS connection");
            tracing::error!(target: "actinium_cluster::fabric::zenoh", node = 7, "two");
            tracing::warn!(target: "actinium_actor", "to stderr");
        });
        let told = told.lock().unwrap();
        assert_eq!(*told, ["one id=7", "Can not accept TLS connection: 1", "two"]);
    }
}
