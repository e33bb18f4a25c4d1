//! A peer describes its types as it likes: whatever it says, it is compared within bounds, or
//! refused with the type's name.

use actinium_wire::frame::{Kind, append};
use actinium_wire::hello::{Hello, Incompatible, negotiate};
use actinium_wire::schema::{Definition, Field, Schema, Shape, Type, Variant, breaks};
use actinium_wire::{Encoding, Limits, Link, LinkError, LinkFault, Message, Options, Value};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
struct Reading {
    sensor: String,
    values: Vec<f64>,
}

fn named(name: &str) -> Type {
    Type::Named(name.to_owned())
}

fn definition(name: &str, shape: Shape) -> Definition {
    Definition { name: name.to_owned(), shape }
}

/// `Reading`, whose sensor is of the type `of`.
fn with(of: Type, types: Vec<Definition>) -> Schema {
    let fields =
        vec![Field::new("sensor", of), Field::new("values", Type::List(Box::new(Type::F64)))];
    let reading = definition("Reading", Shape::Struct(fields));
    let types = [vec![reading], types].concat();
    Schema { name: "Reading".to_owned(), version: 2, root: named("Reading"), types }
}

/// What a program hears whose peer says that its messages look so; and what the peer hears.
fn greeted(schema: Schema) -> (LinkError, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it listens");
    let mut far = TcpStream::connect(address).expect("it is there");
    let (near, _) = listener.accept().expect("it has connected");
    let hello = Hello::with_schema(schema, &Encoding::ALL, false);
    let mut bytes = Vec::new();
    let write = |out: &mut Vec<u8>| Encoding::SelfDescribing.encode(&hello, out);
    let appended = append(&mut bytes, Kind::Hello, Encoding::SelfDescribing, true, 1 << 20, write);
    assert_eq!(appended, Ok(Ok(())));
    far.write_all(&bytes).expect("it is read");
    let error = Link::open_tcp::<Reading>(near, &Options::default()).expect_err("it parts");
    let mut heard = Vec::new();
    far.read_to_end(&mut heard).expect("the program has closed it");
    (error, heard)
}

#[track_caller]
fn refused(schema: Schema, part: &str) {
    let (error, heard) = greeted(schema);
    let line = error.to_string();
    assert!(line.contains(part), "{line}");
    assert!(error.is_fatal() && matches!(error.fault, LinkFault::Incompatible(_)), "{line}");
    assert!(String::from_utf8_lossy(&heard).contains(part), "the peer is told why");
}

#[test]
fn a_newtype_of_itself_is_refused_by_its_name() {
    refused(with(named("L"), vec![definition("L", Shape::Newtype(named("L")))]), "type 'L'");
}

/// So many structs, each made by `shape` of the next one's type; the last is empty.
fn chain(length: usize, shape: impl Fn(Type) -> Shape) -> Vec<Definition> {
    let one = |index: usize| match index + 1 == length {
        true => definition(&format!("T{index}"), Shape::Unit),
        false => definition(&format!("T{index}"), shape(named(&format!("T{}", index + 1)))),
    };
    (0..length).map(one).collect()
}

#[test]
fn circles_without_data_are_refused_by_a_type_in_them() {
    let circle = |shape: fn(Type) -> Shape| {
        with(
            named("A"),
            vec![definition("A", shape(named("B"))), definition("B", shape(named("A")))],
        )
    };
    refused(circle(Shape::Newtype), "type 'A': it contains itself");
    refused(circle(|of| Shape::Tuple(vec![of])), "type 'A': it contains itself");
    refused(circle(|of| Shape::Struct(vec![Field::new("x", of)])), "type 'A': it contains itself");
    refused(circle(|of| Shape::Newtype(Type::Tuple(vec![of]))), "type 'A': it contains itself");
    // Where nothing in the message leads to it, too.
    let aside = vec![definition("S", Shape::Newtype(named("S")))];
    refused(with(Type::String, aside), "type 'S': it contains itself");
}

