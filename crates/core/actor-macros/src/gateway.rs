//! What browsers and services reach by a gateway: the protocol that an actor speaks with them.
//!
//! It has one state, in which a client may say each message and each request. The answer to a
//! request is a message of its own, so that what `protocol!` says of monitors, descriptions and
//! clients in other languages holds for it.

use crate::arguments::Gateway;
use crate::block::Block;
use crate::carried::{bound, carried, data, is_shown};
use crate::method::{Kind, Method};
use crate::names::plain;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, LitStr, Result};

/// As many messages and states a protocol may have.
const WORDS_MAX: usize = 200;

/// The names in what is made for clients.
pub(crate) struct GatewayNames<'a> {
    gateway: &'a Gateway,
    block: &'a Block,
    msg: &'a Ident,
    /// The enum of all that may be said.
    talk: Ident,
    /// The protocol's name.
    protocol: String,
    words: Vec<Word<'a>>,
}

/// What a client may say.
struct Word<'a> {
    method: &'a Method,
    /// The name by which it is said.
    name: String,
    /// The answer, if it is a request.
    answer: Option<Answer<'a>>,
}

struct Answer<'a> {
    variant: Ident,
    ty: &'a TokenStream,
}

impl<'a> GatewayNames<'a> {
    /// The names for a block.
    ///
    /// # Errors
    /// If the block has nothing that clients could reach, or something that they can not.
    pub(crate) fn of(gateway: &'a Gateway, block: &'a Block, msg: &'a Ident) -> Result<Self> {
        if let Some(parameter) = block.head.generics.params.first() {
            return Err(Error::new_spanned(
                parameter,
                "clients know the messages by one description: an actor with `gateway` has no \
                 parameters; write one for each type",
            ));
        }
        let shown = block.methods.iter().filter(|method| is_shown(method));
        let words = shown.map(Word::of).collect::<Result<Vec<_>>>()?;
        if words.is_empty() {
            return Err(Error::new_spanned(
                &block.name,
                "clients reach the methods with a visibility, and there is none: write `pub` \
                 before those that they may call",
            ));
        }
        check_answers(&words)?;
        let asks = words.iter().filter(|word| word.answer.is_some()).count();
        if words.len() + asks >= WORDS_MAX {
            let message = format!(
                "a protocol has at most {WORDS_MAX} messages, and answers are messages, too: serve \
                 several actors"
            );
            return Err(Error::new_spanned(&block.name, message));
        }
        let (talk, protocol) = (format_ident!("{}Talk", block.name), protocol(gateway, block)?);
        Ok(GatewayNames { gateway, block, msg, talk, protocol, words })
    }

