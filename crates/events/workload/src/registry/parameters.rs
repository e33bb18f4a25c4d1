//! The parameters of a type, out of the table that a file has for them: serde's values with places.

use crate::fault::{quoted, suggestion};
use crate::tree::{Entry, Node, Value};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;

/// What is wrong with parameters, and where.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// The byte.
    pub(crate) at: Option<usize>,
    /// The keys that lead there.
    path: String,
    message: String,
    /// Nobody asks for the value.
    is_ignored: bool,
}

/// Reads parameters. A key that their type does not know is wrong, whatever the type says of that.
pub(crate) fn parse<P: DeserializeOwned>(table: &Node) -> Result<P, Wrong> {
    P::deserialize(Reading(table))
}

impl Wrong {
    /// It lies at or below this key, whose value is here.
    fn within(mut self, key: &str, at: usize) -> Self {
        self.at.get_or_insert(at);
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{key}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "{}: {}", quoted(&self.path), self.message),
        }
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let (path, message) = (String::new(), message.to_string());
        Wrong { at: None, path, message, is_ignored: false }
    }

    fn missing_field(field: &'static str) -> Self {
        de::Error::custom(format_args!("lacks {}", quoted(field)))
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        let near = suggestion(field, known.iter().copied());
        let there = match known {
            [] => "there is none".to_owned(),
            _ => format!("there are: {}", known.join(", ")),
        };
        de::Error::custom(format_args!("no parameter is called {}{near}; {there}", quoted(field)))
    }
}

/// A value that is read.
struct Reading<'n>(&'n Node);

impl<'n> Reading<'n> {
    /// The entries of the table, of which these are known.
    fn entries(&self, known: &'static [&'static str]) -> Result<Entries<'n>, Wrong> {
        match &self.0.value {
            Value::Table(entries) => Ok(Entries { entries: entries.iter(), value: None, known }),
            _ => {
                let kind = self.0.kind();
                Err(de::Error::custom(format_args!("is {kind}: it has to be a table")))
            }
        }
    }
}

/// Whole numbers are told as such, so that they may become any number.
fn visit_number<'de, V: Visitor<'de>>(number: f64, visitor: V) -> Result<V::Value, Wrong> {
    /// From here on not every whole number is an `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() != 0.0 || number.abs() > EXACT || number.is_nan() {
        visitor.visit_f64(number)
    } else if number >= 0.0 {
        visitor.visit_u64(number as u64)
    } else {
        visitor.visit_i64(number as i64)
    }
}

impl<'de> de::Deserializer<'de> for Reading<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.0.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => visit_number(*number, visitor),
            Value::Large(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                _ => visitor.visit_i128(*number),
            },
            Value::Text(text) => visitor.visit_str(text),
            Value::List(list) => visitor.visit_seq(Items(list.iter().enumerate())),
            Value::Table(_) => visitor.visit_map(self.entries(&[])?),
            Value::Other(kind) => Err(de::Error::custom(format_args!(
                "is {kind}: it has to be a text, a number, a truth value, a list or a table"
            ))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// Nothing: a table without keys.
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.entries(&[])?.entries.as_slice() {
            [] => visitor.visit_unit(),
            [entry, ..] => {
                let wrong: Wrong = de::Error::unknown_field(&entry.key, &[]);
                Err(Wrong { at: Some(entry.at), ..wrong })
            }
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_map(self.entries(fields)?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match &self.0.value {
            Value::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            _ => visitor.visit_enum(MapAccessDeserializer::new(self.entries(&[])?)),
        }
    }

    /// Who ignores a key does not know it: a mistyped key would have no effect.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Wrong> {
        Err(Wrong { is_ignored: true, ..de::Error::custom("nobody asks for it") })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf seq
        tuple tuple_struct map identifier
    }
}

/// The entries of a list.
struct Items<'n>(std::iter::Enumerate<std::slice::Iter<'n, Node>>);

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Wrong;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Wrong> {
        let Some((nth, node)) = self.0.next() else { return Ok(None) };
        let read = seed.deserialize(Reading(node)).map(Some);
        read.map_err(|wrong| wrong.within(&format!("[{nth}]"), node.at()))
    }
}

