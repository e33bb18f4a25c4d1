//! What stands in the brackets of `#[actor(..)]`.

use crate::tokens::text_of;
use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::{Error, Ident, LitInt, LitStr, Path, Result, Token};

/// The settings of `#[actor(..)]`.
pub(crate) struct Arguments {
    /// The name of the enum of messages.
    pub(crate) msg: Option<Ident>,
    /// The name of the trait with the methods of the address.
    pub(crate) address: Option<Ident>,
    /// Whether whoever looks at the actor may see what its messages contain.
    pub(crate) debug: bool,
    /// Where the names of the expansion are found.
    pub(crate) root: Path,
    /// What makes it reachable from other nodes.
    pub(crate) remote: Option<Remote>,
    /// What makes it reachable by browsers and services.
    pub(crate) gateway: Option<Gateway>,
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

/// The settings of `#[actor(gateway = "Name", version = N)]`.
pub(crate) struct Gateway {
    /// The name of the protocol; none, if it is that of the actor.
    pub(crate) protocol: Option<LitStr>,
    pub(crate) version: u32,
    /// Where the names of the gateway are found.
    pub(crate) gateway: Path,
    /// Where the names of encodings are found.
    pub(crate) wire: Path,
}

impl Arguments {
    pub(crate) fn parse(arguments: TokenStream, root: &str) -> Result<Self> {
        let root = syn::parse_str(root)?;
        let mut parsed =
            Arguments { msg: None, address: None, debug: false, root, remote: None, gateway: None };
        let (mut kind, mut version) = (None::<LitStr>, None::<LitInt>);
        let mut protocol = None::<Option<LitStr>>;
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("msg") {
                parsed.msg = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("address") {
                parsed.address = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("debug") {
                parsed.debug = true;
            } else if meta.path.is_ident("crate") {
                parsed.root = meta.value()?.parse()?;
            } else if meta.path.is_ident("remote") {
                kind = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("gateway") {
                let is_named = meta.input.peek(Token![=]);
                protocol = Some(is_named.then(|| meta.value()?.parse()).transpose()?);
            } else if meta.path.is_ident("version") {
                version = Some(meta.value()?.parse()?);
            } else {
                return Err(meta.error(
                    "#[actor] takes `msg = Name` (the enum of messages), `address = Name` (the \
                     trait with the methods of the address), `remote = \"name\"` (for other nodes), \
                     `gateway` (for browsers and services), `version = 1` (of what these two make), \
                     `debug` (who looks at the actor sees what messages contain), and `crate = path`",
                ));
            }
            Ok(())
        });
        parser.parse2(arguments)?;
        if let (None, None, Some(version)) = (&kind, &protocol, &version) {
            let message = "a version is that of messages from outside: add `remote = \"name\"` for \
                           other nodes, or `gateway` for browsers and services";
            return Err(Error::new(version.span(), message));
        }
        let version = version.map_or(Ok(1), |version| version.base10_parse())?;
        let wire = beside(&parsed.root, "wire")?;
        if let Some(kind) = kind {
            if kind.value().is_empty() {
                let message =
                    "the name by which nodes know the actor's type: `remote = \"bank.account\"`";
                return Err(Error::new(kind.span(), message));
            }
            let (cluster, wire) = (beside(&parsed.root, "cluster")?, wire.clone());
            parsed.remote = Some(Remote { kind, version, cluster, wire });
        }
        if let Some(protocol) = protocol {
            let gateway = beside(&parsed.root, "gateway")?;
            parsed.gateway = Some(Gateway { protocol, version, gateway, wire });
        }
        Ok(parsed)
    }
}

/// Where the names of another part are found: a crate, or a module of the facade.
fn beside(root: &Path, part: &str) -> Result<Path> {
    match text_of(root).as_str() {
        "::actinium_actor" => syn::parse_str(&format!("::actinium_{part}")),
        root => syn::parse_str(&format!("{root}::{part}")),
    }
}
