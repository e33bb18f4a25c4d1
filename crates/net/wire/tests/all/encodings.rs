//! Every encoding says every message, and takes from outside nothing but messages within the
//! limits.

use crate::common::{Everything, everything};
use actinium_wire::{Blob, Encoding, Limits, Numbers};
use bytes::Bytes;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

fn encoded(encoding: Encoding, message: &impl Serialize) -> Bytes {
    let mut bytes = Vec::new();
    encoding.encode(message, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
    bytes.into()
}

#[track_caller]
fn there_and_back<M: Serialize + DeserializeOwned + PartialEq + Debug>(message: &M) {
    for encoding in Encoding::available() {
        let bytes = encoded(encoding, message);
        let back: M = encoding.decode(&bytes, &Limits::default()).unwrap_or_else(|error| {
            panic!("{error} in {:?}", String::from_utf8_lossy(&bytes));
        });
        assert_eq!(&back, message, "{encoding}: {:?}", String::from_utf8_lossy(&bytes));
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        assert!(!encoding.is_text() || lines == 1, "{encoding}: one message a line");
    }
}

fn refused<M: DeserializeOwned + Debug>(
    encoding: Encoding,
    bytes: &[u8],
    limits: &Limits,
) -> String {
    let decoded = encoding.decode::<M>(&Bytes::copy_from_slice(bytes), limits);
    decoded.expect_err("it is refused").to_string()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_encoding_says_every_message(message in everything()) {
        there_and_back(&message);
    }

    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let limits = Limits { memory_bytes: 1 << 18, ..Limits::default() };
        for encoding in Encoding::available() {
            let _ = encoding.decode::<Everything>(&bytes.clone().into(), &limits);
            let _ = encoding.decode::<Vec<()>>(&bytes.clone().into(), &limits);
        }
    }

    #[test]
    fn damaged_messages_are_messages_or_errors(
        message in everything(), at in any::<prop::sample::Index>(), bit in 0_u8..8, cut in any::<bool>(),
    ) {
        for encoding in Encoding::available() {
            let mut bytes = encoded(encoding, &message).to_vec();
            let at = at.index(bytes.len());
            match cut {
                true => bytes.truncate(at),
                false => bytes[at] ^= 1 << bit,
            }
            if let Err(error) = encoding.decode::<Everything>(&bytes.clone().into(), &Limits::default()) {
                prop_assert!(error.offset <= bytes.len(), "{error}");
                prop_assert_eq!(error.encoding, encoding);
            }
        }
    }
}

#[test]
fn what_is_not_a_number_stays_what_it_is() {
    #[derive(Serialize, Deserialize)]
    struct Floats(f64, f32, Numbers<f64>, Option<f64>);
    for encoding in Encoding::available() {
        let floats = Floats(f64::NAN, f32::NAN, vec![f64::NAN, 1.0].into(), Some(f64::NAN));
        let bytes = encoded(encoding, &floats);
        let back: Floats = encoding.decode(&bytes, &Limits::default()).expect("it is decoded");
        assert!(back.0.is_nan() && back.1.is_nan() && back.3.is_some_and(f64::is_nan));
        assert!(back.2.get(0).is_some_and(f64::is_nan) && back.2.get(1) == Some(1.0));
    }
}

#[test]
fn a_mebibyte_of_numbers_is_not_copied() {
    let message = ("temperatures".to_owned(), Numbers::from(vec![0.5_f64; 1 << 17]));
    for encoding in [Encoding::Binary, Encoding::SelfDescribing] {
        let frame = encoded(encoding, &message);
        let (_, numbers): (String, Numbers<f64>) =
            encoding.decode(&frame, &Limits::default()).expect("it is decoded");
        let place = numbers.as_le_bytes().as_ptr();
        assert!(frame.as_ptr_range().contains(&place), "{encoding}: it lies in the frame");
        drop(frame);
        assert_eq!(numbers.iter().sum::<f64>(), 65_536.0);
    }
    let frame = encoded(Encoding::Binary, &Blob::from(vec![1; 1 << 20]));
    let blob: Blob = Encoding::Binary.decode(&frame, &Limits::default()).expect("it is decoded");
    assert!(frame.as_ptr_range().contains(&blob.as_ptr()));
}

#[test]
fn borrowed_fields_lie_in_the_bytes() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Borrowed<'a> {
        name: &'a str,
    }
    for encoding in [Encoding::Binary, Encoding::SelfDescribing, Encoding::Text] {
        let bytes = encoded(encoding, &Borrowed { name: "actinium" });
        let back: Borrowed<'_> =
            encoding.decode_slice(&bytes, &Limits::default()).expect("it is decoded");
        assert!(bytes.as_ptr_range().contains(&back.name.as_ptr()), "{encoding}");
    }
}

