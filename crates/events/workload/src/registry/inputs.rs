//! The inputs of a module of the program's own, by their types.

use actinium_events::{Input, Inputs, Product};
use std::any::TypeId;

/// A type, and its name for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeOf {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
}

impl TypeOf {
    pub(crate) fn of<T: 'static>() -> Self {
        TypeOf { id: TypeId::of::<T>(), name: std::any::type_name::<T>() }
    }
}

/// An input, or as many as the file names, that a module needs.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub(crate) of: TypeOf,
    /// All that are left, none included.
    pub(crate) rest: bool,
}

/// The inputs that a file names, one after the other.
#[derive(Debug)]
pub struct Asking<'a> {
    inputs: &'a mut Inputs,
    labels: std::slice::Iter<'a, String>,
}

impl<'a> Asking<'a> {
    pub(crate) fn new(inputs: &'a mut Inputs, labels: &'a [String]) -> Self {
        Asking { inputs, labels: labels.iter() }
    }
}

/// What a module gets its inputs as: an [`Input`], a `Vec` of inputs of one type (all that are
/// left), `()`, a [`Slot`], or a tuple of up to eight of these. They stand in the order of the
/// file's `inputs`.
pub trait ModuleInputs: Sized + 'static {
    #[doc(hidden)]
    fn wanted(into: &mut Vec<Wanted>);
    #[doc(hidden)]
    fn take(asking: &mut Asking<'_>) -> Self;
}

impl<T: Product> ModuleInputs for Input<T> {
    fn wanted(into: &mut Vec<Wanted>) {
        into.push(Wanted { of: TypeOf::of::<T>(), rest: false });
    }

    fn take(asking: &mut Asking<'_>) -> Self {
        // A file with too few was refused; the graph refuses the label that is none.
        let label = asking.labels.next().map_or("", String::as_str);
        asking.inputs.get(label)
    }
}

impl<T: Product> ModuleInputs for Vec<Input<T>> {
    fn wanted(into: &mut Vec<Wanted>) {
        into.push(Wanted { of: TypeOf::of::<T>(), rest: true });
    }

    fn take(asking: &mut Asking<'_>) -> Self {
        let Asking { inputs, labels } = asking;
        labels.map(|label| inputs.get(label.as_str())).collect()
    }
}

/// The slot for which an instance of a `stream` module is made; `None` for all other modules. It
/// takes none of the file's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub Option<usize>);

impl ModuleInputs for Slot {
    fn wanted(_: &mut Vec<Wanted>) {}

    fn take(asking: &mut Asking<'_>) -> Self {
        Slot(asking.inputs.slot())
    }
}

impl ModuleInputs for () {
    fn wanted(_: &mut Vec<Wanted>) {}

    fn take(_: &mut Asking<'_>) -> Self {}
}

macro_rules! tuples {
    ($($($input:ident)+;)+) => {$(
        impl<$($input: ModuleInputs),+> ModuleInputs for ($($input,)+) {
            fn wanted(into: &mut Vec<Wanted>) {
                $($input::wanted(into);)+
            }

            fn take(asking: &mut Asking<'_>) -> Self {
                ($($input::take(asking),)+)
            }
        }
    )+};
}

tuples! {
    A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_wanted_in_their_order() {
        let mut wanted = Vec::new();
        <(Input<u8>, (), (Input<u16>, Vec<Input<u32>>))>::wanted(&mut wanted);
        let wanted: Vec<_> = wanted.iter().map(|wanted| (wanted.of.name, wanted.rest)).collect();
        assert_eq!(wanted, [("u8", false), ("u16", false), ("u32", true)]);
    }
}
