//! Large payloads, which Zenoh moves in datagrams beside the frames.

use crate::Test;
use crate::parcels::{MAILBOX, bytes_before};
use crate::process::{Process, free_ports};
use crate::setting::Setting;
use actinium_cluster::link::VERSION;
use actinium_cluster::route::Route;
use std::sync::Mutex;
use std::time::Duration;
use zenoh::Wait;
use zenoh::qos::Priority;

pub(crate) const TESTS: &[Test] = &[
    ("payloads_come_whole_and_in_order_both_ways_and_are_given_back", both_ways),
    ("payloads_come_whole_in_a_grid_from_a_node_that_is_no_neighbour", square),
    ("payloads_go_with_a_lower_priority_than_frames", lower),
    ("payloads_get_over_a_closed_connection", closed),
    ("payloads_for_a_receiver_that_is_killed_are_reported_and_given_back", receiver_killed),
    ("payloads_of_a_sender_that_is_killed_are_reported_as_lost", sender_killed),
];

/// Pages of each arena, and payloads of two pages that have room in one that is empty but for pages
/// that serve short ones.
const PAGES: usize = 1_024;
const FREE: usize = 450;

/// Node 0 connects to node 1, and both have memory for payloads.
fn pair(change: impl Fn(&mut Setting)) -> ([Process; 2], [Setting; 2]) {
    let [port] = free_ports();
    let listen = format!("tcp/127.0.0.1:{port}");
    let mut settings =
        [Setting::new(0, 2, "tcp/127.0.0.1:0", &[&listen]), Setting::new(1, 2, &listen, &[])];
    settings.iter_mut().for_each(change);
    let nodes = [0, 1].map(|at| start(&settings[at]));
    (nodes, settings)
}

fn start(setting: &Setting) -> Process {
    let mut node = Process::start(setting);
    node.ask(&format!("take {PAGES}"), "takes");
    node
}

/// Until a figure of a node, about the other one, is as it should be.
#[track_caller]
fn until(node: &mut Process, peer: u32, name: &str, is_so: impl Fn(u64) -> bool) -> u64 {
    loop {
        let value = node.figures(peer)(name);
        if is_so(value) {
            return value;
        }
        std::thread::yield_now();
    }
}

/// Nothing is kept for the other node, nor comes from it, and the sender's memory is free again.
#[track_caller]
fn check_home(node: &mut Process, peer: u32) {
    until(node, peer, "waiting", |bytes| bytes == 0);
    until(node, peer, "ahead", |bytes| bytes == 0);
    node.ask(&format!("home {FREE}"), "home");
}

#[track_caller]
fn check_none_lost(node: &mut Process, peer: u32) {
    let figures = node.figures(peer);
    for none in ["lost", "lost_there", "payloads_lost", "garbage"] {
        assert_eq!(figures(none), 0, "{none}: {:#?}", node.seen());
    }
}

/// More than the memory of either end has room for at once.
fn both_ways() {
    const SENT: u64 = 128;
    assert!(bytes_before(SENT) > PAGES << 16);
    let (mut nodes, _) = pair(|_| {});
    for (node, to) in nodes.iter_mut().zip([1, 0]) {
        node.tell(&format!("parcels {to} {SENT}"));
    }
    for (node, from) in nodes.iter_mut().zip([1, 0]) {
        node.expect(&format!("sent {SENT}"));
        node.ask(&format!("handled {from} {SENT}"), "there");
    }
    for (node, peer) in nodes.iter_mut().zip([1, 0]) {
        check_home(node, peer);
        check_none_lost(node, peer);
    }
    nodes.into_iter().for_each(Process::leave);
}

