//! The name and the fingerprint of what a handle takes.

use actinium_wire::schema::{Describe, Schema, Type, Types};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

/// What handles that travel take and answer.
pub(super) trait Data: Describe + Serialize + DeserializeOwned + Send + 'static {}

impl<T: Describe + Serialize + DeserializeOwned + Send + 'static> Data for T {}

/// The name of the first field of each handle.
pub(super) const TICKET: &str = "ticket";

/// What the handles of one type take.
#[derive(Debug)]
pub(super) struct Kind {
    /// The names of a handle's fields. The second is that of what the handle takes, so that two
    /// handles for different messages are different types on the wire.
    pub(super) fields: [&'static str; 2],
    pub(super) fingerprint: u64,
}

impl Kind {
    /// The name of the field that says what the handle takes.
    pub(super) fn takes(&self) -> &'static str {
        self.fields[1]
    }
}

/// The kinds by the types that they are of. One for each type of the program that handles take:
/// they are never freed.
static KINDS: RwLock<BTreeMap<TypeId, &'static Kind>> = RwLock::new(BTreeMap::new());

/// The kind of handles that take `T`.
pub(super) fn kind<T: Describe>() -> &'static Kind {
    let of = TypeId::of::<T>();
    let known = KINDS.read().unwrap_or_else(PoisonError::into_inner).get(&of).copied();
    known.unwrap_or_else(|| {
        // Not behind the lock: types are described by the user's code.
        let made: &'static Kind = Box::leak(Box::new(make::<T>()));
        KINDS.write().unwrap_or_else(PoisonError::into_inner).entry(of).or_insert(made)
    })
}

fn make<T: Describe>() -> Kind {
    let takes = takes(&T::describe(&mut Types::default()));
    let fingerprint = Schema::of::<T>(&takes, 1).fingerprint();
    Kind { fields: [TICKET, Box::leak(takes.into_boxed_str())], fingerprint }
}

/// The name of the field that says what a handle takes: the type's name, in letters that all
/// encodings can say. The same wherever the type is described.
pub(super) fn takes(of: &Type) -> String {
    let name = of.to_string();
    let mut field = "takes".to_owned();
    for word in name.split(|letter: char| !letter.is_alphanumeric() && letter != '#') {
        // The second type of this name in a description is called `Name#2`.
        let word = word.split('#').next().unwrap_or_default();
        if !word.is_empty() {
            field.push('_');
            field.push_str(word);
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipient;
    use serde::Deserialize;

    #[derive(Serialize, Deserialize, actinium_wire::Message)]
    struct Ping {
        to: Recipient<Ping>,
        others: Vec<Recipient<Option<u64>>>,
    }

    mod other {
        use serde::{Deserialize, Serialize};

        #[derive(Serialize, Deserialize, actinium_wire::Message)]
        pub(super) struct Ping {
            pub(super) n: u32,
        }
    }

    #[test]
    fn a_kind_is_named_after_what_it_takes_wherever_that_is_described() {
        assert_eq!(kind::<Ping>().takes(), "takes_Ping");
        assert_eq!(kind::<(u32, Vec<other::Ping>)>().takes(), "takes_u32_list_Ping");
        assert_ne!(kind::<Ping>().fingerprint, kind::<other::Ping>().fingerprint);
        let mut types = Types::default();
        assert_eq!(takes(&Ping::describe(&mut types)), "takes_Ping");
        assert_eq!(other::Ping::describe(&mut types), Type::Named("Ping#2".to_owned()));
        assert_eq!(takes(&other::Ping::describe(&mut types)), "takes_Ping");
    }

    #[test]
    fn messages_with_handles_of_themselves_are_described() {
        let schema = Schema::of::<Ping>("ping", 1);
        schema.valid().expect("the handles are lists");
        assert!(schema.to_string().contains("takes_Ping: list<Ping>"), "{schema}");
        assert!(schema.to_string().contains("takes_option_u64: list<option<u64>>"), "{schema}");
    }

    #[test]
    fn two_nodes_that_do_not_agree_on_a_handle_are_told_where() {
        use actinium_wire::schema::breaks;
        let (ours, theirs) = (
            Schema::of::<(u8, Recipient<u32>)>("talk", 1),
            Schema::of::<(u8, Recipient<String>)>("talk", 1),
        );
        let breaks = breaks(&theirs.valid().unwrap(), &ours.valid().unwrap());
        assert!(breaks.iter().any(|it| it.always && it.place.ends_with("takes_u32")), "{breaks:?}");
    }
}
