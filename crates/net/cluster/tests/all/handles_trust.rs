//! Handles and a peer that is made by hand: it reaches nobody that it was not given.

use crate::common::{Cluster, reliable};
use crate::handles::{Desk, Kept, Parcel};
use crate::liar::{Control, Handle, Liar, Said, ask_to, bytes, control, item, tell, tell_to};
use actinium_actor::testing::Probe;
use actinium_actor::{Address, Recipient, SendError};
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{Denial, NodeConfig, PeerLimits};
use serde::Serialize;

/// As in the crate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Ticket {
    node: u32,
    actor: u64,
    serial: u64,
    secret: u64,
    fingerprint: u64,
    encodings: u8,
}

/// A `Parcel::Tell` as it is in the binary encoding.
fn parcel(ticket: Ticket) -> (u32, Ticket, Vec<u64>) {
    (0, ticket, Vec::new())
}

struct World {
    cluster: Cluster,
    kept: Kept,
    _desk: Address<Desk>,
    probe: Probe<u64>,
    liar: Liar,
    key: crate::liar::Key,
}

impl World {
    /// Node 0, which has a desk, and a liar as node 1.
    fn new(limits: PeerLimits) -> Self {
        let config = NodeConfig { limits, ..reliable() };
        let mut cluster = Cluster::new(1, 1, Faults::default(), config);
        let kept = Kept::default();
        let desk = cluster.hosts[0].system.spawn(Desk { kept: kept.clone() });
        cluster.hosts[0].node.export("desk", &desk).unwrap();
        let probe = cluster.hosts[0].system.probe();
        let mut liar = Liar::meet(&mut cluster, 1, 1);
        let key = liar.key::<Desk>(&mut cluster, "desk");
        World { cluster, kept, _desk: desk, probe, liar, key }
    }

    fn say(&mut self, items: &[Vec<u8>]) {
        self.liar.say(&mut self.cluster, items);
    }

    /// The ticket of the probe, which the liar gets as an answer of the desk.
    fn ticket(&mut self) -> Ticket {
        self.kept.lock().unwrap().push(Parcel::Tell(self.probe.recipient()));
        let ask = crate::liar::ask(self.key, 5, &());
        self.say(&[ask]);
        let said = std::mem::take(&mut self.liar.said);
        let answer = said.iter().find_map(|said| match said {
            Said::Answer(5, 0, bytes) => Some(bytes.clone()),
            _ => None,
        });
        type Parcels = Vec<(u32, (u32, u64, u64, u64, u64, u8), Vec<u64>)>;
        let parcels: Parcels = crate::liar::read(&answer.expect("it answers"));
        let (_, (node, actor, serial, secret, fingerprint, encodings), _) = parcels[0];
        Ticket { node, actor, serial, secret, fingerprint, encodings }
    }

    fn kept(&mut self) -> Recipient<u64> {
        match self.kept.lock().unwrap().pop() {
            Some(Parcel::Tell(recipient)) => recipient,
            other => panic!("{other:?}"),
        }
    }

    fn not_understood(&self) -> u64 {
        self.cluster.hosts[0].node.stats().not_understood
    }
}

fn handle(ticket: Ticket) -> Handle {
    Handle { serial: ticket.serial, secret: ticket.secret }
}

#[test]
fn only_whoever_was_given_a_handle_reaches_its_actor() {
    let mut world = World::new(PeerLimits::default());
    let ticket = world.ticket();
    let given = handle(ticket);
    world.say(&[tell_to(given, &1_u64)]);
    assert_eq!(world.probe.received(), [1], "that is what it was given");
    for guess in [
        Handle { secret: given.secret ^ 1, ..given },
        Handle { serial: given.serial + 1, ..given },
        Handle { serial: 0, secret: 0 },
        Handle { serial: u64::MAX, secret: u64::MAX },
    ] {
        world.say(&[
            tell_to(guess, &2_u64),
            ask_to(guess, 7, &2_u64),
            control(&Control::WatchHandle { watch: 8, handle: guess }),
            control(&Control::UnwatchHandle { watch: 8, handle: guess }),
        ]);
        let said = std::mem::take(&mut world.liar.said);
        let ended = Said::Control(Control::HandleEnded { handle: guess });
        assert!(said.contains(&ended), "{said:?}");
        assert!(said.contains(&Said::Answer(7, 1, Vec::new())), "{said:?}");
        let is_ended = |it: &Said| matches!(it, Said::Control(Control::Ended { watch: 8, .. }));
        assert!(said.iter().any(is_ended), "{said:?}");
        assert!(world.probe.received().is_empty());
    }
    assert!(world.liar.link.is_up());
}

