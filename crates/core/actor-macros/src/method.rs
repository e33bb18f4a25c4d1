//! A method of the block: the message that it is made of.

use crate::names;
use crate::tokens::{name_self, take_serde};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, ImplItemFn, Pat, PatType, PathArguments,
    PathSegment, Receiver, Result, ReturnType, Type, TypeReference,
};

/// A method that is a message.
pub(crate) struct Method {
    /// The method itself, without what is said to the macro only.
    pub(crate) method: ImplItemFn,
    /// The variant that its messages are.
    pub(crate) variant: Ident,
    /// What a message carries.
    pub(crate) fields: Vec<Field>,
    /// What the method is called with, in order.
    pub(crate) given: Vec<Given>,
    /// What becomes of its result.
    pub(crate) kind: Kind,
    /// Whether an error that it returns is the actor's failure, and no answer.
    pub(crate) fails: bool,
    /// The types of the answer `Result<T, E>`, which the asker gets as one with its own errors.
    pub(crate) outcome: Option<[TokenStream; 2]>,
    /// What serde is told of its messages.
    pub(crate) serde: Vec<Attribute>,
}

/// What a message carries for a parameter.
pub(crate) struct Field {
    pub(crate) attributes: Vec<Attribute>,
    /// What serde is told of it.
    pub(crate) serde: Vec<Attribute>,
    pub(crate) name: Ident,
    pub(crate) ty: TokenStream,
}

/// What a method is called with.
pub(crate) enum Given {
    /// A field of the message; also the way back, if the method has it.
    Field(Ident),
    /// The actor's context.
    Context,
}

/// What becomes of a method's result.
pub(crate) enum Kind {
    /// It has none: the message is told.
    Tell,
    /// It is the answer, of this type.
    Ask(TokenStream),
    /// It has none. The method gets the way back for an answer of this type under this name.
    Later(Ident, TokenStream),
}

impl Method {
    /// Reads a method of an actor of this type.
    ///
    /// # Errors
    /// If no message can be made of it.
    pub(crate) fn of(mut method: ImplItemFn, actor: &Type) -> Result<Self> {
        check_signature(&method)?;
        let variant = names::variant(&method.sig.ident)?;
        let (mut fields, mut given) = (Vec::new(), Vec::new());
        let (mut back, mut outcome) = (None, None);
        let count = method.sig.inputs.len();
        for (index, input) in method.sig.inputs.iter_mut().enumerate() {
            let FnArg::Typed(parameter) = input else { continue };
            if is_context(&parameter.ty) {
                if index + 1 < count {
                    let message = "the context comes last: move it behind the other parameters";
                    return Err(Error::new_spanned(parameter, message));
                }
                given.push(Given::Context);
                continue;
            }
            let name = name(parameter)?;
            check_parameter(&parameter.ty)?;
            given.push(Given::Field(name.clone()));
            if let Some(answer) = answer_of(&parameter.ty) {
                if back.is_some() {
                    let message = "a message has one answer, so it carries one Reply";
                    return Err(Error::new_spanned(parameter, message));
                }
                outcome = outcome_of(answer, actor);
                back = Some((name, name_self(answer, actor)));
                continue;
            }
            let mut attributes = std::mem::take(&mut parameter.attrs);
            check_field(&attributes)?;
            let serde = take_serde(&mut attributes);
            fields.push(Field { attributes, serde, name, ty: name_self(&parameter.ty, actor) });
        }
        let told = take_tell(&mut method.attrs)?;
        let (kind, fails) = kind(&mut method, back, told, actor)?;
        if let (Kind::Ask(_), Some(field)) = (&kind, fields.iter().find(|it| it.name == "reply")) {
            let message = "the way back of the answer is called `reply`: give this another name";
            return Err(Error::new_spanned(&field.name, message));
        }
        if let (Kind::Ask(_), ReturnType::Type(_, output)) = (&kind, &method.sig.output) {
            outcome = outcome_of(output, actor);
        }
        let serde = take_serde(&mut method.attrs);
        Ok(Method { method, variant, fields, given, kind, fails, outcome, serde })
    }

