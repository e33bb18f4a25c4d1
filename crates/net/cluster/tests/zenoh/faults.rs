//! What goes wrong: processes that stop, stall, die; a connection that closes under frames; frames
//! that come twice, and in another order; two processes with one number. Zenoh's measured defects
//! are among them.

use crate::Test;
use crate::process::{Process, free_ports};
use crate::setting::Setting;
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Duration;
use zenoh::Wait;

pub(crate) const TESTS: &[Test] = &[
    ("a_receiver_that_is_stopped_and_goes_on_gets_all_as_it_was_sent", stopped),
    ("what_a_closed_connection_takes_with_it_is_reported", closed),
    ("a_reliable_link_gets_over_a_closed_connection", closed_reliable),
    ("a_receiver_that_stalls_stops_its_sender_and_nothing_is_lost", stalled),
    ("a_receiver_that_is_killed_while_its_sender_waits_for_room_is_down", killed),
    ("frames_that_come_twice_and_in_another_order_change_nothing", replayed),
    ("a_second_process_with_a_number_is_refused_and_both_say_so", twins),
    ("two_with_one_number_that_meet_later_are_told_apart", late_twins),
    ("an_endpoint_that_can_not_be_had_is_named", taken),
];

const BYTES: u64 = 20_000;
/// What may be sent to a node that takes nothing: the links' windows and frames that wait, what is
/// aggregating, and what the system keeps for a connection; with room to spare.
const TAKEN_MAX: u64 = 64 << 20;
/// A process of these tests needs no more memory than this.
const PEAK_KIB_MAX: u64 = 400 << 10;

/// Node 0 connects to node 1, which listens at the port.
fn pair(change: impl Fn(&mut Setting)) -> (Process, Process, u16, Setting) {
    let [port] = free_ports();
    let listen = format!("tcp/127.0.0.1:{port}");
    let mut settings =
        [Setting::new(0, 2, "tcp/127.0.0.1:0", &[&listen]), Setting::new(1, 2, &listen, &[])];
    settings.iter_mut().for_each(change);
    let [zero, one] = settings;
    let receiver = Process::start(&one);
    (Process::start(&zero), receiver, port, one)
}

/// Sends until there is no more room; how many messages that were.
fn fill(zero: &mut Process) -> u64 {
    let full = zero.ask(&format!("fill 1 {BYTES}"), "full ");
    let sent: u64 = full["full ".len()..].parse().unwrap();
    assert!(sent > 0 && sent * BYTES < TAKEN_MAX, "{sent}");
    sent
}

/// One more message, behind which nothing is under way; all are received or reported as lost.
fn negotiate(zero: &mut Process, one: &mut Process, sent: u64) -> u64 {
    zero.ask("send 1 1 10", "sent");
    one.ask(&format!("when 0 {}", sent + 1), "there");
    let figures = one.figures(0);
    assert_eq!(figures("received") + figures("lost"), sent + 1);
    assert_eq!((figures("duplicates"), figures("garbage")), (0, 0));
    for node in [zero.figures(1), figures] {
        assert!(node("peak_kib") < PEAK_KIB_MAX, "{} KiB", node("peak_kib"));
    }
    one.figures(0)("lost")
}

/// Defect 1: payloads were torn.
fn stopped() {
    let (mut zero, mut one, ..) = pair(|_| {});
    zero.ask("send 1 1 10", "sent");
    one.ask("when 0 1", "there");
    let mut sent = 1;
    for _ in 0..3 {
        one.stop();
        sent += fill(&mut zero);
        one.signal("-CONT");
        assert_eq!(negotiate(&mut zero, &mut one, sent), 0, "nothing is lost within the lease");
        sent += 1;
    }
    one.leave();
    zero.leave();
}

/// Stops node 1 with as much as possible under way to it, until its connection is closed; then lets
/// it go on.
fn close_under_frames(zero: &mut Process, one: &Process) -> u64 {
    one.stop();
    let sent = fill(zero);
    // The lease is over, and it has tried to connect again.
    zero.expect("Unable to connect to configured peer");
    one.signal("-CONT");
    sent
}

fn short_lease(setting: &mut Setting) {
    setting.zenoh.lease = Duration::from_secs(2);
}

/// Defect 2: what a connection takes with it when it closes is lost without a word.
fn closed() {
    let (mut zero, mut one, ..) = pair(short_lease);
    zero.ask("send 1 1 10", "sent");
    one.ask("when 0 1", "there");
    let sent = 1 + close_under_frames(&mut zero, &one);
    let lost = negotiate(&mut zero, &mut one, sent);
    assert!(lost > 0, "so much can not have been on the wire");
    // It may have said so already.
    if !zero.seen().iter().any(|line| line.contains("LostThere")) {
        zero.expect("LostThere");
    }
    assert!(!zero.seen().iter().any(|line| line.contains("Down")), "{:?}", zero.seen());
    zero.kill();
}

fn closed_reliable() {
    let (mut zero, mut one, ..) = pair(|setting| {
        short_lease(setting);
        setting.node.link.reliable = true;
    });
    zero.ask("send 1 1 10", "sent");
    one.ask("when 0 1", "there");
    let sent = 1 + close_under_frames(&mut zero, &one);
    zero.ask("send 1 1 10", "sent");
    one.ask(&format!("when 0 {}", sent + 1), "there");
    assert_eq!((one.figures(0)("received"), one.figures(0)("lost")), (sent + 1, 0));
    assert!(zero.figures(1)("resent") > 0);
    zero.kill();
}

