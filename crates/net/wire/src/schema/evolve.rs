//! Compares two versions of a schema: whether a reader of one understands a writer of the other, by
//! the encodings that carry names.

use super::{Field, Shape, Type, ValidSchema, Variant};
use std::collections::{HashSet, VecDeque};
use std::fmt::{self, Display, Write};

/// Something that the writer may say and the reader does not understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// Where: types, fields and variants, from the message inwards.
    pub place: String,
    /// The difference: the type that the reader expects, and the type that the writer writes.
    pub problem: String,
    /// Whether no message can be understood. Else only those that have it in them.
    pub always: bool,
}

impl Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// Most differences of a kind that are told: those that always matter, and those that may.
const TOLD_MAX: usize = 32;
/// Most steps that a comparison takes: some hundred milliseconds.
const STEPS_MAX: usize = 1 << 24;
/// The longest place, in bytes of names. A difference that lies deeper is told by the place around
/// it.
const PLACE_BYTES_MAX: usize = 400;

/// Compares two schemas, and returns what `reader` does not understand of the messages that
/// `writer` may write: all breaks, or the first 32 that always matter, the first 32 that may, and
/// how many more there are. Types that are too large to be compared with each other in 16 million
/// steps are a break.
#[must_use]
pub fn breaks(writer: &ValidSchema<'_>, reader: &ValidSchema<'_>) -> Vec<Break> {
    let mut comparison = Comparison {
        writer,
        reader,
        seen: HashSet::new(),
        surely: VecDeque::new(),
        maybe: VecDeque::new(),
        told: [0; 2],
        steps: STEPS_MAX,
        breaks: Vec::new(),
        always: true,
    };
    let name = &writer.schema().name;
    comparison.types(name, &writer.schema().root, &reader.schema().root);
    comparison.run();
    comparison.finish(name)
}

/// Two types that are still to be compared, of which one has a name: not within each other, for who
/// describes types chooses how deep they are.
struct Pair<'a> {
    place: String,
    writer: &'a Type,
    reader: &'a Type,
}

struct Comparison<'a> {
    writer: &'a ValidSchema<'a>,
    reader: &'a ValidSchema<'a>,
    /// Where the descriptions of two types are that were compared: types may be recursive.
    seen: HashSet<(usize, usize)>,
    /// Pairs that every message has in it.
    surely: VecDeque<Pair<'a>>,
    /// Pairs that a message may have in it: after the others, for a pair may be among both.
    maybe: VecDeque<Pair<'a>>,
    /// Breaks that may matter, and those that always do.
    told: [usize; 2],
    /// How many steps are left.
    steps: usize,
    breaks: Vec<Break>,
    /// Whether every message has in it what is compared.
    always: bool,
}

impl<'a> Comparison<'a> {
    fn run(&mut self) {
        while self.steps > 0 {
            let next = self.surely.pop_front().map(|pair| (pair, true));
            let next = next.or_else(|| self.maybe.pop_front().map(|pair| (pair, false)));
            let Some((pair, always)) = next else { return };
            let (writer, reader) =
                (self.writer.on_the_wire(pair.writer), self.reader.on_the_wire(pair.reader));
            if self.seen.insert((self.writer.position(writer), self.reader.position(reader))) {
                self.always = always;
                self.compare(&pair.place, writer, reader);
            }
        }
    }

    /// Two types, of which none is a newtype.
    fn compare(&mut self, place: &str, writer: &'a Type, reader: &'a Type) {
        match (writer, reader) {
            (Type::Named(ours), Type::Named(theirs)) => {
                let pair = (self.writer.definition(ours), self.reader.definition(theirs));
                if let (Some(writer), Some(reader)) = pair {
                    self.shapes(place, &writer.shape, &reader.shape);
                }
            }
            _ => self.parts(place, writer, reader),
        }
    }

    fn finish(mut self, name: &str) -> Vec<Break> {
        let mut tell = |problem, always| {
            self.breaks.push(Break { place: name.to_owned(), problem, always });
        };
        let untold: usize = self.told.iter().map(|told| told.saturating_sub(TOLD_MAX)).sum();
        if untold > 0 {
            tell(format!("{untold} more differences"), false);
        }
        if self.steps == 0 {
            tell("expected types of a size that can be compared, found larger ones".into(), true);
        }
        self.breaks
    }

    /// False if that is too much.
    fn step(&mut self, count: usize) -> bool {
        self.steps = self.steps.saturating_sub(count);
        self.steps > 0
    }

    fn found(&mut self, place: &str, problem: impl FnOnce() -> String) {
        let told = &mut self.told[usize::from(self.always)];
        *told += 1;
        if *told <= TOLD_MAX {
            let (place, problem) = (place.to_owned(), problem());
            self.breaks.push(Break { place, problem, always: self.always });
        }
    }

