//! The macros of `actinium-actor`, which re-exports them and says what they do.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod arguments;
mod block;
mod carried;
mod expand;
mod gateway;
mod method;
mod names;
mod outside;
mod remote;
mod show;
mod test_function;
mod tokens;

use proc_macro::TokenStream;
use quote::quote;

/// Makes an actor of an impl block: see `actinium_actor::actor`.
#[proc_macro_attribute]
pub fn actor(arguments: TokenStream, item: TokenStream) -> TokenStream {
    actor_in(arguments, item, "::actinium_actor")
}

/// Makes the same for programs that depend on the facade only: `actinium::actor`.
#[proc_macro_attribute]
pub fn facade_actor(arguments: TokenStream, item: TokenStream) -> TokenStream {
    actor_in(arguments, item, "::actinium")
}

fn actor_in(arguments: TokenStream, item: TokenStream, root: &str) -> TokenStream {
    let item = proc_macro2::TokenStream::from(item);
    expand::actor(arguments.into(), item.clone(), root)
        .unwrap_or_else(|error| {
            // With the block as it is, an editor knows what is in it while it is being written.
            let error = error.to_compile_error();
            quote! { #item #error }
        })
        .into()
}

/// Runs a test in a test system: see `actinium_actor::test`.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    test_in(arguments, item, "::actinium_actor")
}

/// Does the same for programs that depend on the facade only: `actinium::test`.
#[proc_macro_attribute]
pub fn facade_test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    test_in(arguments, item, "::actinium")
}

fn test_in(arguments: TokenStream, item: TokenStream, root: &str) -> TokenStream {
    let expanded = test_function::test(arguments.into(), item.into(), root);
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}