    /// The method's name.
    pub(crate) fn name(&self) -> &Ident {
        &self.method.sig.ident
    }

    /// The attributes that say whether the method exists.
    pub(crate) fn cfgs(&self) -> Vec<&Attribute> {
        self.with("cfg")
    }

    /// The attributes that say what the method does.
    pub(crate) fn docs(&self) -> Vec<&Attribute> {
        self.with("doc")
    }

    fn with(&self, name: &str) -> Vec<&Attribute> {
        self.method.attrs.iter().filter(|attribute| attribute.path().is_ident(name)).collect()
    }
}

/// Takes `#[tell]` out of the attributes: whether it was there.
fn take_tell(attributes: &mut Vec<Attribute>) -> Result<bool> {
    let Some(index) = attributes.iter().position(|it| it.path().is_ident("tell")) else {
        return Ok(false);
    };
    let tell = attributes.remove(index);
    let is_plain = tell.meta.require_path_only().is_ok();
    let wrong = || Error::new_spanned(tell, "`#[tell]` takes no arguments: write it alone");
    is_plain.then_some(true).ok_or_else(wrong)
}

/// What becomes of a method's result, and whether an error in it is the actor's failure.
fn kind(
    method: &mut ImplItemFn,
    back: Option<(Ident, TokenStream)>,
    told: bool,
    actor: &Type,
) -> Result<(Kind, bool)> {
    let name = &method.sig.ident;
    let output = match &method.sig.output {
        ReturnType::Type(_, output) => output,
        ReturnType::Default if told => {
            let message = "it returns nothing, so it is told already: remove #[tell]";
            return Err(Error::new_spanned(name, message));
        }
        ReturnType::Default => {
            return Ok((
                back.map_or(Kind::Tell, |(name, answer)| Kind::Later(name, answer)),
                false,
            ));
        }
    };
    let is_result = last_segment(output).is_some_and(|it| it.ident.to_string().ends_with("Result"));
    match back {
        None if told && !is_result => Err(Error::new_spanned(
            output,
            "nobody is told what it returns: return a `Result<(), E>`, whose error makes the actor \
             fail, or remove #[tell]",
        )),
        Some(_) if !is_result => Err(Error::new_spanned(
            output,
            "the answer goes through the Reply: return nothing, or a `Result<(), E>` whose error \
             makes the actor fail, or remove that parameter",
        )),
        Some((name, answer)) => Ok((Kind::Later(name, answer), true)),
        None if told => Ok((Kind::Tell, true)),
        None => {
            check_output(output)?;
            let answer = name_self(output, actor);
            if matches!(&**output, Type::Tuple(unit) if unit.elems.is_empty()) {
                // It says that the sender gets an answer.
                method.attrs.push(syn::parse_quote! { #[allow(clippy::unused_unit)] });
            }
            Ok((Kind::Ask(answer), false))
        }
    }
}

/// A method is called later and elsewhere, for a message that is a value.
fn check_signature(method: &ImplItemFn) -> Result<()> {
    let signature = &method.sig;
    if let Some(token) = &signature.asyncness {
        return Err(Error::new(
            token.span(),
            "a message is handled by a plain call, which must not wait: remove `async`, and give \
             the future to `Context::hold`, which brings its result back into the actor",
        ));
    }
    if let Some(token) = &signature.unsafety {
        let message = "any holder of the address may send the message: remove `unsafe`";
        return Err(Error::new(token.span(), message));
    }
    match signature.receiver() {
        None => {
            return Err(Error::new(
                signature.ident.span(),
                "a message is for an actor that there is: add `&mut self`, or move the function to \
                 an impl block without #[actor]",
            ));
        }
        Some(receiver) if !is_borrowed(receiver) => {
            return Err(Error::new_spanned(
                receiver,
                "the actor lives on after the message: take `&mut self` or `&self`",
            ));
        }
        Some(_) => {}
    }
    if let Some(parameter) = signature.generics.params.first() {
        return Err(Error::new(
            parameter.span(),
            "one variant carries the message, so its types are fixed: name the type, or put the \
             parameter on the impl block",
        ));
    }
    if let Some(bounds) = &signature.generics.where_clause {
        let message = "a message has no bounds of its own: move them to the impl block";
        return Err(Error::new_spanned(bounds, message));
    }
    Ok(())
}

fn is_borrowed(receiver: &Receiver) -> bool {
    match receiver.colon_token {
        None => receiver.reference.is_some(),
        Some(_) => matches!(&*receiver.ty, Type::Reference(_)),
    }
}

fn name(parameter: &PatType) -> Result<Ident> {
    match &*parameter.pat {
        Pat::Ident(pattern) if pattern.by_ref.is_none() && pattern.subpat.is_none() => {
            Ok(pattern.ident.clone())
        }
        pattern => Err(Error::new_spanned(
            pattern,
            "the parameter's name becomes that of a field: write a name here, and take the value \
             apart in the body",
        )),
    }
}

/// Whether a field may have these attributes.
fn check_field(attributes: &[Attribute]) -> Result<()> {
    let conditional =
        attributes.iter().find(|it| it.path().is_ident("cfg") || it.path().is_ident("cfg_attr"));
    match conditional {
        None => Ok(()),
        Some(attribute) => Err(Error::new_spanned(
            attribute,
            "a message has all of its fields: put `cfg` on the method, and write a second one",
        )),
    }
}

fn check_parameter(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) if !is_static(reference) => Err(Error::new_spanned(
            ty,
            "a message owns what it carries, for its sender goes on: take the value itself \
             (`String` for `&str`, `Vec<T>` for `&[T]`), or an `Arc`",
        )),
        Type::ImplTrait(_) => Err(Error::new_spanned(
            ty,
            "one variant carries the message, so its types are fixed: name the type, or take a \
             `Box<dyn ..>`",
        )),
        _ => Ok(()),
    }
}

