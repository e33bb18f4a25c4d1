//! A protocol as a module of TypeScript: its types, and a class with a method per message.
//! `clients/typescript` has what the module rests on.

use crate::description::Description;
use crate::schema::{Definition, Field, Schema, Shape, Type, Variant};
use std::fmt::Write;

/// The first lines of every module.
const HEAD: &str = "\
import { type CallOptions, Client, type Options, type Protocol, post as postMessage } from \"actinium-client\";
";

/// Words that a type can not be called.
const TAKEN: [&str; 4] = ["Client", "Options", "CallOptions", "Protocol"];

/// The module. The client is the protocol's first party.
///
/// # Errors
/// If a name is no name in TypeScript, or something has no counterpart there.
pub fn module(of: &Description) -> Result<String, String> {
    let Schema { name, version, types, .. } = &of.schema;
    check(of)?;
    let mut out = format!(
        "// The protocol {name}, version {version}: made by `actinium wire typescript`. Do not edit.\n\n{HEAD}"
    );
    for definition in types {
        let _ = write!(out, "\n{}", declaration(definition)?);
    }
    let json = serde_json::to_string_pretty(of).map_err(|error| error.to_string())?;
    let _ =
        write!(out, "\n/** The protocol as data. */\nexport const PROTOCOL: Protocol = {json};\n");
    let root = rendered(&of.schema.root, "the message")?;
    let _ = write!(out, "\n{}", class(of, &root)?);
    let _ = write!(
        out,
        "\n/** Says one message by HTTP, from the first state; gives the answer, if it is a request. */\n\
         export async function post(url: string, message: {root}, options?: CallOptions): Promise<{root} | undefined> {{\n  \
         return (await postMessage(PROTOCOL, url, message, options)) as {root} | undefined;\n}}\n"
    );
    Ok(out)
}

/// Checks that the description makes sense, also where it comes from a file.
fn check(of: &Description) -> Result<(), String> {
    of.schema.valid().map_err(|fault| fault.to_string())?;
    identifier(&of.schema.name, "the protocol's name")?;
    for definition in &of.schema.types {
        identifier(&definition.name, "a type's name")?;
    }
    let taken = of
        .schema
        .types
        .iter()
        .find(|one| TAKEN.contains(&one.name.as_str()) || one.name == of.schema.name);
    if let Some(definition) = taken {
        return Err(format!("type '{}': the name is taken by the module itself", definition.name));
    }
    let (states, words) = (of.states.len(), of.words.len());
    let fits = |next: &Option<usize>| next.is_none_or(|next| next < states);
    if states == 0
        || !of.states.iter().all(|state| state.next.len() == words && state.next.iter().all(fits))
    {
        return Err(format!(
            "states: expected for each of the {words} messages a state below {states}, or none"
        ));
    }
    let named = |word: &str| variant(of, word).is_some();
    match of.words.iter().find(|word| word.from > 1 || !named(&word.name)) {
        Some(word) => {
            Err(format!("message '{}': expected a variant of the message's type", word.name))
        }
        None => Ok(()),
    }
}

/// A message's shape.
fn variant<'a>(of: &'a Description, word: &str) -> Option<&'a Variant> {
    let Type::Named(root) = &of.schema.root else { return None };
    match &of.schema.definition(root)?.shape {
        Shape::Enum(variants) => variants.iter().find(|one| one.name == word),
        _ => None,
    }
}

fn identifier<'a>(name: &'a str, what: &str) -> Result<&'a str, String> {
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    match starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => Ok(name),
        false => Err(format!("{what}: '{}' is no name in TypeScript", name.escape_debug())),
    }
}

fn declaration(definition: &Definition) -> Result<String, String> {
    let Definition { name, shape } = definition;
    if let Shape::Struct(fields) = shape {
        let mut out = format!("export interface {name} {{\n");
        for field in fields {
            let _ = writeln!(out, "  {};", member(field, name)?);
        }
        return Ok(out + "}\n");
    }
    if let Shape::Enum(variants) = shape {
        let mut out = format!("export type {name} =");
        for one in variants {
            let name = identifier(&one.name, name)?;
            let _ = match &one.shape {
                Shape::Unit => write!(out, "\n  | \"{name}\""),
                shape => write!(out, "\n  | {{ {name}: {} }}", inside(shape, name)?),
            };
        }
        if variants.is_empty() {
            out.push_str(" never");
        }
        return Ok(out + ";\n");
    }
    Ok(format!("export type {name} = {};\n", inside(shape, name)?))
}

