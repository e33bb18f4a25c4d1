//! The expansion of `protocol!`: a module with the messages, the table of states, and a handle for
//! each party.

use crate::{Protocol, Said};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

/// Makes the code, which refers to the wire crate by the path `wire`.
#[must_use]
pub fn expand(protocol: &Protocol, wire: &TokenStream) -> TokenStream {
    let Protocol { attributes, visibility, name, version, .. } = protocol;
    let module = snake(name);
    let name = name.to_string();
    let messages = messages(protocol, &name, *version, wire);
    let table = table(protocol, &name, wire);
    let parties = [0, 1].map(|party| handle(protocol, party, wire));
    quote! {
        #(#attributes)*
        #visibility mod #module {
            #[allow(unused_imports)]
            use super::*;

            #messages
            #table
            #(#parties)*
        }
    }
}

fn messages(protocol: &Protocol, name: &str, version: u32, wire: &TokenStream) -> TokenStream {
    let all = protocol.messages();
    let variants = all.iter().map(|(from, Said { name, data })| {
        let doc = format!("Said by the {}.", protocol.parties[*from]);
        let data = data.as_ref().map(|data| quote! { (#data) });
        quote! { #[doc = #doc] #name #data }
    });
    let numbers = all.iter().enumerate().map(|(number, (_, Said { name, .. }))| {
        quote! { Message::#name { .. } => #number }
    });
    quote! {
        /// All that may be said.
        #[derive(Clone, Debug, ::serde::Serialize, ::serde::Deserialize, #wire::Message)]
        #[message(name = #name, version = #version, crate = #wire)]
        pub enum Message { #(#variants),* }

        impl #wire::protocol::Spoken for Message {
            const MODEL: &'static #wire::protocol::Model = &MODEL;

            fn number(&self) -> usize {
                match self { #(#numbers),* }
            }
        }
    }
}

/// States: those of the protocol, then one per request whose response is due, then the end.
fn table(protocol: &Protocol, name: &str, wire: &TokenStream) -> TokenStream {
    let messages = protocol.messages();
    let number = |said: &Said| messages.iter().position(|(_, known)| known.name == said.name);
    let mut names: Vec<(String, Option<u64>)> =
        protocol.states.iter().map(|state| (state.name.to_string(), state.within_ms)).collect();
    for state in &protocol.states {
        for one in state.moves.iter().filter(|one| one.response.is_some()) {
            names.push((format!("{}, {} asked", state.name, one.message.name), state.within_ms));
        }
    }
    let end = names.len();
    names.push(("end".to_owned(), None));
    let mut rows = vec![vec![u8::MAX; messages.len()]; names.len()];
    let mut asked = protocol.states.len();
    let narrow = |index: usize| u8::try_from(index).unwrap_or(u8::MAX);
    for (index, state) in protocol.states.iter().enumerate() {
        for one in &state.moves {
            let to = one.to.as_ref().map_or(Some(end), |to| protocol.state(to));
            let (Some(message), Some(to)) = (number(&one.message), to) else { continue };
            match one.response.as_ref().and_then(number) {
                None => rows[index][message] = narrow(to),
                Some(response) => {
                    rows[index][message] = narrow(asked);
                    rows[asked][response] = narrow(to);
                    asked += 1;
                }
            }
        }
    }
    let states = names.iter().enumerate().map(|(index, (name, within))| {
        let asked = (protocol.states.len()..end).contains(&index);
        let within = match within {
            Some(ms) => {
                quote! { ::core::option::Option::Some(::core::time::Duration::from_millis(#ms)) }
            }
            None => quote! { ::core::option::Option::None },
        };
        quote! { #wire::protocol::State { name: #name, within: #within, asked: #asked } }
    });
    let spoken = messages.iter().map(|(from, said)| {
        let (from, name) = (narrow(*from), said.name.to_string());
        quote! { #wire::protocol::Word { name: #name, from: #from } }
    });
    let parties = protocol.parties.iter().map(ToString::to_string);
    let next = rows.concat();
    quote! {
        /// Which message may follow which.
        pub static MODEL: #wire::protocol::Model = #wire::protocol::Model {
            name: #name,
            parties: [#(#parties),*],
            states: &[#(#states),*],
            words: &[#(#spoken),*],
            next: &[#(#next),*],
        };
    }
}

/// A party's handle: a method per message that it may say.
fn handle(protocol: &Protocol, party: usize, wire: &TokenStream) -> TokenStream {
    let own = &protocol.parties[party];
    let name = format_ident!("{}", camel(own), span = own.span());
    let moves = || protocol.states.iter().flat_map(|state| &state.moves);
    let methods = protocol.messages().into_iter().filter(|(from, _)| *from == party);
    let methods = methods.map(|(_, said)| {
        let of_it = moves().find(|one| one.message.name == said.name);
        method(said, of_it.and_then(|one| one.response.as_ref()), wire)
    });
    let doc = format!("The {own}'s end.");
    let index = party;
    quote! {
        #[doc = #doc]
        #[derive(Debug)]
        pub struct #name<S>(#wire::protocol::Party<Message, S>);

        impl<S: #wire::protocol::Stream> #name<S> {
            /// Takes a link that has opened for these messages.
            pub fn new(link: #wire::Link<S>) -> Self {
                #name(#wire::protocol::Party::new(link, #index))
            }

            /// Waits for what the other party says; none if it has closed the link where the
            /// protocol allows it.
            ///
            /// # Errors
            /// If the link fails, nothing comes in time, or what comes is not allowed: then the
            /// state stays as it is, and the next may come.
            pub fn receive(
                &mut self,
            ) -> ::core::result::Result<::core::option::Option<Message>, #wire::protocol::ProtocolError> {
                self.0.receive()
            }

            /// The state's name.
            pub fn state(&self) -> &'static str {
                self.0.state()
            }

            #(#methods)*
        }
    }
}

/// Makes the method that says one message, and waits for its response if it has one.
fn method(said: &Said, response: Option<&Said>, wire: &TokenStream) -> TokenStream {
    let (method, variant) = (snake(&said.name), &said.name);
    let argument = said.data.as_ref().map(|data| quote! { data: #data });
    let value = match said.data {
        Some(_) => quote! { Message::#variant(data) },
        None => quote! { Message::#variant },
    };
    let error = quote! { #wire::protocol::ProtocolError };
    match response {
        None => {
            let doc = format!("Says `{variant}`.");
            quote! {
                #[doc = #doc]
                ///
                /// # Errors
                /// If the state does not allow it, or the link fails.
                pub fn #method(&mut self, #argument) -> ::core::result::Result<(), #error> {
                    self.0.send(&#value)
                }
            }
        }
        Some(response) => {
            let answer = &response.name;
            let (of, pattern, result) = match &response.data {
                Some(of) => (quote! { #of }, quote! { Message::#answer(data) }, quote! { data }),
                None => (quote! { () }, quote! { Message::#answer }, quote! { () }),
            };
            let doc = format!("Asks `{variant}`, and waits for `{answer}`.");
            quote! {
                #[doc = #doc]
                ///
                /// # Errors
                /// If the state does not allow it, the link fails, or something else is
                /// answered.
                pub fn #method(&mut self, #argument) -> ::core::result::Result<#of, #error> {
                    self.0.send(&#value)?;
                    match self.0.receive()? {
                        ::core::option::Option::Some(#pattern) => ::core::result::Result::Ok(#result),
                        _ => ::core::result::Result::Err(self.0.closed()),
                    }
                }
            }
        }
    }
}

/// `PlaceOrder` as `place_order`.
fn snake(name: &Ident) -> Ident {
    let mut text = String::new();
    for c in name.to_string().trim_start_matches("r#").chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    // Where the name is a word of Rust's.
    match syn::parse_str::<Ident>(&text) {
        Ok(_) => Ident::new(&text, name.span()),
        Err(_) => Ident::new(&format!("{text}_"), Span::call_site()),
    }
}

/// `client` as `Client`.
fn camel(name: &Ident) -> String {
    let text = name.to_string();
    let parts = text.trim_start_matches("r#").split('_');
    parts
        .flat_map(|part| {
            let mut chars = part.chars();
            let first: Vec<char> = chars.next().into_iter().flat_map(char::to_uppercase).collect();
            first.into_iter().chain(chars)
        })
        .collect()
}
