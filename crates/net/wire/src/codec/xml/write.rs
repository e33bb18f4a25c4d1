//! Writes a message as XML, one element per value, on one line.
//!
//! | value | stands as |
//! |---|---|
//! | number, truth, string, character | text |
//! | bytes | hexadecimal digits |
//! | struct | one element per field, with its name |
//! | list, tuple | one `<item>` per element |
//! | map | one `<entry>` with `<key>` and `<value>` per entry |
//! | `None`, unit | an empty element with `nil="true"` |
//! | variant without data | its name as text |
//! | variant with data | one element with the variant's name |
//!
//! A character that XML does not have (most control characters) stands as `<?char NUMBER?>`.

use super::problem::Problem;
use crate::codec::interface::FIELDS;
use serde::ser::{self, Error as _, Serialize, Serializer};
use std::fmt::{Display, Write as _};
use std::io::Write as _;

/// Writes one value as the element `name`.
pub(super) struct Element<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) name: &'a str,
    /// A map stands as the fields of a struct.
    fields: bool,
}

impl<'a> Element<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, name: &'a str) -> Self {
        Element { out, name, fields: false }
    }

    fn display(self, text: impl Display) -> Result<(), Problem> {
        begin(self.out, self.name)?;
        write!(self.out, "{text}").map_err(Problem::custom)?;
        end(self.out, self.name);
        Ok(())
    }

    fn nil(self) -> Result<(), Problem> {
        check(self.name)?;
        self.out.push(b'<');
        self.out.extend(self.name.as_bytes());
        self.out.extend(b" nil=\"true\"/>");
        Ok(())
    }

    /// Begins what has elements in it.
    fn compound(self, style: Style) -> Result<Compound<'a>, Problem> {
        begin(self.out, self.name)?;
        Ok(Compound { out: self.out, name: self.name, variant: None, style })
    }

    /// Begins a variant that has elements in it.
    fn variant(self, variant: &'static str, style: Style) -> Result<Compound<'a>, Problem> {
        begin(self.out, self.name)?;
        begin(self.out, variant)?;
        Ok(Compound { out: self.out, name: self.name, variant: Some(variant), style })
    }
}

fn begin(out: &mut Vec<u8>, name: &str) -> Result<(), Problem> {
    check(name)?;
    out.push(b'<');
    out.extend(name.as_bytes());
    out.push(b'>');
    Ok(())
}

fn end(out: &mut Vec<u8>, name: &str) {
    out.extend(b"</");
    out.extend(name.as_bytes());
    out.push(b'>');
}

/// Whether XML allows an element of this name. Rust's identifiers are; a `rename` may say anything.
fn check(name: &str) -> Result<(), Problem> {
    let first = |c: char| c.is_alphabetic() || c == '_';
    let rest = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut chars = name.chars();
    match chars.next().is_some_and(first) && chars.all(rest) {
        true => Ok(()),
        false => Err(Problem::custom(format_args!("'{name}' is no name for an element in XML"))),
    }
}