/// A claimed length costs neither memory nor time: lists of what takes no bytes on the wire are the
/// worst.
#[test]
fn claimed_lengths_are_not_believed() {
    let mut claim = vec![0xff; 9];
    claim.push(1);
    let limits = Limits { memory_bytes: 1 << 16, ..Limits::default() };
    for error in [
        refused::<Vec<()>>(Encoding::Binary, &claim, &limits),
        refused::<Vec<u64>>(Encoding::Binary, &claim, &limits),
        refused::<String>(Encoding::Binary, &claim, &limits),
        refused::<std::collections::BTreeMap<(), ()>>(Encoding::Binary, &claim, &limits),
        refused::<Vec<()>>(Encoding::SelfDescribing, &[0xdd, 0xff, 0xff, 0xff, 0xff], &limits),
        refused::<Blob>(Encoding::SelfDescribing, &[0xc6, 0xff, 0xff, 0xff, 0xff], &limits),
    ] {
        assert!(error.contains("expected") && error.contains("offset"), "{error}");
    }
}

/// Few bytes on the wire may be much memory: 10,000 times `None` is 10,000 bytes, and 10 MB in a
/// list of these.
#[test]
fn memory_is_limited() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Large {
        a: Option<[[u64; 16]; 8]>,
    }
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let list: Vec<Large> = (0..10_000).map(|_| Large { a: None }).collect();
    for encoding in Encoding::available() {
        let bytes = encoded(encoding, &list);
        let error = refused::<Vec<Large>>(encoding, &bytes, &limits);
        assert!(error.contains("limit"), "{error}");
        assert!(encoding.decode::<Vec<Large>>(&bytes, &Limits::default()).is_ok());
    }
}

#[test]
fn a_struct_is_paid_for_once() {
    #[derive(Debug, PartialEq, Clone, Serialize, Deserialize)]
    struct Wide {
        a: u64,
        b: u64,
        c: u64,
        d: u64,
    }
    // Each element is 32 bytes of the list and 32 of a struct that may be boxed.
    let list = vec![Wide { a: 1, b: 2, c: 3, d: 4 }; 100];
    let bytes = encoded(Encoding::Binary, &list);
    let enough = Limits { memory_bytes: 7_000, ..Limits::default() };
    assert_eq!(Encoding::Binary.decode::<Vec<Wide>>(&bytes, &enough), Ok(list));
    let limits = Limits { memory_bytes: 6_000, ..Limits::default() };
    refused::<Vec<Wide>>(Encoding::Binary, &bytes, &limits);
}

/// A type may read more than the fields that it has said.
#[test]
fn what_is_no_field_is_paid_for() {
    #[derive(Debug)]
    struct Greedy;

    impl<'de> Deserialize<'de> for Greedy {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_struct("Greedy", &["field"], Greedy)
        }
    }

    impl<'de> serde::de::Visitor<'de> for Greedy {
        type Value = Greedy;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Greedy, A::Error> {
            while list.next_element::<()>()?.is_some() {}
            Ok(Greedy)
        }
    }

    let bytes = [&[0xdd, 0, 0, 0x07, 0xd0][..], &[0xc0; 2_000]].concat();
    let limits = Limits { memory_bytes: 1 << 16, ..Limits::default() };
    let error = refused::<Greedy>(Encoding::SelfDescribing, &bytes, &limits);
    assert!(error.contains("limit of memory"), "{error}");
    let bytes = Bytes::from(bytes);
    assert!(Encoding::SelfDescribing.decode::<Greedy>(&bytes, &Limits::default()).is_ok());
}

#[test]
fn depth_is_limited() {
    #[derive(Debug, Default, Serialize, Deserialize)]
    struct Nested {
        inner: Option<Box<Nested>>,
    }
    let nested = |levels: usize| {
        (0..levels).fold(Nested::default(), |inner, _| Nested { inner: Some(Box::new(inner)) })
    };
    for encoding in Encoding::available() {
        let (shallow, deep) = (encoded(encoding, &nested(50)), encoded(encoding, &nested(2_000)));
        assert!(encoding.decode::<Nested>(&shallow, &Limits::default()).is_ok(), "{encoding}");
        let error = refused::<Nested>(encoding, &deep, &Limits::default());
        assert!(error.contains("nesting") || error.contains("limit"), "{error}");
    }
    // Without end, and unknown to the type: these are skipped, but not without limit.
    for (encoding, open) in [
        (Encoding::SelfDescribing, vec![0x91; 100_000]),
        (Encoding::Text, vec![b'['; 100_000]),
        (Encoding::Xml, b"<a>".repeat(100_000)),
    ]
    .into_iter()
    .filter(|(encoding, _)| encoding.is_available())
    {
        refused::<Nested>(encoding, &open, &Limits::default());
        refused::<serde::de::IgnoredAny>(encoding, &open, &Limits::default());
    }
}

#[test]
fn length_is_limited() {
    let limits = Limits { frame_bytes: 10, ..Limits::default() };
    for encoding in Encoding::available() {
        let bytes = encoded(encoding, &"twelve bytes");
        assert_eq!(
            refused::<String>(encoding, &bytes, &limits),
            format!(
                "{encoding} message, offset 0: expected at most 10 bytes, found {}",
                bytes.len()
            )
        );
    }
}

