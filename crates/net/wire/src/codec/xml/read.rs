//! Reads a message from XML: the events of the reader, as they come. See [`super::write`] for what
//! stands for what.
//!
//! The reader stands behind the start tag of the element whose value is asked for; whoever takes
//! the value reads to behind the end tag. White space between elements, comments and processing
//! instructions are passed over; a document type is refused.

use super::problem::Problem;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use std::str::FromStr;

/// The document that is read.
pub(super) struct Document<'de> {
    reader: Reader<&'de [u8]>,
    /// Elements that have begun and not ended.
    open: usize,
}

/// The next event that matters.
enum Next<'de> {
    Start(BytesStart<'de>),
    Text(String),
    End,
}

impl<'de> Document<'de> {
    /// Opens this text, from behind the start tag of its only element.
    pub(super) fn open(text: &'de str) -> (Self, Result<Content, Problem>) {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        let mut document = Document { reader, open: 0 };
        let root = match document.next() {
            Ok(Next::Start(start)) => content(&start),
            Ok(Next::Text(text)) => Err(found("an element", &text)),
            Ok(Next::End) => Err(found("an element", "nothing")),
            Err(problem) => Err(problem),
        };
        (document, root)
    }

    /// Where the reader is.
    pub(super) fn offset(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }

    /// Nothing but white space may follow.
    pub(super) fn close(&mut self) -> Result<(), Problem> {
        match self.next()? {
            Next::End => Ok(()),
            Next::Start(start) => Err(found("the end", start.name())),
            Next::Text(text) => Err(found("the end", &text)),
        }
    }

    /// The next start tag, text that is not white space, or end tag (or the end of all).
    fn next(&mut self) -> Result<Next<'de>, Problem> {
        match self.text_or_tag()? {
            (text, Some(tag)) if text.trim().is_empty() => Ok(tag),
            (text, tag) => {
                // What comes behind text matters only if it is an end: whoever wanted text goes on
                // by itself.
                match tag {
                    Some(Next::End) | None => Ok(Next::Text(text)),
                    _ => Err(found("text or elements, not both", &text)),
                }
            }
        }
    }

    /// All text up to the next tag, white space included, and that tag.
    fn text_or_tag(&mut self) -> Result<(String, Option<Next<'de>>), Problem> {
        let mut text = String::new();
        loop {
            match self.reader.read_event().map_err(unsound)? {
                Event::Text(part) => text += &part.xml10_content(),
                Event::CData(part) => text += &part.xml10_content(),
                Event::GeneralRef(name) => {
                    let c = match name.resolve_char_ref().map_err(unsound)? {
                        Some(c) => c,
                        None => match &*name {
                            "amp" => '&',
                            "lt" => '<',
                            "gt" => '>',
                            "quot" => '"',
                            "apos" => '\'',
                            other => return Err(found("one of XML's own entities", other)),
                        },
                    };
                    text.push(c);
                }
                Event::PI(instruction) if instruction.target() == "char" => {
                    let number = instruction.content().trim();
                    let c = number.parse().ok().and_then(char::from_u32);
                    text.push(c.ok_or_else(|| found("the number of a character", number))?);
                }
                Event::Start(start) | Event::Empty(start) => {
                    self.open += 1;
                    return Ok((text, Some(Next::Start(start))));
                }
                Event::End(_) => {
                    self.open = self.open.saturating_sub(1);
                    return Ok((text, Some(Next::End)));
                }
                Event::Eof if self.open > 0 => return Err(found("an end tag", "the end")),
                Event::Eof => return Ok((text, Some(Next::End))),
                Event::DocType(_) => return Err(found("no document type", "a document type")),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            }
        }
    }
}

/// Makes the problem for bytes that the library does not take for XML.
fn unsound(error: impl std::fmt::Display) -> Problem {
    Problem(format!("expected well-formed XML, found {error}"))
}

fn found(expected: &str, found: impl AsRef<str>) -> Problem {
    let found: String = found.as_ref().chars().take(40).collect();
    Problem(format!("expected {expected}, found '{}'", found.escape_debug()))
}

/// The facts that a start tag tells about its element's content.
#[derive(Clone, Copy)]
pub(super) struct Content {
    nil: bool,
}

fn content(start: &BytesStart<'_>) -> Result<Content, Problem> {
    let mut nil = false;
    for attribute in start.attributes() {
        let attribute = attribute.map_err(unsound)?;
        nil |= attribute.key.as_ref() == "nil" && attribute.value == "true";
    }
    Ok(Content { nil })
}

/// The value of one element.
pub(super) struct Value<'a, 'de> {
    pub(super) document: &'a mut Document<'de>,
    pub(super) content: Content,
}

impl Value<'_, '_> {
    /// All of it, if it is text.
    fn text(self) -> Result<String, Problem> {
        match self.document.text_or_tag()? {
            (text, Some(Next::Start(start))) => {
                let _ = text;
                Err(found("text", start.name().as_ref()))
            }
            (text, _) => Ok(text),
        }
    }

    fn parse<T: FromStr>(self, what: &str) -> Result<T, Problem> {
        let text = self.text()?;
        text.trim().parse().map_err(|_| found(what, &text))
    }

    /// Reads to behind the end tag, whatever comes before it.
    fn skip(self) -> Result<(), Problem> {
        let mut open = 1_usize;
        while open > 0 {
            match self.document.text_or_tag()?.1 {
                Some(Next::Start(_)) => open += 1,
                _ => open -= 1,
            }
        }
        Ok(())
    }
}

