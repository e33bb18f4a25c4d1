//! Whatever comes in on an open link that is no message of it: an error that names link, offset,
//! expected and found; the program never sees it; the link goes on where framing allows, else it
//! closes.

use actinium_wire::frame::{Kind, MAGIC, append};
use actinium_wire::hello::Hello;
use actinium_wire::{Encoding, Limits, Link, LinkError, Message, Numbers, Options};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
struct Reading {
    sensor: String,
    good: bool,
    values: Numbers<f64>,
}

fn reading(number: u32) -> Reading {
    let values = vec![f64::from(number); 3].into();
    Reading { sensor: format!("oven {number}"), good: true, values }
}

/// A link as a program has it, and the other end of its stream, which can send anything.
fn open(encoding: Encoding, checksum: bool) -> (Link<UnixStream>, UnixStream, u64) {
    let limits = Limits { frame_bytes: 1 << 12, ..Limits::default() };
    let options = Options { encodings: vec![encoding], checksum: Some(checksum), limits };
    let (near, far) = UnixStream::pair().expect("a pair of sockets");
    let raw = far.try_clone().expect("it is open");
    let opening = thread::spawn({
        let options = options.clone();
        move || Link::open::<Reading>(near, "the oven", &options).expect("it opens")
    });
    Link::open::<Reading>(far, "the program", &options).expect("it opens");
    let mut hello = Vec::new();
    let own = Hello::of::<Reading>(&options.encodings, checksum);
    let write = |out: &mut Vec<u8>| Encoding::SelfDescribing.encode(&own, out);
    let appended = append(&mut hello, Kind::Hello, Encoding::SelfDescribing, true, 1 << 20, write);
    assert_eq!(appended, Ok(Ok(())));
    (opening.join().expect("it does not panic"), raw, hello.len() as u64)
}

/// A frame of these bytes, as if they were a message.
fn frame(payload: &[u8], encoding: Encoding, checksum: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let write = |out: &mut Vec<u8>| {
        out.extend(payload);
        Ok::<(), ()>(())
    };
    let appended = append(&mut out, Kind::Message, encoding, checksum, usize::MAX, write);
    assert_eq!(appended, Ok(Ok(())));
    out
}

fn encoded(reading: &Reading, encoding: Encoding) -> Vec<u8> {
    let mut out = Vec::new();
    encoding.encode(reading, &mut out).expect("it is encoded");
    out
}

/// What the program takes in, and what it hears of the rest.
fn heard(link: &mut Link<UnixStream>) -> (Vec<Reading>, Vec<LinkError>) {
    let (mut taken, mut errors) = (Vec::new(), Vec::new());
    loop {
        match link.receive::<Reading>() {
            Ok(Some(reading)) => taken.push(reading),
            Ok(None) => return (taken, errors),
            Err(error) => {
                let is_fatal = error.is_fatal();
                errors.push(error);
                if is_fatal {
                    return (taken, errors);
                }
            }
        }
    }
}

/// Sends a good message, `bad`, and a good message; says what the program hears of it.
fn after(bad: &[u8], encoding: Encoding, checksum: bool) -> (Vec<Reading>, LinkError) {
    let (mut link, mut raw, hello) = open(encoding, checksum);
    let good = |number| frame(&encoded(&reading(number), encoding), encoding, checksum);
    let (before, behind) = (good(1), good(2));
    raw.write_all(&[&before, bad, &behind].concat()).expect("it is read");
    raw.shutdown(Shutdown::Both).expect("it is open");
    let (taken, mut errors) = heard(&mut link);
    assert_eq!(errors.len(), 1, "{encoding}: {errors:?}");
    let error = errors.remove(0);
    let line = error.to_string();
    assert_eq!(error.link, "the oven");
    assert_eq!(error.offset, hello + before.len() as u64, "{encoding}: {line}");
    let begin = format!("link the oven, offset {}: ", error.offset);
    assert!(line.starts_with(&begin), "{line}");
    assert!(line.contains("expected ") && line.contains(" found "), "{encoding}: {line}");
    (taken, error)
}

/// Damage that leaves the next frame where it is.
#[track_caller]
fn survives(bad: &[u8], encoding: Encoding, checksum: bool, part: &str) {
    let (taken, error) = after(bad, encoding, checksum);
    assert!(error.to_string().contains(part), "{encoding}: {error}");
    assert!(!error.is_fatal(), "{error}");
    assert_eq!(taken, [reading(1), reading(2)], "{encoding}");
}

/// Damage behind which nobody knows where the next frame begins.
#[track_caller]
fn closes(bad: &[u8], encoding: Encoding, checksum: bool, part: &str) {
    let (taken, error) = after(bad, encoding, checksum);
    assert!(error.to_string().contains(part), "{encoding}: {error}");
    assert!(error.is_fatal(), "{error}");
    assert_eq!(taken, [reading(1)], "{encoding}");
}

fn everywhere(test: impl Fn(Encoding, bool)) {
    for encoding in Encoding::available() {
        [false, true].into_iter().for_each(|checksum| test(encoding, checksum));
    }
}

#[test]
fn a_message_that_ends_too_early_is_passed_over() {
    everywhere(|encoding, checksum| {
        let whole = encoded(&reading(9), encoding);
        // A text's last byte is the end of its line, which it can do without.
        for length in 0..whole.len() - 1 {
            survives(
                &frame(&whole[..length], encoding, checksum),
                encoding,
                checksum,
                "message, offset ",
            );
        }
    });
}

#[test]
fn a_message_that_goes_on_is_passed_over() {
    everywhere(|encoding, checksum| {
        let long = [&encoded(&reading(9), encoding)[..], b"<x/>"].concat();
        survives(&frame(&long, encoding, checksum), encoding, checksum, "message, offset ");
    });
}

