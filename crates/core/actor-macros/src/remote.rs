//! What other nodes of a cluster reach: the messages, requests and answers of an actor as data.

use crate::arguments::Remote;
use crate::block::Block;
use crate::carried::{bound, carried, data, is_shown};
use crate::method::{Field, Kind, Method};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{Error, Path, Result};

/// The names in what is made for other nodes.
pub(crate) struct RemoteNames<'a> {
    remote: &'a Remote,
    block: &'a Block,
    root: &'a Path,
    msg: &'a Ident,
    message: Ident,
    request: Ident,
    answer: Ident,
    address: Ident,
}

impl<'a> RemoteNames<'a> {
    /// The names for a block.
    ///
    /// # Errors
    /// If the block has nothing that other nodes could reach.
    pub(crate) fn of(
        remote: &'a Remote,
        block: &'a Block,
        root: &'a Path,
        msg: &'a Ident,
    ) -> Result<Self> {
        if let Some(parameter) = block.head.generics.params.first() {
            return Err(Error::new_spanned(
                parameter,
                "other nodes know the messages by one description: an actor with `remote` has no \
                 parameters; write one for each type",
            ));
        }
        let name = |of: &str| format_ident!("{}{of}", block.name);
        let names = RemoteNames {
            remote,
            block,
            root,
            msg,
            message: name("Message"),
            request: name("Request"),
            answer: name("Answer"),
            address: name("Remote"),
        };
        if names.shown().next().is_none() {
            return Err(Error::new_spanned(
                &block.name,
                "other nodes reach the methods with a visibility, and there is none: write `pub` \
                 before those that they may call",
            ));
        }
        names.shown().try_for_each(|method| crate::names::remote(method.name()))?;
        Ok(names)
    }

