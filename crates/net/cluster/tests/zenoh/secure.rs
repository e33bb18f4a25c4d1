//! Who may join: mutual TLS, over TCP and QUIC, and what the holder of a certificate may be.

use crate::Test;
use crate::certificates::{Authority, Folder};
use crate::process::{Process, free_ports};
use crate::setting::Setting;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::zenoh::Tls;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use zenoh::{Session, Wait};

pub(crate) const TESTS: &[Test] = &[
    ("mutual_tls_lets_known_nodes_talk", tls),
    ("quic_lets_known_nodes_talk", quic),
    ("an_unknown_certificate_is_refused_and_both_sides_say_why", unknown),
    ("who_speaks_no_tls_is_refused", plain),
    ("a_certificate_is_good_for_its_own_node_only", other_number),
    ("a_holder_of_a_certificate_that_is_not_allowed_is_neither_heard_nor_hears", denied),
];

/// A certificate's holder may be the node that it is called after.
fn allowed() -> BTreeMap<String, NodeId> {
    (0..3).map(|node| (format!("node-{node}"), NodeId(node))).collect()
}

fn secured(mut setting: Setting, tls: Tls) -> Setting {
    // Zenoh's TLS over TCP breaks connections now and then, and what is under way then goes with
    // them.
    setting.node.link.reliable = setting.zenoh.listen[0].starts_with("tls/");
    setting.zenoh.allow_tls_over_tcp = setting.node.link.reliable;
    setting.zenoh.tls = Some(tls);
    setting
}

fn send(from: &mut Process, to: &mut Process, ids: (u32, u32)) {
    from.ask(&format!("send {} 10000 100", ids.1), "sent");
    to.ask(&format!("when {} 10000", ids.0), "there");
    let figures = to.figures(ids.0);
    let found = (figures("received"), figures("lost"), figures("garbage"));
    assert_eq!(found, (10_000, 0, 0), "{:#?} {:#?}", from.seen(), to.seen());
}

/// Two nodes that are allowed what they need, and nothing else.
fn talk(protocol: &str) {
    let folder = Folder::new(protocol);
    let ca = Authority::new(&folder, "ca");
    let ports: [u16; 2] = free_ports();
    let [listen, there] = ports.map(|port| format!("{protocol}/localhost:{port}"));
    let tls = |node: u32| Tls { allowed: allowed(), ..ca.sign(&format!("node-{node}")) };
    let mut zero = Process::start(&secured(Setting::new(0, 2, &listen, &[]), tls(0)));
    let mut one = Process::start(&secured(Setting::new(1, 2, &there, &[&listen]), tls(1)));
    send(&mut zero, &mut one, (0, 1));
    send(&mut one, &mut zero, (1, 0));
    let warned =
        one.seen().iter().any(|line| line.contains("notice tls/") && line.contains("quic/"));
    assert_eq!(warned, protocol == "tls", "{:?}", one.seen());
    let elsewhere = format!("{protocol}/localhost:0");
    // Numbers that two processes have are found out in the same way.
    let twin = secured(Setting::new(1, 2, &elsewhere, &[&there]), tls(1));
    let refused = Process::try_start(&twin).expect("failed: ");
    assert!(refused.contains("node 1 is in the cluster already"), "{refused}");
    one.kill();
    zero.kill();
}

fn tls() {
    talk("tls");
}

fn quic() {
    talk("quic");
}

fn unknown() {
    let folder = Folder::new("unknown");
    let (ours, theirs) = (Authority::new(&folder, "ours"), Authority::new(&folder, "theirs"));
    let [port] = free_ports();
    let listen = format!("tls/localhost:{port}");
    let zero = secured(Setting::new(0, 2, &listen, &[]), ours.sign("node-0"));
    let mut zero = Process::start(&zero);
    let intruder = |ca: &Path| {
        let tls = Tls { ca: ca.to_owned(), ..theirs.sign("node-1") };
        Process::start(&secured(Setting::new(1, 2, "tls/localhost:0", &[&listen]), tls))
    };
    // It believes us; we do not believe it.
    let mut one = intruder(ours.path());
    zero.expect("A connection was refused: invalid peer certificate: UnknownIssuer");
    let there = one.expect("Unable to connect to configured peer");
    assert!(there.contains("received fatal alert: UnknownCA"), "{there}");
    one.kill();
    // Nor does it believe us.
    let mut one = intruder(theirs.path());
    let there = one.expect("Unable to connect to configured peer");
    assert!(there.contains("invalid peer certificate"), "{there}");
    zero.expect("A connection was refused: received fatal alert: UnknownCA");
    one.kill();
    // Whom it knows, it lets in all the same.
    let known = secured(Setting::new(1, 2, "tls/localhost:0", &[&listen]), ours.sign("node-1"));
    let mut one = Process::start(&known);
    send(&mut zero, &mut one, (0, 1));
    let seen = zero.seen().iter().filter(|line| line.starts_with("event Up")).count();
    assert_eq!(seen, 1, "of the two others it has seen nothing");
    zero.kill();
}

