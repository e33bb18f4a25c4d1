//! What is wrong is told, and what goes on after it.

use crate::desk::{Msg, Office, Said, Talk, request};
use actinium_gateway::{Code, Gateway, Limits};
use actinium_wire::Encoding;
use futures_util::SinkExt;
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message as Frame;

#[tokio::test]
async fn what_the_state_does_not_allow_is_told_and_the_conversation_goes_on() {
    let office = Office::open(|builder| builder);
    let mut client = office.socket(Encoding::Text).await;
    client.say(&Talk::Stop).await;
    let Said::Fault(fault) = client.hear().await else { panic!("it is not allowed") };
    assert_eq!((fault.code, fault.message), (Code::State, Some(1)));
    let expected = "Desk, state 'Open': expected Add, WhoAmI, Forget, Ponder, Panic, Keep, Watch, Hurry, Bye from the client, found Stop";
    assert_eq!(fault.text, expected);
    client.say(&Talk::Total(7)).await;
    let Said::Fault(fault) = client.hear().await else { panic!("the server says that") };
    assert_eq!((fault.code, fault.message), (Code::State, Some(2)));
    client.say(&Talk::Add(1)).await;
    assert!(matches!(client.hear().await, Said::Talk(Talk::Total(1))));
    assert!(!office.log("add 1").contains(&"Stop".to_owned()), "the actor never sees it");
    let answer = office.post_json("\"Stop\"").await;
    assert_eq!(answer.status, 409);
    assert!(answer.text().contains(expected), "{}", answer.text());
}

#[tokio::test]
async fn what_is_no_message_is_told_with_its_place() {
    let office = Office::open(|builder| builder);
    let mut client = office.socket(Encoding::Text).await;
    for (sent, expected) in [
        (
            Frame::text("{\"Add\":\"x\"}"),
            "text message, offset 9: invalid type: string \"x\", expected u64",
        ),
        (
            Frame::text("{\"Ad\":1}"),
            "text message, offset 4: unknown variant `Ad`, expected one of `Add`",
        ),
        (
            Frame::text(""),
            "text message, offset 0: expected more text, found the end: EOF while parsing a value",
        ),
        (Frame::binary(vec![1, 2]), "encoding text: expected a text frame, found a binary frame"),
        (Frame::text("[".repeat(100_000)), "text message, offset"),
    ] {
        client.socket.send(sent).await.expect("it is open");
        let Said::Fault(fault) = client.hear().await else { panic!("it is none") };
        assert!(fault.text.starts_with(expected), "{}", fault.text);
    }
    client.say(&Talk::Add(1)).await;
    assert!(matches!(client.hear().await, Said::Talk(Talk::Total(1))));
    let answer = office.post_json("{\"Add\":-1}").await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("\"code\":\"decode\""), "{}", answer.text());
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_before_it_is_read() {
    let limits = Limits { message_bytes: 1000, ..Limits::default() };
    let office = Office::open(|builder| builder.limits(limits));
    let mut client = office.socket(Encoding::Text).await;
    client.socket.send(Frame::text(" ".repeat(1001))).await.expect("it is open");
    let (fault, code) = client.hear_the_end().await;
    assert_eq!((fault.code, code), (Code::TooLong, 1009));
    assert!(fault.text.starts_with("expected at most 1000 bytes"), "{}", fault.text);
    let answer = office.post_json(&" ".repeat(1001)).await;
    assert_eq!(answer.status, 413);
    let fits = format!("{}\"Keep\"", " ".repeat(994));
    assert_eq!(office.post_json(&fits).await.status, 202);
}