    /// The variant of the actor's messages that the words of clients are.
    pub(crate) fn variant(&self) -> TokenStream {
        let (gateway, talk) = (&self.gateway.gateway, &self.talk);
        quote! { #[doc(hidden)] __Heard(#gateway::Call<#talk>), }
    }

    /// What `handle` does with such words. `call` writes the call of a method.
    pub(crate) fn arm(&self, call: impl Fn(&Method) -> TokenStream) -> TokenStream {
        let GatewayNames { msg, talk, .. } = self;
        let heard = Ident::new("heard", Span::mixed_site());
        let arms = self.words.iter().map(|Word { method, answer, .. }| {
            let (variant, bound, called) = (&method.variant, bound(&method.fields), call(method));
            let reply = answer.as_ref().map(|Answer { variant, .. }| {
                quote! { #heard.peer.into_reply(#talk::#variant) }
            });
            let done = match &method.kind {
                Kind::Tell => called,
                Kind::Ask(_) => quote! { let _ = #reply.send(#called); },
                Kind::Later(back, _) => quote! { let #back = #reply; #called },
            };
            quote! { #talk::#variant #bound => { #done } }
        });
        // No client can say an answer: the monitor does not let it through.
        let answers = self.answers().map(|Answer { variant, .. }| {
            quote! { #talk::#variant(_) => {} }
        });
        quote! { #msg::__Heard(#heard) => match #heard.message { #(#arms)* #(#answers)* }, }
    }

    /// All that stands beside the actor.
    pub(crate) fn items(&self) -> TokenStream {
        let (data, spoken, served) = (self.data(), self.spoken(), self.served());
        quote! { #data #spoken #served }
    }

    fn answers(&self) -> impl Iterator<Item = &Answer<'a>> {
        self.words.iter().filter_map(|word| word.answer.as_ref())
    }

    /// The enum of all that may be said.
    fn data(&self) -> TokenStream {
        let GatewayNames { gateway, block, talk, protocol, .. } = self;
        let version = gateway.version;
        let variants = self.words.iter().flat_map(|word| {
            let answer = word.answer.as_ref().map(|Answer { variant, ty }| {
                let (doc, name) = (format!(" The answer to `{}`.", word.name), word.answer_name());
                let renamed =
                    (variant != name.as_str()).then(|| quote! { #[serde(rename = #name)] });
                quote! { #[doc = #doc] #renamed #variant(#ty) }
            });
            [carried(word.method)].into_iter().chain(answer)
        });
        let doc = format!(" What clients of a gateway and a [`{}`] say to each other.", block.name);
        let message = quote! { name = #protocol, version = #version, };
        data((block, &gateway.wire), (talk, &doc, message), variants)
    }

    /// The protocol's table: one state, then one for each request whose answer is due, then an end
    /// that nothing leads to.
    fn spoken(&self) -> TokenStream {
        let GatewayNames { gateway, talk, protocol, .. } = self;
        let wire = &gateway.wire;
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        let (mut states, mut rows) = (vec![("Open".to_owned(), false)], vec![Vec::new()]);
        let mut say = |variant: &Ident, name: String, from: u8| {
            let number = words.len();
            words.push(quote! { #wire::protocol::Word { name: #name, from: #from } });
            numbers.push(quote! { #talk::#variant { .. } => #number });
            number
        };
        for word in &self.words {
            let said = say(&word.method.variant, word.name.clone(), 0);
            let Some(answer) = &word.answer else {
                rows[0].push((said, 0));
                continue;
            };
            rows[0].push((said, states.len()));
            rows.push(vec![(say(&answer.variant, word.answer_name(), 1), 0)]);
            states.push((format!("Open, {} asked", word.name), true));
        }
        states.push(("end".to_owned(), false));
        rows.push(Vec::new());
        let next = rows.iter().flat_map(|row| {
            let to = |word| row.iter().find(|(said, _)| *said == word).map(|(_, to)| *to);
            (0..words.len()).map(move |word| to(word).and_then(|to| u8::try_from(to).ok()))
        });
        let next = next.map(|to| to.unwrap_or(u8::MAX));
        let states = states.iter().map(|(name, asked)| {
            let within = quote! { ::core::option::Option::None };
            quote! { #wire::protocol::State { name: #name, within: #within, asked: #asked } }
        });
        quote! {
            impl #wire::protocol::Spoken for #talk {
                const MODEL: &'static #wire::protocol::Model = &#wire::protocol::Model {
                    name: #protocol,
                    parties: ["client", "server"],
                    states: &[#(#states),*],
                    words: &[#(#words),*],
                    next: &[#(#next),*],
                };

                fn number(&self) -> usize {
                    match self { #(#numbers),* }
                }
            }
        }
    }

    /// The implementation of the trait of the gateway.
    fn served(&self) -> TokenStream {
        let GatewayNames { gateway, block, msg, talk, .. } = self;
        let (gateway, actor) = (&gateway.gateway, &block.head.self_ty);
        quote! {
            impl #gateway::Served for #actor {
                type Talk = #talk;

                fn heard(call: #gateway::Call<#talk>) -> #msg {
                    #msg::__Heard(call)
                }
            }
        }
    }
}

impl<'a> Word<'a> {
    fn of(method: &'a Method) -> Result<Self> {
        if let Some(cfg) = method.cfgs().first() {
            return Err(Error::new_spanned(
                cfg,
                "clients know one protocol, whatever the program was built with: remove `cfg`, or \
                 make the method private",
            ));
        }
        let answer = match &method.kind {
            Kind::Ask(ty) | Kind::Later(_, ty) => {
                Some(Answer { variant: format_ident!("{}Answer", method.variant), ty })
            }
            Kind::Tell => None,
        };
        Ok(Word { method, name: said(method), answer })
    }

    fn answer_name(&self) -> String {
        format!("{}Answer", self.name)
    }
}

/// The name by which a method's message is said: that of its variant, if serde is told no other.
fn said(method: &Method) -> String {
    let mut name = method.variant.to_string();
    for attribute in &method.serde {
        // What is wrong with it is said by the derive of `Message`.
        let _ = attribute.parse_nested_meta(|meta| {
            let value = meta.value()?.parse::<LitStr>()?.value();
            if meta.path.is_ident("rename") {
                name = value;
            }
            Ok(())
        });
    }
    name
}

/// Refuses methods that are called as the answer to another.
fn check_answers(words: &[Word<'_>]) -> Result<()> {
    for asked in words.iter().filter(|word| word.answer.is_some()) {
        let (name, variant) = (asked.answer_name(), &asked.method.variant);
        let is_it = |word: &&Word<'_>| {
            word.name == name || word.method.variant == format!("{variant}Answer")
        };
        if let Some(word) = words.iter().find(is_it) {
            let message = format!(
                "the answer to `{}` is called `{name}` among the messages of clients: give this \
                 method another name",
                asked.method.name()
            );
            return Err(Error::new_spanned(word.method.name(), message));
        }
    }
    Ok(())
}

/// The protocol's name: it stands in the names of subprotocols, and is that of the client's class.
fn protocol(gateway: &Gateway, block: &Block) -> Result<String> {
    let (name, span) = match &gateway.protocol {
        Some(name) => (name.value(), name.span()),
        None => (plain(&block.name), block.name.span()),
    };
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    match begins && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_') {
        true => Ok(name),
        false => Err(Error::new(
            span,
            "the name by which clients know the protocol is one of English letters, digits and \
             `_`: `gateway = \"Account\"`",
        )),
    }
}