fn check_output(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) if !is_static(reference) => Err(Error::new_spanned(
            ty,
            "the answer leaves the actor, so it can not borrow from it: return the value itself, \
             a clone, or an `Arc`",
        )),
        Type::ImplTrait(_) => Err(Error::new_spanned(
            ty,
            "the asker has to know the answer's type: name it, or return a `Box<dyn ..>`",
        )),
        _ => Ok(()),
    }
}

fn is_static(reference: &TypeReference) -> bool {
    reference.lifetime.as_ref().is_some_and(|lifetime| lifetime.ident == "static")
}

/// Whether it is `&mut Context<..>`.
fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    last_segment(&reference.elem).is_some_and(|segment| segment.ident == "Context")
}

/// The `R` of a `Reply<R>`.
fn answer_of(ty: &Type) -> Option<&Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == "Reply")?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(answer) => Some(answer),
        _ => None,
    }
}

/// The `T` and `E` of a `Result<T, E>`.
fn outcome_of(ty: &Type, actor: &Type) -> Option<[TokenStream; 2]> {
    let segment = last_segment(ty).filter(|segment| segment.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let types = arguments.args.iter().map(|argument| name_self(argument, actor));
    types.collect::<Vec<_>>().try_into().ok()
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last()
}

/// The span of a type, from its first to its last token where the compiler can say so.
pub(crate) fn span_of(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().span()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_only_some_may_send_are_refused() {
        let method = syn::parse_str("unsafe fn poke(&mut self) {}").expect("Rust");
        let actor = syn::parse_str("Counter").expect("a type");
        let refused = Method::of(method, &actor).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|why| why.ends_with("remove `unsafe`")));
    }
}
