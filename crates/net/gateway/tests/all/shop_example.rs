//! The example does what it says.

#[path = "../../examples/shop/main.rs"]
#[allow(unreachable_pub, reason = "by itself it is a program")]
mod shop;

use std::io::{Read, Write};
use std::net::TcpStream;

fn post(arguments: &[&str], headers: &str) -> String {
    let arguments = ["127.0.0.1:0"].iter().chain(arguments).map(|one| (*one).to_owned());
    let (_system, gateway) = shop::open(arguments).expect("it opens");
    let body = r#"{"Place":{"customer":"Ada","items":[{"article":"cog","count":3}],"wish":{"Discount":50}}}"#;
    let mut stream = TcpStream::connect(gateway.address()).expect("it listens");
    let length = body.len();
    write!(
        stream,
        "POST /shop HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
    .expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn an_order_is_billed() {
    let answer = post(&[], "");
    assert!(
        answer.contains(r#"{"Billed":{"number":1,"lines":{"cog":9.0},"total":4.5}}"#),
        "{answer}"
    );
}

#[test]
fn its_arguments_are_heeded() {
    assert!(post(&["--token", "x"], "").starts_with("HTTP/1.1 401"));
    assert!(post(&["--token", "x"], "authorization: Bearer x\r\n").starts_with("HTTP/1.1 200"));
    let page = "origin: http://shop.example\r\n";
    assert!(post(&[], page).starts_with("HTTP/1.1 403"));
    assert!(post(&["--origin", "http://shop.example"], page).starts_with("HTTP/1.1 200"));
    assert!(shop::open(["127.0.0.1:0", "--help", "x"].map(str::to_owned)).is_err());
}

/// Made by `cargo run -p actinium-gateway --example shop -- --typescript >
/// clients/typescript/test/shop.ts`.
#[test]
fn the_typescript_client_is_up_to_date() {
    let made = shop::typescript().expect("it has a counterpart");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../clients/typescript/test/shop.ts");
    let found = std::fs::read_to_string(path).expect("it is there");
    let differing = made.lines().zip(found.lines()).position(|(made, found)| made != found);
    assert!(made == found, "make it again: it differs from line {differing:?} on (counted from 0)");
}

#[test]
fn what_can_be_said_is_told_as_data() {
    let (_system, gateway) = shop::open(["127.0.0.1:0".to_owned()]).expect("it opens");
    let mut stream = TcpStream::connect(gateway.address()).expect("it listens");
    write!(stream, "GET /shop HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n")
        .expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let json = answer.split_once("\r\n\r\n").expect("a body").1;
    let encoding = actinium_wire::Encoding::Text;
    let told = encoding.decode_slice(json.as_bytes(), &actinium_wire::Limits::default());
    assert_eq!(told, Ok(actinium_wire::Description::of::<shop::protocol::shop::Message>()));
}
