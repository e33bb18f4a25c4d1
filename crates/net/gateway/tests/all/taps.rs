//! Somebody looks at what clients say and hear.

use crate::desk::{Office, Said, Talk};
use actinium_tap::{Direction, TapFilter};
use actinium_wire::Encoding;
use serde_json::json;

#[tokio::test]
async fn a_tap_sees_both_directions_of_a_socket_decoded_whatever_the_encoding() {
    for encoding in [Encoding::Text, Encoding::SelfDescribing, Encoding::Xml] {
        let office = Office::open(|builder| builder.token("alice", "secret"));
        let gateway = office.gateway.as_ref().expect("it is open");
        let mut all = gateway.tap(TapFilter::new().contents(true));
        let mut out = gateway.tap(TapFilter::new().direction(Direction::Out).peer("alice"));
        let mut ticks = gateway.tap(TapFilter::new().variants(["Tick"]).sample(2));
        let mut others = gateway.tap(TapFilter::new().peer("bob"));
        let mut client = office.socket_of("secret", encoding).await;
        client.say(&Talk::Add(7)).await;
        assert!(matches!(client.hear().await, Said::Talk(Talk::Total(7))));
        client.say(&Talk::Watch(2)).await;
        for number in 0..2 {
            assert!(
                matches!(client.hear().await, Said::Talk(Talk::Tick(found)) if found == number)
            );
        }
        client.say(&Talk::Stop).await;
        client.say(&Talk::Bye).await;
        assert!(matches!(client.hear().await, Said::Closed(1000)));

        let seen: Vec<_> = std::iter::from_fn(|| all.try_next()).collect();
        let expected = [
            (Direction::In, json!({ "Add": 7 })),
            (Direction::Out, json!({ "Total": 7 })),
            (Direction::In, json!({ "Watch": 2 })),
            (Direction::Out, json!({ "Tick": 0 })),
            (Direction::Out, json!({ "Tick": 1 })),
            (Direction::In, json!("Stop")),
            (Direction::In, json!("Bye")),
        ];
        let found = seen.iter().map(|it| (it.direction, it.contents.clone().expect("read")));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{encoding}");
        assert!(seen.iter().all(|it| it.kind == "Desk" && it.encoding == encoding.name()));
        assert!(seen[0].peer.contains("alice 127.0.0.1"), "{}", seen[0].peer);
        assert!(seen[0].at.starts_with("gateway 127.0.0.1:"), "{}", seen[0].at);

        let out: Vec<_> = std::iter::from_fn(|| out.try_next()).collect();
        assert_eq!(out.len(), 3);
        assert!(out.iter().all(|it| it.contents.is_none() && it.variant.is_some()));
        // Every second message, and those of them that are ticks.
        let ticks: Vec<_> = std::iter::from_fn(|| ticks.try_next()).collect();
        assert_eq!(ticks.len(), 1);
        assert!(others.try_next().is_none());
    }
}

#[tokio::test]
async fn a_tap_sees_a_post_and_its_answer() {
    let office = Office::open(|builder| builder);
    let gateway = office.gateway.as_ref().expect("it is open");
    let mut tap = gateway.tap(TapFilter::new().contents(true));
    assert_eq!(office.post_json("{\"Add\":3}").await.status, 200);
    let seen: Vec<_> = std::iter::from_fn(|| tap.try_next()).collect();
    let found = seen.iter().map(|it| (it.direction, it.contents.clone().expect("read")));
    let expected = [(Direction::In, json!({ "Add": 3 })), (Direction::Out, json!({ "Total": 3 }))];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(seen[0].peer, seen[1].peer);
}

#[tokio::test]
async fn a_tap_that_takes_nothing_holds_no_client_up() {
    let office = Office::open(|builder| builder);
    let gateway = office.gateway.as_ref().expect("it is open");
    let tap = gateway.tap(TapFilter::new());
    let mut client = office.socket(Encoding::Text).await;
    let mut total = 0;
    // More than a tap keeps.
    for _ in 0..2_500 {
        client.say(&Talk::Add(1)).await;
        total += 1;
        assert!(matches!(client.hear().await, Said::Talk(Talk::Total(found)) if found == total));
    }
    assert!(tap.missed().overflow > 0);
}
