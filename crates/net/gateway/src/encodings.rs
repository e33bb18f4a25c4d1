//! Choice of a client's encoding: by a WebSocket's subprotocol, or by a content type.

use actinium_wire::{Encoding, Message};

/// Encodings that a client may choose, with what subprotocols and content types call them. `binary`
/// is not among them: who comes from outside has not been asked for its fingerprint.
const NAMES: [(Encoding, &str, &[&str]); 3] = [
    (Encoding::Text, "json", &["application/json"]),
    (
        Encoding::SelfDescribing,
        "msgpack",
        &["application/msgpack", "application/x-msgpack", "application/vnd.msgpack"],
    ),
    (Encoding::Xml, "xml", &["application/xml", "text/xml"]),
];

/// The names of the encodings that this build has.
fn names() -> impl Iterator<Item = (Encoding, &'static str, &'static [&'static str])> {
    NAMES.into_iter().filter(|(encoding, ..)| encoding.is_available())
}

/// Returns the subprotocol that a WebSocket's client offers to speak of these messages in this
/// encoding: `Shop.1.msgpack`. None for `binary`, and for encodings that this build lacks.
#[must_use]
pub fn subprotocol<M: Message>(encoding: Encoding) -> Option<String> {
    let (_, name, _) = names().find(|(known, ..)| *known == encoding)?;
    Some(format!("{}.{}.{name}", M::NAME, M::VERSION))
}

/// The content type of messages in this encoding. None for `binary`, and for what this build has
/// not.
#[must_use]
pub fn content_type(encoding: Encoding) -> Option<&'static str> {
    names().find(|(known, ..)| *known == encoding).map(|(_, _, types)| types[0])
}

/// The first that a client offers and that we speak.
pub(crate) fn of_subprotocols<'a, M: Message>(
    offered: impl IntoIterator<Item = &'a str>,
) -> Option<(Encoding, String)> {
    let spoken: Vec<_> =
        names().map(|(encoding, ..)| (encoding, subprotocol::<M>(encoding))).collect();
    offered.into_iter().find_map(|one| {
        let found = spoken.iter().find(|(_, name)| name.as_deref() == Some(one));
        found.map(|(encoding, _)| (*encoding, one.to_owned()))
    })
}

/// All subprotocols, for errors.
pub(crate) fn subprotocols<M: Message>() -> String {
    let all = names().map(|(_, name, _)| format!("{}.{}.{name}", M::NAME, M::VERSION));
    all.collect::<Vec<_>>().join(", ")
}

/// The encoding of a content type, whatever its parameters.
pub(crate) fn of_content_type(value: &str) -> Option<Encoding> {
    let kind = value.split(';').next().unwrap_or_default().trim();
    let found =
        names().find(|(_, _, types)| types.iter().any(|one| kind.eq_ignore_ascii_case(one)));
    found.map(|(encoding, ..)| encoding)
}

/// The first of an `Accept` header that we speak; `other` where anything will do.
pub(crate) fn of_accept(value: &str, other: Encoding) -> Option<Encoding> {
    value.split(',').find_map(|one| {
        let kind = one.split(';').next().unwrap_or_default().trim();
        match kind {
            "*/*" | "application/*" => Some(other),
            kind => of_content_type(kind),
        }
    })
}

/// All content types, for errors.
pub(crate) fn content_types() -> String {
    names().map(|(_, _, types)| types[0]).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_known_with_parameters_and_in_any_case() {
        assert_eq!(of_content_type("application/JSON; charset=utf-8"), Some(Encoding::Text));
        assert_eq!(of_content_type("application/x-msgpack"), Some(Encoding::SelfDescribing));
        assert_eq!(of_content_type("text/plain"), None);
    }

    #[test]
    fn the_first_that_we_speak_is_accepted() {
        let accept = |value| of_accept(value, Encoding::Text);
        assert_eq!(
            accept("text/html, application/msgpack;q=0.9, */*"),
            Some(Encoding::SelfDescribing)
        );
        assert_eq!(accept("text/html, */*;q=0.1"), Some(Encoding::Text));
        assert_eq!(accept("text/html"), None);
    }
}