#[tokio::test]
async fn encodings_and_places_that_are_not_there_are_named() {
    let office = Office::open(|builder| builder);
    let answer = office.post(&[("content-type", "text/plain")], b"1").await;
    assert_eq!(answer.status, 400);
    let expected = "content type 'text/plain': allowed are application/json, application/msgpack, application/xml";
    assert!(answer.text().contains(expected), "{}", answer.text());
    let answer =
        office.post(&[("content-type", "application/json"), ("accept", "text/html")], b"1").await;
    assert!(answer.text().contains("accept 'text/html'"), "{}", answer.text());
    let answer =
        request(office.address(), b"POST /dask HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await;
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (404, "nothing is served here: allowed are /desk")
    );
    let stream = tokio::net::TcpStream::connect(office.address()).await.expect("it listens");
    let offer = office.request(&[("sec-websocket-protocol", "Desk.1.json, Desk.2.binary")]);
    let refused = tokio_tungstenite::client_async(offer, stream).await.expect_err("none is spoken");
    let tokio_tungstenite::tungstenite::Error::Http(response) = refused else {
        panic!("{refused}")
    };
    let text = String::from_utf8_lossy(response.body().as_deref().unwrap_or_default()).into_owned();
    let expected = "subprotocols Desk.1.json, Desk.2.binary: allowed are Desk.2.json, Desk.2.msgpack, Desk.2.xml";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn a_request_that_is_dropped_is_told_to_have_no_answer() {
    let office = Office::open(|builder| builder);
    let answer = office.post_json("\"Forget\"").await;
    assert_eq!(answer.status, 500);
    assert!(
        answer.text().contains("state 'Open, Forget asked': the actor has dropped it"),
        "{}",
        answer.text()
    );
    let mut client = office.socket(Encoding::SelfDescribing).await;
    client.say(&Talk::Forget).await;
    let (fault, code) = client.hear_the_end().await;
    assert_eq!((fault.code, fault.message, code), (Code::NoAnswer, Some(1), 1011));
}

#[tokio::test]
async fn an_actor_that_panics_gives_no_answer_and_one_that_has_ended_is_gone() {
    let office = Office::open(|builder| builder);
    assert_eq!(office.post_json("\"Panic\"").await.status, 500);
    let mut client = office.socket(Encoding::Text).await;
    office.desk.kill();
    // It ends in its own time: what is said to it before that is dropped.
    loop {
        let answer = office.post_json("\"Forget\"").await;
        if answer.status == 503 {
            assert!(answer.text().contains("the actor has ended"), "{}", answer.text());
            break;
        }
    }
    client.say(&Talk::Keep).await;
    let (fault, code) = client.hear_the_end().await;
    assert_eq!((fault.code, code), (Code::Gone, 1011));
    assert!(office.desk.ask(Msg::MostKept).wait().is_err());
}

#[tokio::test]
async fn who_is_late_is_told() {
    let limits = Limits { answer: Duration::from_millis(20), ..Limits::default() };
    let office = Office::open(|builder| builder.limits(limits));
    let answer = office.post_json("\"Ponder\"").await;
    assert_eq!(answer.status, 504);
    assert!(answer.text().contains("the actor has not answered within 20ms"), "{}", answer.text());
    let mut client = office.socket(Encoding::Text).await;
    client.say(&Talk::Ponder).await;
    let (fault, code) = client.hear_the_end().await;
    assert_eq!((fault.code, code), (Code::AnswerLate, 1011));
    let mut client = office.socket(Encoding::Text).await;
    client.say(&Talk::Hurry).await;
    let (fault, code) = client.hear_the_end().await;
    assert_eq!((fault.code, code), (Code::Late, 1008));
    assert_eq!(fault.text, "state 'Hurried': expected a message within 5ms, found none");
}

#[test]
fn a_gateway_that_makes_no_sense_does_not_start() {
    let office = Office::open(|builder| builder);
    let taken =
        Gateway::builder().serve("desk", &office.desk).expect("a name").serve("desk", &office.desk);
    assert_eq!(taken.expect_err("it is taken").to_string(), "gateway: name 'desk': it is taken");
    let named = Gateway::builder().serve("a/b", &office.desk);
    assert!(
        named.expect_err("no name").to_string().starts_with("gateway: name 'a/b': allowed are")
    );
    let none = Gateway::builder().start("127.0.0.1:0").expect_err("nothing is served");
    assert_eq!(none.to_string(), "gateway: nothing is served: expected an actor, or routes");
    let wrong = Limits { in_flight: 0, ..Limits::default() };
    let builder = Gateway::builder().serve("desk", &office.desk).expect("a name");
    let error = builder.limits(wrong).start("127.0.0.1:0").expect_err("nobody could say anything");
    assert_eq!(error.to_string(), "gateway: limit in_flight: expected 1 or more, found 0");
    let builder = Gateway::builder().serve("desk", &office.desk).expect("a name");
    let error = builder.start(office.address()).expect_err("it is in use").to_string();
    assert!(error.starts_with("gateway: can not listen at 127.0.0.1"), "{error}");
}
