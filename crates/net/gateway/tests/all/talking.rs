//! Asking, subscribing, and who waits for whom.

use crate::desk::{Msg, Office, Said, Talk};
use actinium_gateway::{Limits, content_type};
use actinium_wire::Encoding;

const ENCODINGS: [Encoding; 3] = [Encoding::Text, Encoding::SelfDescribing, Encoding::Xml];

#[tokio::test]
async fn a_post_is_answered_in_its_encoding_or_the_one_that_is_asked_for() {
    let office = Office::open(|builder| builder);
    let mut total = 0;
    for asked in ENCODINGS {
        for answered in ENCODINGS {
            let mut body = Vec::new();
            asked.encode(&Talk::Add(5), &mut body).expect("it can be said");
            total += 5;
            let kinds = [asked, answered].map(|one| content_type(one).expect("it has one"));
            let accept = if asked == answered { "*/*" } else { kinds[1] };
            let answer =
                office.post(&[("content-type", kinds[0]), ("accept", accept)], &body).await;
            assert_eq!(answer.status, 200);
            assert!(
                answer.head.contains(&format!("content-type: {}", kinds[1])),
                "{}",
                answer.head
            );
            let heard =
                answered.decode_slice::<Talk>(&answer.body, &actinium_wire::Limits::default());
            assert!(matches!(heard, Ok(Talk::Total(found)) if found == total), "{heard:?}");
        }
    }
    let answer = office.post_json("\"Keep\"").await;
    assert_eq!((answer.status, answer.text().as_str()), (202, ""), "a signal has no answer");
    office.log("kept 1");
}

#[tokio::test]
async fn a_socket_asks_subscribes_and_says_good_bye_in_every_encoding() {
    for encoding in ENCODINGS {
        let office = Office::open(|builder| builder);
        let mut client = office.socket(encoding).await;
        for round in 1..=3 {
            client.say(&Talk::Add(2)).await;
            assert!(
                matches!(client.hear().await, Said::Talk(Talk::Total(total)) if total == 2 * round)
            );
        }
        client.say(&Talk::Watch(5)).await;
        for number in 0..5 {
            assert!(
                matches!(client.hear().await, Said::Talk(Talk::Tick(found)) if found == number)
            );
        }
        client.say(&Talk::Stop).await;
        client.say(&Talk::WhoAmI).await;
        assert!(matches!(client.hear().await, Said::Talk(Talk::You(name)) if name == "anybody"));
        client.say(&Talk::Bye).await;
        assert!(matches!(client.hear().await, Said::Closed(1000)));
        assert!(office.log("left").contains(&"Bye".to_owned()));
    }
}

#[tokio::test]
async fn who_offers_no_subprotocol_talks_json() {
    let office = Office::open(|builder| builder);
    let stream = tokio::net::TcpStream::connect(office.address()).await.expect("it listens");
    let mut client =
        crate::desk::Client::connect(stream, office.request(&[]), Encoding::Text).await;
    client.say(&Talk::Add(1)).await;
    assert!(matches!(client.hear().await, Said::Talk(Talk::Total(1))));
}

#[tokio::test]
async fn an_actor_that_is_faster_than_the_socket_waits_for_room_and_loses_nothing() {
    let limits = Limits { queued: 4, ..Limits::default() };
    let office = Office::open(|builder| builder.limits(limits));
    let mut client = office.socket(Encoding::SelfDescribing).await;
    client.say(&Talk::Watch(5000)).await;
    for number in 0..5000 {
        assert!(matches!(client.hear().await, Said::Talk(Talk::Tick(found)) if found == number));
    }
    office.log("full");
}

#[tokio::test]
async fn a_socket_is_not_read_while_as_many_messages_are_in_flight_as_may_be() {
    let limits = Limits { in_flight: 2, ..Limits::default() };
    let office = Office::open(|builder| builder.limits(limits));
    let mut client = office.socket(Encoding::Text).await;
    for _ in 0..6 {
        client.say(&Talk::Keep).await;
    }
    let mut released = 0;
    while released < 6 {
        office.log("kept 2");
        released += office.desk.ask(Msg::Release).wait().expect("they are let go");
    }
    assert_eq!(office.desk.ask(Msg::MostKept).wait(), Ok(2));
}

#[tokio::test]
async fn a_full_mailbox_holds_the_socket_up_and_loses_nothing() {
    let office = Office::with_mailbox(2, |builder| builder);
    let mut client = office.socket(Encoding::SelfDescribing).await;
    let keep = Talk::Keep;
    for _ in 0..30 {
        client.say(&keep).await;
    }
    office.log("kept 30");
}

#[tokio::test]
async fn as_many_connections_as_may_be_are_served_and_the_next_waits() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let office = Office::open(|builder| builder.limits(limits));
    let mut first = office.socket(Encoding::Text).await;
    first.say(&Talk::Add(1)).await;
    assert!(matches!(first.hear().await, Said::Talk(Talk::Total(1))));
    let second = async {
        let mut second = office.socket(Encoding::Text).await;
        second.say(&Talk::Add(2)).await;
        assert!(matches!(second.hear().await, Said::Talk(Talk::Total(3))));
    };
    let end = async {
        first.say(&Talk::Bye).await;
        assert!(matches!(first.hear().await, Said::Closed(1000)));
        drop(first);
    };
    tokio::join!(second, end);
    let log = office.log("add 2");
    let place = |line: &str| log.iter().position(|found| found == line);
    assert!(place("left") < place("add 2"), "{log:?}");
}

#[tokio::test]
async fn a_gateway_that_stops_says_so() {
    let mut office = Office::open(|builder| builder);
    let mut client = office.socket(Encoding::Text).await;
    client.say(&Talk::Add(1)).await;
    assert!(matches!(client.hear().await, Said::Talk(Talk::Total(1))));
    let gateway = office.gateway.take().expect("it is open");
    let stopping = tokio::task::spawn_blocking(move || gateway.stop());
    let (fault, code) = client.hear_the_end().await;
    assert_eq!((fault.text.as_str(), code), ("the gateway stops", 1001));
    drop(client);
    stopping.await.expect("it stops");
}
