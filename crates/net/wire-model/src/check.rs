//! Checks of a protocol when it is compiled.

use crate::{Protocol, error};
use quote::ToTokens;
use syn::Result;

/// Looks for states that are never reached, states that lead nowhere, and messages that mean two
/// things.
///
/// # Errors
/// If there are any; the first one, where it stands.
pub fn check(protocol: &Protocol) -> Result<()> {
    let Some(first) = protocol.states.first() else {
        return Err(error(protocol.name.span(), "expected a state to begin in"));
    };
    if protocol.parties[0] == protocol.parties[1] {
        return Err(error(protocol.parties[1].span(), "expected two parties of different names"));
    }
    names(protocol)?;
    messages(protocol)?;
    let reached = closure(
        protocol,
        |from| {
            protocol.states[from]
                .moves
                .iter()
                .filter_map(|one| protocol.state(one.to.as_ref()?))
                .collect()
        },
        vec![0],
    );
    for (state, reached) in protocol.states.iter().zip(reached) {
        if !reached {
            let problem =
                format!("the state `{}` is never reached from `{}`", state.name, first.name);
            return Err(error(state.name.span(), problem));
        }
        if state.moves.is_empty() {
            let problem = format!(
                "nothing can be said in the state `{}`: expected a message, or `-> end` where it is entered",
                state.name
            );
            return Err(error(state.name.span(), problem));
        }
    }
    ends(protocol)
}

/// If there is an end, it can be reached from everywhere.
fn ends(protocol: &Protocol) -> Result<()> {
    let ending = |state: &crate::State| state.moves.iter().any(|one| one.to.is_none());
    let last: Vec<usize> =
        (0..protocol.states.len()).filter(|index| ending(&protocol.states[*index])).collect();
    if last.is_empty() {
        return Ok(());
    }
    let before = |to: usize| {
        let leads = |state: &crate::State| {
            state.moves.iter().any(|one| one.to.as_ref() == Some(&protocol.states[to].name))
        };
        (0..protocol.states.len()).filter(|from| leads(&protocol.states[*from])).collect()
    };
    let ends = closure(protocol, before, last);
    match protocol.states.iter().zip(ends).find(|(_, ends)| !ends) {
        Some((state, _)) => {
            let problem = format!("from the state `{}` the end can not be reached", state.name);
            Err(error(state.name.span(), problem))
        }
        None => Ok(()),
    }
}

/// Which states can be reached from those in `open` by `next`.
fn closure(
    protocol: &Protocol,
    next: impl Fn(usize) -> Vec<usize>,
    mut open: Vec<usize>,
) -> Vec<bool> {
    let mut reached = vec![false; protocol.states.len()];
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            open.extend(next(index));
        }
    }
    reached
}

fn names(protocol: &Protocol) -> Result<()> {
    for (index, state) in protocol.states.iter().enumerate() {
        if protocol.state(&state.name) != Some(index) {
            return Err(error(
                state.name.span(),
                format!("the state `{}` stands twice", state.name),
            ));
        }
        for one in &state.moves {
            if let Some(to) = one.to.as_ref().filter(|to| protocol.state(to).is_none()) {
                let known: Vec<String> =
                    protocol.states.iter().map(|state| format!("`{}`", state.name)).collect();
                let problem =
                    format!("there is no state `{to}`: allowed are {}, end", known.join(", "));
                return Err(error(to.span(), problem));
            }
        }
    }
    Ok(())
}

/// A name means one message, from one party, with one type; in a state it leads one way.
fn messages(protocol: &Protocol) -> Result<()> {
    let known = protocol.messages();
    let text = |data: &Option<syn::Type>| data.to_token_stream().to_string();
    for state in &protocol.states {
        for (index, one) in state.moves.iter().enumerate() {
            let response = one.response.iter().map(|said| (1 - one.from, said));
            for (from, said) in std::iter::once((one.from, &one.message)).chain(response) {
                let same = |(other, known): &&(usize, &crate::Said)| {
                    known.name == said.name
                        && (*other != from || text(&known.data) != text(&said.data))
                };
                if known.iter().any(|entry| same(&entry)) {
                    let problem =
                        format!("the message `{}` has another sender or type elsewhere", said.name);
                    return Err(error(said.name.span(), problem));
                }
            }
            if state.moves[..index].iter().any(|other| other.message.name == one.message.name) {
                let name = &one.message.name;
                let problem =
                    format!("the message `{name}` stands twice in the state `{}`", state.name);
                return Err(error(name.span(), problem));
            }
        }
    }
    if known.len() + protocol.states.len() > 200 {
        return Err(error(protocol.name.span(), "expected at most 200 messages and states"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    fn said(body: &str) -> String {
        let text = format!("pub protocol Shop, version 1, between client and server; {body}");
        let tokens = text.parse().expect("it is made of tokens");
        match crate::parse::protocol(tokens) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// States, and what is wrong with them.
    const CASES: &[(&str, &str)] = &[
        ("state A { client signal B -> end; }", "fine"),
        ("state A { client request B(u8) -> server C(u8) -> A; server stream D; }", "fine"),
        ("", "protocol: expected a state to begin in"),
        (
            "state A { client signal B; } state C { client signal B -> A; }",
            "protocol: the state `C` is never reached from `A`",
        ),
        (
            "state A { client signal B -> C; } state C { }",
            "protocol: nothing can be said in the state `C`: expected a message, or `-> end` where it is entered",
        ),
        (
            "state A { client signal B -> end; client signal C -> D; } state D { client signal E; }",
            "protocol: from the state `D` the end can not be reached",
        ),
        (
            "state A { client signal B -> C; }",
            "protocol: there is no state `C`: allowed are `A`, end",
        ),
        (
            "state A { client signal B; } state A { client signal B; }",
            "protocol: the state `A` stands twice",
        ),
        (
            "state A { client signal B; client signal B -> end; }",
            "protocol: the message `B` stands twice in the state `A`",
        ),
        (
            "state A { client signal B; server signal B; }",
            "protocol: the message `B` has another sender or type elsewhere",
        ),
        (
            "state A { client signal B(u8) -> C; } state C { client signal B(u16); }",
            "protocol: the message `B` has another sender or type elsewhere",
        ),
        (
            "state A { client request B; }",
            "protocol: the request `B` has no response: expected `-> server Name(Type)`",
        ),
        (
            "state A { client request B -> A; }",
            "protocol: the request `B` has no response: expected `-> server Name(Type)`",
        ),
        (
            "state A { client request B -> client C; }",
            "protocol: the response to `B` comes from server, not from client",
        ),
        (
            "state A { client stream B -> A; }",
            "protocol: a stream goes on in its state: a signal begins or ends it",
        ),
        ("state A { waiter signal B; }", "protocol: expected `client` or `server`, found `waiter`"),
        (
            "state A { client shout B; }",
            "protocol: expected `request`, `signal` or `stream`, found `shout`",
        ),
        (
            "state A within 5h { client signal B; }",
            "protocol: expected a time like 500ms, 5s or 1min, found 'h'",
        ),
        (
            "state A within 0s { client signal B; }",
            "protocol: expected a time above 0 and below an age",
        ),
        ("place A { }", "protocol: expected `state`, found `place`"),
    ];

    #[test]
    fn what_makes_no_sense_is_found() {
        for (body, problem) in CASES {
            assert_eq!(said(body), *problem, "{body}");
        }
    }
}