#[test]
fn circles_through_what_holds_data_are_compared_to_their_end() {
    let tree = |of: Type| with(named("T"), vec![definition("T", Shape::Newtype(of))]);
    refused(tree(Type::List(Box::new(named("T")))), "Reading.sensor: expected string, and list<T>");
    let own = Hello::of::<Reading>(&Encoding::ALL, false);
    let maybe = tree(Type::Option(Box::new(named("T"))));
    let peer = Hello::with_schema(maybe, &Encoding::ALL, false);
    let remarks = negotiate(&own, &peer).expect("some messages are understood").remarks;
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert!(remarks[1].contains("Reading.sensor: expected string, and nothing may be written"));
    let variants = vec![Variant::new("More", Shape::Newtype(named("T")))];
    let of_itself = vec![definition("T", Shape::Enum(variants))];
    refused(with(named("T"), of_itself), "Reading.sensor: expected string, and T is written");
}

#[test]
fn what_is_deep_is_refused_and_what_is_just_not_is_compared() {
    let newtypes = |length| with(named("T0"), chain(length, Shape::Newtype));
    refused(newtypes(1000), "expected at most 128 types in each other, found more");
    refused(newtypes(120), "Reading.sensor: expected string, and T119 is written");
    // Within one type: as deep as a hello can be decoded.
    let nested = |levels| (0..levels).fold(Type::String, |of, _| Type::List(Box::new(of)));
    refused(with(nested(20), Vec::new()), "Reading.sensor: expected string, and list<list<");
    let deep = with(nested(200), Vec::new()).valid().expect_err("it is too deep").to_string();
    assert!(deep.contains("type 'Reading': expected at most 128 types in each other"), "{deep}");
    // Through lists a type may be as deep as it likes: comparing it takes no stack.
    let lists = |of| Shape::Struct(vec![Field::new("next", Type::List(Box::new(of)))]);
    let long = with(named("T0"), chain(10_000, lists)).into_valid().expect("it may be walked");
    assert_eq!(breaks(&long, &long), []);
}

/// 2^60 paths lead to the last of these.
#[test]
fn what_is_shared_is_compared_once() {
    let shared = |name: &str| {
        let twice = |of: Type| Shape::Tuple(vec![of.clone(), of]);
        let mut types = chain(60, twice);
        types.last_mut().expect("there are some").shape = Shape::Newtype(named(name));
        types.push(definition(name, Shape::Struct(vec![Field::new(name, Type::Bool)])));
        with(named("T0"), types).into_valid().expect("it may be walked")
    };
    let found = breaks(&shared("Own"), &shared("Other"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].problem.starts_with("expected, not written") && found[0].always);
    refused(
        with(named("T0"), chain(60, |of| Shape::Tuple(vec![of.clone(), of]))),
        "Reading.sensor",
    );
}

#[test]
fn what_is_large_or_makes_no_sense_is_refused() {
    let many = |count: usize| {
        let fields = (0..count).map(|index| Field::new(&format!("f{index}"), Type::Bool));
        with(named("M"), vec![definition("M", Shape::Struct(fields.collect()))])
    };
    refused(many(4097), "type 'M': expected at most 4096 fields or variants");
    refused(many(4096), "Reading.sensor: expected string, and M is written");
    let wide = Type::Tuple(vec![Type::Bool; 1 << 17]);
    let parts = with(wide, Vec::new()).valid().expect_err("it is too large").to_string();
    assert!(parts.contains("type 'Reading': expected at most 131072 parts in all"), "{parts}");
    let long = "x".repeat(257);
    refused(with(named(&long), vec![definition(&long, Shape::Unit)]), "of at most 256 bytes");
    refused(with(named("Missing"), Vec::new()), "type 'Reading': 'Missing' is not described");
    let twice = || definition("Twice", Shape::Unit);
    refused(with(named("Twice"), vec![twice(), twice()]), "type 'Twice': it is described twice");
    refused(
        with(Type::Numbers(Box::new(Type::String)), Vec::new()),
        "expected numbers of a scalar",
    );
    let variants = vec![Variant::new("Inner", Shape::Enum(Vec::new()))];
    let nested = vec![definition("E", Shape::Enum(variants))];
    refused(with(named("E"), nested), "type 'E': variant 'Inner': expected data, found an enum");
}

