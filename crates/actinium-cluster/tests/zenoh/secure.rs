//! Who may join: mutual TLS, over TCP and QUIC, and what the holder of a certificate may be.

use crate::Test;
use crate::certificates::{Authority, Folder};
use crate::process::{Process, free_ports};
use crate::setting::Setting;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::zenoh::Tls;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const TESTS: &[Test] = &[
    ("mutual_tls_lets_known_nodes_talk", tls),
    ("quic_lets_known_nodes_talk", quic),
    ("an_unknown_certificate_is_refused_and_both_sides_say_why", unknown),
    ("who_speaks_no_tls_is_refused", plain),
    ("a_certificate_is_good_for_its_own_node_only", other_number),
];

/// A certificate's holder may be the node that it is called after.
fn allowed() -> BTreeMap<String, NodeId> {
    (0..3).map(|node| (format!("node-{node}"), NodeId(node))).collect()
}

fn secured(mut setting: Setting, tls: Tls) -> Setting {
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
    let listen = format!("tls/localhost:{port}");
    // They still make connections to each other while they talk.
    let secured = |mut setting: Setting, tls| {
        setting.node.link.reliable = true;
        secured(setting, tls)
    };
    let tls = |node: u32| Tls { allowed: allowed(), ..ca.sign(&format!("node-{node}")) };
    let mut zero = Process::start(&secured(Setting::new(0, 3, &listen, &[]), tls(0)));
    // Node 1's certificate, and says that it is node 2.
    let pretender = Setting::new(2, 3, "tls/localhost:0", &[&listen]);
    let pretender = Process::start(&secured(pretender, tls(1)));
    let one = Setting::new(1, 3, "tls/localhost:0", &[&listen]);
    let mut one = Process::start(&secured(one, tls(1)));
    send(&mut one, &mut zero, (1, 0));
    send(&mut zero, &mut one, (0, 1));
    pretender.kill();
    assert!(!zero.seen().iter().any(|line| line.contains("Up(NodeId(2))")), "{:?}", zero.seen());
    // It is the certificate that was at fault.
    let two = Setting::new(2, 3, "tls/localhost:0", &[&listen]);
    let mut two = Process::start(&secured(two, tls(2)));
    zero.expect("Up(NodeId(2))");
    two.expect("Up(NodeId(0))");
    for node in [zero, one, two] {
        node.kill();
    }
}