fn escape(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    let special = |c: char| match c {
        '&' | '<' | '>' => true,
        '\t' => false,
        _ => c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}'),
    };
    while let Some(place) = rest.find(special) {
        let (plain, from) = rest.split_at(place);
        out.extend(plain.as_bytes());
        let mut chars = from.chars();
        match chars.next() {
            Some('&') => out.extend(b"&amp;"),
            Some('<') => out.extend(b"&lt;"),
            Some('>') => out.extend(b"&gt;"),
            // As references: so a message stays on its line, and nobody takes one line end for
            // another.
            Some('\n') => out.extend(b"&#10;"),
            Some('\r') => out.extend(b"&#13;"),
            Some(other) => {
                let mut instruction = String::new();
                let _ = write!(instruction, "<?char {}?>", u32::from(other));
                out.extend(instruction.as_bytes());
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.extend(rest.as_bytes());
}

macro_rules! displayed {
    ($($name:ident $type:ty;)*) => {$(
        fn $name(self, value: $type) -> Result<(), Problem> {
            self.display(value)
        }
    )*};
}

impl<'a> Serializer for Element<'a> {
    type Ok = ();
    type Error = Problem;
    type SerializeSeq = Compound<'a>;
    type SerializeTuple = Compound<'a>;
    type SerializeTupleStruct = Compound<'a>;
    type SerializeTupleVariant = Compound<'a>;
    type SerializeMap = Compound<'a>;
    type SerializeStruct = Compound<'a>;
    type SerializeStructVariant = Compound<'a>;

    displayed! {
        serialize_bool bool;
        serialize_i8 i8; serialize_i16 i16; serialize_i32 i32; serialize_i64 i64; serialize_i128 i128;
        serialize_u8 u8; serialize_u16 u16; serialize_u32 u32; serialize_u64 u64; serialize_u128 u128;
        serialize_f32 f32; serialize_f64 f64;
    }

    fn serialize_char(self, value: char) -> Result<(), Problem> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Problem> {
        begin(self.out, self.name)?;
        escape(value, self.out);
        end(self.out, self.name);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Problem> {
        self.display(crate::hex::of(value))
    }

    fn serialize_none(self) -> Result<(), Problem> {
        self.nil()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Problem> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Problem> {
        self.nil()
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Problem> {
        self.nil()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Problem> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Problem> {
        match name {
            FIELDS => value.serialize(Element { fields: true, ..self }),
            _ => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Problem> {
        begin(self.out, self.name)?;
        value.serialize(Element::new(&mut *self.out, variant))?;
        end(self.out, self.name);
        Ok(())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Compound<'a>, Problem> {
        self.compound(Style::Items)
    }

    fn serialize_tuple(self, _len: usize) -> Result<Compound<'a>, Problem> {
        self.compound(Style::Items)
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Problem> {
        self.compound(Style::Items)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Problem> {
        self.variant(variant, Style::Items)
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Compound<'a>, Problem> {
        match self.fields {
            true => self.compound(Style::Fields(String::new())),
            false => self.compound(Style::Entries),
        }
    }

    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Compound<'a>, Problem> {
        self.compound(Style::Items)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Compound<'a>, Problem> {
        self.variant(variant, Style::Items)
    }
}

/// The form in which the entries of a map are written.
enum Style {
    Items,
    Entries,
    /// The entries are written as the fields of a struct. The text is the name of the next one.
    Fields(String),
}

/// Writes what has elements in it.
pub(super) struct Compound<'a> {
    out: &'a mut Vec<u8>,
    name: &'a str,
    variant: Option<&'static str>,
    style: Style,
}

impl Compound<'_> {
    fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Problem> {
        value.serialize(Element::new(&mut *self.out, name))
    }

    fn finish(self) {
        if let Some(variant) = self.variant {
            end(self.out, variant);
        }
        end(self.out, self.name);
    }
}

macro_rules! items {
    ($($trait:ident $name:ident;)*) => {$(
        impl ser::$trait for Compound<'_> {
            type Ok = ();
            type Error = Problem;

            fn $name<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Problem> {
                self.put("item", value)
            }

            fn end(self) -> Result<(), Problem> {
                self.finish();
                Ok(())
            }
        }
    )*};
}

items! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! fields {
    ($($trait:ident)*) => {$(
        impl ser::$trait for Compound<'_> {
            type Ok = ();
            type Error = Problem;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Problem> {
                self.put(name, value)
            }

            fn end(self) -> Result<(), Problem> {
                self.finish();
                Ok(())
            }
        }
    )*};
}

fields! { SerializeStruct SerializeStructVariant }

impl ser::SerializeMap for Compound<'_> {
    type Ok = ();
    type Error = Problem;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Problem> {
        if let Style::Fields(next) = &mut self.style {
            let key = serde_json::to_value(key).map_err(Problem::custom)?;
            *next = key.as_str().unwrap_or_default().to_owned();
            return Ok(());
        }
        begin(self.out, "entry")?;
        self.put("key", key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Problem> {
        if let Style::Fields(next) = &mut self.style {
            let name = std::mem::take(next);
            return self.put(&name, value);
        }
        self.put("value", value)?;
        end(self.out, "entry");
        Ok(())
    }

    fn end(self) -> Result<(), Problem> {
        self.finish();
        Ok(())
    }
}
