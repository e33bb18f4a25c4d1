//! What is reached from outside the actor's node: by other nodes, and by clients of a gateway.

use crate::arguments::{Gateway, Remote};
use crate::block::Block;
use crate::gateway::GatewayNames;
use crate::method::Method;
use crate::remote::RemoteNames;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Error, Path, Result};

/// What is made for those outside.
pub(crate) struct Outside<'a> {
    remote: Option<RemoteNames<'a>>,
    gateway: Option<GatewayNames<'a>>,
}

impl<'a> Outside<'a> {
    /// What is made for a block. What is wrong with it joins `error`.
    pub(crate) fn of(
        (remote, gateway): (Option<&'a Remote>, Option<&'a Gateway>),
        block: &'a Block,
        (root, msg): (&'a Path, &'a Ident),
        error: &mut Option<Error>,
    ) -> Self {
        let remote = remote.map(|remote| RemoteNames::of(remote, block, root, msg));
        let gateway = gateway.map(|gateway| GatewayNames::of(gateway, block, msg));
        Outside { remote: noted(remote, error), gateway: noted(gateway, error) }
    }

    /// The variants of the actor's messages that carry what comes from outside.
    pub(crate) fn variants(&self) -> TokenStream {
        let remote = self.remote.as_ref().map(RemoteNames::variant);
        let gateway = self.gateway.as_ref().map(GatewayNames::variant);
        quote! { #remote #gateway }
    }

    /// What `handle` does with them. `call` writes the call of a method.
    pub(crate) fn arms(&self, call: impl Fn(&Method) -> TokenStream) -> TokenStream {
        let remote = self.remote.as_ref().map(|remote| remote.arm(&call));
        let gateway = self.gateway.as_ref().map(|gateway| gateway.arm(&call));
        quote! { #remote #gateway }
    }

    /// What their variants are called in figures, in the order of the variants.
    pub(crate) fn message_names(&self) -> TokenStream {
        let remote = self.remote.as_ref().map(|_| quote! { "from a node", });
        let gateway = self.gateway.as_ref().map(|_| quote! { "from a client", });
        quote! { #remote #gateway }
    }

    /// All that stands beside the actor.
    pub(crate) fn items(&self) -> TokenStream {
        let remote = self.remote.as_ref().map(RemoteNames::items);
        let gateway = self.gateway.as_ref().map(GatewayNames::items);
        quote! { #remote #gateway }
    }
}

/// What was made; what was wrong joins `error`.
fn noted<T>(made: Option<Result<T>>, error: &mut Option<Error>) -> Option<T> {
    made?
        .map_err(|wrong| match error {
            Some(error) => error.combine(wrong),
            None => *error = Some(wrong),
        })
        .ok()
}