/// What is told of two types that differ everywhere is bounded, whatever names the peer chooses.
#[test]
fn what_is_told_is_bounded() {
    let chain = |kind: Type| {
        let mut types = Vec::new();
        for index in 0..200 {
            let fields = (0..40).map(|field| {
                let name = format!("{field}{}", "n".repeat(200));
                let of = if field == 0 { named(&format!("T{}", index + 1)) } else { kind.clone() };
                Field::new(&name, Type::List(Box::new(of)))
            });
            types.push(definition(&format!("T{index}"), Shape::Struct(fields.collect())));
        }
        types.push(definition("T200", Shape::Unit));
        with(named("T0"), types).into_valid().expect("it may be walked")
    };
    let found = breaks(&chain(Type::Bool), &chain(Type::Tuple(vec![Type::String; 12])));
    assert_eq!(found.len(), 33);
    assert_eq!(found[32].problem, format!("{} more differences", 200 * 39 - 32));
    let told: usize = found.iter().map(|one| one.to_string().len()).sum();
    assert!(told < 64 << 10, "{told} bytes");
}

/// A break that always matters is found, even if the same pair was met before where it may not
/// matter.
#[test]
fn a_break_that_always_matters_is_no_lesser_one_for_being_met_twice() {
    let both = |field: &str| {
        let inner = definition("Inner", Shape::Struct(vec![Field::new(field, Type::Bool)]));
        let fields = vec![
            Field::new("maybe", Type::Option(Box::new(named("Inner")))),
            Field::new("surely", named("Inner")),
        ];
        with(named("Both"), vec![definition("Both", Shape::Struct(fields)), inner])
            .into_valid()
            .expect("it may be walked")
    };
    let found = breaks(&both("old"), &both("new"));
    assert!(
        found.iter().any(|one| one.always && one.place == "Reading.sensor.surely.new"),
        "{found:?}"
    );
}

#[test]
fn types_too_large_to_be_compared_with_each_other_are_a_break() {
    let many = |prefix: &str| {
        let fields: Vec<Field> = (0..4000)
            .map(|index| Field::new(&format!("{prefix}{index}"), Type::Bool).default())
            .collect();
        let types =
            (0..10).map(|index| definition(&format!("T{index}"), Shape::Struct(fields.clone())));
        let all = (0..10).map(|index| named(&format!("T{index}"))).collect();
        with(Type::Tuple(all), types.collect()).into_valid().expect("it may be walked")
    };
    let found = breaks(&many("a"), &many("b"));
    let last = found.last().expect("there is one");
    assert!(last.always && last.problem.contains("expected types of a size"), "{found:?}");
}

/// A struct with so many fields that need not come, and a message of a few bytes.
#[test]
fn fields_that_do_not_come_take_no_more_memory_than_is_allowed() {
    let fields = (0..4096).map(|index| {
        Field::new(&format!("{}{index}", "n".repeat(250)), Type::Option(Box::new(Type::Bool)))
    });
    let all = Type::List(Box::new(named("All")));
    let types = vec![definition("All", Shape::Struct(fields.collect()))];
    let schema = Schema { name: "Hollow".to_owned(), version: 1, root: all, types };
    let schema = schema.into_valid().expect("it may be walked");
    let limits = Limits { memory_bytes: 3 << 20, ..Limits::default() };
    let decoded = |bytes: &[u8], encoding| Value::decode(encoding, bytes, &schema, &limits);
    let Ok(Value::List(one)) = decoded(b"[{}]", Encoding::Text) else { panic!("one has room") };
    assert!(matches!(&one[0], Value::Struct(fields) if fields.len() == 4096));
    for (bytes, encoding) in [
        (&b"[{},{},{},{}]"[..], Encoding::Text),
        (&[0x94, 0x80, 0x80, 0x80, 0x80], Encoding::SelfDescribing),
        (&[&[4][..], &[0; 4 * 4096]].concat(), Encoding::Binary),
    ] {
        let error = decoded(bytes, encoding).expect_err("it takes too much").to_string();
        assert!(error.contains("memory"), "{encoding}: {error}");
    }
}

fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        Just(Type::Bool),
        Just(Type::U32),
        Just(Type::String),
        Just(Type::Unit),
        Just(Type::Numbers(Box::new(Type::F64))),
        (0..6_u8).prop_map(|index| named(&format!("T{index}"))),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|of| Type::Option(Box::new(of))),
            inner.clone().prop_map(|of| Type::List(Box::new(of))),
            (inner.clone(), inner.clone())
                .prop_map(|(key, value)| Type::Map(Box::new(key), Box::new(value))),
            proptest::collection::vec(inner, 0..4).prop_map(Type::Tuple),
        ]
    })
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let types = || proptest::collection::vec(any_type(), 0..4);
    let data = || {
        prop_oneof![
            Just(Shape::Unit),
            any_type().prop_map(Shape::Newtype),
            types().prop_map(Shape::Tuple),
            types().prop_map(|types| {
                let field = |(index, of)| Field::new(&format!("f{index}"), of);
                Shape::Struct(types.into_iter().enumerate().map(field).collect())
            }),
        ]
    };
    let variants = proptest::collection::vec(data(), 0..4).prop_map(|shapes| {
        let variant = |(index, shape)| Variant::new(&format!("V{index}"), shape);
        Shape::Enum(shapes.into_iter().enumerate().map(variant).collect())
    });
    prop_oneof![2 => data(), 1 => variants]
}

/// Up to six types that refer to each other as they like.
fn any_schema() -> impl Strategy<Value = Schema> {
    (any_type(), proptest::collection::vec(any_shape(), 4..=6)).prop_map(|(root, shapes)| {
        let one = |(index, shape)| definition(&format!("T{index}"), shape);
        let types = shapes.into_iter().enumerate().map(one).collect();
        Schema { name: "Any".to_owned(), version: 1, root, types }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever two sides describe, they come to an end; one that is accepted understands itself.
    #[test]
    fn any_two_descriptions_are_compared_to_an_end(own in any_schema(), peer in any_schema()) {
        let own = Hello::with_schema(own, &Encoding::ALL, false);
        let peer = Hello::with_schema(peer, &Encoding::ALL, false);
        let _ = negotiate(&own, &peer);
        if let Ok(valid) = own.schema.valid() {
            prop_assert_eq!(breaks(&valid, &valid), []);
            prop_assert!(negotiate(&own, &own).is_ok());
        } else {
            let refused = negotiate(&own, &own).expect_err("it may not be walked");
            prop_assert!(matches!(refused, Incompatible::Schema { .. }), "{}", refused);
        }
    }

    /// Whatever a peer describes, its messages are values or errors.
    #[test]
    fn any_bytes_of_any_description_are_a_value_or_an_error(
        schema in any_schema(),
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let limits = Limits { memory_bytes: 1 << 16, ..Limits::default() };
        if let Ok(schema) = schema.into_valid() {
            for encoding in Encoding::available() {
                let value = Value::decode(encoding, &bytes, &schema, &limits);
                if let (Ok(value), Encoding::Binary) = (value, encoding) {
                    let mut again = Vec::new();
                    value.encode(encoding, &mut again).expect("what was decoded can be encoded");
                    let back = Value::decode(encoding, &again, &schema, &limits);
                    prop_assert_eq!(format!("{:?}", back.expect("and decoded")), format!("{value:?}"));
                }
            }
        }
    }
}