fn member(field: &Field, of: &str) -> Result<String, String> {
    let name = identifier(&field.name, of)?;
    let maybe = if field.default || matches!(field.of, Type::Option(_)) { "?" } else { "" };
    Ok(format!("{name}{maybe}: {}", rendered(&field.of, &format!("{of}.{name}"))?))
}

fn inside(shape: &Shape, of: &str) -> Result<String, String> {
    match shape {
        Shape::Unit => Ok("null".to_owned()),
        Shape::Newtype(one) => rendered(one, of),
        Shape::Tuple(types) => tuple(types, of),
        Shape::Struct(fields) => {
            let fields: Result<Vec<String>, String> =
                fields.iter().map(|field| member(field, of)).collect();
            Ok(format!("{{ {} }}", fields?.join("; ")))
        }
        Shape::Enum(_) => Err(format!("{of}: an enum in an enum has no name")),
    }
}

fn tuple(types: &[Type], of: &str) -> Result<String, String> {
    let types: Result<Vec<String>, String> = types.iter().map(|one| rendered(one, of)).collect();
    Ok(format!("[{}]", types?.join(", ")))
}

fn rendered(of: &Type, place: &str) -> Result<String, String> {
    Ok(match of {
        Type::Bool => "boolean".to_owned(),
        Type::Char | Type::String => "string".to_owned(),
        Type::Unit => "null".to_owned(),
        Type::Bytes => "Uint8Array".to_owned(),
        Type::Numbers(of) => bulk(of, place)?.to_owned(),
        Type::Option(of) => format!("{} | null", rendered(of, place)?),
        Type::List(of) => format!("Array<{}>", rendered(of, place)?),
        Type::Map(key, value) if matches!(**key, Type::String | Type::Char) => {
            format!("Record<string, {}>", rendered(value, place)?)
        }
        Type::Map(key, _) => {
            return Err(format!(
                "{place}: expected a map whose keys are strings, found keys of type {key}"
            ));
        }
        Type::Tuple(types) => tuple(types, place)?,
        Type::Named(name) => identifier(name, place)?.to_owned(),
        _ => "number".to_owned(),
    })
}

fn bulk(of: &Type, place: &str) -> Result<&'static str, String> {
    Ok(match of {
        Type::I8 => "Int8Array",
        Type::I16 => "Int16Array",
        Type::I32 => "Int32Array",
        Type::I64 => "BigInt64Array",
        Type::U8 => "Uint8Array",
        Type::U16 => "Uint16Array",
        Type::U32 => "Uint32Array",
        Type::U64 => "BigUint64Array",
        Type::F32 => "Float32Array",
        Type::F64 => "Float64Array",
        other => {
            return Err(format!("{place}: numbers of type {other} have no array in TypeScript"));
        }
    })
}

