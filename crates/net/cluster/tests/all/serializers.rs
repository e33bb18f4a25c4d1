//! Messages whose `Serialize` or `Deserialize` panics or comes back to the runtime: what each is
//! told, and in which order others come. `serializer_matrix` has each case, and when.

use crate::common::{Cluster, LIMIT, reliable};
use actinium_actor::{Actor, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{RemoteActor, RemoteAddress, RemoteAskError, RemoteSendError};
use actinium_wire::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::OnceLock;

/// Goes off at one of these.
#[derive(Clone, Debug, PartialEq, Message)]
struct Shell {
    at: u8,
}

const NOWHERE: u8 = 0;
const PANICS_ENCODED: u8 = 1;
const PANICS_DECODED: u8 = 2;
const RE_ENTERS_ENCODED: u8 = 3;
const RE_ENTERS_DECODED: u8 = 4;

/// Whom a shell sends another when it re-enters: one test only has it.
static OTHER: OnceLock<RemoteAddress<Range>> = OnceLock::new();

fn goes_off(at: u8, [panics, re_enters]: [u8; 2]) {
    assert_ne!(at, panics, "on purpose");
    if at == re_enters {
        OTHER.get().unwrap().send(Shell { at: NOWHERE }).unwrap();
    }
}

impl Serialize for Shell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        goes_off(self.at, [PANICS_ENCODED, RE_ENTERS_ENCODED]);
        self.at.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let at = u8::deserialize(deserializer)?;
        goes_off(at, [PANICS_DECODED, RE_ENTERS_DECODED]);
        Ok(Shell { at })
    }
}

/// Keeps what it is sent; answers with what the request says.
#[derive(Default)]
struct Range {
    seen: Vec<u8>,
}

enum Msg {
    Shell(Shell),
    Ask(u8, Reply<Shell>),
    Seen(Reply<Vec<u8>>),
    /// Sends a shell from an actor.
    Fire(Box<RemoteAddress<Range>>, u8),
}

impl Actor for Range {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _: &mut Context<'_, Self>) {
        match msg {
            Msg::Shell(shell) => self.seen.push(shell.at),
            Msg::Ask(at, reply) => _ = reply.send(Shell { at }),
            Msg::Seen(reply) => _ = reply.send(self.seen.clone()),
            Msg::Fire(to, at) => _ = to.send(Shell { at }),
        }
    }
}

impl RemoteActor for Range {
    const KIND: &'static str = "test.range";
    type Message = Shell;
    type Request = u8;
    type Answer = Shell;

    fn message(shell: Shell) -> Msg {
        Msg::Shell(shell)
    }

    fn request(at: u8, reply: Reply<Shell>) -> Msg {
        Msg::Ask(at, reply)
    }
}

#[test]
fn serializers_that_panic_or_re_enter_cost_their_message_only() {
    let mut cluster = Cluster::new(3, 2, Faults::default(), reliable());
    let local = cluster.hosts[1].system.spawn(Range::default());
    cluster.hosts[1].node.export("range", &local).unwrap();
    let answer = cluster.hosts[0].node.lookup::<Range>(NodeId(1), "range", LIMIT);
    let range = cluster.wait(answer).unwrap();
    assert!(OTHER.set(range.clone()).is_ok());

    let shell = Shell { at: PANICS_ENCODED };
    let Err(RemoteSendError::Codec(back, why)) = range.send(shell.clone()) else {
        panic!("it has no bytes")
    };
    assert_eq!(back, shell);
    assert!(
        why.to_string().ends_with(
            "it panicked: assertion `left != right` failed: on purpose\n  left: 1\n right: 1"
        ),
        "{why}"
    );
    // From an actor, which goes on.
    let actor = cluster.hosts[0].system.spawn(Range::default());
    actor.tell(Msg::Fire(Box::new(range.clone()), PANICS_ENCODED));
    actor.tell(Msg::Fire(Box::new(range.clone()), NOWHERE));
    cluster.steps(10);
    assert!(!actor.is_closed());
    for at in [PANICS_DECODED, RE_ENTERS_ENCODED, RE_ENTERS_DECODED] {
        range.send(Shell { at }).unwrap();
    }
    cluster.steps(10);
    assert_eq!(cluster.hosts[1].node.stats().not_understood, 1);
    // Each that re-enters has sent another: before it, as it is encoded; and after it, as it is
    // decoded.
    let seen = local.ask(Msg::Seen);
    let mut seen = std::pin::pin!(seen);
    cluster.steps(1);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Ok(seen)) = Future::poll(seen.as_mut(), &mut cx) else {
        panic!("no answer")
    };
    assert_eq!(seen, [NOWHERE, NOWHERE, RE_ENTERS_ENCODED, RE_ENTERS_DECODED, NOWHERE]);
    // Answers likewise: whoever asks is told, and the next one has its answer.
    for at in [PANICS_ENCODED, PANICS_DECODED] {
        let answer = range.ask(at, LIMIT);
        assert_eq!(cluster.wait(answer), Err(RemoteAskError::NotUnderstood));
        for at in [NOWHERE, RE_ENTERS_ENCODED, RE_ENTERS_DECODED] {
            let answer = range.ask(at, LIMIT);
            assert_eq!(cluster.wait(answer), Ok(Shell { at }));
        }
    }
}
