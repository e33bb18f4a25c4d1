//! Reply handles in messages: the other node answers.

use crate::common::{Cluster, LIMIT, reliable};
use crate::liar::{Handle, Liar, Said, assert_denied, item, read, tell};
use actinium_actor::{Actor, Address, Answer, AskError, Context, Recipient, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{
    AggregatorConfig, Denial, NodeConfig, PeerLimits, RemoteActor, RemoteAddress, RemoteSendError,
};
use actinium_wire::{Encoding, Message};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

/// Whom to answer, and with what.
#[derive(Debug, Serialize, Deserialize, Message)]
pub(crate) struct Question {
    text: String,
    reply: Reply<u64>,
}

/// Keeps questions for the test.
struct Clerk {
    kept: Kept,
}

type Kept = Arc<Mutex<Vec<Question>>>;

impl Actor for Clerk {
    type Msg = Question;
    fn handle(&mut self, question: Question, _ctx: &mut Context<'_, Self>) {
        self.kept.lock().unwrap().push(question);
    }
}

impl RemoteActor for Clerk {
    const KIND: &'static str = "test.clerk";
    type Message = Question;
    type Request = ();
    type Answer = ();
    fn message(question: Question) -> Question {
        question
    }
    fn request((): (), _: Reply<()>) -> Question {
        unreachable!("nobody asks it so")
    }
}

/// A cluster with a clerk on each node.
struct Clerks {
    cluster: Cluster,
    kept: Vec<Kept>,
    _clerks: Vec<Address<Clerk>>,
}

impl Clerks {
    fn new(nodes: u32, config: NodeConfig) -> Self {
        let cluster = Cluster::new(3, nodes, Faults::default(), config);
        let (mut kept, mut clerks) = (Vec::new(), Vec::new());
        for host in &cluster.hosts {
            let keeps = Kept::default();
            let clerk = host.system.spawn(Clerk { kept: keeps.clone() });
            host.node.export("clerk", &clerk).unwrap();
            kept.push(keeps);
            clerks.push(clerk);
        }
        Clerks { cluster, kept, _clerks: clerks }
    }

    fn clerk(&mut self, from: usize, to: u32) -> RemoteAddress<Clerk> {
        let found = self.cluster.hosts[from].node.lookup::<Clerk>(NodeId(to), "clerk", LIMIT);
        self.cluster.wait(found).unwrap()
    }

    /// A question of a host's own, and its answer.
    fn question(&mut self, host: usize) -> (Question, Answer<u64>) {
        let system = &mut self.cluster.hosts[host].system;
        let kept = Kept::default();
        let clerk = system.spawn(Clerk { kept: kept.clone() });
        let answer = clerk.ask(|reply| Question { text: "how many?".to_owned(), reply });
        system.run_until_idle();
        let question = kept.lock().unwrap().pop().unwrap();
        (question, answer)
    }

    /// Sends a question from one node to another, and returns it as it came there.
    fn pass(&mut self, from: usize, to: u32, question: Question) -> Question {
        self.clerk(from, to).send(question).unwrap();
        self.cluster.steps(10);
        self.kept[to as usize].lock().unwrap().pop().expect("it came")
    }

    fn noted(&self, host: usize) -> usize {
        self.cluster.hosts[host].node.stats().handles
    }

    fn asked(&self, host: usize) -> usize {
        self.cluster.hosts[host].node.stats().peers.iter().map(|peer| peer.asked).sum()
    }
}

/// The outcome, if there is one yet.
fn outcome(answer: &mut Answer<u64>) -> Option<Result<u64, AskError>> {
    match pin!(answer).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

#[test]
fn another_node_answers_and_so_does_one_further_on_in_each_encoding() {
    for encoding in Encoding::ALL {
        let config = NodeConfig { encodings: vec![encoding], ..reliable() };
        let mut clerks = Clerks::new(3, config);
        let (question, mut answer) = clerks.question(0);
        let at_1 = clerks.pass(0, 1, question);
        assert_eq!((outcome(&mut answer), at_1.text.as_str()), (None, "how many?"));
        let at_2 = clerks.pass(1, 2, at_1);
        assert_eq!((clerks.noted(0), clerks.noted(1)), (1, 1), "{encoding}");
        at_2.reply.send(7).unwrap();
        clerks.cluster.steps(10);
        assert_eq!(outcome(&mut answer), Some(Ok(7)), "{encoding}");
        assert_eq!((clerks.noted(0), clerks.noted(1)), (0, 0), "{encoding}");
        assert_eq!((clerks.asked(1), clerks.asked(2)), (0, 0), "{encoding}");

        // Home again, through another.
        let (question, mut answer) = clerks.question(0);
        let at_1 = clerks.pass(0, 1, question);
        let home = clerks.pass(1, 0, at_1);
        home.reply.send(8).unwrap();
        clerks.cluster.steps(10);
        assert_eq!(outcome(&mut answer), Some(Ok(8)), "{encoding}");
    }
}

#[test]
fn a_reply_that_is_dropped_elsewhere_tells_the_asker() {
    let mut clerks = Clerks::new(2, reliable());
    let (question, mut answer) = clerks.question(0);
    drop(clerks.pass(0, 1, question));
    assert_eq!(outcome(&mut answer), None);
    clerks.cluster.steps(10);
    assert!(matches!(outcome(&mut answer), Some(Err(AskError::NoReply(_)))));
    assert_eq!((clerks.noted(0), clerks.asked(1)), (0, 0));
}

#[test]
fn an_asker_hears_that_the_node_with_its_question_is_down() {
    let mut clerks = Clerks::new(3, reliable());
    let (question, mut answer) = clerks.question(0);
    let at_1 = clerks.pass(0, 1, question);
    let _at_2 = clerks.pass(1, 2, at_1);
    clerks.cluster.hosts.remove(1).node.leave();
    clerks.cluster.steps(10);
    assert!(matches!(outcome(&mut answer), Some(Err(AskError::NoReply(_)))));
    assert_eq!(clerks.noted(0), 0);
    // And whoever asks when its own node leaves.
    let (question, mut answer) = clerks.question(0);
    let _at_2 = clerks.pass(0, 2, question);
    let mut host = clerks.cluster.hosts.remove(0);
    host.node.leave();
    host.system.run_until_idle();
    assert!(matches!(outcome(&mut answer), Some(Err(AskError::NoReply(_)))));
}

#[test]
fn a_question_that_was_not_sent_is_answered_here() {
    let aggregator =
        AggregatorConfig { frame_bytes: 1_024, frames_waiting: 1, ..AggregatorConfig::default() };
    let mut clerks = Clerks::new(2, NodeConfig { aggregator, ..reliable() });
    let clerk = clerks.clerk(0, 1);
    // Too long: it was encoded, and then refused.
    let (mut question, mut answer) = clerks.question(0);
    question.text = "why?".repeat(1_000_000);
    let error = clerk.send(question).unwrap_err();
    assert!(matches!(error, RemoteSendError::TooLong { .. }), "{error}");
    assert_eq!(clerks.noted(0), 0);
    let mut question = error.into_inner();
    assert_eq!(outcome(&mut answer), None);
    // Then it is sent after all.
    question.text = "why?".to_owned();
    let at_1 = clerks.pass(0, 1, question);
    at_1.reply.send(1).unwrap();
    clerks.cluster.steps(10);
    assert_eq!(outcome(&mut answer), Some(Ok(1)));
    // To a node that is down: it comes back, and is answered here, or dropped.
    let questions = [clerks.question(0), clerks.question(0)];
    clerks.cluster.hosts.remove(1).node.leave();
    clerks.cluster.steps(10);
    let [answered, dropped] = questions.map(|(question, answer)| {
        let error = clerk.send(question).unwrap_err();
        assert!(matches!(error, RemoteSendError::NodeDown(_)), "{error}");
        (error.into_inner(), answer)
    });
    answered.0.reply.send(2).unwrap();
    drop(dropped.0);
    assert_eq!(outcome(&mut { answered.1 }), Some(Ok(2)));
    assert!(matches!(outcome(&mut { dropped.1 }), Some(Err(AskError::NoReply(_)))));
    assert_eq!(clerks.noted(0), 0);
}

#[test]
fn an_asker_that_has_gone_costs_nothing_for_long() {
    let mut clerks = Clerks::new(2, reliable());
    for _ in 0..600 {
        let (question, answer) = clerks.question(0);
        drop(answer);
        clerks.clerk(0, 1).send(question).unwrap();
    }
    assert!(clerks.noted(0) <= 256, "{}", clerks.noted(0));
}

#[test]
fn a_reply_outside_a_node_is_no_data_and_still_answers() {
    let mut clerks = Clerks::new(1, reliable());
    let (question, mut answer) = clerks.question(0);
    for encoding in Encoding::ALL {
        let error = encoding.encode(&question, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("only in messages that go through a node"), "{error}");
    }
    question.reply.send(3).unwrap();
    assert_eq!(outcome(&mut answer), Some(Ok(3)));
}

/// As in the crate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Ticket {
    node: u32,
    actor: u64,
    serial: u64,
    secret: u64,
    fingerprint: u64,
    encodings: u8,
}

/// Gives a question to whoever asks for one.
struct Quiz(Option<Question>);

impl Actor for Quiz {
    type Msg = Result<Question, Reply<Question>>;
    fn handle(&mut self, msg: Self::Msg, _ctx: &mut Context<'_, Self>) {
        match (msg, self.0.take()) {
            (Ok(question), _) => self.0 = Some(question),
            (Err(reply), Some(question)) => drop(reply.send(question)),
            (Err(_), None) => {}
        }
    }
}

impl RemoteActor for Quiz {
    const KIND: &'static str = "test.quiz";
    type Message = Question;
    type Request = ();
    type Answer = Question;
    fn message(question: Question) -> Self::Msg {
        Ok(question)
    }
    fn request((): (), reply: Reply<Question>) -> Self::Msg {
        Err(reply)
    }
}

/// An answer by a reply handle.
fn reply(handle: Handle, status: u8, answer: &[u8]) -> Vec<u8> {
    let key = [handle.serial.to_le_bytes(), handle.secret.to_le_bytes()].concat();
    item(8, &[&key, &[status], answer])
}

#[test]
fn only_whoever_was_given_a_reply_handle_answers_it_and_once() {
    let mut clerks = Clerks::new(1, reliable());
    let (question, mut answer) = clerks.question(0);
    let quiz = clerks.cluster.hosts[0].system.spawn(Quiz(Some(question)));
    clerks.cluster.hosts[0].node.export("quiz", &quiz).unwrap();
    let mut liar = Liar::meet(&mut clerks.cluster, 1, 1);
    let key = liar.key::<Quiz>(&mut clerks.cluster, "quiz");
    liar.say(&mut clerks.cluster, &[crate::liar::ask(key, 5, &())]);
    let said = std::mem::take(&mut liar.said);
    let bytes = said.iter().find_map(|said| match said {
        Said::Answer(5, 0, bytes) => Some(bytes),
        _ => None,
    });
    let (_, ticket, _): (String, Ticket, Vec<u64>) = read(bytes.expect("it answers"));
    let Ticket { serial, secret, .. } = ticket;
    let given = Handle { serial, secret };
    clerks.cluster.events(0);
    liar.say(&mut clerks.cluster, &[reply(Handle { secret: secret ^ 1, ..given }, 1, &[9])]);
    assert_denied(&clerks.cluster, &liar, Denial::Answer);
    liar.say(&mut clerks.cluster, &[reply(Handle { serial: serial + 9, ..given }, 0, &[])]);
    assert_eq!(outcome(&mut answer), None);
    liar.say(&mut clerks.cluster, &[reply(given, 1, &[7]), reply(given, 1, &[8])]);
    assert_eq!(outcome(&mut answer), Some(Ok(7)));
    // What is no number is no answer.
    let (question, mut answer) = clerks.question(0);
    quiz.tell(Ok(question));
    liar.say(&mut clerks.cluster, &[crate::liar::ask(key, 6, &())]);
    let bytes = liar.said.iter().find_map(|said| match said {
        Said::Answer(6, 0, bytes) => Some(bytes),
        _ => None,
    });
    let (_, Ticket { serial, secret, .. }, _): (String, Ticket, Vec<u64>) =
        read(bytes.expect("it answers"));
    liar.say(&mut clerks.cluster, &[reply(Handle { serial, secret }, 1, &[])]);
    assert!(matches!(outcome(&mut answer), Some(Err(AskError::NoReply(_)))));
    assert!(liar.link.is_up());
}

#[test]
fn reply_handles_of_a_peer_are_bounded_and_its_own() {
    let limits = PeerLimits { asks: 2, ..PeerLimits::default() };
    let mut clerks = Clerks::new(1, NodeConfig { limits, ..reliable() });
    let mut liar = Liar::meet(&mut clerks.cluster, 1, 1);
    let key = liar.key::<Clerk>(&mut clerks.cluster, "clerk");
    let question = |node, serial| {
        let ticket = Ticket { node, actor: 0, serial, secret: 3, fingerprint: 4, encodings: 0b100 };
        tell(key, &("why?", ticket, Vec::<u64>::new()))
    };
    let said = [question(1, 1), question(2, 2), question(0, 3), question(1, 4), question(1, 5)];
    liar.say(&mut clerks.cluster, &said);
    let kept = std::mem::take(&mut *clerks.kept[0].lock().unwrap());
    assert_eq!(kept.len(), 2, "one too many, and two of other nodes");
    assert_eq!(clerks.cluster.hosts[0].node.stats().not_understood, 3);
    assert_eq!(clerks.asked(0), 2);
    let mut kept = kept.into_iter();
    kept.next().unwrap().reply.send(9).unwrap();
    drop(kept);
    liar.said.clear();
    liar.steps(&mut clerks.cluster, 10);
    let replies: Vec<&Said> =
        liar.said.iter().filter(|said| matches!(said, Said::Other(8, _))).collect();
    assert_eq!(replies.len(), 2, "an answer, and that there is none: {replies:?}");
    assert_eq!(clerks.asked(0), 0);
}

/// A question whose answer is a handle.
#[derive(Debug, Serialize, Deserialize, Message)]
struct Who {
    reply: Reply<Recipient<u64>>,
}

/// Answers with its own handle.
struct Me(Recipient<u64>);

impl Actor for Me {
    type Msg = Who;
    fn handle(&mut self, who: Who, _ctx: &mut Context<'_, Self>) {
        who.reply.send(self.0.clone()).unwrap();
    }
}

impl RemoteActor for Me {
    const KIND: &'static str = "test.me";
    type Message = Who;
    type Request = ();
    type Answer = ();
    fn message(who: Who) -> Who {
        who
    }
    fn request((): (), _: Reply<()>) -> Who {
        unreachable!("nobody asks it so")
    }
}

/// Passes on what it is sent.
struct Pass(RemoteAddress<Me>);

impl Actor for Pass {
    type Msg = Who;
    fn handle(&mut self, who: Who, _ctx: &mut Context<'_, Self>) {
        self.0.send(who).unwrap();
    }
}

#[test]
fn an_answer_may_be_a_handle() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let probe = cluster.hosts[1].system.probe::<u64>();
    let me = cluster.hosts[1].system.spawn(Me(probe.recipient()));
    cluster.hosts[1].node.export("me", &me).unwrap();
    let found = cluster.hosts[0].node.lookup::<Me>(NodeId(1), "me", LIMIT);
    let there = cluster.wait(found).unwrap();
    // From an actor's turn: the message leaves when that ends.
    let pass = cluster.hosts[0].system.spawn(Pass(there));
    let answer = pass.ask(|reply| Who { reply });
    cluster.steps(10);
    let recipient = match pin!(answer).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(Ok(recipient)) => recipient,
        other => panic!("{other:?}"),
    };
    recipient.send(4).unwrap();
    cluster.steps(5);
    assert_eq!(probe.received(), [4]);
}
