//! Descriptions that may be walked. Whatever a peer says of its types is bounded here, and nowhere
//! else: what compares types, or reads messages by them, takes a [`ValidSchema`].

use super::{Definition, Schema, Shape, Type};
use std::borrow::Cow;
use std::fmt::{self, Display};

/// Most types, fields, variants and aliases of a description in all.
const PARTS_MAX: usize = 1 << 17;
/// Most levels of types that lie in each other, as in `struct A { b: B }`, `struct B(Vec<C>)`.
const DEPTH_MAX: usize = 128;
/// Most names of one type: fields or variants, and their aliases.
const NAMES_MAX: usize = 4096;
/// Most bytes of a name.
const NAME_BYTES_MAX: usize = 256;

/// A description of types that was looked at, so that it may be walked.
///
/// - Each type that it names is in it, once.
/// - No type contains itself but through an option, a list, a map or an enum: those hold data, so
///   that a walk along a message ends with it.
/// - It has at most 131,072 parts, 128 levels, 4096 names per type, and 256 bytes per name.
///
/// ```
/// use actinium_wire::schema::{Definition, Schema, Shape, Type};
///
/// let own = Type::Named("L".to_owned());
/// let types = vec![Definition { name: "L".to_owned(), shape: Shape::Newtype(own.clone()) }];
/// let schema = Schema { name: "Talk".to_owned(), version: 1, root: own, types };
/// let fault = schema.valid().expect_err("struct L(L)");
/// assert!(fault.to_string().starts_with("the types of 'Talk': type 'L': it contains itself"));
/// ```
#[derive(Clone, Debug)]
pub struct ValidSchema<'a> {
    schema: Cow<'a, Schema>,
    by_name: Vec<usize>,
}

/// The reason for which a description of types can not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFault {
    /// The name of the description.
    pub schema: String,
    /// Which type of it is wrong.
    pub place: String,
    /// The error in that type.
    pub problem: String,
}

impl Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SchemaFault { schema, place, problem } = self;
        write!(f, "the types of '{schema}': {place}: {problem}")
    }
}

impl std::error::Error for SchemaFault {}

impl Schema {
    /// The same, if it may be walked. Takes time in proportion to its parts.
    ///
    /// # Errors
    /// If it is not as a [`ValidSchema`] is: the fault names the type.
    pub fn valid(&self) -> Result<ValidSchema<'_>, SchemaFault> {
        ValidSchema::new(Cow::Borrowed(self))
    }

    /// Validates the schema like [`valid`](Self::valid), and takes ownership of it.
    ///
    /// # Errors
    /// As [`valid`](Self::valid).
    pub fn into_valid(self) -> Result<ValidSchema<'static>, SchemaFault> {
        ValidSchema::new(Cow::Owned(self))
    }
}

impl<'a> ValidSchema<'a> {
    fn new(schema: Cow<'a, Schema>) -> Result<Self, SchemaFault> {
        let types = &schema.types;
        let mut by_name: Vec<usize> = (0..types.len()).collect();
        by_name.sort_unstable_by_key(|&index| &types[index].name);
        let valid = ValidSchema { by_name, schema };
        Check::new(&valid).all().map_err(|(place, problem)| {
            let schema = short(&valid.schema.name);
            SchemaFault { schema, place, problem }
        })?;
        Ok(valid)
    }

    /// Returns the schema.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The struct or enum of this name.
    pub(crate) fn definition(&self, name: &str) -> Option<&Definition> {
        self.index(name).map(|index| &self.schema.types[index])
    }

    fn index(&self, name: &str) -> Option<usize> {
        let types = &self.schema.types;
        let found = self.by_name.binary_search_by_key(&name, |&index| &types[index].name);
        found.ok().map(|place| self.by_name[place])
    }

    /// Where the description of a type lies, by which it is told from others.
    pub(super) fn position(&self, of: &Type) -> usize {
        let definition = match of {
            Type::Named(name) => self.definition(name).map(|one| std::ptr::from_ref(one).addr()),
            _ => None,
        };
        definition.unwrap_or(std::ptr::from_ref(of).addr())
    }

    /// Returns the type as it appears on the wire: the content of a newtype, and of the newtype in
    /// that.
    pub(super) fn on_the_wire<'t>(&'t self, mut of: &'t Type) -> &'t Type {
        while let Type::Named(name) = of
            && let Some(Definition { shape: Shape::Newtype(inner), .. }) = self.definition(name)
        {
            of = inner;
        }
        of
    }
}

/// The first bytes of a text that a peer chooses, for an error.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

/// Where, and what.
type Fault = (String, String);

/// The state of a definition during the check.
#[derive(Clone, Copy)]
enum Known {
    Nothing,
    /// The definition is being checked. If the check meets it again, it has found a circle.
    Begun,
    /// How many levels lie in it.
    Levels(usize),
}

struct Check<'a> {
    valid: &'a ValidSchema<'a>,
    known: Vec<Known>,
    parts: usize,
    /// The definition that is being looked at.
    place: Option<usize>,
}

impl<'a> Check<'a> {
    fn new(valid: &'a ValidSchema<'a>) -> Self {
        let known = vec![Known::Nothing; valid.schema.types.len()];
        Check { valid, known, parts: 0, place: None }
    }

