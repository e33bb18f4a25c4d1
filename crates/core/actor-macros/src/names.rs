//! The names of what is made.

use syn::{Error, Ident, Result};

/// Methods that each address has: a message of the same name could not be sent by its name.
const OF_ADDRESSES: &[&str] = &[
    "ask",
    "ask_async",
    "ask_timeout",
    "capacity",
    "clone",
    "downgrade",
    "eq",
    "fmt",
    "hash",
    "id",
    "into",
    "is_closed",
    "is_empty",
    "kill",
    "len",
    "ne",
    "send",
    "send_async",
    "send_blocking",
    "stop",
    "tell",
    "to_owned",
    "try_ask",
    "try_into",
    "try_send",
];

/// The name without `r#`.
pub(crate) fn plain(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}

/// The variant that a method's messages are: `add_all` becomes `AddAll`.
///
/// # Errors
/// If the method can not be called by its name, or that makes no name of a variant.
pub(crate) fn variant(method: &Ident) -> Result<Ident> {
    let name = plain(method);
    if name == "handle" {
        return Err(Error::new_spanned(
            method,
            "the macro writes `handle`, which calls the other methods: name the message after \
             what it asks for",
        ));
    }
    if OF_ADDRESSES.contains(&name.as_str()) {
        return Err(Error::new_spanned(
            method,
            format!(
                "each address has a method `{name}` already, which would be called instead: give \
                 the message another name"
            ),
        ));
    }
    let camel = name.split('_').filter(|word| !word.is_empty()).map(capital).collect::<String>();
    let variant = syn::parse_str::<Ident>(&camel).map_err(|_| {
        Error::new_spanned(
            method,
            format!("`{camel}` can not be the name of a variant: give the message another name"),
        )
    })?;
    Ok(Ident::new(&variant.to_string(), method.span()))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::Span;
    use std::path::Path;

    fn variant_of(name: &str) -> String {
        match variant(&Ident::new(name, Span::call_site())) {
            Ok(variant) => variant.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn variants_are_named_after_methods() {
        for (method, variant) in [("add", "Add"), ("add_all", "AddAll"), ("_tick2", "Tick2")] {
            assert_eq!(variant_of(method), variant);
        }
        assert!(variant_of("self_").starts_with("`Self` can not be"), "{}", variant_of("self_"));
        assert!(variant_of("_1").starts_with("`1` can not be"));
    }

    /// What the actor crate's addresses can do, by its source.
    #[test]
    fn each_method_of_an_address_is_known() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../actor/src");
        let mut found = 0;
        for file in std::fs::read_dir(sources).expect("the actor crate's source") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("text");
            for item in syn::parse_file(&source).expect("Rust").items {
                found += methods_of_addresses(&item);
            }
        }
        assert!(found >= 15, "only {found} methods of addresses were found");
    }

    fn methods_of_addresses(item: &syn::Item) -> usize {
        let syn::Item::Impl(block) = item else { return 0 };
        let syn::Type::Path(of) = &*block.self_ty else { return 0 };
        if block.trait_.is_some() || of.path.segments.last().is_none_or(|it| it.ident != "Address")
        {
            return 0;
        }
        let methods = block.items.iter().filter_map(|item| match item {
            syn::ImplItem::Fn(method) if matches!(method.vis, syn::Visibility::Public(_)) => {
                Some(method.sig.ident.to_string())
            }
            _ => None,
        });
        let methods = methods.collect::<Vec<_>>();
        for name in &methods {
            assert!(OF_ADDRESSES.contains(&name.as_str()), "OF_ADDRESSES lacks `{name}`");
        }
        methods.len()
    }
}
