//! Describes types.

use super::model::{Definition, Shape, Type, Variant};
use crate::bulk::{Blob, ByteArray, Number, Numbers};
use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// A type that a message may contain: `#[derive(Message)]`, and what is implemented here.
pub trait Describe: 'static {
    /// Describes the type, and adds its structs and enums to `types`.
    fn describe(types: &mut Types) -> Type;
}

/// The structs and enums met so far.
#[derive(Debug, Default)]
pub struct Types {
    known: Vec<(TypeId, String)>,
    definitions: BTreeMap<usize, Definition>,
}

impl Types {
    /// Adds a struct or enum of this name, unless it is there. `shape` may meet the same type
    /// again: it is recursive then.
    pub fn define<T: 'static>(
        &mut self,
        name: &str,
        shape: impl FnOnce(&mut Types) -> Shape,
    ) -> Type {
        let id = TypeId::of::<T>();
        if let Some((_, name)) = self.known.iter().find(|(known, _)| *known == id) {
            return Type::Named(name.clone());
        }
        // Two modules may each have a type of this name.
        let taken = |name: &str| self.known.iter().any(|(_, known)| known == name);
        let mut unique = name.to_owned();
        let mut number = 2;
        while taken(&unique) {
            unique = format!("{name}#{number}");
            number += 1;
        }
        let index = self.known.len();
        self.known.push((id, unique.clone()));
        let shape = shape(self);
        self.definitions.insert(index, Definition { name: unique.clone(), shape });
        Type::Named(unique)
    }

    /// In the order in which they were met.
    pub(super) fn definitions(self) -> Vec<Definition> {
        self.definitions.into_values().collect()
    }
}

macro_rules! plain {
    ($($type:ty => $name:ident,)*) => {$(
        impl Describe for $type {
            fn describe(_types: &mut Types) -> Type {
                Type::$name
            }
        }
    )*};
}

plain! {
    bool => Bool, char => Char, String => String, () => Unit, Blob => Bytes,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64,
}

impl<const N: usize> Describe for ByteArray<N> {
    fn describe(_types: &mut Types) -> Type {
        Type::Bytes
    }
}

impl<T: Number + Describe> Describe for Numbers<T> {
    fn describe(types: &mut Types) -> Type {
        Type::Numbers(Box::new(T::describe(types)))
    }
}

impl<T: Describe> Describe for Option<T> {
    fn describe(types: &mut Types) -> Type {
        Type::Option(Box::new(T::describe(types)))
    }
}

/// An enum of two variants, as serde has it.
impl<T: Describe, E: Describe> Describe for Result<T, E> {
    fn describe(types: &mut Types) -> Type {
        types.define::<Self>("Result", |types| {
            let variant = |name: &str, of| Variant::new(name, Shape::Newtype(of));
            Shape::Enum(vec![variant("Ok", T::describe(types)), variant("Err", E::describe(types))])
        })
    }
}

impl<T: Describe> Describe for Box<T> {
    fn describe(types: &mut Types) -> Type {
        T::describe(types)
    }
}

macro_rules! lists {
    ($($list:ident)*) => {$(
        impl<T: Describe> Describe for $list<T> {
            fn describe(types: &mut Types) -> Type {
                Type::List(Box::new(T::describe(types)))
            }
        }
    )*};
}

lists! { Vec VecDeque BTreeSet }

impl<T: Describe, S: 'static> Describe for HashSet<T, S> {
    fn describe(types: &mut Types) -> Type {
        Type::List(Box::new(T::describe(types)))
    }
}

impl<K: Describe, V: Describe> Describe for BTreeMap<K, V> {
    fn describe(types: &mut Types) -> Type {
        Type::Map(Box::new(K::describe(types)), Box::new(V::describe(types)))
    }
}

impl<K: Describe, V: Describe, S: 'static> Describe for HashMap<K, V, S> {
    fn describe(types: &mut Types) -> Type {
        Type::Map(Box::new(K::describe(types)), Box::new(V::describe(types)))
    }
}

impl<T: Describe, const N: usize> Describe for [T; N] {
    fn describe(types: &mut Types) -> Type {
        Type::Tuple((0..N).map(|_| T::describe(types)).collect())
    }
}

macro_rules! tuples {
    ($(($($name:ident)+))*) => {$(
        impl<$($name: Describe),+> Describe for ($($name,)+) {
            fn describe(types: &mut Types) -> Type {
                Type::Tuple(vec![$($name::describe(types)),+])
            }
        }
    )*};
}

tuples! { (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }
