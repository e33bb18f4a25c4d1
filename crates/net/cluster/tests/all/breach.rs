//! Peers that break the protocol are cut off, and nobody else is harmed; payloads come from whoever
//! has offered them.

use crate::common::{Cluster, LIMIT, reliable};
use crate::liar::{Key, Liar, assert_denied, datagram, denials, frame, tell_with};
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::fabric::{Fabric, NodeId, RemoteMemory};
use actinium_cluster::link::{Breach, DownReason, HEADER_BYTES, LinkEvent};
use actinium_cluster::{Denial, NodeEvent, PayloadError, RemoteActor};
use actinium_memory::heap::{Heap, Payload};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// Keeps the bytes that it is sent.
struct Sink(Arc<Mutex<Vec<Vec<u8>>>>);

enum Msg {
    Bytes(Vec<u8>),
    Count(Reply<u64>),
}

impl Actor for Sink {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        let mut seen = self.0.lock().unwrap();
        match msg {
            Msg::Bytes(bytes) => seen.push(bytes),
            Msg::Count(reply) => drop(reply.send(seen.len() as u64)),
        }
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.bytes";
    type Message = u64;
    type Request = ();
    type Answer = u64;
    fn message(n: u64) -> Msg {
        Msg::Bytes(n.to_le_bytes().to_vec())
    }
    fn request((): (), reply: Reply<u64>) -> Msg {
        Msg::Count(reply)
    }
    fn with_payload(_: u64, payload: Payload) -> Result<Msg, (u64, Payload)> {
        Ok(Msg::Bytes(payload.to_vec()))
    }
}

type Seen = Arc<Mutex<Vec<Vec<u8>>>>;

fn cluster(nodes: u32) -> (Cluster, Address<Sink>, Seen) {
    let cluster = Cluster::new(1, nodes, Faults::default(), reliable());
    let seen: Seen = Arc::default();
    let sink = cluster.hosts[0].system.spawn(Sink(seen.clone()));
    cluster.hosts[0].node.export("sink", &sink).unwrap();
    (cluster, sink, seen)
}

/// Why node 0 has cut off node 2, if it has.
fn cut(cluster: &Cluster) -> Option<Breach> {
    cluster.events(0).into_iter().find_map(|event| match event {
        NodeEvent::Down { node: NodeId(2), reason: DownReason::Broke(breach), .. } => Some(breach),
        _ => None,
    })
}

#[test]
fn who_breaks_the_protocol_is_cut_off_told_so_and_may_come_back() {
    const DATA: u8 = 2;
    const HEARTBEAT: u8 = 3;
    let garbage = [&[0; HEADER_BYTES][..], b"no message"].concat();
    // Both are in their first incarnation.
    let acknowledges = |arrived, handled| frame(HEARTBEAT, [1, 1, 0, 0, 0, arrived, handled], &[]);
    let lost = frame(HEARTBEAT, [1, 1, 0, 0, 0, 0, 0], &[255; 16]);
    for (said, what) in [
        (acknowledges(u64::MAX, 0), "arrived"),
        (acknowledges(0, 9), "handled"),
        (frame(HEARTBEAT, [1, 1, u64::MAX, 0, 0, 0, 0], &[]), "number of its next frame"),
        (frame(DATA, [1, 1, 0, u64::MAX, 1, 0, 0], &[]), "messages before a frame"),
        (lost, "frames lost"),
        (garbage, "no sequence of messages"),
    ] {
        let (mut cluster, _sink, seen) = cluster(2);
        let answer = cluster.hosts[1].node.lookup::<Sink>(NodeId(0), "sink", LIMIT);
        let honest = cluster.wait(answer).unwrap();
        let mut liar = Liar::meet(&mut cluster, 2, 1);
        cluster.events(1);
        if what.starts_with("no sequence") {
            liar.link.send(1, said).unwrap();
            liar.steps(&mut cluster, 10);
        } else {
            liar.say_raw(&mut cluster, &said);
        }
        let breach = cut(&cluster).unwrap_or_else(|| panic!("{what}: nobody is cut off"));
        assert!(breach.to_string().contains(what), "{breach}");
        let was_told = |event: &LinkEvent| matches!(event, LinkEvent::Down(down) if down.reason == DownReason::CutOff);
        assert!(liar.events.iter().any(was_told), "{what}: {:?}", liar.events);
        assert!(!liar.link.is_up());
        // Others do not notice.
        honest.send(1).unwrap();
        liar.steps(&mut cluster, 10);
        assert_eq!(seen.lock().unwrap().len(), 1);
        assert_eq!(cluster.events(1), []);
        liar.steps(&mut cluster, 2_000);
        assert!(liar.link.is_up(), "{what}: never heard again");
    }
}

