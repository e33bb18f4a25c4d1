//! Messages from outside as data: what those for other nodes and those for clients share.

use crate::block::Block;
use crate::method::{Field, Method};
use crate::tokens::text_of;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Path, Visibility};

/// Whether it is reached from outside: what is private stays on its node.
pub(crate) fn is_shown(method: &Method) -> bool {
    !matches!(method.method.vis, Visibility::Inherited)
}

/// The variant that carries a message, as data.
pub(crate) fn carried(method: &Method) -> TokenStream {
    let (cfgs, docs, variant) = (method.cfgs(), method.docs(), &method.variant);
    let fields = method.fields.iter().map(|Field { attributes, serde, name, ty }| {
        quote! { #(#attributes)* #(#serde)* #name: #ty }
    });
    let fields = (!method.fields.is_empty()).then(|| quote! { { #(#fields),* } });
    let serde = &method.serde;
    quote! { #(#cfgs)* #(#docs)* #(#serde)* #variant #fields }
}

/// The fields of a variant, by name: to make one, and to take it apart.
pub(crate) fn bound(fields: &[Field]) -> Option<TokenStream> {
    let names = fields.iter().map(|field| &field.name);
    (!fields.is_empty()).then(|| quote! { { #(#names),* } })
}

/// What keeps the data out of the documentation, if the actor's methods are not in it.
fn hidden(block: &Block) -> Option<TokenStream> {
    match block.visibility() {
        Visibility::Public(_) => None,
        _ => Some(quote! { #[doc(hidden)] }),
    }
}

/// An enum of data, with this documentation and these settings of its derive of `Message`.
pub(crate) fn data(
    (block, wire): (&Block, &Path),
    (name, doc, message): (&Ident, &str, TokenStream),
    variants: impl Iterator<Item = TokenStream>,
) -> TokenStream {
    let (serde, hidden) = (serde_of(wire), hidden(block));
    quote! {
        #[doc = #doc]
        #hidden
        #[allow(missing_docs, private_interfaces, unreachable_pub)]
        #[derive(#wire::serde::Serialize, #wire::serde::Deserialize, #wire::Message)]
        #[serde(crate = #serde)]
        #[message(#message crate = #wire)]
        pub enum #name { #(#variants),* }
    }
}

/// Where serde is found, for serde.
fn serde_of(wire: &Path) -> String {
    format!("{}::serde", text_of(wire))
}
