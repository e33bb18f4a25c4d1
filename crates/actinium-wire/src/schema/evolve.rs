//! Whether a reader of one version understands a writer of another, by the encodings that carry names.

use super::{Field, Schema, Shape, Type, Variant};
use std::collections::HashSet;
use std::fmt::{self, Display};

/// Something that the writer may say and the reader does not understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// Where: types, fields and variants, from the message inwards.
    pub place: String,
    /// What the reader expects, and what the writer writes.
    pub problem: String,
    /// Whether no message can be understood. Else only those that have it in them.
    pub always: bool,
}

impl Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// All that `reader` does not understand of what `writer` may write.
#[must_use]
pub fn breaks(writer: &Schema, reader: &Schema) -> Vec<Break> {
    let mut comparison =
        Comparison { writer, reader, seen: HashSet::new(), breaks: Vec::new(), always: true };
    comparison.types(&writer.name, &writer.root, &reader.root);
    comparison.breaks
}

struct Comparison<'a> {
    writer: &'a Schema,
    reader: &'a Schema,
    /// Pairs of named types that were compared: types may be recursive.
    seen: HashSet<(&'a str, &'a str)>,
    breaks: Vec<Break>,
    /// Whether every message has in it what is compared.
    always: bool,
}

impl<'a> Comparison<'a> {
    fn found(&mut self, place: &str, problem: String) {
        self.breaks.push(Break { place: place.to_owned(), problem, always: self.always });
    }

    fn sometimes(&mut self, compare: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.always, false);
        compare(self);
        self.always = before;
    }

    fn types(&mut self, place: &str, writer: &'a Type, reader: &'a Type) {
        match (writer, reader) {
            (Type::Named(ours), Type::Named(theirs)) => {
                if !self.seen.insert((ours, theirs)) {
                    return;
                }
                match (self.writer.definition(ours), self.reader.definition(theirs)) {
                    (Some(ours), Some(theirs)) => self.shapes(place, &ours.shape, &theirs.shape),
                    _ => self.found(place, format!("the schema lacks {ours} or {theirs}")),
                }
            }
            // A newtype is not to be seen on the wire.
            (Type::Named(name), _) if newtype(self.writer, name).is_some() => {
                if let Some(inner) = newtype(self.writer, name) {
                    self.types(place, inner, reader);
                }
            }
            (_, Type::Named(name)) if newtype(self.reader, name).is_some() => {
                if let Some(inner) = newtype(self.reader, name) {
                    self.types(place, writer, inner);
                }
            }
            (Type::Option(writer), Type::Option(reader)) => {
                self.sometimes(|all| all.types(place, writer, reader));
            }
            (writer, Type::Option(reader)) => self.types(place, writer, reader),
            (Type::Option(writer), reader) => self.sometimes(|all| {
                all.found(place, format!("expected {reader}, and nothing may be written"));
                all.types(place, writer, reader);
            }),
            (Type::List(writer), Type::List(reader)) => {
                self.sometimes(|all| all.types(place, writer, reader));
            }
            (Type::Map(from, to), Type::Map(key, value)) => self.sometimes(|all| {
                all.types(place, from, key);
                all.types(place, to, value);
            }),
            (Type::Tuple(writer), Type::Tuple(reader)) if writer.len() == reader.len() => {
                let pairs = writer.iter().zip(reader);
                pairs.for_each(|(writer, reader)| self.types(place, writer, reader));
            }
            (writer, reader) if widens(writer, reader) => {}
            (writer, reader) => {
                let problem = format!("expected {reader}, and {writer} is written");
                // Most numbers may fit all the same; one that does not is an error for itself.
                match integer(writer).and(integer(reader)) {
                    Some(_) => self.sometimes(|all| all.found(place, problem)),
                    None => self.found(place, problem),
                }
            }
        }
    }

    fn shapes(&mut self, place: &str, writer: &'a Shape, reader: &'a Shape) {
        match (writer, reader) {
            (Shape::Unit, Shape::Unit) => {}
            (Shape::Newtype(writer), Shape::Newtype(reader)) => self.types(place, writer, reader),
            (Shape::Tuple(writer), Shape::Tuple(reader)) if writer.len() == reader.len() => {
                let pairs = writer.iter().zip(reader);
                pairs.for_each(|(writer, reader)| self.types(place, writer, reader));
            }
            (Shape::Struct(writer), Shape::Struct(reader)) => self.fields(place, writer, reader),
            (Shape::Enum(writer), Shape::Enum(reader)) => self.variants(place, writer, reader),
            (writer, reader) => {
                let problem = format!("expected '{reader}', and '{writer}' is written");
                self.found(place, problem);
            }
        }
    }

    fn fields(&mut self, place: &str, writer: &'a [Field], reader: &'a [Field]) {
        for field in reader {
            let known = |name: &String| *name == field.name || field.aliases.contains(name);
            let place = format!("{place}.{}", field.name);
            match writer.iter().find(|written| known(&written.name)) {
                Some(written) => self.types(&place, &written.of, &field.of),
                None if field.default || matches!(field.of, Type::Option(_)) => {}
                None => self.found(
                    &place,
                    "expected, not written, and without a default: add #[serde(default)]"
                        .to_owned(),
                ),
            }
        }
    }

    fn variants(&mut self, place: &str, writer: &'a [Variant], reader: &'a [Variant]) {
        self.sometimes(|all| {
            for variant in writer {
                let known = |other: &&Variant| {
                    other.name == variant.name || other.aliases.contains(&variant.name)
                };
                let place = format!("{place}::{}", variant.name);
                match reader.iter().find(known) {
                    Some(other) => all.shapes(&place, &variant.shape, &other.shape),
                    None => all.found(&place, "a variant that is not known".to_owned()),
                }
            }
        });
    }
}

fn newtype<'a>(schema: &'a Schema, name: &str) -> Option<&'a Type> {
    match &schema.definition(name)?.shape {
        Shape::Newtype(of) => Some(of),
        _ => None,
    }
}

/// Whether every value of the one is one of the other, where names and not widths are written.
fn widens(writer: &Type, reader: &Type) -> bool {
    match (integer(writer), integer(reader)) {
        (Some((from, bits)), Some((to, room))) => match (from, to) {
            (false, true) => bits < room,
            (true, false) => false,
            _ => bits <= room,
        },
        _ => writer == reader || (*writer == Type::F32 && *reader == Type::F64),
    }
}

/// Sign and bits.
fn integer(of: &Type) -> Option<(bool, u8)> {
    Some(match of {
        Type::U8 => (false, 8),
        Type::U16 => (false, 16),
        Type::U32 => (false, 32),
        Type::U64 => (false, 64),
        Type::I8 => (true, 8),
        Type::I16 => (true, 16),
        Type::I32 => (true, 32),
        Type::I64 => (true, 64),
        _ => return None,
    })
}