fn plain() {
    let folder = Folder::new("plain");
    let ca = Authority::new(&folder, "ca");
    let [port] = free_ports();
    let listen = format!("tls/localhost:{port}");
    let mut zero = Process::start(&secured(Setting::new(0, 2, &listen, &[]), ca.sign("node-0")));
    let connect = format!("tcp/localhost:{port}");
    let mut one = Process::start(&Setting::new(1, 2, "tcp/127.0.0.1:0", &[&connect]));
    zero.expect("A connection was refused: received corrupt message");
    one.expect("Unable to connect to configured peer");
    one.kill();
    zero.kill();
}

fn other_number() {
    let folder = Folder::new("number");
    let ca = Authority::new(&folder, "ca");
    let [port] = free_ports();
    let listen = format!("quic/localhost:{port}");
    let tls = |node: u32| Tls { allowed: allowed(), ..ca.sign(&format!("node-{node}")) };
    let mut zero = Process::start(&secured(Setting::new(0, 3, &listen, &[]), tls(0)));
    // Node 1's certificate, and says that it is node 2.
    let pretender = Setting::new(2, 3, "quic/localhost:0", &[&listen]);
    let pretender = Process::start(&secured(pretender, tls(1)));
    let one = Setting::new(1, 3, "quic/localhost:0", &[&listen]);
    let mut one = Process::start(&secured(one, tls(1)));
    send(&mut one, &mut zero, (1, 0));
    send(&mut zero, &mut one, (0, 1));
    pretender.kill();
    assert!(!zero.seen().iter().any(|line| line.contains("Up(NodeId(2))")), "{:?}", zero.seen());
    // It is the certificate that was at fault.
    let two = Setting::new(2, 3, "quic/localhost:0", &[&listen]);
    let mut two = Process::start(&secured(two, tls(2)));
    zero.expect("Up(NodeId(2))");
    two.ask("send 0 10 10", "sent");
    zero.ask("when 2 10", "there");
    for node in [zero, one, two] {
        node.kill();
    }
}

/// Somebody with a certificate, who knows how nodes talk, in touch with the node that listens
/// there.
fn guest(tls: &Tls, connect: &str) -> Session {
    let mut config = zenoh::Config::default();
    let file = |path: &Path| format!("\"{}\"", path.display());
    for (path, value) in [
        ("listen/endpoints", "[]".to_owned()),
        ("connect/endpoints", format!("[\"{connect}\"]")),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("transport/link/tls/enable_mtls", "true".to_owned()),
        ("transport/link/tls/root_ca_certificate", file(&tls.ca)),
        ("transport/link/tls/connect_certificate", file(&tls.certificate)),
        ("transport/link/tls/connect_private_key", file(&tls.key)),
    ] {
        config.insert_json5(path, &value).unwrap();
    }
    let session = zenoh::open(config).wait().unwrap();
    while session.info().peers_zid().wait().next().is_none() {
        std::thread::yield_now();
    }
    session
}

fn denied() {
    const GARBAGE: &str = "garbage that is long enough for whatever stands behind a frame, say";
    let folder = Folder::new("denied");
    let ca = Authority::new(&folder, "ca");
    let ports: [u16; 2] = free_ports();
    let [listen, there] = ports.map(|port| format!("quic/localhost:{port}"));
    let tls = |node: u32| Tls { allowed: allowed(), ..ca.sign(&format!("node-{node}")) };
    let mut zero = Process::start(&secured(Setting::new(0, 3, &listen, &[]), tls(0)));
    let mut one = Process::start(&secured(Setting::new(1, 3, &there, &[&listen]), tls(1)));
    let say = |guest: &Session, as_node: u32| {
        for _ in 0..10 {
            guest.put(format!("actinium/test/to/0/{as_node}"), GARBAGE).wait().unwrap();
        }
    };
    let heard = Arc::new(AtomicU32::new(0));
    let stranger = guest(&ca.sign("stranger"), &listen);
    let count = heard.clone();
    let all = stranger.declare_subscriber("actinium/test/**").callback(move |_| {
        // Relaxed: a count.
        count.fetch_add(1, Ordering::Relaxed);
    });
    // What it says itself, it would hear.
    (0..3).for_each(|node| say(&stranger, node));
    let _all = all.wait().unwrap();
    send(&mut one, &mut zero, (1, 0));
    send(&mut zero, &mut one, (0, 1));
    // Relaxed: a count.
    assert_eq!(heard.load(Ordering::Relaxed), 0, "it hears nothing");
    stranger.close().wait().unwrap();
    // Who may be node 2 is heard as that, and as nobody else.
    let two = guest(&tls(2), &listen);
    say(&two, 1);
    say(&two, 2);
    while zero.figures(2)("garbage") < 10 {}
    two.close().wait().unwrap();
    assert_eq!((zero.figures(1)("garbage"), zero.figures(2)("garbage")), (0, 10));
    one.leave();
    zero.leave();
}