fn class(of: &Description, root: &str) -> Result<String, String> {
    let name = &of.schema.name;
    let client = identifier(&of.parties[0], "a party's name")?;
    let server = identifier(&of.parties[1], "a party's name")?;
    let mut out = format!(
        "/** The {client}'s end of {name}, by WebSocket. */\nexport class {name} extends Client {{\n  \
         /** Opens a conversation with the {server}. */\n  \
         static connect(url: string, options?: Options): Promise<{name}> {{\n    \
         return Client.open(new {name}(PROTOCOL, url, options));\n  }}\n\n  \
         /** Calls `heard` for what the {server} says that is no answer and has no other handler. */\n  \
         onMessage(heard: (message: {root}) => void): void {{\n    this.onOther(heard as (message: unknown) => void);\n  }}\n"
    );
    let answers: Vec<&str> =
        (0..of.words.len()).filter_map(|word| Some(of.response(word)?.name.as_str())).collect();
    for (number, word) in of.words.iter().enumerate() {
        let data = |word: &str| match variant(of, word).map(|variant| &variant.shape) {
            None | Some(Shape::Unit) => Ok(None),
            Some(shape) => inside(shape, word).map(Some),
        };
        let (own, said) = (data(&word.name)?, identifier(&word.name, name)?);
        let method = camel(said);
        let (argument, passed) = match &own {
            Some(of) => (format!("data: {of}"), ", data"),
            None => (String::new(), ""),
        };
        let _ = match (word.from, of.response(number)) {
            (0, Some(response)) => {
                let answer = data(&response.name)?.unwrap_or_else(|| "void".to_owned());
                write!(
                    out,
                    "\n  /** Asks `{said}`, and waits for `{}`. */\n  {method}({argument}): Promise<{answer}> {{\n    \
                     return this.ask(\"{said}\"{passed}) as Promise<{answer}>;\n  }}\n",
                    response.name
                )
            }
            (0, None) => write!(
                out,
                "\n  /** Says `{said}`. */\n  {method}({argument}): Promise<void> {{\n    return this.say(\"{said}\"{passed});\n  }}\n"
            ),
            _ if answers.contains(&said) => Ok(()),
            _ => write!(
                out,
                "\n  /** Calls `heard` for each `{said}`. */\n  on{said}(heard: ({}) => void): void {{\n    \
                 this.on(\"{said}\", heard as (data: unknown) => void);\n  }}\n",
                own.map(|of| format!("data: {of}")).unwrap_or_default()
            ),
        };
    }
    Ok(out + "}\n")
}

/// `PlaceOrder` as `placeOrder`; what the class has already gets a line behind it.
fn camel(name: &str) -> String {
    let mut chars = name.chars();
    let text: String = chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect();
    match text.as_str() {
        "ask" | "say" | "on" | "onOther" | "onMessage" | "onEnd" | "close" | "state"
        | "constructor" | "hello" => text + "_",
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{DescribedState, DescribedWord};

    /// A protocol of one signal with this in it.
    fn with(of: Type) -> Description {
        let shape = Shape::Enum(vec![Variant::new("Tell", Shape::Newtype(of))]);
        let types = vec![Definition { name: "Message".into(), shape }];
        let root = Type::Named("Message".into());
        let state = DescribedState {
            name: "Open".into(),
            within_ms: None,
            asked: false,
            next: vec![Some(0)],
        };
        Description {
            schema: Schema { name: "Talk".into(), version: 1, root, types },
            parties: ["client".into(), "server".into()],
            states: vec![state],
            words: vec![DescribedWord { name: "Tell".into(), from: 0 }],
        }
    }

    #[test]
    fn each_type_has_its_counterpart() {
        for (of, expected) in [
            (Type::Numbers(Box::new(Type::U64)), "BigUint64Array"),
            (Type::Option(Box::new(Type::List(Box::new(Type::Char)))), "Array<string> | null"),
            (Type::Map(Box::new(Type::String), Box::new(Type::F32)), "Record<string, number>"),
            (Type::Tuple(vec![Type::Bool, Type::Bytes, Type::Unit]), "[boolean, Uint8Array, null]"),
        ] {
            let module = module(&with(of)).expect("it has one");
            assert!(module.contains(&format!("  | {{ Tell: {expected} }};")), "{module}");
            assert!(module.contains(&format!("tell(data: {expected}): Promise<void>")), "{module}");
        }
    }

    #[test]
    fn what_has_none_is_named() {
        let keys = Type::Map(Box::new(Type::U8), Box::new(Type::Bool));
        let error = module(&with(keys)).expect_err("keys are no strings");
        assert_eq!(error, "Tell: expected a map whose keys are strings, found keys of type u8");
        let mut wrong = with(Type::Bool);
        wrong.schema.name = "A { }; evil(".into();
        assert_eq!(
            module(&wrong).expect_err("no name"),
            "the protocol's name: 'A { }; evil(' is no name in TypeScript"
        );
        let mut wrong = with(Type::Bool);
        wrong.states[0].next = vec![Some(1)];
        assert!(module(&wrong).is_err());
        let mut wrong = with(Type::Bool);
        wrong.words[0].name = "Other".into();
        assert!(module(&wrong).is_err());
        let mut wrong = with(Type::Bool);
        wrong.schema.types[0].name = "Talk".into();
        assert!(module(&wrong).is_err());
    }
}
