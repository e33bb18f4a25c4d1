//! Several nodes in one view.

use crate::client::{Counter, Events, LONG, Msg, get, serve, system};
use actinium_dashboard::Dashboard;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

#[test]
fn nodes_are_shown_together_and_one_that_is_down_comes_back() {
    let systems = [system(), system()];
    let counters = [systems[0].spawn(Counter::new()), systems[1].spawn(Counter::new())];
    counters[1].tell(Msg::Raise(3));
    systems[1].wait_idle(LONG).expect("it comes to rest");
    let [first, second] = [serve(&systems[0]), serve(&systems[1])];
    let address = second.address();
    let addresses = [first.address(), address].map(|it| it.to_string());
    let both = Dashboard::of_nodes(addresses.clone()).serve("127.0.0.1:0").expect("it listens");

    let mut events = Events::open(both.address(), "/events?node=1");
    let look = events.next("now").expect("a look");
    assert_eq!((&look["node"], &look["now"]["actors"]), (&json!(1), &json!(4)));
    let life = look["life"].clone();
    let is_up = |nodes: &serde_json::Value, up: bool| nodes[1]["error"].is_null() == up;
    let mut until = |up: bool| loop {
        let nodes = events.next("nodes").expect("the nodes");
        if is_up(&nodes, up) && nodes[0]["error"].is_null() {
            assert_eq!(nodes[1]["address"], json!(addresses[1]));
            return nodes[1].clone();
        }
    };
    until(true);
    let page = get(both.address(), "/api/actors?node=1&search=counter&take=2&sort=oldest").json();
    assert_eq!((&page["total"], page["next"].is_string()), (&json!(4), true));
    let family = get(both.address(), "/api/family?node=1").json();
    assert_eq!(family["members"][0][1], 3);
    let number = counters[1].id().as_u64();
    let details = get(both.address(), &format!("/api/actor/{number}?node=1")).json();
    assert_eq!(details["children"]["total"], 3);
    let wrong = get(both.address(), "/api/actors?node=1&sort=size");
    assert!(wrong.status == 400 && wrong.body.contains("expected one of"), "{}", wrong.body);

    second.stop();
    assert!(until(false)["error"].as_str().is_some_and(|it| it.contains(&addresses[1])));
    assert_eq!(get(both.address(), "/api/actors?node=1").status, 502);
    let again = Dashboard::new(&systems[0]).serve(addresses[1].clone()).expect("the same port");
    assert_ne!(until(true)["life"], life, "another life");
    drop(again);
}

/// Serves this answer to everybody, until it is dropped.
fn garbage(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // What is not read would make the other side lose the answer.
            let _ = stream.and_then(|mut stream| {
                let _ = stream.read(&mut [0; 1 << 10])?;
                stream.write_all(answer)
            });
        }
    });
    address
}

#[test]
fn what_is_no_node_is_down_and_says_why() {
    let newer = b"HTTP/1.0 200 OK\r\n\r\n{\"schema_version\":99}";
    let asks = [
        (&b"SSH-2.0-OpenSSH\r\n"[..], "does not speak HTTP"),
        (b"HTTP/1.0 200 OK\r\n\r\n{\"schema_version\":", "no live page's"),
        (b"HTTP/1.0 200 OK\r\n\r\n[]", "no live page's"),
        (newer, "version 99"),
        (b"HTTP/1.0 401 No\r\n\r\n", "another token"),
        (b"HTTP/1.0 500 No\r\n\r\n", "status 500"),
    ];
    let nodes = Dashboard::of_nodes(asks.map(|(answer, _)| garbage(answer)));
    let serving = nodes.serve("127.0.0.1:0").expect("it listens");
    let mut events = Events::open(serving.address(), "/events");
    let all_were_asked = |nodes: &serde_json::Value| {
        asks.iter().enumerate().all(|(at, (_, why))| {
            nodes[at]["error"].as_str().is_some_and(|error| error.contains(why))
        })
    };
    while !all_were_asked(&events.next("nodes").expect("the nodes")) {}
    assert!(Dashboard::of_nodes([""; 0]).router().is_err(), "no node");
}

#[test]
fn a_token_is_shown_to_nodes() {
    let system = system();
    let node = Dashboard::new(&system).token("secret").serve("127.0.0.1:0").expect("it listens");
    for (token, is_up) in [("secret", true), ("another", false)] {
        let nodes = Dashboard::of_nodes([node.address().to_string()]).node_token(token);
        let serving = nodes.serve("127.0.0.1:0").expect("it listens");
        let status = get(serving.address(), "/api/snapshot").status;
        assert_eq!(status, if is_up { 200 } else { 502 }, "{token}");
    }
}
