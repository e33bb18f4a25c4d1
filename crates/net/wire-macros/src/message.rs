//! `#[derive(Message)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitInt, LitStr, Path, Result, Token};

/// Expands the derive of `Message`. The code finds the wire crate by `#[message(crate = "..")]`, or
/// else by `wire`.
pub(crate) fn expand(input: &DeriveInput, wire: &str) -> Result<TokenStream> {
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "Message: a type with parameters has no one description; derive it for a type without",
        ));
    }
    let container = Container::of(input, wire)?;
    let wire = &container.wire;
    let shape = match &input.data {
        Data::Struct(data) => shape(&data.fields, wire)?,
        Data::Enum(data) => {
            let variants = data.variants.iter().map(|variant| {
                let names = Names::of(&variant.attrs)?;
                let name = names.name(&variant.ident);
                let aliases = &names.aliases;
                let shape = shape(&variant.fields, wire)?;
                Ok(quote! {
                    #wire::schema::Variant::new(#name, #shape)#(.alias(#aliases))*
                })
            });
            let variants = variants.collect::<Result<Vec<_>>>()?;
            quote! { #wire::schema::Shape::Enum(::std::vec![#(#variants),*]) }
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "Message: a union is no message")),
    };
    let (ident, name, version) = (&input.ident, &container.name, &container.version);
    let type_name = plain(ident);
    Ok(quote! {
        impl #wire::schema::Describe for #ident {
            fn describe(
                types: &mut #wire::schema::Types,
            ) -> #wire::schema::Type {
                types.define::<Self>(#type_name, |types| {
                    let _ = &types;
                    #shape
                })
            }
        }

        impl #wire::schema::Message for #ident {
            const NAME: &'static str = #name;
            const VERSION: u32 = #version;
        }
    })
}

/// The name without `r#`.
fn plain(ident: &syn::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").unwrap_or(&name).to_owned()
}

fn shape(fields: &Fields, wire: &Path) -> Result<TokenStream> {
    let types = fields.iter().map(|field| &field.ty);
    let describe = quote! { #wire::schema::Describe };
    match fields {
        Fields::Unit => Ok(quote! { #wire::schema::Shape::Unit }),
        Fields::Unnamed(unnamed) => {
            for field in &unnamed.unnamed {
                Names::of(&field.attrs)?;
            }
            match unnamed.unnamed.len() {
                1 => Ok(quote! {
                    #wire::schema::Shape::Newtype(#(<#types as #describe>::describe(types))*)
                }),
                _ => Ok(quote! {
                    #wire::schema::Shape::Tuple(
                        ::std::vec![#(<#types as #describe>::describe(types)),*]
                    )
                }),
            }
        }
        Fields::Named(named) => {
            let mut described = Vec::new();
            for field in &named.named {
                let names = Names::of(&field.attrs)?;
                let Some(ident) = &field.ident else { continue };
                let (name, aliases, of) = (names.name(ident), &names.aliases, &field.ty);
                let default = names.default.then(|| quote! { .default() });
                described.push(quote! {
                    #wire::schema::Field::new(#name, <#of as #describe>::describe(types))
                        #default #(.alias(#aliases))*
                });
            }
            Ok(quote! { #wire::schema::Shape::Struct(::std::vec![#(#described),*]) })
        }
    }
}

/// The settings of `#[message(name = "..", version = N, crate = "..")]`. Serde is told nothing that
/// a description cannot say.
struct Container {
    name: String,
    version: u32,
    wire: Path,
}

impl Container {
    fn of(input: &DeriveInput, wire: &str) -> Result<Self> {
        let (name, wire) = (plain(&input.ident), syn::parse_str(wire)?);
        let mut container = Container { name, version: 1, wire };
        for attribute in &input.attrs {
            if attribute.path().is_ident("message") {
                attribute.parse_nested_meta(|meta| {
                    if meta.path.is_ident("name") {
                        container.name = meta.value()?.parse::<LitStr>()?.value();
                        Ok(())
                    } else if meta.path.is_ident("version") {
                        container.version = meta.value()?.parse::<LitInt>()?.base10_parse()?;
                        Ok(())
                    } else if meta.path.is_ident("crate") {
                        let value = meta.value()?;
                        container.wire = match value.peek(LitStr) {
                            true => value.parse::<LitStr>()?.parse()?,
                            false => value.parse()?,
                        };
                        Ok(())
                    } else {
                        Err(meta.error(
                            "Message: allowed are name = \"..\", version = N, crate = \"..\"",
                        ))
                    }
                })?;
            }
            if attribute.path().is_ident("serde") {
                attribute.parse_nested_meta(|meta| match meta.path.is_ident("crate") {
                    true => meta.value()?.parse::<LitStr>().map(drop),
                    false if meta.path.is_ident("deny_unknown_fields") => Ok(()),
                    false => Err(unsupported(&meta)),
                })?;
            }
        }
        Ok(container)
    }
}

/// The settings that serde's attributes give to a field or variant.
#[derive(Default)]
struct Names {
    rename: Option<String>,
    aliases: Vec<String>,
    default: bool,
}

impl Names {
    fn of(attributes: &[Attribute]) -> Result<Self> {
        let mut names = Names::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    names.rename = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("alias") {
                    names.aliases.push(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("default") {
                    names.default = true;
                    if meta.input.peek(Token![=]) {
                        meta.value()?.parse::<LitStr>()?;
                    }
                } else {
                    return Err(unsupported(&meta));
                }
                Ok(())
            })?;
        }
        Ok(names)
    }

    fn name(&self, ident: &syn::Ident) -> String {
        self.rename.clone().unwrap_or_else(|| plain(ident))
    }
}

/// The binary encoding and the fingerprint would not see what else serde can be told.
fn unsupported(meta: &syn::meta::ParseNestedMeta<'_>) -> Error {
    meta.error("Message: of serde's attributes a message may have rename, alias and default")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_code_names_no_crate_but_the_one_given() {
        let input = "enum A { B, C(u8), D(u8, u8), E { #[serde(alias = \"g\")] f: u8 } }";
        let expanded = |input: &str| {
            let input = syn::parse_str(input).expect("it is Rust");
            super::expand(&input, "::actinium::wire").expect("it is a message").to_string()
        };
        let code = expanded(input);
        assert!(code.contains(":: actinium :: wire :: schema"));
        assert!(!code.contains("actinium_wire"));
        let code = expanded(&format!("#[message(crate = \"own::path\")] {input}"));
        assert!(code.contains("own :: path :: schema"));
        assert!(!code.contains("actinium"));
    }

    fn refused(code: &str) -> String {
        let input = syn::parse_str(code).expect("it is Rust");
        super::expand(&input, "::actinium_wire").expect_err("it is refused").to_string()
    }

    #[test]
    fn what_the_description_can_not_say_is_refused() {
        let serde = "Message: of serde's attributes a message may have rename, alias and default";
        for code in [
            "struct A { #[serde(flatten)] b: B }",
            "struct A { #[serde(skip)] b: B }",
            "#[serde(untagged)] enum A { B(C) }",
            "#[serde(rename_all = \"camelCase\")] struct A { b: B }",
            "enum A { B(#[serde(with = \"c\")] C) }",
        ] {
            assert_eq!(refused(code), serde, "{code}");
        }
        assert!(refused("struct A<T>(T);").starts_with("Message: a type with parameters"));
        assert!(refused("union A { b: u8 }").contains("union"));
        assert!(refused("#[message(size = 1)] struct A;").contains("allowed are name"));
    }
}