    fn all(&mut self) -> Result<(), Fault> {
        let schema: &Schema = &self.valid.schema;
        self.name(&schema.name)?;
        for pair in self.valid.by_name.windows(2) {
            if schema.types[pair[0]].name == schema.types[pair[1]].name {
                self.place = Some(pair[0]);
                return self.fault("it is described twice");
            }
        }
        self.levels(&schema.root, 0, true)?;
        (0..schema.types.len()).try_for_each(|index| self.definition(index, 0).map(drop))
    }

    fn fault<T>(&self, problem: impl Into<String>) -> Result<T, Fault> {
        let place = match self.place {
            Some(index) => format!("type '{}'", short(&self.valid.schema.types[index].name)),
            None => "the message".to_owned(),
        };
        Err((place, problem.into()))
    }

    fn part(&mut self) -> Result<(), Fault> {
        self.parts += 1;
        match self.parts > PARTS_MAX {
            true => self.fault(format!("expected at most {PARTS_MAX} parts in all, found more")),
            false => Ok(()),
        }
    }

    fn name(&mut self, name: &str) -> Result<(), Fault> {
        self.part()?;
        match name.len() > NAME_BYTES_MAX {
            true => self.fault(format!(
                "expected names of at most {NAME_BYTES_MAX} bytes, found '{}' of {}",
                short(name),
                name.len()
            )),
            false => Ok(()),
        }
    }

    fn names<'n>(&mut self, names: impl Iterator<Item = &'n String>) -> Result<(), Fault> {
        for (count, name) in names.enumerate() {
            if count == NAMES_MAX {
                let problem = "fields or variants, aliases among them, found more";
                return self.fault(format!("expected at most {NAMES_MAX} {problem}"));
            }
            self.name(name)?;
        }
        Ok(())
    }

    /// How many levels lie in a definition, which is on this level. Each is looked at once.
    fn definition(&mut self, index: usize, level: usize) -> Result<usize, Fault> {
        let before = self.place.replace(index);
        let levels = match self.known[index] {
            Known::Levels(levels) if level + levels > DEPTH_MAX => return self.too_deep(),
            Known::Levels(levels) => levels,
            Known::Begun => {
                return self.fault(
                    "it contains itself with no option, list, map or enum in between, so that no value of it ends",
                );
            }
            Known::Nothing => {
                self.known[index] = Known::Begun;
                let Definition { name, shape } = &self.valid.schema.types[index];
                self.name(name)?;
                let levels = self.shape(shape, level, true)?;
                self.known[index] = Known::Levels(levels);
                levels
            }
        };
        self.place = before;
        Ok(levels)
    }

    fn too_deep<T>(&self) -> Result<T, Fault> {
        self.fault(format!("expected at most {DEPTH_MAX} types in each other, found more"))
    }

    /// `whole`: each value has it in it.
    fn shape(&mut self, shape: &'a Shape, level: usize, whole: bool) -> Result<usize, Fault> {
        match shape {
            Shape::Unit => Ok(0),
            Shape::Newtype(of) => self.levels(of, level, whole),
            Shape::Tuple(types) => self.deepest(types.iter(), level, whole),
            Shape::Struct(fields) => {
                self.names(fields.iter().flat_map(|one| one.aliases.iter().chain([&one.name])))?;
                self.deepest(fields.iter().map(|field| &field.of), level, whole)
            }
            Shape::Enum(variants) => {
                self.names(variants.iter().flat_map(|one| one.aliases.iter().chain([&one.name])))?;
                let mut deepest = 0;
                for variant in variants {
                    if matches!(variant.shape, Shape::Enum(_)) {
                        let name = short(&variant.name);
                        return self
                            .fault(format!("variant '{name}': expected data, found an enum"));
                    }
                    deepest = deepest.max(self.shape(&variant.shape, level, false)?);
                }
                Ok(deepest)
            }
        }
    }

    fn deepest(
        &mut self,
        types: impl Iterator<Item = &'a Type>,
        level: usize,
        whole: bool,
    ) -> Result<usize, Fault> {
        let mut deepest = 0;
        for of in types {
            deepest = deepest.max(self.levels(of, level, whole)?);
        }
        Ok(deepest)
    }

    /// How many levels a type has. It goes no deeper than allowed, and a named type is entered only
    /// where it is a part of each value: others are looked at by themselves.
    fn levels(&mut self, of: &'a Type, level: usize, whole: bool) -> Result<usize, Fault> {
        self.part()?;
        if level == DEPTH_MAX {
            return self.too_deep();
        }
        let inner = level + 1;
        let deepest = match of {
            Type::Option(of) | Type::List(of) => self.levels(of, inner, false)?,
            Type::Map(key, value) => {
                self.levels(key, inner, false)?.max(self.levels(value, inner, false)?)
            }
            Type::Tuple(types) => self.deepest(types.iter(), inner, whole)?,
            Type::Numbers(of) if !is_number(of) => {
                return self.fault("expected numbers of a scalar type, found other ones");
            }
            Type::Named(name) => match self.valid.index(name) {
                Some(index) if whole => self.definition(index, inner)?,
                Some(_) => 0,
                None => return self.fault(format!("'{}' is not described", short(name))),
            },
            _ => return Ok(0),
        };
        Ok(deepest + 1)
    }
}

fn is_number(of: &Type) -> bool {
    use Type::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(of, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | F32 | F64)
}