#[test]
fn a_flipped_bit_is_noticed_where_there_is_a_checksum() {
    for encoding in Encoding::available() {
        let whole = frame(&encoded(&reading(9), encoding), encoding, true);
        for bit in (12 * 8)..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            survives(&bad, encoding, true, "expected the checksum 0x");
        }
        // In the header: what it begins with, the length. The link is closed.
        let mut bad = whole.clone();
        bad[0] ^= 1;
        closes(&bad, encoding, true, "expected it to begin with 0xac, found 0xad");
        let mut bad = whole;
        bad[7] ^= 1;
        closes(&bad, encoding, true, "expected at most 4096 bytes, found a length of ");
    }
}

/// Without a checksum it may be another message of the same kind; the link goes on all the same.
#[test]
fn a_flipped_bit_without_a_checksum_harms_nothing_else() {
    for encoding in Encoding::available() {
        let whole = encoded(&reading(9), encoding);
        for bit in 0..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let (mut link, mut raw, _) = open(encoding, false);
            let behind = frame(&encoded(&reading(2), encoding), encoding, false);
            let stream = [frame(&bad, encoding, false), behind].concat();
            raw.write_all(&stream).expect("it is read");
            raw.shutdown(Shutdown::Both).expect("it is open");
            let (taken, errors) = heard(&mut link);
            assert_eq!(taken.last(), Some(&reading(2)), "{encoding}, bit {bit}");
            assert_eq!(taken.len() + errors.len(), 2, "{encoding}, bit {bit}");
        }
    }
}

#[test]
fn what_is_too_long_closes_the_link_before_it_is_read() {
    everywhere(|encoding, checksum| {
        let long = frame(&vec![b' '; 5_000], encoding, checksum);
        closes(&long, encoding, checksum, "expected at most 4096 bytes, found a length of 5000");
        let claimed = [MAGIC, 2, encoding.id(), 0, 255, 255, 255, 255];
        closes(&claimed, encoding, checksum, "found a length of 4294967295");
    });
}

#[test]
fn frames_of_no_known_kind_are_passed_over() {
    everywhere(|encoding, checksum| {
        for (header, part) in [
            ([MAGIC, 9, encoding.id(), 0], "expected a known kind, found 9"),
            ([MAGIC, 2, 99, 0], "expected a known encoding, found 99"),
            ([MAGIC, 2, encoding.id(), 2], "expected a known flag, found 2"),
            ([MAGIC, 1, encoding.id(), 0], "expected a message, found another hello"),
        ] {
            survives(&[&header[..], &[0; 4]].concat(), encoding, checksum, part);
        }
        let other = Encoding::ALL.into_iter().find(|other| *other != encoding).expect("there are");
        let bad = frame(&encoded(&reading(9), other), other, checksum);
        let part = format!(
            "expected the encoding that was agreed on, found {other} instead of {encoding}"
        );
        survives(&bad, encoding, checksum, &part);
    });
}

/// The stream ends within a frame: what was expected, and how much came.
#[test]
fn a_stream_that_ends_within_a_frame_says_so() {
    everywhere(|encoding, checksum| {
        let whole = frame(&encoded(&reading(9), encoding), encoding, checksum);
        for length in 1..whole.len() {
            let (mut link, mut raw, hello) = open(encoding, checksum);
            raw.write_all(&whole[..length]).expect("it is read");
            raw.shutdown(Shutdown::Both).expect("it is open");
            let (taken, errors) = heard(&mut link);
            let [error] = &errors[..] else { panic!("{errors:?}") };
            let expected = if length < 8 { 8 } else { whole.len() };
            assert_eq!(
                error.to_string(),
                format!(
                    "link the oven, offset {hello}: frame at offset {hello}: \
                     expected {expected} bytes, found the end after {length}"
                )
            );
            assert!(error.is_fatal() && taken.is_empty());
        }
    });
}

fn greeted(hello: &Hello) -> LinkError {
    let (near, mut far) = UnixStream::pair().expect("a pair of sockets");
    let mut bytes = Vec::new();
    let write = |out: &mut Vec<u8>| Encoding::SelfDescribing.encode(hello, out);
    let appended = append(&mut bytes, Kind::Hello, Encoding::SelfDescribing, true, 1 << 20, write);
    assert_eq!(appended, Ok(Ok(())));
    far.write_all(&bytes).expect("it is read");
    let opened = Link::open::<Reading>(near, "the oven", &Options::default());
    opened.expect_err("it parts")
}

#[test]
fn a_hello_of_another_version_is_refused_with_what_differs() {
    /// A later one, which lacks what this one needs.
    #[derive(Serialize, Deserialize, Message)]
    #[message(name = "Reading", version = 7)]
    struct Later {
        probe: u64,
    }
    let error = greeted(&Hello::of::<Later>(&Encoding::ALL, false));
    let line = error.to_string();
    let begin =
        "link the oven, offset 0: expected types like those of version 1, found version 7; ";
    assert!(line.starts_with(begin) && error.is_fatal(), "{line}");
    assert!(line.contains("Reading.sensor: expected, not written"), "{line}");
}

/// It would be taken for one that binary understands.
#[test]
fn a_hello_whose_fingerprint_is_not_that_of_its_types_is_refused() {
    let own = Hello::of::<Reading>(&Encoding::ALL, false).fingerprint;
    let mut hello = Hello::of::<Reading>(&Encoding::ALL, false);
    hello.fingerprint ^= 1;
    let error = greeted(&hello);
    assert_eq!(
        error.to_string(),
        format!(
            "link the oven, offset 0: expected the fingerprint {own:016x} of the types that the hello describes, \
             found {:016x}",
            own ^ 1
        )
    );
    assert!(error.is_fatal());
}
