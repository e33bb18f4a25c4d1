//! Links over real connections: what two sides agree on, and what happens to what is damaged.

use actinium_wire::frame::{MAGIC, Unframer};
use actinium_wire::hello::{Hello, negotiate};
use actinium_wire::link::hello_of;
use actinium_wire::{Blob, Encoding, Limits, Link, LinkError, Message, Options};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "talk")]
struct Talk {
    line: String,
    data: Blob,
}

/// The next version: a field more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "talk", version = 2)]
struct Talk2 {
    line: String,
    data: Blob,
    #[serde(default)]
    mood: u8,
}

/// A version that needs what the others do not say.
#[derive(Debug, Serialize, Deserialize, Message)]
#[message(name = "talk", version = 3)]
struct Talk3 {
    language: String,
}

#[derive(Debug, Serialize, Deserialize, Message)]
struct Other;

type Opened = Result<Link<TcpStream>, LinkError>;

fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let near = TcpStream::connect(listener.local_addr().expect("it listens")).expect("it is there");
    let (far, _) = listener.accept().expect("it has connected");
    (near, far)
}

fn both<A: Message, B: Message>(a: Options, b: Options) -> (Opened, Opened) {
    let (near, far) = connection();
    let other = thread::spawn(move || Link::open_tcp::<B>(far, &b));
    (Link::open_tcp::<A>(near, &a), other.join().expect("it does not panic"))
}

fn offering(encodings: &[Encoding]) -> Options {
    Options { encodings: encodings.to_vec(), ..Options::default() }
}

#[test]
fn both_sides_agree_on_the_best_that_both_have() {
    use Encoding::{Binary, SelfDescribing, Text};
    let all = Encoding::available();
    let last = all[all.len() - 1];
    for (a, b, negotiated) in [
        (&all[..], &all[..], Binary),
        (&[Text], &all, Text),
        (&all, &[last], last),
        (&[Text, SelfDescribing], &[SelfDescribing, Text], SelfDescribing),
    ] {
        let (near, far) = both::<Talk, Talk>(offering(a), offering(b));
        let (mut near, mut far) = (near.expect("it opens"), far.expect("it opens"));
        for link in [&near, &far] {
            assert_eq!(link.negotiated().encoding, negotiated);
            assert_eq!(link.negotiated().remarks, [""; 0]);
            assert!(!link.negotiated().checksum, "one host");
        }
        let message = Talk { line: "hello\n".to_owned(), data: vec![7; 300].into() };
        near.send(&message).expect("it is sent");
        assert_eq!(far.receive().expect("it comes"), Some(message));
        drop(near);
        assert_eq!(far.receive::<Talk>().expect("it is no error"), None);
    }
}

#[test]
fn checksums_are_on_if_one_side_wants_them() {
    let wanted = Options { checksum: Some(true), ..Options::default() };
    let (near, far) = both::<Talk, Talk>(Options::default(), wanted);
    assert!(
        near.expect("it opens").negotiated().checksum
            && far.expect("it opens").negotiated().checksum
    );
}

#[test]
fn binary_gives_way_where_types_differ_and_says_so_once() {
    let (near, far) = both::<Talk, Talk2>(Options::default(), Options::default());
    let (mut near, mut far) = (near.expect("it opens"), far.expect("it opens"));
    assert_eq!(near.negotiated().encoding, Encoding::SelfDescribing);
    let [remark] = near.negotiated().remarks.as_slice() else { panic!("{:?}", near.negotiated()) };
    let fingerprint = Talk::schema().fingerprint();
    assert!(
        remark.starts_with(&format!(
            "self-describing instead of binary: the types differ (version 1, fingerprint {fingerprint:016x} here; version 2, "
        )),
        "{remark}"
    );
    near.send(&Talk { line: "a".to_owned(), data: Blob::default() }).expect("it is sent");
    let heard: Talk2 = far.receive().expect("it comes").expect("it is there");
    assert_eq!((heard.line.as_str(), heard.mood), ("a", 0));
    far.send(&Talk2 { mood: 9, ..heard }).expect("it is sent");
    assert_eq!(near.receive::<Talk>().expect("it comes").expect("it is there").line, "a");
    let (text, _) = both::<Talk, Talk2>(offering(&[Encoding::Text]), Options::default());
    assert_eq!(
        text.expect("it opens").negotiated().encoding,
        Encoding::Text,
        "text needs no stand-in"
    );
}

#[test]
fn who_can_not_speak_with_each_other_parts_and_says_why() {
    let said = |opened: Opened| {
        let line = opened.expect_err("it parts").to_string();
        line.split_once(", offset 0: ").expect("link and offset").1.to_owned()
    };
    let (near, far) = both::<Talk, Other>(Options::default(), Options::default());
    assert_eq!(said(near), "expected the protocol 'talk', found 'Other'");
    assert_eq!(said(far), "expected the protocol 'Other', found 'talk'");
    let (near, _) = both::<Talk, Talk>(offering(&[Encoding::Text]), offering(&[Encoding::Xml]));
    assert_eq!(
        said(near),
        "expected one of the encodings text, found xml: the two have none in common"
    );
    let (near, _) = both::<Talk, Talk3>(Options::default(), Options::default());
    assert_eq!(
        said(near),
        "expected types like those of version 1, found version 3; \
         talk.line: expected, not written, and without a default: add #[serde(default)]; \
         talk.data: expected, not written, and without a default: add #[serde(default)]; \
         talk.language: expected, not written, and without a default: add #[serde(default)]"
    );
}

/// What a side does that has heard `bytes` instead of a hello, or behind one.
fn hearing(bytes: &[u8]) -> (Opened, TcpStream) {
    let (near, mut far) = connection();
    far.write_all(bytes).expect("it is sent");
    far.shutdown(std::net::Shutdown::Write).expect("it is open");
    (Link::open_tcp::<Talk>(near, &Options::default()), far)
}

#[test]
fn what_is_no_hello_is_refused() {
    for (bytes, problem) in [
        (
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            "frame at offset 0: expected it to begin with 0xac, found 0x47",
        ),
        (b"", "expected a hello, found the end of the stream"),
        (&[MAGIC, 2, 1, 0, 1, 0, 0, 0, 9], "expected a hello, found Message of 1 bytes"),
        (
            &[MAGIC, 1, 2, 0, 1, 0, 0, 0, 9],
            "self-describing message, offset 0: invalid type: integer `9`, expected struct Hello",
        ),
        (
            &[MAGIC, 1, 2, 0, 255, 255, 255, 255],
            "frame at offset 0: expected at most 262144 bytes, found a length of 4294967295",
        ),
        (&[MAGIC, 1, 2], "frame at offset 0: expected 8 bytes, found the end after 3"),
    ] {
        let error = hearing(bytes).0.expect_err("it is refused");
        assert!(error.to_string().ends_with(&format!("offset 0: {problem}")), "{error}");
    }
}

/// A damaged message is passed over, and the link lives; where the next frame begins nobody knows,
/// it does not.
#[test]
fn a_link_survives_where_framing_allows() {
    let (near, far) = both::<Talk, Talk>(Options::default(), Options::default());
    let (mut near, mut far) = (near.expect("it opens"), far.expect("it opens"));
    let name = far.name().to_owned();
    let mut raw = near.stream().try_clone().expect("it is open");
    raw.write_all(&[MAGIC, 2, 1, 0, 2, 0, 0, 0, 9, 9]).expect("it is sent");
    raw.write_all(&[MAGIC, 2, 3, 0, 0, 0, 0, 0]).expect("it is sent");
    raw.write_all(&[MAGIC, 77, 1, 0, 0, 0, 0, 0]).expect("it is sent");
    near.send(&Talk { line: "still here".to_owned(), data: Blob::default() }).expect("it is sent");
    raw.write_all(b"what?").expect("it is sent");
    let mut said = Vec::new();
    for fatal in [false, false, false] {
        let error = far.receive::<Talk>().expect_err("it is damaged");
        assert_eq!(error.is_fatal(), fatal, "{error}");
        let line = error.to_string();
        let line = line.strip_prefix(&format!("link {name}, offset ")).expect("the link's name");
        said.push(line.split_once(": ").expect("an offset").1.to_owned());
    }
    assert_eq!(said[0], "binary message, offset 1: expected more bytes, found the end");
    assert_eq!(said[1], "expected the encoding that was agreed on, found text instead of binary");
    assert!(said[2].ends_with("expected a known kind, found 77"), "{said:?}");
    assert_eq!(far.receive::<Talk>().expect("it comes").expect("it is there").line, "still here");
    let error = far.receive::<Talk>().expect_err("it is no frame");
    assert!(error.is_fatal() && error.to_string().contains("found 0x77"), "{error}");
}

