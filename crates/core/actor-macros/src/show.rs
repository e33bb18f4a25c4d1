//! What `#[actor(debug)]` adds: how messages are written for whoever looks at the actor.

use crate::block::Block;
use crate::method::Method;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::Path;
use syn::ext::IdentExt;

/// The constant `SHOW_MESSAGE`: a message is written as its method with the parameters, by their
/// `Debug`. One from another node, or from a client, has its name alone.
pub(crate) fn const_item(block: &Block, root: &Path, msg: &Ident) -> TokenStream {
    let f = Ident::new("f", Span::mixed_site());
    let arms = block.methods.iter().map(|method| arm(method, msg, &f));
    quote! {
        const SHOW_MESSAGE: ::core::option::Option<#root::ShowMessage<Self::Msg>> =
            ::core::option::Option::Some(|msg, #f| match *msg {
                #(#arms)*
                #[allow(unreachable_patterns)]
                _ => #f.write_str("not shown, for it came from elsewhere"),
            });
    }
}

fn arm(method: &Method, msg: &Ident, f: &Ident) -> TokenStream {
    let (cfgs, variant, called) = (method.cfgs(), &method.variant, method.name().unraw());
    let called = called.to_string();
    let names = || method.fields.iter().map(|field| &field.name);
    // Names of the macro's own: a parameter may be called as it likes.
    let own = || (0..method.fields.len()).map(|n| format_ident!("field_{n}"));
    let (bound, values) = (names().zip(own()), own());
    let bound = bound.map(|(name, own)| quote! { #name: ref #own });
    let texts = names().map(|name| name.unraw().to_string());
    quote! {
        #(#cfgs)*
        #msg::#variant { #(#bound,)* .. } => {
            #f.debug_struct(#called)#(.field(#texts, #values))*.finish()
        }
    }
}
