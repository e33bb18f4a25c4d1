//! The macros of `wire`, used through the facade and through a path of the program's own.

use actinium::wire::schema::Schema;
use actinium::wire::{Link, Message, Options, protocol};
use serde::{Deserialize, Serialize};
use std::os::unix::net::UnixStream;

mod wiring {
    pub(super) use actinium::wire as encodings;
}

#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(version = 2)]
struct Order {
    article: String,
}

#[derive(Serialize, Deserialize, Message)]
#[message(name = "Order", version = 2, crate = "wiring::encodings")]
struct SameOrder {
    article: String,
}

protocol! {
    protocol Shop, version 1, between client and server;

    state Idle {
        client request Place(Order) -> server Placed(u64) -> Idle;
        client signal Bye -> end;
    }
}

#[test]
fn messages_and_protocols_need_the_facade_only() {
    let (near, far) = UnixStream::pair().expect("a pair of sockets");
    let serving = std::thread::spawn(move || {
        let link = Link::open::<shop::Message>(far, "client", &Options::default());
        let mut server = shop::Server::new(link.expect("the client opens its side"));
        let placed = server.receive().expect("an order");
        assert!(matches!(placed, Some(shop::Message::Place(order)) if order.article == "cog"));
        server.placed(7).expect("the client waits");
        assert!(matches!(server.receive().expect("the end"), Some(shop::Message::Bye)));
    });
    let link = Link::open::<shop::Message>(near, "server", &Options::default());
    let mut client = shop::Client::new(link.expect("the server opens its side"));
    assert_eq!(client.place(Order { article: "cog".into() }).expect("a number"), 7);
    client.bye().expect("it ends");
    serving.join().expect("the server does not panic");
}

#[test]
fn a_path_of_the_programs_own_leads_to_the_same_traits() {
    let (one, other): (Schema, Schema) = (Order::schema(), SameOrder::schema());
    assert_eq!((one.name, one.version), (other.name, other.version));
}
