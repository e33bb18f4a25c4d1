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
    "send_urgent",
    "service",
    "stop",
    "tell",
    "to_owned",
    "try_ask",
    "try_into",
    "try_send",
];

/// Methods that addresses of other nodes have.
const OF_REMOTE_ADDRESSES: &[&str] = &[
    "adopt",
    "encoding",
    "node",
    "on_undelivered",
    "ready",
    "ready_for_payload",
    "send_with_payload",
    "watch",
];

/// Checks that a method can be called by its name on an address of another node.
///
/// # Errors
/// If it can not.
pub(crate) fn remote(method: &Ident) -> Result<()> {
    let name = plain(method);
    if !OF_REMOTE_ADDRESSES.contains(&name.as_str()) {
        return Ok(());
    }
    Err(taken(method, &name))
}

fn taken(method: &Ident, name: &str) -> Error {
    Error::new_spanned(
        method,
        format!(
            "each address has a method `{name}` already, which would be called instead: give the \
             message another name"
        ),
    )
}

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
        return Err(taken(method, &name));
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

    /// What addresses can do, by the source of their crates.
    #[test]
    fn each_method_of_an_address_is_known() {
        let of_both = [OF_ADDRESSES, OF_REMOTE_ADDRESSES].concat();
        assert!(methods_in("../actor/src", &["Address"], OF_ADDRESSES) >= 15);
        let remote = ["RemoteAddress", "AnyAddress"];
        assert!(methods_in("../../net/cluster/src", &remote, &of_both) >= 15);
    }

    /// The number of methods of these types in these sources; all are in the list.
    fn methods_in(sources: &str, types: &[&str], list: &[&str]) -> usize {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(sources)];
        let mut found = 0;
        while let Some(folder) = folders.pop() {
            for file in std::fs::read_dir(folder).expect("source code") {
                let path = file.expect("a file").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let source = std::fs::read_to_string(&path).expect("text");
                let items = syn::parse_file(&source).expect("Rust").items;
                found += items.iter().map(|item| methods_of(item, types, list)).sum::<usize>();
            }
        }
        found
    }

    fn methods_of(item: &syn::Item, types: &[&str], list: &[&str]) -> usize {
        let syn::Item::Impl(block) = item else { return 0 };
        let syn::Type::Path(of) = &*block.self_ty else { return 0 };
        let is_of = |name: &syn::Ident| types.iter().any(|it| name == it);
        if block.trait_.is_some() || !of.path.segments.last().is_some_and(|it| is_of(&it.ident)) {
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
            assert!(list.contains(&name.as_str()), "the list of methods lacks `{name}`");
        }
        methods.len()
    }
}
