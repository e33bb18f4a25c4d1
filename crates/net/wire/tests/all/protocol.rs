//! Protocols: what the monitor lets through, and what a party hears of what it does not.

use actinium_wire::protocol::{Monitor, ProtocolError, Spoken};
use actinium_wire::{Encoding, Link, Message, Options, protocol};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::os::unix::net::UnixStream;
use std::thread;

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(crate) struct Order {
    article: String,
}

protocol! {
    /// A shop.
    pub protocol BookShop, version 3, between client and server;

    /// Nothing is under way.
    state Idle {
        client request Place(Order) -> server Placed(u64) -> Idle;
        client request Count -> server Counted(u64);
        client signal Watch(String) -> Watching;
        client signal Bye -> end;
    }
    /// Prices come.
    state Watching within 1ms {
        server stream Tick(f64);
        client signal Stop -> Idle;
    }
}

use book_shop::{Client, Message as Talk, Server};

fn links(encoding: Encoding) -> (Link<UnixStream>, Link<UnixStream>) {
    let (near, far) = UnixStream::pair().expect("a pair of sockets");
    let options = Options { encodings: vec![encoding], ..Options::default() };
    let serving = options.clone();
    let opening = thread::spawn(move || Link::open::<Talk>(far, "the client", &serving));
    let near = Link::open::<Talk>(near, "the server", &options).expect("it opens");
    (near, opening.join().expect("it does not panic").expect("it opens"))
}

#[test]
fn a_conversation_goes_through_its_states_in_every_encoding() {
    for encoding in Encoding::available() {
        let (near, far) = links(encoding);
        let serving = thread::spawn(move || {
            let mut server = Server::new(far);
            let mut orders = Vec::new();
            loop {
                let talk = match server.receive() {
                    // Whoever watches has a millisecond to say stop, which a busy machine makes
                    // longer: it may be asked again.
                    Err(ProtocolError::Late { .. }) => continue,
                    talk => talk.expect("all is allowed").expect("it says bye before it goes"),
                };
                match talk {
                    Talk::Place(order) => {
                        orders.push(order);
                        server.placed(orders.len() as u64).expect("it is due");
                    }
                    Talk::Count => server.counted(orders.len() as u64).expect("it is due"),
                    Talk::Watch(_) => {
                        for price in [1.5, 2.5] {
                            server.tick(price).expect("it is allowed");
                        }
                    }
                    Talk::Bye => break,
                    _ => {}
                }
            }
            assert_eq!(server.state(), "end");
            assert!(server.receive().expect("it is the end").is_none());
            orders
        });
        let mut client = Client::new(near);
        let order = Order { article: "cog".to_owned() };
        assert_eq!(client.place(order.clone()).expect("it is answered"), 1);
        assert_eq!(client.count().expect("it is answered"), 1);
        client.watch("cog".to_owned()).expect("it is allowed");
        assert_eq!(client.state(), "Watching");
        let mut prices = Vec::new();
        while prices.len() < 2 {
            // It waits a millisecond at most, and may ask again.
            if let Ok(Some(Talk::Tick(price))) = client.receive() {
                prices.push(price);
            }
        }
        assert_eq!(prices, [1.5, 2.5]);
        client.stop().expect("it is allowed");
        client.bye().expect("it is allowed");
        drop(client);
        assert_eq!(serving.join().expect("it does not panic"), [order]);
    }
}

/// What the state does not allow is named with protocol, state, message and peer; it is not taken,
/// and the link goes on.
#[test]
fn what_is_not_allowed_does_not_come_in() {
    let (mut raw, far) = links(Encoding::Binary);
    let mut server = Server::new(far);
    raw.send(&Talk::Stop).expect("it is sent");
    let error = server.receive().expect_err("nothing is watched").to_string();
    assert_eq!(
        error,
        "link the client: BookShop, state 'Idle': expected Place, Count, Watch, Bye from the client, found Stop"
    );
    raw.send(&Talk::Placed(7)).expect("it is sent");
    let error = server.receive().expect_err("only the server says so").to_string();
    assert!(error.ends_with("found Placed"), "{error}");
    assert_eq!(server.state(), "Idle");
    raw.send(&Talk::Count).expect("it is sent");
    assert!(matches!(server.receive(), Ok(Some(Talk::Count))));
    assert_eq!(server.state(), "Idle, Count asked");
    raw.send(&Talk::Count).expect("it is sent");
    let error = server.receive().expect_err("the answer is due").to_string();
    assert!(
        error.contains("state 'Idle, Count asked': expected nothing from the client"),
        "{error}"
    );
    server.counted(0).expect("it is due");
}

#[test]
fn what_is_not_allowed_does_not_go_out() {
    let (near, mut raw) = links(Encoding::Text);
    let mut client = Client::new(near);
    let error = client.stop().expect_err("nothing is watched").to_string();
    assert!(
        error.starts_with("link the server: BookShop, state 'Idle': expected Place, "),
        "{error}"
    );
    client.bye().expect("it is allowed");
    assert!(client.bye().is_err(), "it is the end");
    assert!(matches!(raw.receive(), Ok(Some(Talk::Bye))), "nothing went out before");
}

#[test]
fn a_state_lasts_no_longer_than_it_may() {
    let (near, _far) = links(Encoding::Binary);
    let mut client = Client::new(near);
    client.watch(String::new()).expect("it is allowed");
    let error = client.receive().expect_err("nobody says anything").to_string();
    assert_eq!(
        error,
        "link the server: BookShop, state 'Watching': expected a message within 1ms, found none"
    );
}

#[test]
fn a_peer_that_goes_in_the_midst_of_it_is_an_error() {
    let (near, far) = links(Encoding::Binary);
    drop(far);
    let mut client = Client::new(near);
    let error = client.receive().expect_err("nobody is there").to_string();
    assert_eq!(
        error,
        "link the server: BookShop, state 'Idle': expected a message, found the end of the link"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Against the table as one would write it by hand.
    #[test]
    fn the_monitor_knows_the_table(script in proptest::collection::vec((0..9_usize, 0..2_usize), 0..40)) {
        let mut monitor = Monitor::new(Talk::MODEL);
        let mut state = "Idle";
        for (message, party) in script {
            let name = Talk::MODEL.words.get(message).map_or("?", |word| word.name);
            let next = match (state, party, name) {
                ("Idle", 0, "Place") => Some("Idle, Place asked"),
                ("Idle, Place asked", 1, "Placed") => Some("Idle"),
                ("Idle", 0, "Count") => Some("Idle, Count asked"),
                ("Idle, Count asked", 1, "Counted") => Some("Idle"),
                ("Idle", 0, "Watch") => Some("Watching"),
                ("Idle", 0, "Bye") => Some("end"),
                ("Watching", 1, "Tick") => Some("Watching"),
                ("Watching", 0, "Stop") => Some("Idle"),
                _ => None,
            };
            prop_assert_eq!(monitor.step(message, party).is_ok(), next.is_some());
            state = next.unwrap_or(state);
            prop_assert_eq!(monitor.state().name, state);
            prop_assert_eq!(monitor.has_ended(), state == "end");
        }
    }
}
