//! What the macro makes of a block.

use crate::arguments::Arguments;
use crate::block::Block;
use crate::method::{Given, Kind, Method, span_of};
use crate::outside::Outside;
use crate::show;
use crate::tokens::mentions;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Error, Ident, ImplItem, Path, Result, ReturnType, Visibility};

/// Expands `#[actor(arguments)] item`.
///
/// # Errors
/// If nothing can be made of the item. What is wrong with single methods is in the expansion.
pub(crate) fn actor(arguments: TokenStream, item: TokenStream, root: &str) -> Result<TokenStream> {
    let arguments = Arguments::parse(arguments, root)?;
    let block = Block::of(syn::parse2(item)?)?;
    let names = Names {
        msg: arguments.msg.unwrap_or_else(|| format_ident!("{}Msg", block.name)),
        address: arguments.address.unwrap_or_else(|| format_ident!("{}Address", block.name)),
        root: arguments.root,
    };
    let show = arguments.debug.then(|| show::const_item(&block, &names.root, &names.msg));
    let mut error = block.error.clone();
    let of = (arguments.remote.as_ref(), arguments.gateway.as_ref());
    let outside = Outside::of(of, &block, (&names.root, &names.msg), &mut error);
    let error = error.as_ref().map(Error::to_compile_error);
    let own = own(&block);
    let messages = messages(&block, &names, &outside);
    let actor = actor_impl(&block, &names, &outside, show);
    let address = address(&block, &names);
    let outside = outside.items();
    Ok(quote! { #error #own #messages #actor #address #outside })
}

/// The names in what is made.
struct Names {
    msg: Ident,
    address: Ident,
    root: Path,
}

/// The block as the user has written it, less what is said to the macro.
fn own(block: &Block) -> TokenStream {
    let mut own = block.head.clone();
    let methods = block.methods.iter().map(|it| ImplItem::Fn(it.method.clone()));
    let started = block.started.iter().map(|it| ImplItem::Fn(it.clone()));
    own.items = methods.chain(started).chain(block.refused.iter().cloned()).collect();
    own.into_token_stream()
}

/// The enum of messages.
///
/// It is public whatever the methods are: as `Actor::Msg` it must be seen as far as the actor.
fn messages(block: &Block, names: &Names, outside: &Outside<'_>) -> TokenStream {
    let Names { msg, .. } = names;
    let doc = format!(" The messages of a [`{}`].", block.name);
    let hidden = match block.visibility() {
        Visibility::Public(_) => None,
        _ => Some(quote! { #[doc(hidden)] }),
    };
    let variants = block.methods.iter().map(|method| {
        let (cfgs, docs, variant) = (method.cfgs(), method.docs(), &method.variant);
        let fields = fields(method, names);
        quote! { #(#cfgs)* #(#docs)* #variant #fields }
    });
    let unused = unused(block).map(|parameters| {
        quote! {
            #[doc(hidden)]
            __Unused(
                ::core::marker::PhantomData<fn() -> (#(#parameters,)*)>,
                ::core::convert::Infallible,
            ),
        }
    });
    let outside = outside.variants();
    let (parameters, bounds) = (&block.head.generics, &block.head.generics.where_clause);
    quote! {
        #[doc = #doc]
        #hidden
        #[allow(missing_docs, private_interfaces, unreachable_pub)]
        pub enum #msg #parameters #bounds {
            #(#variants,)*
            #outside
            #unused
        }
    }
}

/// What a variant carries: nothing, or fields in braces.
fn fields(method: &Method, names: &Names) -> Option<TokenStream> {
    let root = &names.root;
    let data = method.fields.iter().map(|field| {
        let (attributes, name, ty) = (&field.attributes, &field.name, &field.ty);
        quote! { #(#attributes)* #name: #ty }
    });
    let back = back(method).map(|(name, answer)| quote! { #name: #root::Reply<#answer> });
    let fields = data.chain(back).collect::<Vec<_>>();
    (!fields.is_empty()).then(|| quote! { { #(#fields),* } })
}

/// The field for the way back: its name, and the answer's type.
fn back(method: &Method) -> Option<(Ident, &TokenStream)> {
    match &method.kind {
        Kind::Tell => None,
        Kind::Ask(answer) => Some((Ident::new("reply", Span::mixed_site()), answer)),
        Kind::Later(name, answer) => Some((name.clone(), answer)),
    }
}

/// The type parameters that no message mentions.
fn unused(block: &Block) -> Option<Vec<&Ident>> {
    let is_used = |parameter: &Ident| {
        block.methods.iter().any(|method| {
            // What may not be there does not count.
            let mut types = method.fields.iter().map(|field| &field.ty);
            let answer = back(method).map(|(_, answer)| answer);
            let is_in = |ty: &TokenStream| mentions(ty.clone(), parameter);
            method.cfgs().is_empty() && (types.any(is_in) || answer.is_some_and(is_in))
        })
    };
    let parameters = block.head.generics.type_params().map(|parameter| &parameter.ident);
    let unused = parameters.filter(|parameter| !is_used(parameter)).collect::<Vec<_>>();
    (!unused.is_empty()).then_some(unused)
}

/// The implementation of the trait.
fn actor_impl(
    block: &Block,
    names: &Names,
    outside: &Outside<'_>,
    show: Option<TokenStream>,
) -> TokenStream {
    let Names { msg, root, .. } = names;
    let (parameters, arguments, bounds) = block.head.generics.split_for_impl();
    let (actor, hooks) = (&block.head.self_ty, &block.hooks);
    let message = Ident::new("msg", Span::mixed_site());
    let takes_context =
        |it: &&Method| it.fails || it.given.iter().any(|it| matches!(it, Given::Context));
    let context = match block.methods.iter().find(takes_context) {
        Some(_) => Ident::new("ctx", Span::mixed_site()),
        None => Ident::new("_ctx", Span::mixed_site()),
    };
    // Those that take it may not be there.
    let mut takers = block.methods.iter().filter(takes_context).peekable();
    let may_be_unused = takers.peek().is_some() && takers.all(|it| !it.cfgs().is_empty());
    let unused_context = may_be_unused.then(|| quote! { #[allow(unused_variables)] });
    let arms = block.methods.iter().map(|method| arm(method, names, &context));
    let called = block.methods.iter().map(|method| {
        let (cfgs, name) = (method.cfgs(), method.name().unraw().to_string());
        quote! { #(#cfgs)* #name, }
    });
    let message_names = outside.message_names();
    let outside = outside.arms(|method| done(method, &context));
    let started = started(block, root);
    let unused = unused(block).map(|_| quote! { #msg::__Unused(_, never) => match never {}, });
    // What is wrong with the type of messages is said of the actor's.
    let kind = quote_spanned! { span_of(actor) => type Msg = #msg #arguments; };
    quote! {
        impl #parameters #root::Actor for #actor #bounds {
            #kind
            const MESSAGE_NAMES: &'static [&'static str] = &[#(#called)* #message_names];
            #show

            #started
            #(#hooks)*

            #[inline]
            #unused_context
            fn handle(&mut self, #message: Self::Msg, #context: &mut #root::Context<'_, Self>) {
                match #message {
                    #(#arms)*
                    #outside
                    #unused
                }
            }
        }
    }
}

/// What `handle` does with a message.
fn arm(method: &Method, names: &Names, context: &Ident) -> TokenStream {
    let (cfgs, variant, msg) = (method.cfgs(), &method.variant, &names.msg);
    let bound = bound(method);
    let called = done(method, context);
    let done = match &method.kind {
        Kind::Ask(_) => {
            let reply = Ident::new("reply", Span::mixed_site());
            quote! { { let _ = #reply.send(#called); } }
        }
        Kind::Tell | Kind::Later(..) if method.fails => quote! { { #called } },
        Kind::Tell | Kind::Later(..) => called,
    };
    quote! { #(#cfgs)* #msg::#variant #bound => #done, }
}

/// Calls the method; if its error is no answer, it is the actor's failure.
fn done(method: &Method, context: &Ident) -> TokenStream {
    let called = call(method, context);
    if method.fails { or_fail(&called, context) } else { called }
}

/// Calls the method with what its message has carried.
fn call(method: &Method, context: &Ident) -> TokenStream {
    let name = method.name();
    let given = method.given.iter().map(|given| match given {
        Given::Field(name) => name,
        Given::Context => context,
    });
    quote! { Self::#name(self #(, #given)*) }
}

/// Calls what may return an error, which is then the actor's failure.
fn or_fail(called: &TokenStream, context: &Ident) -> TokenStream {
    let error = Ident::new("error", Span::mixed_site());
    quote! {
        if let ::core::result::Result::Err(#error) = #called {
            #context.fail(#error);
        }
    }
}

/// The hook that calls a `started` that is not as in the trait.
fn started(block: &Block, root: &Path) -> Option<TokenStream> {
    let started = block.started.as_ref()?;
    let cfgs = started.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let context = Ident::new("ctx", Span::mixed_site());
    let given = (started.sig.inputs.len() > 1).then_some(&context).into_iter();
    let mut called = quote! { Self::started(self #(, #given)*) };
    if let ReturnType::Type(..) = started.sig.output {
        called = or_fail(&called, &context);
    }
    Some(quote! {
        #(#cfgs)*
        #[allow(unused_variables)]
        fn started(&mut self, #context: &mut #root::Context<'_, Self>) {
            #called
        }
    })
}

/// The fields of a variant, by name: to make one, and to take it apart.
fn bound(method: &Method) -> Option<TokenStream> {
    let names = method.fields.iter().map(|field| field.name.clone());
    let names = names.chain(back(method).map(|(name, _)| name)).collect::<Vec<_>>();
    (!names.is_empty()).then(|| quote! { { #(#names),* } })
}

/// The trait with the methods of the address, and its implementation.
fn address(block: &Block, names: &Names) -> TokenStream {
    let Names { address, root, .. } = names;
    let (parameters, arguments, bounds) = block.head.generics.split_for_impl();
    let with_bounds = &block.head.generics;
    let (visibility, actor) = (block.visibility(), &block.head.self_ty);
    let doc = format!(" Sends messages to a [`{}`] by its methods.", block.name);
    let declared = block.methods.iter().map(|method| {
        let (cfgs, docs, signature) = (method.cfgs(), method.docs(), signature(method, names));
        quote! { #(#cfgs)* #(#docs)* #signature; }
    });
    let implemented = block.methods.iter().map(|method| {
        let (cfgs, signature, sent) =
            (method.cfgs(), signature(method, names), sent(method, names));
        quote! { #(#cfgs)* #[inline] #signature { #sent } }
    });
    quote! {
        #[doc = #doc]
        #[allow(dead_code, missing_docs, private_interfaces, unreachable_pub)]
        #visibility trait #address #with_bounds #bounds {
            #(#declared)*
        }

        impl #parameters #address #arguments for #root::Address<#actor> #bounds {
            #(#implemented)*
        }
    }
}

/// A method of the address.
fn signature(method: &Method, names: &Names) -> TokenStream {
    let (root, name) = (&names.root, method.name());
    let fields = method.fields.iter().map(|field| {
        let (name, ty) = (&field.name, &field.ty);
        quote! { #name: #ty }
    });
    let answer = back(method).map(|(_, answer)| match &method.outcome {
        Some([value, error]) => quote! { -> #root::TryAnswer<#value, #error> },
        None => quote! { -> #root::Answer<#answer> },
    });
    quote! { fn #name(&self #(, #fields)*) #answer }
}

/// What a method of the address does.
fn sent(method: &Method, names: &Names) -> TokenStream {
    let (root, msg, variant, bound) = (&names.root, &names.msg, &method.variant, bound(method));
    match back(method) {
        None => quote! { #root::Address::tell(self, #msg::#variant #bound) },
        Some((reply, _)) => {
            let ask = if method.outcome.is_some() { "try_ask" } else { "ask" };
            let ask = Ident::new(ask, Span::call_site());
            quote! { #root::Address::#ask(self, |#reply| #msg::#variant #bound) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of code in the docstring of `actinium_actor::actor`, without hidden lines.
    fn documented() -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../actor/src/attribute.rs");
        let source = std::fs::read_to_string(path).expect("the docstring");
        let lines = source.lines().filter_map(|line| line.strip_prefix("///"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        let text = lines.filter(|line| !line.starts_with("# ")).collect::<Vec<_>>().join("\n");
        text.split("```").skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[test]
    fn the_docstring_shows_what_is_made() {
        let [example, made, ..] = &documented()[..] else { panic!("two blocks of code") };
        let example = example.split("#[actor]").nth(1).expect("an actor");
        let example = example.split("\n}\n").next().expect("the block's end");
        let item = syn::parse_str(&format!("{example}\n}}")).expect("Rust");
        let expanded = actor(TokenStream::new(), item, "actinium_actor").expect("an actor");
        let expanded = prettyplease::unparse(&syn::parse2(expanded).expect("Rust"));
        assert_eq!(made.trim(), expanded.trim(), "write this there:\n{expanded}");
    }

    #[test]
    fn the_names_may_be_given() {
        let item = syn::parse_str("impl a::B { fn c(&self) -> u8 { 0 } }").expect("Rust");
        let arguments = "msg = M, address = D, crate = x::y";
        let arguments = syn::parse_str(arguments).expect("arguments");
        let made = actor(arguments, item, "::actinium").expect("an actor").to_string();
        for part in ["enum M", "trait D", "x :: y :: Actor for a :: B", "x :: y :: Answer < u8 >"] {
            assert!(made.contains(part), "no `{part}` in {made}");
        }
        assert!(!made.contains("actinium"), "{made}");
    }

    #[test]
    fn only_who_asks_for_it_shows_what_messages_contain() {
        let made = |arguments: &str| {
            let item = syn::parse_str("impl B { fn c(&self, r#type: u8) -> u8 { 0 } }");
            let arguments = syn::parse_str(arguments).expect("arguments");
            let made = actor(arguments, item.expect("Rust"), "::x").expect("an actor");
            prettyplease::unparse(&syn::parse2(made).expect("Rust"))
        };
        assert!(!made("").contains("SHOW_MESSAGE"));
        let shown = made("debug");
        let arm = "f.debug_struct(\"c\").field(\"type\", field_0).finish()";
        assert!(shown.contains("SHOW_MESSAGE") && shown.contains(arm), "{shown}");
    }

    #[test]
    fn nodes_and_clients_may_both_reach_an_actor() {
        let item =
            "impl B { pub fn c(&self) -> u8 { 0 } pub fn d(&mut self) {} fn e(&mut self) {} }";
        let arguments = syn::parse_str("remote = \"b\", gateway = \"Bee\", version = 3");
        let made = actor(arguments.expect("arguments"), syn::parse_str(item).expect("Rust"), "::x");
        let made = prettyplease::unparse(&syn::parse2(made.expect("an actor")).expect("Rust"));
        for part in [
            "__Asked(BRequest, ::x::Reply<BAnswer>)",
            "const VERSION: u32 = 3u32",
            "__Heard(::x::gateway::Call<BTalk>)",
            "#[message(name = \"Bee\", version = 3u32, crate = ::x::wire)]",
            "next: &[1u8, 255u8, 0u8, 255u8, 0u8, 255u8, 255u8, 255u8, 255u8]",
        ] {
            assert!(made.contains(part), "no `{part}` in {made}");
        }
        let talk = made.split("pub enum BTalk").nth(1).and_then(|it| it.split('}').next());
        assert!(talk.is_some_and(|talk| !talk.contains('E')), "{talk:?}");
    }
}
