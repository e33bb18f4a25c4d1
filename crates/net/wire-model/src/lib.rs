//! Protocols as models: which message may follow which between two parties. Read from the text of
//! `protocol!`, checked, drawn, and made into code.
//!
//! | module | what it is |
//! |---|---|
//! | [`parse`] | from text to a [`Protocol`] |
//! | [`check`] | what makes no sense: unreachable states, dead ends |
//! | [`draw`] | Mermaid and DOT |
//! | [`code`] | what `actinium_wire::protocol!` expands to |

#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod check;
pub mod code;
pub mod draw;
pub mod parse;

use proc_macro2::Span;
use syn::{Attribute, Ident, Type, Visibility};

/// A protocol between two parties.
#[derive(Clone)]
pub struct Protocol {
    /// The documentation.
    pub attributes: Vec<Attribute>,
    /// The visibility of the generated code.
    pub visibility: Visibility,
    /// The name.
    pub name: Ident,
    /// The version.
    pub version: u32,
    /// The names of the two parties.
    pub parties: [Ident; 2],
    /// The first is where it begins.
    pub states: Vec<State>,
}

/// A state.
#[derive(Clone)]
pub struct State {
    /// The documentation.
    pub attributes: Vec<Attribute>,
    /// The name.
    pub name: Ident,
    /// How long a party waits in it for the next byte, in milliseconds.
    pub within_ms: Option<u64>,
    /// The messages that may be said in it.
    pub moves: Vec<Move>,
}

/// A message that may be said in a state.
#[derive(Clone)]
pub struct Move {
    /// The documentation.
    pub attributes: Vec<Attribute>,
    /// The party that says it, as an index into [`Protocol::parties`].
    pub from: usize,
    /// The message.
    pub message: Said,
    /// The response that the other party has to give before anything else is said.
    pub response: Option<Said>,
    /// The state after it (and its response); none: the end.
    pub to: Option<Ident>,
}

/// A message: its name and the type of its data.
#[derive(Clone)]
pub struct Said {
    /// The name.
    pub name: Ident,
    /// The data.
    pub data: Option<Type>,
}

impl Protocol {
    /// The place of a state.
    #[must_use]
    pub fn state(&self, name: &Ident) -> Option<usize> {
        self.states.iter().position(|state| state.name == *name)
    }

    /// Every message once, with who says it.
    #[must_use]
    pub fn messages(&self) -> Vec<(usize, &Said)> {
        let mut all: Vec<(usize, &Said)> = Vec::new();
        for one in self.states.iter().flat_map(|state| &state.moves) {
            let response = one.response.iter().map(|said| (1 - one.from, said));
            for (from, said) in std::iter::once((one.from, &one.message)).chain(response) {
                if !all.iter().any(|(_, known)| known.name == said.name) {
                    all.push((from, said));
                }
            }
        }
        all
    }
}

fn error(span: Span, problem: impl std::fmt::Display) -> syn::Error {
    syn::Error::new(span, format!("protocol: {problem}"))
}