/// The entries of a table.
struct Entries<'n> {
    entries: std::slice::Iter<'n, Entry>,
    value: Option<&'n Entry>,
    known: &'static [&'static str],
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.value = Some(entry);
        let key: StrDeserializer<'_, Wrong> = entry.key.as_str().into_deserializer();
        let at = Some(entry.at);
        seed.deserialize(key).map(Some).map_err(|wrong| Wrong { at, ..wrong })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Wrong> {
        let Some(entry) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(Reading(&entry.node)).map_err(|wrong| match wrong.is_ignored {
            true => {
                Wrong { at: Some(entry.at), ..de::Error::unknown_field(&entry.key, self.known) }
            }
            false => wrong.within(&entry.key, entry.node.at()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Reporter;
    use serde::Deserialize;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Shape {
        Square,
        Round { radius: f32 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        first: (u8, i8),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct All {
        threshold: f64,
        seed: u64,
        least: i64,
        files: Vec<PathBuf>,
        shapes: Vec<Shape>,
        #[serde(default)]
        inner: Option<Inner>,
        gains: BTreeMap<String, f64>,
    }

    fn read<P: DeserializeOwned>(text: &str) -> Result<P, (Option<usize>, String)> {
        let mut reporter = Reporter::new("f", text);
        let tree = crate::toml_tree::tree(text, &mut reporter).expect("TOML");
        parse(&tree).map_err(|wrong| (wrong.at, wrong.to_string()))
    }

    const RIGHT: &str = "threshold = 3\nseed = 18446744073709551615\nleast = -5\n\
        files = ['a', 'b']\nshapes = ['square', { round = { radius = 0.5 } }]\n\
        inner.first = [255, -1]\ngains = { '7' = 1.5, '8' = 2 }\n";

    #[test]
    fn any_type_of_serde_s_is_read() {
        let all: All = read(RIGHT).expect("it is right");
        let expected = All {
            threshold: 3.0,
            seed: u64::MAX,
            least: -5,
            files: vec!["a".into(), "b".into()],
            shapes: vec![Shape::Square, Shape::Round { radius: 0.5 }],
            inner: Some(Inner { first: (255, -1) }),
            gains: BTreeMap::from([("7".to_owned(), 1.5), ("8".to_owned(), 2.0)]),
        };
        assert_eq!(all, expected);
        read::<()>("").expect("no parameters");
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        for (from, to, part) in [
            (
                "threshold = 3",
                "threshold = 'x'",
                "'threshold': invalid type: string \"x\", expected f64",
            ),
            ("seed = 18446744073709551615", "seed = -1", "'seed': invalid value: integer `-1`"),
            ("least = -5", "least = 0.5", "'least': invalid type: floating point `0.5`"),
            ("[255, -1]", "[256, -1]", "'inner.first[0]': invalid value: integer `256`"),
            ("radius = 0.5", "radius = []", "'shapes[1].round.radius': invalid type: sequence"),
            ("'square'", "'sqare'", "'shapes[0]': unknown variant `sqare`, expected `square` or"),
            ("least = -5\n", "", "lacks 'least'"),
            (
                "least",
                "leest",
                "no parameter is called 'leest'; did you mean 'least'?; there are: threshold",
            ),
            ("1.5, '8'", "1979-05-27, '8'", "'gains.7': is a date"),
        ] {
            assert!(RIGHT.contains(from), "{from}");
            let wrong = RIGHT.replacen(from, to, 1);
            let (at, message) = read::<All>(&wrong).expect_err(to);
            assert!(message.starts_with(part), "{part} in {message}");
            let at = at.map(|at| &wrong[at..]);
            assert!(
                at.is_none_or(
                    |rest| to.is_empty() || rest.starts_with(['\'', '-', '0', '2', '[', 'l', '1'])
                ),
                "{at:?}"
            );
        }
        assert_eq!(
            read::<()>("a = 1").expect_err("none").1,
            "no parameter is called 'a'; there is none"
        );
    }
}