#[test]
fn a_handle_grants_what_its_type_says() {
    let mut world = World::new(PeerLimits::default());
    let given = handle(world.ticket());
    let before = world.not_understood();
    // Not a number; a request; the end of something that nobody uses here.
    world.say(&[
        tell_to(given, &"no number"),
        ask_to(given, 7, &1_u64),
        control(&Control::HandleEnded { handle: given }),
    ]);
    assert!(world.probe.received().len() <= 1, "at most the text, read as a number");
    let said = std::mem::take(&mut world.liar.said);
    assert!(said.contains(&Said::Answer(7, 3, Vec::new())), "{said:?}");
    assert!(world.not_understood() > before, "the text is no number");
    assert!(!world.probe.address().is_closed());
}

#[test]
fn a_false_ticket_in_a_message_leads_to_nobody() {
    let mut world = World::new(PeerLimits::default());
    let ticket = world.ticket();
    // Its own comes back as the actor's own handle.
    let own = tell(world.key, &parcel(ticket));
    world.say(&[own]);
    assert_eq!(world.kept(), world.probe.recipient());
    // One that it has made up, of this node, of itself and of one that nobody knows.
    for (false_ticket, error) in [
        (Ticket { secret: ticket.secret ^ 1, ..ticket }, SendError::Closed(1)),
        (Ticket { serial: 77, ..ticket }, SendError::Closed(1)),
        (Ticket { node: 99, ..ticket }, SendError::NodeDown(1)),
        (Ticket { node: u32::MAX, ..ticket }, SendError::NodeDown(1)),
    ] {
        let said = tell(world.key, &parcel(false_ticket));
        world.say(&[said]);
        let kept = world.kept();
        assert_eq!(kept.send(1), Err(error), "{false_ticket:?}");
    }
    let peers = world.cluster.hosts[0].node.stats().peers.len();
    assert_eq!(peers, 1, "nothing is kept for nodes that are not there");
    // A handle for numbers is none for requests, and one without an encoding is none at all.
    let before = world.not_understood();
    let asks = (1_u32, ticket, Vec::<(u64, u64)>::new(), "note");
    let no_encoding = parcel(Ticket { node: 1, encodings: 0, ..ticket });
    let not_empty = (0_u32, ticket, vec![7_u64]);
    let said = [tell(world.key, &asks), tell(world.key, &no_encoding), tell(world.key, &not_empty)];
    world.say(&said);
    assert_eq!(world.not_understood(), before + 3);
    assert!(world.kept.lock().unwrap().is_empty());
    assert!(world.probe.received().is_empty());
}

#[test]
fn no_bytes_in_a_handle_s_place_do_harm() {
    let mut world = World::new(PeerLimits::default());
    let ticket = world.ticket();
    let good = bytes(&parcel(ticket));
    let key = [world.key.index.to_le_bytes(), world.key.life.to_le_bytes()].concat();
    let mut items = Vec::new();
    for at in 0..good.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            items.push(item(0, &[&key, &bad]));
        }
        items.push(item(0, &[&key, &good[..at]]));
        // For the actor itself, in the place of a number.
        let given = [ticket.serial.to_le_bytes(), ticket.secret.to_le_bytes()].concat();
        items.push(item(6, &[&given[..8], &[0; 8], &good[..at]]));
        items.push(item(7, &[&given[..], &[0; 8], &good[..at]]));
    }
    for some in items.chunks(1) {
        world.say(some);
    }
    let kept = std::mem::take(&mut *world.kept.lock().unwrap());
    for parcel in kept {
        if let Parcel::Tell(recipient) = parcel
            && recipient != world.probe.recipient()
        {
            // It leads to nobody here; and nobody at the liar's cares.
            let _ = recipient.send(1);
        }
    }
    world.liar.steps(&mut world.cluster, 10);
    assert!(world.probe.received().is_empty());
    assert!(world.liar.link.is_up());
}

#[test]
fn watches_and_requests_by_handles_are_bounded() {
    let mut world = World::new(PeerLimits { watches: 2, asks: 2, ..PeerLimits::default() });
    let given = handle(world.ticket());
    world.cluster.events(0);
    let watch = |watch| control(&Control::WatchHandle { watch, handle: given });
    let unwatch = |watch| control(&Control::UnwatchHandle { watch, handle: given });
    world.say(&[watch(1), watch(2), watch(3)]);
    let refused = Said::Control(Control::NotWatched { watch: 3 });
    assert!(world.liar.said.contains(&refused), "{:?}", world.liar.said);
    crate::liar::assert_denied(&world.cluster, &world.liar, Denial::Watches);
    world.say(&[unwatch(2), watch(4)]);
    let refused = Said::Control(Control::NotWatched { watch: 4 });
    assert!(!world.liar.said.contains(&refused), "there was room again");
    world.probe.address().stop();
    world.liar.steps(&mut world.cluster, 10);
    let ended: Vec<u64> = world
        .liar
        .said
        .iter()
        .filter_map(|said| match said {
            Said::Control(Control::Ended { watch, .. }) => Some(*watch),
            _ => None,
        })
        .collect();
    assert_eq!(ended, [1, 4]);
}