#[test]
fn an_error_says_where() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Point {
        x: u32,
        y: bool,
    }
    let refused = |encoding, bytes: &[u8]| refused::<Point>(encoding, bytes, &Limits::default());
    assert_eq!(
        refused(Encoding::Binary, &[7]),
        "binary message, offset 1: expected more bytes, found the end"
    );
    assert_eq!(
        refused(Encoding::Binary, &[7, 1, 9, 9]),
        "binary message, offset 2: expected the end of the message, found 2 bytes more"
    );
    assert_eq!(
        refused(Encoding::Binary, &[7, 2]),
        "binary message, offset 2: expected 0 or 1 for a truth, found another byte"
    );
    assert_eq!(
        refused(Encoding::Text, br#"{"x": 1, "y": 5}"#),
        "text message, offset 14: invalid type: integer `5`, expected a boolean at line 1 column 15"
    );
    assert_eq!(
        refused(Encoding::Text, br#"{"x": 1, "y": ?}"#),
        "text message, offset 14: expected JSON, found '?': expected value at line 1 column 15"
    );
    assert_eq!(
        refused(Encoding::Text, br#"{"x": 1, "y": tr"#),
        "text message, offset 15: expected more text, found the end: EOF while parsing a value at line 1 column 16"
    );
    let mut named = encoded(Encoding::SelfDescribing, &Point { x: 1, y: true }).to_vec();
    named.truncate(5);
    assert_eq!(
        refused(Encoding::SelfDescribing, &named),
        "self-describing message, offset 5: expected more bytes, found the end"
    );
    named.extend([b'y', 0xc3, 0x01]);
    assert!(refused(Encoding::SelfDescribing, &named).contains("expected"));
}

/// The same from a short message as from a long one, which is read by other code.
#[test]
fn binary_says_what_is_wrong_in_long_messages_too() {
    let limits = Limits::default();
    let expect = |error: String, offset: usize, problem: &str| {
        assert_eq!(error, format!("binary message, offset {offset}: {problem}"));
    };
    for front in [1_usize, 300] {
        let damaged = |bytes: &[u8]| {
            let front = encoded(Encoding::Binary, &"x".repeat(front));
            (front.len(), [&front, bytes].concat())
        };
        let (at, bytes) = damaged(&[7]);
        expect(
            refused::<(String, Option<u8>)>(Encoding::Binary, &bytes, &limits),
            at + 1,
            "expected 0 or 1 for an option, found another byte",
        );
        let (at, bytes) = damaged(&[2, 0xff, 0xff]);
        expect(
            refused::<(String, String)>(Encoding::Binary, &bytes, &limits),
            at + 3,
            "expected UTF-8, found other bytes",
        );
        let (at, bytes) = damaged(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]);
        expect(
            refused::<(String, Blob)>(Encoding::Binary, &bytes, &limits),
            at + 10,
            "expected a number, found one that is too large",
        );
        let (at, bytes) = damaged(&[2, 1]);
        expect(
            refused::<(String, Blob)>(Encoding::Binary, &bytes, &limits),
            at + 1,
            "expected more bytes, found the end",
        );
        let (at, bytes) = damaged(&[1, 9, 9]);
        expect(
            refused::<(String, u8)>(Encoding::Binary, &bytes, &limits),
            at + 1,
            "expected the end of the message, found 2 bytes more",
        );
    }
}

/// What postcard writes, byte by byte: other builds of a program read it.
#[test]
fn binary_is_postcard() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Variant {
        Unit,
        Struct { wide: i64, one: Option<char> },
    }
    type Message = ((bool, u16, i32), f32, String, Vec<Variant>, Option<u128>, u64);
    let message: Message = (
        (true, 0x0102, -2),
        1.5,
        "é".to_owned(),
        vec![Variant::Unit, Variant::Struct { wide: 3, one: Some('x') }],
        None,
        u64::MAX,
    );
    let expected: [&[u8]; 11] = [
        &[1],
        &[0x82, 0x02],
        &[3],
        &[0, 0, 0xc0, 0x3f],
        &[2, 0xc3, 0xa9],
        &[2],
        &[0],
        &[1, 6],
        &[1, 1, b'x'],
        &[0],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
    ];
    let bytes = encoded(Encoding::Binary, &message);
    assert_eq!(bytes, expected.concat());
    assert_eq!(Encoding::Binary.decode::<Message>(&bytes, &Limits::default()), Ok(message));
}

#[test]
fn what_can_not_be_said_is_an_error_and_leaves_nothing_behind() {
    let mut out = vec![1, 2];
    let by_list = std::collections::BTreeMap::from([(vec![1], 2)]);
    let error = Encoding::Text.encode(&by_list, &mut out).expect_err("keys are strings");
    assert_eq!(error.to_string(), "text can not say this message: key must be a string");
    assert_eq!(out, [1, 2]);
}
