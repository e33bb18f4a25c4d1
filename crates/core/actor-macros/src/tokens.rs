//! Small work on tokens.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Path};

/// Names the actor's type where a method says `Self`, which elsewhere would be another type.
pub(crate) fn name_self(tokens: impl ToTokens, actor: &syn::Type) -> TokenStream {
    let tokens = tokens.into_token_stream().into_iter();
    tokens
        .flat_map(|token| match token {
            TokenTree::Ident(ident) if ident == "Self" => actor.to_token_stream(),
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), name_self(group.stream(), actor));
                inner.set_span(group.span());
                TokenTree::Group(inner).into()
            }
            other => other.into(),
        })
        .collect()
}

/// Whether a word stands somewhere in the tokens.
pub(crate) fn mentions(tokens: TokenStream, word: &syn::Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        _ => false,
    })
}

/// A path in the words of an attribute that takes a string.
pub(crate) fn text_of(path: &Path) -> String {
    path.to_token_stream().to_string().replace(' ', "")
}

/// Takes the attributes for serde out of others.
pub(crate) fn take_serde(attributes: &mut Vec<Attribute>) -> Vec<Attribute> {
    let (serde, others) =
        std::mem::take(attributes).into_iter().partition(|it| it.path().is_ident("serde"));
    *attributes = others;
    serde
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_is_named_however_deep_it_stands() {
        let tokens = syn::parse_str::<TokenStream>("Vec<(u8, Address<Self>)>").expect("tokens");
        let actor = syn::parse_str("Cache<T>").expect("a type");
        let named = name_self(tokens, &actor).to_string().replace(' ', "");
        assert_eq!(named, "Vec<(u8,Address<Cache<T>>)>");
    }
}
