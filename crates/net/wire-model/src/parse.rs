//! Reads the text of `protocol!`.

use crate::{Move, Protocol, Said, State, error};
use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Ident, Item, LitInt, Result, Token, Type, braced, parenthesized};

/// A protocol that has been read and makes sense.
///
/// # Errors
/// If it is none, or makes no sense; the error's span is the place.
pub fn protocol(tokens: TokenStream) -> Result<Protocol> {
    let protocol: Protocol = syn::parse2(tokens)?;
    crate::check::check(&protocol)?;
    Ok(protocol)
}

/// All protocols of a file of Rust, those in modules too.
///
/// # Errors
/// If the file is no Rust, or a protocol makes no sense.
pub fn file(source: &str) -> Result<Vec<Protocol>> {
    fn collect(items: &[Item], found: &mut Vec<Protocol>) -> Result<()> {
        for item in items {
            match item {
                Item::Macro(item)
                    if item
                        .mac
                        .path
                        .segments
                        .last()
                        .is_some_and(|last| last.ident == "protocol") =>
                {
                    found.push(protocol(item.mac.tokens.clone())?);
                }
                Item::Mod(module) => {
                    if let Some((_, inner)) = &module.content {
                        collect(inner, found)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    collect(&syn::parse_file(source)?.items, &mut found)?;
    Ok(found)
}

/// Takes the word, or says what was expected.
fn word(input: ParseStream<'_>, expected: &str) -> Result<Ident> {
    let found: Ident = input.parse()?;
    match found == expected {
        true => Ok(found),
        false => Err(error(found.span(), format!("expected `{expected}`, found `{found}`"))),
    }
}

impl Parse for Protocol {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        word(input, "protocol")?;
        let name = input.parse()?;
        input.parse::<Token![,]>()?;
        word(input, "version")?;
        let version = input.parse::<LitInt>()?.base10_parse()?;
        input.parse::<Token![,]>()?;
        word(input, "between")?;
        let first = input.parse()?;
        word(input, "and")?;
        let parties = [first, input.parse()?];
        input.parse::<Token![;]>()?;
        let mut states = Vec::new();
        while !input.is_empty() {
            states.push(state(input, &parties)?);
        }
        Ok(Protocol { attributes, visibility, name, version, parties, states })
    }
}

fn state(input: ParseStream<'_>, parties: &[Ident; 2]) -> Result<State> {
    let attributes = input.call(Attribute::parse_outer)?;
    word(input, "state")?;
    let name: Ident = input.parse()?;
    let mut within_ms = None;
    if !input.peek(syn::token::Brace) {
        word(input, "within")?;
        let number: LitInt = input.parse()?;
        let unit = match number.suffix() {
            "ms" => 1,
            "s" => 1_000,
            "min" => 60_000,
            other => {
                let problem = format!("expected a time like 500ms, 5s or 1min, found '{other}'");
                return Err(error(number.span(), problem));
            }
        };
        let value: u64 = number.base10_parse()?;
        let time = value.checked_mul(unit).filter(|time| *time > 0);
        let wrong = || error(number.span(), "expected a time above 0 and below an age");
        within_ms = Some(time.ok_or_else(wrong)?);
    }
    let body;
    braced!(body in input);
    let mut moves = Vec::new();
    while !body.is_empty() {
        moves.push(one_move(&body, parties, &name)?);
    }
    Ok(State { attributes, name, within_ms, moves })
}

fn one_move(input: ParseStream<'_>, parties: &[Ident; 2], state: &Ident) -> Result<Move> {
    let attributes = input.call(Attribute::parse_outer)?;
    let from = party(input, parties)?;
    let kind: Ident = input.parse()?;
    let message = said(input)?;
    let mut response = None;
    let mut to = Some(state.clone());
    match kind.to_string().as_str() {
        "request" => {
            let name = &message.name;
            let [own, other] = [&parties[from], &parties[1 - from]];
            let none = || {
                let example = format!("`-> {other} Name(Type)`");
                error(
                    name.span(),
                    format!("the request `{name}` has no response: expected {example}"),
                )
            };
            input.parse::<Token![->]>().map_err(|_| none())?;
            if !(input.peek(Ident) && input.peek2(Ident)) {
                return Err(none());
            }
            if party(input, parties)? == from {
                let problem =
                    format!("the response to `{name}` comes from {other}, not from {own}");
                return Err(error(name.span(), problem));
            }
            response = Some(said(input)?);
            to = next(input)?.unwrap_or(to);
        }
        "signal" => to = next(input)?.unwrap_or(to),
        "stream" => {
            if next(input)?.is_some() {
                let problem = "a stream goes on in its state: a signal begins or ends it";
                return Err(error(kind.span(), problem));
            }
        }
        _ => {
            let problem = format!("expected `request`, `signal` or `stream`, found `{kind}`");
            return Err(error(kind.span(), problem));
        }
    }
    input.parse::<Token![;]>()?;
    Ok(Move { attributes, from, message, response, to })
}

fn party(input: ParseStream<'_>, parties: &[Ident; 2]) -> Result<usize> {
    let found: Ident = input.parse()?;
    parties.iter().position(|party| *party == found).ok_or_else(|| {
        let [first, second] = parties;
        error(found.span(), format!("expected `{first}` or `{second}`, found `{found}`"))
    })
}

fn said(input: ParseStream<'_>) -> Result<Said> {
    let name = input.parse()?;
    let mut data = None;
    if input.peek(syn::token::Paren) {
        let inner;
        parenthesized!(inner in input);
        data = Some(inner.parse::<Type>()?);
    }
    Ok(Said { name, data })
}

/// `-> State`, or `-> end`.
fn next(input: ParseStream<'_>) -> Result<Option<Option<Ident>>> {
    if input.parse::<Option<Token![->]>>()?.is_none() {
        return Ok(None);
    }
    let to: Ident = input.parse()?;
    Ok(Some(if to == "end" { None } else { Some(to) }))
}
