//! Processes on hosts of their own, over Zenoh: cables that are pulled and put back, a host that
//! dies, bad cables.

use crate::Test;
use crate::hosts::{Network, address, command_in};
use crate::process::Process;
use crate::setting::Setting;
use std::time::Duration;

pub(crate) const TESTS: &[Test] = &[
    ("zenoh_a_short_cut_loses_nothing", short_cut),
    ("zenoh_a_cut_that_closes_connections_is_reported", closing_cut),
    ("zenoh_a_reliable_link_gets_over_a_cut_that_closes_connections", closing_cut_reliable),
    ("zenoh_a_long_cut_is_down_on_both_sides_and_up_again_when_it_heals", long_cut),
    ("zenoh_a_host_that_dies_is_noticed_by_all", dead_host),
    ("zenoh_the_smaller_side_of_a_cut_has_no_names", names),
    ("zenoh_bad_cables_lose_nothing", bad_cables),
];

const BYTES: u64 = 20_000;
/// Long enough for a busy machine, short enough to be waited for.
pub(crate) const DOWN_NS: u64 = 5_000_000_000;

/// Node N on host N; all connect to node 0.
fn settings<const N: usize>(change: impl Fn(&mut Setting)) -> [Setting; N] {
    let listen = |node: usize| format!("tcp/{}:7447", address(node as u32));
    std::array::from_fn(|node| {
        let connect = if node == 0 { Vec::new() } else { vec![listen(0)] };
        let connect: Vec<&str> = connect.iter().map(String::as_str).collect();
        let mut setting = Setting::new(node as u32, N as u32, &listen(node), &connect);
        change(&mut setting);
        setting
    })
}

fn start(network: &Network, setting: &Setting) -> Process {
    let node = setting.zenoh.node.0;
    let mut command = command_in(&network.host(node));
    command.arg(std::env::current_exe().unwrap());
    let mut process = Process::run(command, setting);
    process.expect("ready");
    process
}

fn start_all<const N: usize>(
    change: impl Fn(&mut Setting),
) -> (Network, [Setting; N], [Process; N]) {
    let network = Network::new(N as u32).unwrap();
    let settings = settings(change);
    let processes = settings.each_ref().map(|setting| start(&network, setting));
    (network, settings, processes)
}

/// Cuts node 1 off while node 0 sends to it as much as it may.
pub(crate) fn cut_under_frames(network: &Network, zero: &mut Process, one: &mut Process) -> u64 {
    zero.ask("send 1 1 10", "sent");
    one.ask("when 0 1", "there");
    network.cut(1);
    let full = zero.ask(&format!("fill 1 {BYTES}"), "full ");
    let sent: u64 = full["full ".len()..].parse().unwrap();
    assert!(sent > 0);
    1 + sent
}

/// One more message; then all is received, or reported as lost. How many are lost.
pub(crate) fn lost_of(zero: &mut Process, one: &mut Process, sent: u64) -> u64 {
    zero.ask("send 1 1 10", "sent");
    one.ask(&format!("when 0 {}", sent + 1), "there");
    let figures = one.figures(0);
    assert_eq!(figures("received") + figures("lost"), sent + 1);
    assert_eq!(figures("garbage"), 0);
    figures("lost")
}

fn short_cut() {
    let (network, _, [mut zero, mut one]) = start_all(|_| {});
    let sent = cut_under_frames(&network, &mut zero, &mut one);
    network.heal(1);
    assert_eq!(lost_of(&mut zero, &mut one, sent), 0);
    unnoticed([&mut zero, &mut one]);
    one.leave();
    zero.leave();
}

/// Nobody was told of anything.
pub(crate) fn unnoticed(nodes: [&mut Process; 2]) {
    for node in nodes {
        let noticed = |line: &String| line.contains("Down") || line.contains("Lost");
        assert!(!node.seen().iter().any(noticed), "{:?}", node.seen());
    }
}

/// The connection closes at both ends, and is made again.
fn close(network: &Network, zero: &mut Process, one: &mut Process) -> u64 {
    let sent = cut_under_frames(network, zero, one);
    // Its lease is over, and it has tried to connect again.
    one.expect("Unable to connect to configured peer");
    network.heal(1);
    sent
}

fn short_lease(setting: &mut Setting) {
    setting.zenoh.lease = Duration::from_secs(2);
}

fn closing_cut() {
    let (network, _, [mut zero, mut one]) = start_all(short_lease);
    let sent = close(&network, &mut zero, &mut one);
    let lost = lost_of(&mut zero, &mut one, sent);
    assert!(lost > 0, "what was under way went with the connection");
    while zero.figures(1)("lost_there") < lost {
        zero.expect("LostThere");
    }
    assert_eq!(zero.figures(1)("lost_there"), lost, "both ends say the same");
    assert!(!zero.seen().iter().any(|line| line.contains("Down")), "{:?}", zero.seen());
}

fn closing_cut_reliable() {
    let (network, _, [mut zero, mut one]) = start_all(|setting| {
        short_lease(setting);
        setting.node.link.reliable = true;
    });
    let sent = close(&network, &mut zero, &mut one);
    assert_eq!(lost_of(&mut zero, &mut one, sent), 0);
    assert!(zero.figures(1)("resent") > 0);
}

