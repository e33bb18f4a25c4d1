//! What stands in the brackets of `#[actor(..)]`.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::{Ident, Path, Result};

/// The settings of `#[actor(msg = Name, address = Name, crate = path)]`.
pub(crate) struct Arguments {
    /// The name of the enum of messages.
    pub(crate) msg: Option<Ident>,
    /// The name of the trait with the methods of the address.
    pub(crate) address: Option<Ident>,
    /// Where the names of the expansion are found.
    pub(crate) root: Path,
}

impl Arguments {
    pub(crate) fn parse(arguments: TokenStream, root: &str) -> Result<Self> {
        let mut parsed = Arguments { msg: None, address: None, root: syn::parse_str(root)? };
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("msg") {
                parsed.msg = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("address") {
                parsed.address = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("crate") {
                parsed.root = meta.value()?.parse()?;
            } else {
                return Err(meta.error(
                    "#[actor] takes `msg = Name` (the enum of messages), `address = Name` (the \
                     trait with the methods of the address) and `crate = path`",
                ));
            }
            Ok(())
        });
        parser.parse2(arguments)?;
        Ok(parsed)
    }
}
