//! Nodes that talk: from node to node, and through a router.

use crate::Test;
use crate::process::{Process, free_ports};
use crate::setting::Setting;
use actinium_cluster::route::Route;
use zenoh::Wait;

pub(crate) const TESTS: &[Test] = &[
    ("two_nodes_send_each_other_streams", two),
    ("four_nodes_find_each_other_through_one", four),
    ("two_nodes_send_each_other_streams_reliably", reliable),
    ("nodes_talk_through_a_router", router),
];

/// Short ones, and some that fill frames alone, up to the longest that there is.
const STREAMS: [(u64, usize); 3] = [(20_000, 30), (200, 20_000), (50, 64_000)];
const SENT: u64 = 20_000 + 200 + 50;

fn send_streams(from: &mut Process, to: u32) {
    for (count, bytes) in STREAMS {
        from.ask(&format!("send {to} {count} {bytes}"), "sent");
    }
}

/// All that `from` has sent came, in order, once, and nothing was wrong on the way.
#[track_caller]
fn check(at: &mut Process, from: u32, received: u64) {
    at.ask(&format!("when {from} {SENT}"), "there");
    let figures = at.figures(from);
    assert_eq!(figures("received"), received);
    for none in ["lost", "lost_there", "garbage"] {
        assert_eq!(figures(none), 0, "{none}");
    }
}

fn pair(mut change: impl FnMut(&mut Setting)) {
    let [port] = free_ports();
    let listen = format!("tcp/127.0.0.1:{port}");
    let mut settings =
        [Setting::new(0, 2, &listen, &[]), Setting::new(1, 2, "tcp/127.0.0.1:0", &[&listen])];
    settings.iter_mut().for_each(&mut change);
    let [mut zero, mut one] = settings.map(|setting| Process::start(&setting));
    // Both ways at once.
    for (count, bytes) in STREAMS {
        zero.tell(&format!("send 1 {count} {bytes}"));
        one.tell(&format!("send 0 {count} {bytes}"));
    }
    for node in [&mut zero, &mut one] {
        STREAMS.iter().for_each(|_| drop(node.expect("sent")));
    }
    check(&mut zero, 1, SENT);
    check(&mut one, 0, SENT);
    one.leave();
    zero.expect("Left");
    zero.leave();
}

fn two() {
    pair(|_| {});
}

fn reliable() {
    pair(|setting| setting.node.link.reliable = true);
}

fn four() {
    let [port] = free_ports();
    let listen = format!("tcp/127.0.0.1:{port}");
    let settings = Setting::four(&listen, Route::Direct);
    let mut nodes: Vec<Process> = settings.iter().map(Process::start).collect();
    for from in 0..4 {
        for to in (0..4).filter(|&to| to != from) {
            send_streams(&mut nodes[from as usize], to);
        }
    }
    for (at, node) in (0..4).zip(&mut nodes) {
        for from in (0..4).filter(|&from| from != at) {
            node.ask(&format!("when {from} {SENT}"), "there");
        }
        for from in (0..4).filter(|&from| from != at) {
            check(node, from, 3 * SENT);
        }
    }
    // A letter goes round: the answer comes from a node that its writer has not written to.
    nodes[3].ask("clerk", "open");
    nodes[2].ask("clerk 3", "open");
    nodes[1].ask("letter 2 41", "answered 42");
    nodes.into_iter().for_each(Process::leave);
}

/// Zenoh's router, in this process. It drops what is too much for it, so that the links are
/// reliable ones.
fn router() {
    let [port] = free_ports();
    let listen = format!("tcp/127.0.0.1:{port}");
    let mut config = zenoh::Config::default();
    for (path, value) in [
        ("mode", "\"router\"".to_owned()),
        ("listen/endpoints", format!("[\"{listen}\"]")),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        config.insert_json5(path, &value).unwrap();
    }
    let router = zenoh::open(config).wait().unwrap();
    let [mut zero, mut one, mut two] = [0, 1, 2].map(|node| {
        let mut setting = Setting::new(node, 3, "", &[&listen]);
        setting.zenoh.listen.clear();
        setting.zenoh.through_routers = true;
        setting.node.link.reliable = true;
        Process::start(&setting)
    });
    send_streams(&mut zero, 1);
    send_streams(&mut two, 1);
    for from in [0, 2] {
        one.ask(&format!("when {from} {SENT}"), "there");
    }
    assert_eq!(one.figures(0)("received"), 2 * SENT);
    assert_eq!(one.figures(0)("lost"), 0);
    for node in [zero, two, one] {
        node.leave();
    }
    router.close().wait().unwrap();
}