/// Defects 2 and 4: a queue that is full loses.
fn stalled() {
    let (mut zero, mut one, ..) = pair(|_| {});
    one.tell("stall");
    zero.ask("send 1 1 10", "sent");
    let sent = 1 + fill(&mut zero);
    one.tell("go");
    assert_eq!(negotiate(&mut zero, &mut one, sent), 0);
    // And again, after it has caught up.
    one.tell("stall");
    let sent = sent + 1 + fill(&mut zero);
    one.tell("go");
    assert_eq!(negotiate(&mut zero, &mut one, sent), 0);
    one.leave();
    zero.leave();
}

/// Defect 3: a `put` that waits does not notice that nobody is there any more.
fn killed() {
    let down_ns = 5_000_000_000;
    let (mut zero, mut one, _, setting) = pair(|setting| {
        setting.node.link.down_after_ns = down_ns;
    });
    one.tell("stall");
    zero.ask("send 1 1 10", "sent");
    fill(&mut zero);
    one.kill();
    let down = zero.expect("Down {");
    assert!(down.contains("Silent") && !down.contains("undelivered: 0 "), "{down}");
    // Its number is free again.
    let mut one = Process::start(&setting);
    let up = zero.expect("Up(NodeId(1))");
    assert!(up.starts_with("event"), "{up}");
    // An address of its earlier life reaches nobody.
    zero.tell("forget 1");
    zero.ask("send 1 1 10", "sent");
    one.ask("when 0 1", "there");
    assert_eq!(one.figures(0)("received"), 1);
    one.leave();
    zero.kill();
}

/// Somebody on the network takes what is sent to node 1, and sends it again, in another order; and
/// garbage.
fn replayed() {
    let (mut zero, mut one, port, _) = pair(|setting| setting.node.link.reliable = true);
    let mut config = zenoh::Config::default();
    for (path, value) in [
        ("connect/endpoints", format!("[\"tcp/127.0.0.1:{port}\"]")),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        config.insert_json5(path, &value).unwrap();
    }
    let session = zenoh::open(config).wait().unwrap();
    let (sender, frames) = std::sync::mpsc::channel();
    let sender = Mutex::new(sender);
    let subscriber = session.declare_subscriber("actinium/test/to/1/0").callback(move |sample| {
        // The test may have seen enough.
        drop(sender.lock().unwrap().send(sample.payload().to_bytes().into_owned()));
    });
    let subscriber = subscriber.wait().unwrap();
    let put = |key: &str, bytes: &[u8]| {
        session.put(format!("actinium/test/to/1/{key}"), bytes.to_vec()).wait().unwrap();
    };
    let mut replayed = BTreeSet::new();
    let (mut sent, mut copies) = (0, Vec::new());
    while one.figures(0)("duplicates") < 200 {
        zero.ask("send 1 1000 1000", "sent");
        sent += 1_000;
        while copies.len() < 20 {
            let frame: Vec<u8> = frames.recv().unwrap();
            // What we send ourselves comes back, too: also what is empty, of which no part can be
            // sent.
            if !frame.is_empty() && replayed.insert(frame.clone()) {
                copies.push(frame);
            }
        }
        for frame in copies.drain(..).rev() {
            put("0", &frame);
            put("0", &frame[..frame.len() / 2]);
            put("0", &frame[1..]);
        }
        for stranger in ["x", "5", "1", "4294967295", "99999999999999"] {
            put(stranger, b"garbage that is long enough for whatever stands behind a frame, say");
        }
        put("0", b"");
    }
    one.ask(&format!("when 0 {sent}"), "there");
    let figures = one.figures(0);
    assert_eq!((figures("received"), figures("lost")), (sent, 0));
    assert!(figures("garbage") > 0);
    drop(subscriber);
    session.close().wait().unwrap();
    one.kill();
    zero.kill();
}

fn twins() {
    let [port] = free_ports();
    let listen = format!("tcp/127.0.0.1:{port}");
    let mut zero = Process::start(&Setting::new(0, 2, &listen, &[]));
    let twin = Setting::new(0, 2, "tcp/127.0.0.1:0", &[&listen]);
    let mut twin = Process::try_start(&twin);
    let refused = twin.expect("failed: ");
    assert!(refused.contains("node 0 is in the cluster already, as process"), "{refused}");
    assert!(refused.contains(&format!("process {}", zero.id())), "{refused}");
    let told = zero.expect("notice node 0 is wanted by");
    assert!(told.contains(&format!("process {}", twin.id())), "{told}");
    // One that is stopped does not answer, and is no obstacle.
    zero.stop();
    let mut next = Process::start(&Setting::new(0, 2, "tcp/127.0.0.1:0", &[&listen]));
    zero.signal("-CONT");
    zero.expect("node 0 was started again");
    next.expect("node 0 is process");
    next.leave();
}

/// Neither knows the other until a third node knows both.
fn late_twins() {
    let ports: [u16; 2] = free_ports();
    let [first, second] = ports.map(|port| format!("tcp/127.0.0.1:{port}"));
    let mut older = Process::start(&Setting::new(1, 2, &first, &[]));
    let mut newer = Process::start(&Setting::new(1, 2, &second, &[]));
    let zero = Setting::new(0, 2, "tcp/127.0.0.1:0", &[&first, &second]);
    let mut zero = Process::start(&zero);
    let told = older.expect("notice node 1 was started again");
    assert!(told.contains(&format!("process {}", newer.id())), "{told}");
    let told = newer.expect("which was started before this process");
    assert!(told.contains(&format!("process {}", older.id())), "{told}");
    // The newer one is the node.
    zero.ask("send 1 10 10", "sent");
    newer.ask("when 0 10", "there");
    for node in [zero, older, newer] {
        node.kill();
    }
}

fn taken() {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    let setting = Setting::new(0, 1, &format!("tcp/127.0.0.1:{port}"), &[]);
    let refused = Process::try_start(&setting).expect("failed: ");
    assert!(refused.contains(&port.to_string()), "{refused}");
}
