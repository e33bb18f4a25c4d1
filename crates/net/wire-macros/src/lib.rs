//! The macros of `actinium-wire`, which re-exports them and says what they do.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod message;

use actinium_wire_model::code;
use proc_macro::TokenStream;

/// Describes a type for links: its name, its version, what it looks like. See
/// `actinium_wire::Message`.
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    message(input, "::actinium_wire")
}

/// Derives the same for programs that depend on the facade only: `actinium::wire::Message`.
#[proc_macro_derive(FacadeMessage, attributes(message))]
pub fn derive_facade_message(input: TokenStream) -> TokenStream {
    message(input, "::actinium::wire")
}

fn message(input: TokenStream, wire: &str) -> TokenStream {
    let expanded = syn::parse(input).and_then(|input| message::expand(&input, wire));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Expands `actinium_wire::protocol!`, which puts the path of its crate first.
#[proc_macro]
pub fn protocol(input: TokenStream) -> TokenStream {
    let mut input = input.into_iter();
    let wire = input.next().map(TokenStream::from).unwrap_or_default();
    let protocol = actinium_wire_model::parse::protocol(input.collect::<TokenStream>().into());
    let code = protocol.map(|protocol| code::expand(&protocol, &wire.into()));
    code.unwrap_or_else(|error| error.to_compile_error()).into()
}