macro_rules! parsed {
    ($($name:ident $visit:ident $what:literal;)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
            visitor.$visit(self.parse($what)?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Value<'_, 'de> {
    type Error = Problem;

    parsed! {
        deserialize_bool visit_bool "true or false";
        deserialize_i8 visit_i8 "a number (i8)"; deserialize_i16 visit_i16 "a number (i16)";
        deserialize_i32 visit_i32 "a number (i32)"; deserialize_i64 visit_i64 "a number (i64)";
        deserialize_i128 visit_i128 "a number (i128)";
        deserialize_u8 visit_u8 "a number (u8)"; deserialize_u16 visit_u16 "a number (u16)";
        deserialize_u32 visit_u32 "a number (u32)"; deserialize_u64 visit_u64 "a number (u64)";
        deserialize_u128 visit_u128 "a number (u128)";
        deserialize_f32 visit_f32 "a number (f32)"; deserialize_f64 visit_f64 "a number (f64)";
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let text = self.text()?;
        visitor.visit_byte_buf(
            crate::hex::bytes(text.trim()).ok_or_else(|| found("hexadecimal digits", &text))?,
        )
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.content.nil {
            true => {
                self.skip()?;
                visitor.visit_none()
            }
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.skip()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        within(self.document, |document, open| visitor.visit_seq(Children { document, open }))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        within(self.document, |document, open| visitor.visit_map(Entries { document, open }))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        within(self.document, |document, open| {
            visitor.visit_map(Fields { document, open, value: Content { nil: false } })
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match self.document.text_or_tag()? {
            (text, Some(Next::Start(start))) => {
                if !text.trim().is_empty() {
                    return Err(found("a variant", &text));
                }
                let (name, content) = (start.name().as_ref().to_owned(), content(&start)?);
                let document = self.document;
                let value =
                    visitor.visit_enum(Variant { document: &mut *document, name, content })?;
                match document.next()? {
                    Next::End => Ok(value),
                    Next::Start(start) => Err(found("one variant", start.name().as_ref())),
                    Next::Text(text) => Err(found("one variant", &text)),
                }
            }
            (text, _) => visitor.visit_enum(de::value::StringDeserializer::new(text.trim().into())),
        }
    }

    /// Decodes a value without knowing its type: nothing, text, or elements by name.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.content.nil {
            true => self.deserialize_unit(visitor),
            false => self.deserialize_str(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// Runs what visits the children; what it leaves is an error.
fn within<'a, 'de, T>(
    document: &'a mut Document<'de>,
    visit: impl FnOnce(&mut Document<'de>, &mut bool) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mut open = true;
    let value = visit(document, &mut open)?;
    if open {
        match document.next()? {
            Next::End => {}
            Next::Start(start) => return Err(found("no more elements", start.name().as_ref())),
            Next::Text(text) => return Err(found("no more elements", &text)),
        }
    }
    Ok(value)
}

/// The next child, or none if the end tag came.
fn child<'de>(
    document: &mut Document<'de>,
    open: &mut bool,
) -> Result<Option<BytesStart<'de>>, Problem> {
    if !*open {
        return Ok(None);
    }
    match document.next()? {
        Next::Start(start) => Ok(Some(start)),
        Next::End => {
            *open = false;
            Ok(None)
        }
        Next::Text(text) => Err(found("an element", &text)),
    }
}

/// The elements of a list.
struct Children<'a, 'de> {
    document: &'a mut Document<'de>,
    open: &'a mut bool,
}

impl<'de> SeqAccess<'de> for Children<'_, 'de> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        match child(self.document, self.open)? {
            Some(start) => {
                let content = content(&start)?;
                seed.deserialize(Value { document: self.document, content }).map(Some)
            }
            None => Ok(None),
        }
    }
}

/// The fields of a struct.
struct Fields<'a, 'de> {
    document: &'a mut Document<'de>,
    open: &'a mut bool,
    value: Content,
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Problem;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        match child(self.document, self.open)? {
            Some(start) => {
                self.value = content(&start)?;
                let name = start.name();
                let name = de::value::StrDeserializer::new(name.as_ref());
                seed.deserialize(name).map(Some)
            }
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Problem> {
        seed.deserialize(Value { document: self.document, content: self.value })
    }
}

/// The entries of a map: `<entry><key>..</key><value>..</value></entry>`.
struct Entries<'a, 'de> {
    document: &'a mut Document<'de>,
    open: &'a mut bool,
}

impl<'de> Entries<'_, 'de> {
    fn part(&mut self, name: &str) -> Result<Content, Problem> {
        match self.document.next()? {
            Next::Start(start) if start.name().as_ref() == name => content(&start),
            Next::Start(start) => Err(found(name, start.name().as_ref())),
            Next::Text(text) => Err(found(name, &text)),
            Next::End => Err(found(name, "the end of the element")),
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Problem;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Problem> {
        if child(self.document, self.open)?.is_none() {
            return Ok(None);
        }
        let content = self.part("key")?;
        seed.deserialize(Value { document: self.document, content }).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Problem> {
        let content = self.part("value")?;
        let value = seed.deserialize(Value { document: &mut *self.document, content })?;
        match self.document.next()? {
            Next::End => Ok(value),
            Next::Start(start) => Err(found("the end of the entry", start.name().as_ref())),
            Next::Text(text) => Err(found("the end of the entry", &text)),
        }
    }
}

/// A variant with data: its element.
struct Variant<'a, 'de> {
    document: &'a mut Document<'de>,
    name: String,
    content: Content,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a, 'de> {
    type Error = Problem;
    type Variant = Value<'a, 'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), Problem> {
        let name = de::value::StringDeserializer::<Problem>::new(self.name);
        Ok((seed.deserialize(name)?, Value { document: self.document, content: self.content }))
    }
}

impl<'de> VariantAccess<'de> for Value<'_, 'de> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        self.skip()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Problem> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_struct("", fields, visitor)
    }
}