/// Four nodes in a square: each sends to the opposite one, by way of another, while that one does,
/// too. The bytes go straight.
fn square() {
    const SENT: u64 = 64;
    let [port] = free_ports();
    let listen = format!("tcp/127.0.0.1:{port}");
    let mut nodes: Vec<Process> = Setting::four(&listen, Route::Square).iter().map(start).collect();
    for (node, to) in nodes.iter_mut().zip([3, 2, 1, 0]) {
        node.tell(&format!("parcels {to} {SENT}"));
    }
    for (node, from) in nodes.iter_mut().zip([3, 2, 1, 0]) {
        node.expect(&format!("sent {SENT}"));
        node.ask(&format!("handled {from} {SENT}"), "there");
    }
    for (node, peer) in nodes.iter_mut().zip([3, 2, 1, 0]) {
        check_home(node, peer);
        check_none_lost(node, peer);
        // On the way of the other pair, in one direction.
        assert!(node.figures(peer)("handed_on") >= SENT);
    }
    // Each hands on for others until its neighbours leave, too: alone it would stay as long as it
    // may.
    nodes.iter_mut().for_each(|node| node.tell("leave"));
    nodes.into_iter().for_each(Process::left);
}

/// Each priority has a queue of its own in Zenoh, and what is lower waits for what is higher.
/// Somebody on the network looks at what goes to node 1.
fn lower() {
    let ([mut zero, mut one], [_, setting]) = pair(|_| {});
    let mut config = zenoh::Config::default();
    let connect = format!("[{:?}]", setting.zenoh.listen[0]);
    for (path, value) in
        [("connect/endpoints", connect.as_str()), ("scouting/multicast/enabled", "false")]
    {
        config.insert_json5(path, value).unwrap();
    }
    let session = zenoh::open(config).wait().unwrap();
    let (sender, seen) = std::sync::mpsc::channel();
    let sender = Mutex::new(sender);
    let subscriber = session.declare_subscriber("actinium/test/to/1/0").callback(move |sample| {
        // A datagram, and one that is part of a payload.
        let is_part = sample.payload().to_bytes().starts_with(&[b'A', b'p', VERSION, 2]);
        // The test may have seen enough.
        let _ = sender.lock().unwrap().send((is_part, sample.priority()));
    });
    let subscriber = subscriber.wait().unwrap();
    let (mut parts, mut others, mut sent) = (0, 0, 0);
    while parts < 100 || others < 10 {
        zero.ask(&format!("parcels 1 {BEFORE}"), &format!("sent {BEFORE}"));
        sent += BEFORE;
        one.ask(&format!("handled 0 {sent}"), "there");
        for (is_part, priority) in seen.try_iter() {
            let wanted = if is_part { Priority::DataLow } else { Priority::Data };
            assert_eq!(priority, wanted, "part: {is_part}");
            *(if is_part { &mut parts } else { &mut others }) += 1;
        }
    }
    drop(subscriber);
    session.close().wait().unwrap();
    check_home(&mut zero, 1);
    check_none_lost(&mut one, 0);
    [zero, one].into_iter().for_each(Process::leave);
}

/// What the connection takes with it is fetched again, and the messages are sent again.
fn closed() {
    let ([mut zero, mut one], _) = pair(|setting| {
        setting.zenoh.lease = Duration::from_secs(2);
        setting.node.link.reliable = true;
        setting.workers = WORKERS;
    });
    send_to_stalled(&mut zero, &mut one);
    one.stop();
    zero.expect("Unable to connect to configured peer");
    one.signal("-CONT");
    one.tell("open");
    one.ask(&format!("handled 0 {SENT}"), "there");
    check_home(&mut zero, 1);
    check_none_lost(&mut one, 0);
    zero.kill();
}

/// How many are sent before anything goes wrong, and in all: more than is fetched ahead, and than
/// waits in a mailbox.
const BEFORE: u64 = 8;
const SENT: u64 = 64;