    /// The methods that other nodes reach.
    fn shown(&self) -> impl Iterator<Item = &'a Method> {
        self.block.methods.iter().filter(|method| is_shown(method))
    }

    fn tells(&self) -> impl Iterator<Item = &'a Method> {
        self.shown().filter(|method| matches!(method.kind, Kind::Tell))
    }

    fn asks(&self) -> impl Iterator<Item = (&'a Method, &'a TokenStream)> {
        self.shown().filter_map(|method| match &method.kind {
            Kind::Ask(answer) | Kind::Later(_, answer) => Some((method, answer)),
            Kind::Tell => None,
        })
    }

    /// The variant of the actor's messages that requests of other nodes are.
    pub(crate) fn variant(&self) -> TokenStream {
        let RemoteNames { root, request, answer, .. } = self;
        quote! { #[doc(hidden)] __Asked(#request, #root::Reply<#answer>), }
    }

    /// What `handle` does with such a request. `call` writes the call of a method.
    pub(crate) fn arm(&self, call: impl Fn(&Method) -> TokenStream) -> TokenStream {
        let RemoteNames { root, msg, request, answer, .. } = self;
        let [asked, reply] = ["asked", "reply"].map(|name| Ident::new(name, Span::mixed_site()));
        let arms = self.asks().map(|(method, _)| {
            let (cfgs, variant) = (method.cfgs(), &method.variant);
            let (bound, called) = (bound(&method.fields), call(method));
            let done = match &method.kind {
                Kind::Later(back, _) => quote! {
                    let #back = #root::Reply::wrapped(#reply, #answer::#variant);
                    #called
                },
                _ => quote! { let _ = #reply.send(#answer::#variant(#called)); },
            };
            quote! { #(#cfgs)* #request::#variant #bound => { #done } }
        });
        quote! { #msg::__Asked(#asked, #reply) => match #asked { #(#arms)* }, }
    }

    /// All that stands beside the actor.
    pub(crate) fn items(&self) -> TokenStream {
        let (data, actor, address) = (self.data(), self.remote_actor(), self.address());
        quote! { #data #actor #address }
    }

    /// The enums of messages, requests and answers.
    fn data(&self) -> TokenStream {
        let RemoteNames { remote, block, message, request, answer, .. } = self;
        let tells = self.tells().map(carried);
        let asks = self.asks().map(|(method, _)| carried(method));
        let answers = self.asks().map(|(method, answer)| {
            let (cfgs, variant, serde) = (method.cfgs(), &method.variant, &method.serde);
            quote! { #(#cfgs)* #(#serde)* #variant(#answer) }
        });
        let one = |name: &Ident, what: &str, variants: &mut dyn Iterator<Item = TokenStream>| {
            let doc = format!(" {what} a [`{}`].", block.name);
            data((block, &remote.wire), (name, &doc, quote! {}), variants)
        };
        let message = one(message, "What other nodes may send to", &mut { tells });
        let request = one(request, "What other nodes may ask of", &mut { asks });
        let answer = one(answer, "The answers to other nodes of", &mut { answers });
        quote! { #message #request #answer }
    }

    /// The implementation of the trait of the cluster.
    fn remote_actor(&self) -> TokenStream {
        let RemoteNames { remote, block, root, msg, message, request, answer, .. } = self;
        let Remote { kind, version, cluster, .. } = remote;
        let actor = &block.head.self_ty;
        let [told, asked, reply] =
            ["told", "asked", "reply"].map(|name| Ident::new(name, Span::mixed_site()));
        let arms = self.tells().map(|method| {
            let (cfgs, variant, bound) = (method.cfgs(), &method.variant, bound(&method.fields));
            quote! { #(#cfgs)* #message::#variant #bound => #msg::#variant #bound, }
        });
        quote! {
            impl #cluster::RemoteActor for #actor {
                const KIND: &'static str = #kind;
                const VERSION: u32 = #version;
                type Message = #message;
                type Request = #request;
                type Answer = #answer;

                fn message(#told: #message) -> #msg {
                    match #told { #(#arms)* }
                }

                fn request(#asked: #request, #reply: #root::Reply<#answer>) -> #msg {
                    #msg::__Asked(#asked, #reply)
                }
            }
        }
    }

    /// The trait with the methods of addresses of other nodes, and its implementations.
    fn address(&self) -> TokenStream {
        let RemoteNames { remote, block, address, .. } = self;
        let (cluster, actor) = (&remote.cluster, &block.head.self_ty);
        let visibility = block.visibility();
        let doc = format!(" Sends messages to a [`{}`] on any node by its methods.", block.name);
        let declared = self.shown().map(|method| {
            let (cfgs, docs, signature) = (method.cfgs(), method.docs(), self.signature(method));
            quote! { #(#cfgs)* #(#docs)* #signature; }
        });
        let implemented = self.shown().map(|method| {
            let (cfgs, signature) = (method.cfgs(), self.signature(method));
            let sent = self.sent(method);
            quote! { #(#cfgs)* #signature { #sent } }
        });
        let implemented = implemented.collect::<TokenStream>();
        quote! {
            #[doc = #doc]
            #[allow(dead_code, missing_docs, private_interfaces, unreachable_pub)]
            #visibility trait #address {
                #(#declared)*
            }

            impl #address for #cluster::RemoteAddress<#actor> { #implemented }

            impl #address for #cluster::AnyAddress<#actor> { #implemented }
        }
    }

    fn signature(&self, method: &Method) -> TokenStream {
        let (cluster, message, name) = (&self.remote.cluster, &self.message, method.name());
        let fields = method.fields.iter().map(|Field { name, ty, .. }| quote! { #name: #ty });
        match &method.kind {
            Kind::Ask(answer) | Kind::Later(_, answer) => {
                let timeout = timeout();
                let answer = match &method.outcome {
                    Some([value, error]) => quote! { RemoteTryAnswer<#value, #error> },
                    None => quote! { RemoteAnswer<#answer> },
                };
                quote! {
                    fn #name(
                        &self, #(#fields,)* #timeout: ::core::time::Duration,
                    ) -> #cluster::#answer
                }
            }
            Kind::Tell => quote! {
                fn #name(
                    &self #(, #fields)*
                ) -> ::core::result::Result<(), #cluster::RemoteSendError<#message>>
            },
        }
    }

    fn sent(&self, method: &Method) -> TokenStream {
        let RemoteNames { message, request, answer, .. } = self;
        let (variant, bound) = (&method.variant, bound(&method.fields));
        match &method.kind {
            Kind::Ask(_) | Kind::Later(..) => {
                let timeout = timeout();
                // One that may be another's: an error, if it is of another request.
                let other = (self.asks().count() > 1).then(|| {
                    quote! { #[allow(unreachable_patterns)] _ => ::core::option::Option::None, }
                });
                let flat = method.outcome.as_ref().map(|_| quote! { .flat() });
                quote! {
                    self.ask(#request::#variant #bound, #timeout).pick(|answer| match answer {
                        #answer::#variant(answer) => ::core::option::Option::Some(answer),
                        #other
                    }) #flat
                }
            }
            Kind::Tell => quote! { self.send(#message::#variant #bound) },
        }
    }
}

fn timeout() -> Ident {
    Ident::new("timeout", Span::mixed_site())
}