#[test]
fn a_payload_is_read_from_nobody_but_who_has_offered_it() {
    let (mut cluster, _sink, seen) = cluster(1);
    let heap = Heap::leak_plain(2, 4).unwrap();
    let (mut arena, own) = (heap.arena(0).unwrap(), heap.arena(1).unwrap());
    cluster.hosts[0].node.take_payloads_in(own);
    let mut third = cluster.network.node(NodeId(7));
    let secret = third.share(arena.payload(b"a secret").unwrap()).unwrap();
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    let key: Key = liar.key::<Sink>(&mut cluster, "sink");
    let (life, id) = (5, 6);
    liar.say(&mut cluster, &[tell_with(key, life, id, 8, &1_u64)]);
    assert!(!liar.datagrams.is_empty(), "it is asked where the bytes are");
    let region = [secret.index, secret.bytes].map(u64::to_le_bytes).concat();
    let place = [&secret.node.0.to_le_bytes()[..], &region].concat();
    const PART: u8 = 2;
    const PLACE: u8 = 3;
    liar.say_raw(&mut cluster, &datagram(PLACE, [life, id, 0], &place));
    assert_denied(&cluster, &liar, Denial::Place);
    liar.say_raw(&mut cluster, &datagram(PART, [life, id, 0], b"my bytes"));
    assert_eq!(*seen.lock().unwrap(), [b"my bytes".to_vec()]);
    assert_eq!(third.node(), NodeId(7));
}

#[test]
fn a_payload_of_more_bytes_than_there_can_be_is_lost_and_what_is_behind_it_comes() {
    let (mut cluster, _sink, seen) = cluster(1);
    let heap = Heap::leak_plain(1, 4).unwrap();
    cluster.hosts[0].node.take_payloads_in(heap.arena(0).unwrap());
    let mut liar = Liar::meet(&mut cluster, 1, 1);
    let key = liar.key::<Sink>(&mut cluster, "sink");
    for bytes in [u64::MAX, u64::MAX - 64, 1 << 63, 1 << 40] {
        let items = [tell_with(key, 1, 1, bytes, &1_u64), crate::liar::tell(key, &bytes)];
        liar.say(&mut cluster, &items);
        let events = cluster.events(0);
        assert!(
            matches!(events[..], [NodeEvent::PayloadLost { why: PayloadError::Exhausted(_), .. }]),
            "{bytes}: {events:?}"
        );
        assert_eq!(seen.lock().unwrap().pop(), Some(bytes.to_le_bytes().to_vec()));
    }
    assert_eq!(denials(&cluster), []);
    assert!(liar.link.is_up());
}

/// Messages of each kind as they are, from which others are made.
fn valid(key: Key) -> Vec<Vec<u8>> {
    use crate::liar::{Control, answer, ask, control, envelope, tell};
    let (hello, args, reason) = (vec![1, 2], vec![3], String::from("why"));
    vec![
        tell(key, &5_u64),
        tell_with(key, 1, 1, 8, &5_u64),
        ask(key, 1, &()),
        answer(1, &5_u64),
        control(&Control::Lookup {
            request: 1,
            name: "sink".into(),
            hello: hello.clone(),
            wait: true,
        }),
        control(&Control::Watch { watch: 1, key }),
        control(&Control::Ended { watch: 1, reason: reason.clone(), is_abnormal: true }),
        control(&Control::Spawn { request: 1, hello, args }),
        control(&Control::Stop { key: Key { index: 9, ..key }, now: true }),
        control(&Control::Adopt { key }),
        control(&Control::Reach { nodes: vec![7] }),
        control(&Control::Leaving { level: 1 }),
        control(&Control::PayloadLost { bytes: 1, why: reason }),
        control(&Control::Misaddressed { messages: 1 }),
        control(&Control::Denied { what: Denial::Ask, index: Some(1), times: 1 }),
        control(&Control::NotWatched { watch: 1 }),
        envelope(0, 1, 1, 0, 1, &tell(key, &5_u64)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever becomes of valid messages on a peer, nothing panics, no message of others is lost
    /// or overtaken, and the peer's credit comes back or it is cut off.
    #[test]
    fn no_message_that_a_peer_has_spoilt_harms_a_node(
        said in proptest::collection::vec(
            (0..17_usize, proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4), any::<Option<u8>>()),
            1..24,
        ),
    ) {
        let (mut cluster, _sink, seen) = cluster(2);
        let answer = cluster.hosts[1].node.lookup::<Sink>(NodeId(0), "sink", LIMIT);
        let honest = cluster.wait(answer).unwrap();
        let mut liar = Liar::meet(&mut cluster, 2, 1);
        let key = liar.key::<Sink>(&mut cluster, "sink");
        let valid = valid(key);
        for (n, (which, changes, cut)) in (1000_u64..).zip(&said) {
            let mut item = valid[*which].clone();
            for (at, byte) in changes {
                let at = at % item.len();
                item[at] = *byte;
            }
            if let Some(len) = cut {
                item.truncate(usize::from(*len).max(1));
            }
            let frame = [&[0; HEADER_BYTES][..], &item, &valid[0]].concat();
            let _ = liar.link.send(2, frame);
            honest.send(n).unwrap();
            liar.steps(&mut cluster, 3);
        }
        liar.steps(&mut cluster, 30);
        let seen = seen.lock().unwrap();
        let of_honest: Vec<u64> = seen
            .iter()
            .filter_map(|bytes| Some(u64::from_le_bytes(bytes.as_slice().try_into().ok()?)))
            .filter(|n| (1000..1000 + said.len() as u64).contains(n))
            .collect();
        prop_assert!(of_honest.len() >= said.len() && of_honest.is_sorted(), "{:?}", of_honest);
        prop_assert!(!liar.link.is_up() || liar.link.is_drained());
        prop_assert!(cluster.hosts[0].system.audit().is_balanced());
    }
}
