//! The macros of `actinium-wire`, which re-exports them and says what they do.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod message;

use proc_macro::TokenStream;

/// Describes a type for links: its name, its version, what it looks like. See
/// `actinium_wire::Message`.
#[proc_macro_derive(Message, attributes(message))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let expanded = syn::parse(input).and_then(|input| message::expand(&input));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Declares a protocol between two parties. See `actinium_wire::protocol`.
#[proc_macro]
pub fn protocol(input: TokenStream) -> TokenStream {
    let protocol = actinium_wire_model::parse::protocol(input.into());
    let code = protocol.map(|protocol| actinium_wire_model::code::expand(&protocol));
    code.unwrap_or_else(|error| error.to_compile_error()).into()
}
