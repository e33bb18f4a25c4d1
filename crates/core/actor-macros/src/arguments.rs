//! What stands in the brackets of `#[actor(..)]`.

use crate::tokens::text_of;
use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::{Error, Ident, LitInt, LitStr, Path, Result};

/// The settings of `#[actor(..)]`.
pub(crate) struct Arguments {
    /// The name of the enum of messages.
    pub(crate) msg: Option<Ident>,
    /// The name of the trait with the methods of the address.
    pub(crate) address: Option<Ident>,
    /// Where the names of the expansion are found.
    pub(crate) root: Path,
    /// What makes it reachable from other nodes.
    pub(crate) remote: Option<Remote>,
}

/// The settings of `#[actor(remote = "kind", version = N)]`.
pub(crate) struct Remote {
    /// The name of the actor's type, the same on every node and in every version.
    pub(crate) kind: LitStr,
    pub(crate) version: u32,
    /// Where the names of the cluster are found.
    pub(crate) cluster: Path,
    /// Where the names of encodings are found.
    pub(crate) wire: Path,
}

impl Remote {
    /// Where serde is found, for serde.
    pub(crate) fn serde(&self) -> String {
        format!("{}::serde", text_of(&self.wire))
    }
}

impl Arguments {
    pub(crate) fn parse(arguments: TokenStream, root: &str) -> Result<Self> {
        let root = syn::parse_str(root)?;
        let mut parsed = Arguments { msg: None, address: None, root, remote: None };
        let (mut kind, mut version) = (None::<LitStr>, None::<LitInt>);
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("msg") {
                parsed.msg = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("address") {
                parsed.address = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("crate") {
                parsed.root = meta.value()?.parse()?;
            } else if meta.path.is_ident("remote") {
                kind = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("version") {
                version = Some(meta.value()?.parse()?);
            } else {
                return Err(meta.error(
                    "#[actor] takes `msg = Name` (the enum of messages), `address = Name` (the \
                     trait with the methods of the address), `remote = \"name\"` and `version = 1` \
                     (for other nodes), and `crate = path`",
                ));
            }
            Ok(())
        });
        parser.parse2(arguments)?;
        match (kind, version) {
            (Some(kind), version) => parsed.remote = Some(remote(kind, version, &parsed.root)?),
            (None, Some(version)) => {
                let message =
                    "a version is that of messages to other nodes: add `remote = \"name\"`";
                return Err(Error::new(version.span(), message));
            }
            (None, None) => {}
        }
        Ok(parsed)
    }
}

fn remote(kind: LitStr, version: Option<LitInt>, root: &Path) -> Result<Remote> {
    if kind.value().is_empty() {
        let message = "the name by which nodes know the actor's type: `remote = \"bank.account\"`";
        return Err(Error::new(kind.span(), message));
    }
    let version = version.map_or(Ok(1), |version| version.base10_parse())?;
    let (cluster, wire) = match text_of(root).as_str() {
        "::actinium_actor" => {
            (syn::parse_quote!(::actinium_cluster), syn::parse_quote!(::actinium_wire))
        }
        _ => (syn::parse_quote!(#root::cluster), syn::parse_quote!(#root::wire)),
    };
    Ok(Remote { kind, version, cluster, wire })
}