    fn sometimes(&mut self, compare: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.always, false);
        compare(self);
        self.always = before;
    }

    /// Compares two types. Types with names are compared later, so this goes no deeper than types
    /// are nested without names.
    fn types(&mut self, place: &str, writer: &'a Type, reader: &'a Type) {
        if !self.step(1) {
            return;
        }
        if !matches!((writer, reader), (Type::Named(_), _) | (_, Type::Named(_))) {
            return self.parts(place, writer, reader);
        }
        let pair = Pair { place: place.to_owned(), writer, reader };
        match self.always {
            true => self.surely.push_back(pair),
            false => self.maybe.push_back(pair),
        }
    }

    /// Two types that are no structs or enums both, and no newtypes.
    fn parts(&mut self, place: &str, writer: &'a Type, reader: &'a Type) {
        match (writer, reader) {
            (Type::Option(writer), Type::Option(reader)) => {
                self.sometimes(|all| all.types(place, writer, reader));
            }
            (writer, Type::Option(reader)) => self.types(place, writer, reader),
            (Type::Option(writer), reader) => self.sometimes(|all| {
                let expected = Short(reader);
                all.found(place, || format!("expected {expected}, and nothing may be written"));
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
                self.tuples(place, writer, reader);
            }
            (writer, reader) if widens(writer, reader) => {}
            (writer, reader) => {
                let problem =
                    || format!("expected {}, and {} is written", Short(reader), Short(writer));
                // Most numbers may fit all the same; one that does not is an error for itself.
                match integer(writer).and(integer(reader)) {
                    Some(_) => self.sometimes(|all| all.found(place, problem)),
                    None => self.found(place, problem),
                }
            }
        }
    }

    fn tuples(&mut self, place: &str, writer: &'a [Type], reader: &'a [Type]) {
        let pairs = writer.iter().zip(reader);
        pairs.for_each(|(writer, reader)| self.types(place, writer, reader));
    }

    fn shapes(&mut self, place: &str, writer: &'a Shape, reader: &'a Shape) {
        match (writer, reader) {
            (Shape::Unit, Shape::Unit) => {}
            (Shape::Newtype(writer), Shape::Newtype(reader)) => self.types(place, writer, reader),
            (Shape::Tuple(writer), Shape::Tuple(reader)) if writer.len() == reader.len() => {
                self.tuples(place, writer, reader);
            }
            (Shape::Struct(writer), Shape::Struct(reader)) => self.fields(place, writer, reader),
            (Shape::Enum(writer), Shape::Enum(reader)) => self.variants(place, writer, reader),
            (writer, reader) => self.found(place, || {
                format!("expected '{}', and '{}' is written", Short(reader), Short(writer))
            }),
        }
    }

    fn fields(&mut self, place: &str, writer: &'a [Field], reader: &'a [Field]) {
        for field in reader {
            if !self.step(1 + writer.len() * (1 + field.aliases.len())) {
                return;
            }
            let known = |name: &String| *name == field.name || field.aliases.contains(name);
            let place = inside(place, ".", &field.name);
            match writer.iter().find(|written| known(&written.name)) {
                Some(written) => self.types(&place, &written.of, &field.of),
                None if field.default || matches!(field.of, Type::Option(_)) => {}
                None => self.found(&place, || {
                    "expected, not written, and without a default: add #[serde(default)]".to_owned()
                }),
            }
        }
    }

    fn variants(&mut self, place: &str, writer: &'a [Variant], reader: &'a [Variant]) {
        let names: usize = reader.iter().map(|variant| 1 + variant.aliases.len()).sum();
        self.sometimes(|all| {
            for variant in writer {
                if !all.step(1 + names) {
                    return;
                }
                let known = |other: &&Variant| {
                    other.name == variant.name || other.aliases.contains(&variant.name)
                };
                let place = inside(place, "::", &variant.name);
                match reader.iter().find(known) {
                    Some(other) => all.shapes(&place, &variant.shape, &other.shape),
                    None => all.found(&place, || "a variant that is not known".to_owned()),
                }
            }
        });
    }
}

fn inside(place: &str, mark: &str, name: &str) -> String {
    match place.len() > PLACE_BYTES_MAX {
        true => place.to_owned(),
        false => format!("{place}{mark}{name}"),
    }
}

/// The beginning of a declaration, which may be as long as a hello.
struct Short<'a, T>(&'a T);

impl<T: Display> Display for Short<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bounded = Bounded { text: String::new(), left: 200 };
        match write!(bounded, "{}", self.0) {
            Ok(()) => f.write_str(&bounded.text),
            Err(fmt::Error) => write!(f, "{}..", bounded.text),
        }
    }
}

/// Takes so many bytes.
struct Bounded {
    text: String,
    left: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let most = self.left.min(part.len());
        let end = (0..=most).rev().find(|&end| part.is_char_boundary(end)).unwrap_or(0);
        self.text.push_str(&part[..end]);
        self.left -= end;
        if end < part.len() { Err(fmt::Error) } else { Ok(()) }
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