fn short_patience(setting: &mut Setting) {
    short_lease(setting);
    setting.node.link.down_after_ns = DOWN_NS;
}

/// Waits until each has met the others. (Events may come before anybody listens.)
pub(crate) fn all_up(nodes: [&mut Process; 3]) {
    for node in nodes {
        while node.figures(0)("up") < 3 {}
    }
}

/// Says that another is down because nothing was heard of it.
pub(crate) fn expect_silent(at: &mut Process, node: u32) {
    let down = at.expect(&format!("Down {{ node: NodeId({node})"));
    assert!(down.contains("Silent"), "{down}");
}

fn long_cut() {
    let (network, _, nodes) = start_all(short_patience);
    get_over_a_long_cut(&network, nodes);
}

/// Host 2 is cut off for so long that all give each other up, and comes back.
pub(crate) fn get_over_a_long_cut(network: &Network, nodes: [Process; 3]) -> [Process; 3] {
    let [mut zero, mut one, mut two] = nodes;
    all_up([&mut zero, &mut one, &mut two]);
    network.cut(2);
    expect_silent(&mut zero, 2);
    expect_silent(&mut one, 2);
    // In either order.
    for _ in 0..2 {
        let down = two.expect("Down {");
        assert!(down.contains("Silent"), "{down}");
    }
    // The others have each other.
    zero.ask("send 1 100 100", "sent");
    one.ask("when 0 100", "there");
    network.heal(2);
    zero.expect("Up(NodeId(2))");
    one.expect("Up(NodeId(2))");
    all_up([&mut zero, &mut one, &mut two]);
    for from in [&mut zero, &mut one] {
        from.ask("send 2 100 100", "sent");
    }
    two.ask("when 0 100", "there");
    two.ask("when 1 100", "there");
    assert_eq!(two.figures(0)("received"), 200);
    [zero, one, two]
}

fn dead_host() {
    let (network, settings, [mut zero, mut one, mut two]) = start_all(short_patience);
    for node in [&mut zero, &mut one] {
        node.ask("send 2 100 100", "sent");
    }
    two.ask("when 0 100", "there");
    two.ask("when 1 100", "there");
    network.kill(2);
    expect_silent(&mut zero, 2);
    expect_silent(&mut one, 2);
    // It is started again.
    network.heal(2);
    let mut two = start(&network, &settings[2]);
    for node in [&mut zero, &mut one] {
        node.expect("Up(NodeId(2))");
        // An address of its earlier life reaches nobody.
        node.tell("forget 2");
        node.ask("send 2 10 100", "sent");
    }
    two.ask("when 0 110", "there");
    two.ask("when 1 110", "there");
    assert_eq!(two.figures(0)("received"), 20);
}

fn names() {
    // What is said of names must not go with a connection.
    let (network, _, [mut zero, mut one, mut two]) = start_all(|setting| {
        short_patience(setting);
        setting.node.link.reliable = true;
    });
    for node in [&mut zero, &mut one, &mut two] {
        node.ask("names 2", "named");
    }
    all_up([&mut zero, &mut one, &mut two]);
    two.ask("gain it", "claimed");
    one.ask("who it", "who 2");
    network.cut(2);
    // It has a name that others will be given, and gives it up by itself.
    two.expect("NameLost");
    let refused = two.ask("claim it", "refused");
    assert!(refused.contains("NoQuorum"), "{refused}");
    one.ask("gain it", "claimed");
    zero.ask("who it", "who 1");
    let nobody = two.ask("who it", "nobody");
    assert!(nobody.contains("NoQuorum"), "{nobody}");
    network.heal(2);
    two.ask("seek it", "who 1");
    let refused = two.ask("claim it", "refused");
    assert!(refused.contains("NameTaken"), "{refused}");
}

/// Of what leaves either host, one packet of twenty is lost, and where the kernel can do it, all is
/// late: TCP gets over it, and nothing of that is seen.
fn bad_cables() {
    let (network, _, [mut zero, mut one]) = start_all(|_| {});
    let spoilt = [0, 1].map(|host| network.spoil(host, 5, 5));
    spoilt.iter().flatten().for_each(|line| println!("{line}"));
    for (node, to) in [(&mut zero, 1), (&mut one, 0)] {
        node.tell(&format!("send {to} 10000 30"));
        node.tell(&format!("send {to} 100 20000"));
    }
    for (node, from) in [(&mut zero, 1), (&mut one, 0)] {
        node.ask(&format!("when {from} 10100"), "there");
        let figures = node.figures(from);
        let found = ["received", "lost", "lost_there", "garbage"].map(figures);
        assert_eq!(found, [10_100, 0, 0, 0]);
    }
    let loses = |done: &Vec<String>| !done.iter().any(|line| line.contains("skipped: loss"));
    if spoilt.iter().all(loses) {
        assert!(network.segments_resent(0) + network.segments_resent(1) > 0, "nothing was lost");
    }
}