#[test]
fn own_messages_are_kept_within_the_limits() {
    let limits = Limits { frame_bytes: 100, ..Limits::default() };
    let short = Options { limits, ..Options::default() };
    let (near, far) = both::<Talk, Talk>(short, Options::default());
    let (mut near, mut far) = (near.expect("it opens"), far.expect("it opens"));
    let error = near.send(&Talk { line: String::new(), data: vec![0; 200].into() });
    let error = error.expect_err("it is too long");
    assert!(!error.is_fatal());
    assert!(
        error.to_string().ends_with("expected a message of at most 100 bytes, found one of 203")
    );
    near.send(&Talk { line: "short".to_owned(), data: Blob::default() }).expect("it is sent");
    assert_eq!(far.receive::<Talk>().expect("it comes").expect("it is there").line, "short");
    far.send(&Talk { line: String::new(), data: vec![0; 200].into() }).expect("it may send more");
    let error = near.receive::<Talk>().expect_err("it is too long");
    assert!(
        error.is_fatal() && error.to_string().contains("expected at most 100 bytes"),
        "{error}"
    );
}

/// Both sides of any two hellos come to the same.
#[test]
fn negotiation_is_symmetric() {
    let lists: Vec<Vec<Encoding>> = (0..16_u8)
        .map(|bits| {
            let has = |index: &usize| bits >> index & 1 == 1;
            let list = (0..4).filter(has).map(|index| Encoding::ALL[index]);
            if bits % 3 == 0 { list.rev().collect() } else { list.collect() }
        })
        .collect();
    for a in &lists {
        for b in &lists {
            for other in [Hello::of::<Talk>(b, true), Hello::of::<Talk2>(b, true)] {
                let own = Hello::of::<Talk>(a, false);
                let (here, there) = (negotiate(&own, &other), negotiate(&other, &own));
                assert_eq!(here.is_ok(), there.is_ok());
                if let (Ok(here), Ok(there)) = (here, there) {
                    assert_eq!((here.encoding, here.checksum), (there.encoding, there.checksum));
                }
            }
        }
    }
}

/// A hello from the future: more fields, encodings that we do not know.
#[test]
fn a_hello_may_say_more() {
    #[derive(Serialize)]
    struct Future {
        #[serde(flatten)]
        hello: Hello,
        compression: &'static str,
    }
    let mut hello = Hello::of::<Talk>(&[Encoding::Text], false);
    hello.encodings.insert(0, "telepathy".to_owned());
    let mut frame = Vec::new();
    let write = |out: &mut Vec<u8>| {
        let future = Future { hello, compression: "none" };
        Encoding::SelfDescribing.encode(&future, out)
    };
    let kind = actinium_wire::frame::Kind::Hello;
    let appended = actinium_wire::frame::append(
        &mut frame,
        kind,
        Encoding::SelfDescribing,
        true,
        1 << 20,
        write,
    );
    assert_eq!(appended, Ok(Ok(())));
    let (opened, mut far) = hearing(&frame);
    assert_eq!(opened.expect("it opens").negotiated().encoding, Encoding::Text);
    let mut heard = Vec::new();
    far.read_to_end(&mut heard).expect("it was closed");
    let mut unframer = Unframer::new(1 << 20);
    unframer.feed(&heard);
    let frame = unframer.next().expect("it is whole").expect("it is there");
    assert_eq!(hello_of(&frame).expect("it is a hello").protocol, "talk");
}