/// Has node 1's actor handle nothing while node 0 sends, until node 1 has all messages and some of
/// their payloads.
fn send_to_stalled(zero: &mut Process, one: &mut Process) {
    zero.ask(&format!("parcels 1 {BEFORE}"), &format!("sent {BEFORE}"));
    one.ask(&format!("handled 0 {BEFORE}"), "there");
    until(zero, 1, "waiting", |bytes| bytes == 0);
    one.tell("shut");
    // So that all messages are on their way before anything is fetched: then all are known there
    // before the mailbox is full.
    let more = SENT - BEFORE;
    zero.ask(&format!("prepare 1 {more}"), "prepared");
    one.stop();
    zero.ask(&format!("parcels 1 {more}"), &format!("sent {more}"));
    // A request may be among them.
    until(zero, 1, "left", |messages| messages >= SENT);
    one.signal("-CONT");
    until(one, 0, "ahead", |bytes| bytes > 0);
    let frames = zero.figures(1)("left_frames");
    until(one, 0, "delivered_frames", |delivered| delivered == frames);
}

/// Two: so that one takes messages apart while the actor keeps the other.
const WORKERS: usize = 2;

fn impatient(setting: &mut Setting) {
    setting.workers = WORKERS;
    setting.node.link.down_after_ns = 20_000_000_000;
}

/// The number behind a word.
#[track_caller]
fn number_behind(line: &str, word: &str) -> u64 {
    let (_, rest) = line.split_once(word).unwrap_or_else(|| panic!("no {word} in {line}"));
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().unwrap()
}

fn receiver_killed() {
    let ([mut zero, mut one], [_, setting]) = pair(impatient);
    send_to_stalled(&mut zero, &mut one);
    assert!(zero.figures(1)("waiting") > 0, "they are kept for it");
    one.kill();
    let down = zero.expect("Down {");
    let (_, unacknowledged) = down.split_once("unacknowledged").unwrap();
    let lost = number_behind(unacknowledged, "messages: ") + number_behind(&down, "undelivered: ");
    // All but those that the mailbox has taken, and the one that its actor was at.
    let fewest = SENT - BEFORE - MAILBOX as u64 - 1;
    assert!((fewest..=SENT - BEFORE).contains(&lost), "{down}");
    check_home(&mut zero, 1);
    // Its successor gets what is sent from now on.
    let mut one = start(&setting);
    zero.expect("Up(NodeId(1))");
    zero.tell("anew 1");
    zero.ask(&format!("parcels 1 {SENT}"), &format!("sent {SENT}"));
    one.ask(&format!("handled 0 {SENT}"), "there");
    check_home(&mut zero, 1);
    check_none_lost(&mut one, 0);
    for node in [zero, one] {
        node.kill();
    }
}

fn sender_killed() {
    let ([mut zero, mut one], [setting, _]) = pair(impatient);
    send_to_stalled(&mut zero, &mut one);
    zero.kill();
    one.tell("open");
    let down = one.expect("Down {");
    assert!(down.contains("Silent"), "{down}");
    let lost = one.figures(0)("payloads_lost");
    assert!((1..SENT - BEFORE).contains(&lost), "more was to come than is fetched ahead: {lost}");
    assert_eq!(one.figures(0)("lost"), 0, "all messages were there");
    // Some of the others may be in its mailbox yet.
    until(&mut one, 0, "parcels", |handled| handled + lost == SENT);
    let lost = one.seen().iter().filter(|line| line.contains("PayloadLost {"));
    assert!(lost.clone().all(|line| line.contains("NodeDown")), "{:#?}", lost.collect::<Vec<_>>());
    until(&mut one, 0, "ahead", |bytes| bytes == 0);
    // What its successor sends has the numbers that the dead one's had.
    one.tell("anew 0");
    let mut zero = start(&setting);
    zero.ask(&format!("parcels 1 {SENT}"), &format!("sent {SENT}"));
    one.ask(&format!("handled 0 {SENT}"), "there");
    check_home(&mut zero, 1);
    until(&mut one, 0, "ahead", |bytes| bytes == 0);
    for node in [zero, one] {
        node.kill();
    }
}
