//! Messages with everything in them that a message may have.

use actinium_wire::{Blob, Message, Numbers};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(crate) struct Unit;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(crate) struct Meters(pub(crate) f64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(crate) struct Pair(pub(crate) i8, pub(crate) String);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(crate) enum Payment {
    Cash,
    Card(String),
    Mixed(u32, Option<i64>),
    Account { holder: String, limit: Option<f32>, path: Vec<Payment> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(crate) struct Everything {
    pub(crate) flag: bool,
    pub(crate) small: i8,
    pub(crate) large: u64,
    pub(crate) least: i64,
    pub(crate) single: f32,
    pub(crate) double: f64,
    pub(crate) letter: char,
    pub(crate) text: String,
    pub(crate) maybe: Option<String>,
    pub(crate) nothing: (),
    pub(crate) unit: Unit,
    pub(crate) meters: Meters,
    pub(crate) pair: Pair,
    pub(crate) triple: (u8, bool, String),
    pub(crate) lists: Vec<Vec<u16>>,
    pub(crate) payments: Vec<Payment>,
    pub(crate) map: BTreeMap<String, Vec<i32>>,
    pub(crate) by_number: BTreeMap<u32, Payment>,
    pub(crate) blob: Blob,
    pub(crate) numbers: Numbers<f64>,
    pub(crate) boxed: Option<Box<Everything>>,
}

/// Strings with all that makes trouble: empty ones, white space at the ends, line ends, control
/// characters, brackets.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ \\t\\r\\n<>&\"'\\]\\[\u{0}-\u{1f}\u{fffe}x]{0,12}",
        Just(String::new()),
    ]
}

fn float() -> impl Strategy<Value = f64> {
    use proptest::num::f64;
    prop_oneof![
        f64::NORMAL | f64::SUBNORMAL | f64::ZERO | f64::NEGATIVE | f64::POSITIVE,
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY)
    ]
}

fn single() -> impl Strategy<Value = f32> {
    use proptest::num::f32;
    prop_oneof![
        f32::NORMAL | f32::SUBNORMAL | f32::ZERO | f32::NEGATIVE | f32::POSITIVE,
        Just(f32::INFINITY)
    ]
}

pub(crate) fn payment() -> impl Strategy<Value = Payment> {
    let leaf = prop_oneof![
        Just(Payment::Cash),
        text().prop_map(Payment::Card),
        (any::<u32>(), any::<Option<i64>>()).prop_map(|(a, b)| Payment::Mixed(a, b)),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        (text(), option::of(single()), vec(inner, 0..3))
            .prop_map(|(holder, limit, path)| Payment::Account { holder, limit, path })
    })
}

prop_compose! {
    fn flat()(
        (flag, small, large, least, letter) in any::<(bool, i8, u64, i64, char)>(),
        (single, double, meters) in (single(), float(), float()),
        (text, maybe, second, third) in (text(), option::of(text()), text(), text()),
        (first, triple) in any::<(i8, (u8, bool))>(),
        lists in vec(vec(any::<u16>(), 0..3), 0..3),
        payments in vec(payment(), 0..3),
        map in btree_map(text(), vec(any::<i32>(), 0..3), 0..3),
        by_number in btree_map(any::<u32>(), payment(), 0..3),
        blob in prop_oneof![vec(any::<u8>(), 0..8), vec(any::<u8>(), 250..300)],
        numbers in prop_oneof![vec(float(), 0..4), vec(float(), 30..40)],
    ) -> Everything {
        Everything {
            flag, small, large, least, single, double, letter, text, maybe, lists, payments, map, by_number,
            nothing: (),
            unit: Unit,
            meters: Meters(meters),
            pair: Pair(first, second),
            triple: (triple.0, triple.1, third),
            blob: blob.into(),
            numbers: numbers.into(),
            boxed: None,
        }
    }
}

pub(crate) fn everything() -> impl Strategy<Value = Everything> {
    (flat(), option::of(flat())).prop_map(|(mut outer, inner)| {
        outer.boxed = inner.map(Box::new);
        outer
    })
}
