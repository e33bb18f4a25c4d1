//! `#[test(seeds = N)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::{Error, ItemFn, LitInt, Path, Result, ReturnType};

/// Expands `#[test(arguments)] item`.
///
/// # Errors
/// If the item is no test of a system.
pub(crate) fn test(arguments: TokenStream, item: TokenStream, root: &str) -> Result<TokenStream> {
    let (mut seeds, mut root) = (1, syn::parse_str::<Path>(root)?);
    let parser = syn::meta::parser(|meta| {
        if meta.path.is_ident("seeds") {
            let number: LitInt = meta.value()?.parse()?;
            seeds = number.base10_parse::<u64>()?;
            if seeds == 0 {
                return Err(Error::new(number.span(), "a test runs with one seed or more"));
            }
        } else if meta.path.is_ident("crate") {
            root = meta.value()?.parse()?;
        } else {
            return Err(meta.error("#[test] takes `seeds = 1000` and `crate = path`"));
        }
        Ok(())
    });
    parser.parse2(arguments)?;
    let mut inner: ItemFn = syn::parse2(item)?;
    check(&inner)?;
    let attributes = std::mem::take(&mut inner.attrs);
    let (visibility, name) = (&inner.vis, inner.sig.ident.clone());
    let run = match inner.sig.output {
        ReturnType::Default => quote! { #name },
        ReturnType::Type(..) => quote! {
            |sys| if let ::core::result::Result::Err(error) = #name(sys) { panic!("{error:?}") }
        },
    };
    Ok(quote! {
        #[::core::prelude::v1::test]
        #(#attributes)*
        #visibility fn #name() {
            #inner
            #root::testing::explore(#seeds, #run);
        }
    })
}

fn check(test: &ItemFn) -> Result<()> {
    let signature = &test.sig;
    if let Some(token) = &signature.asyncness {
        let message = "the test drives its system by plain calls: remove `async`, and wait for an \
                       answer with `sys.run_until_idle()` and then `.wait()`";
        return Err(Error::new(token.span, message));
    }
    if signature.inputs.len() == 1 && signature.generics.params.is_empty() {
        return Ok(());
    }
    Err(Error::new_spanned(
        &signature.ident,
        "a test gets its system: write `fn name(sys: &mut TestSystem)`",
    ))
}
