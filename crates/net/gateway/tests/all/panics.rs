//! The program's own code panics at the border: the client is told, the actor hears that it has
//! gone, and the gateway goes on.

use crate::desk::{request, request_to};
use actinium_actor::{Actor, Address, Context, Reply, Shutdown, System};
use actinium_gateway::{Call, Gateway, Peer, PeerId, Served};
use actinium_wire::Message;
use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::marker::PhantomData;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message as Frame;

/// Goes off at one of these.
#[derive(Clone, Debug, Message)]
struct Shell {
    at: u8,
}

const NOWHERE: u8 = 0;
const DECODED: u8 = 1;
const HEARD: u8 = 2;
const ENCODED: u8 = 3;

impl Serialize for Shell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.at, ENCODED, "as asked");
        self.at.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let at = u8::deserialize(deserializer)?;
        assert_ne!(at, DECODED, "as asked");
        Ok(Shell { at })
    }
}

/// What was queued for a client that has gone is dropped: each panics.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
struct Dud;

impl Drop for Dud {
    fn drop(&mut self) {
        panic!("as asked");
    }
}

actinium_wire::protocol! {
    /// What goes off.
    protocol Range, version 1, between client and server;

    state Open {
        client request Fire(Shell) -> server Fired(Shell);
        client signal Greet;
        client signal Litter -> Littered;
    }
    state Littered {
        server stream Debris(Dud);
        client signal Clear -> Open;
    }
}

/// Which conversations there were, and which have ended.
struct Master<L> {
    peers: Vec<Peer<range::Message>>,
    left: Vec<PeerId>,
    waiting: Vec<(usize, Reply<Vec<bool>>)>,
    leaving: PhantomData<fn(L)>,
}

enum Msg {
    Call(Call<range::Message>),
    Left(PeerId),
    /// Whether each conversation has closed, once so many have left.
    Closed(usize, Reply<Vec<bool>>),
}

trait Leaving: 'static {
    fn left(peer: PeerId) -> Msg;
}

struct Quietly;

impl Leaving for Quietly {
    fn left(peer: PeerId) -> Msg {
        Msg::Left(peer)
    }
}

struct Loudly;

impl Leaving for Loudly {
    fn left(_peer: PeerId) -> Msg {
        panic!("as asked")
    }
}

impl<L: Leaving> Actor for Master<L> {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Call(call) => {
                let peer = call.peer.clone();
                match call.message {
                    range::Message::Fire(shell) => drop(peer.send(range::Message::Fired(shell))),
                    // It is not written before all are there: the actor has its turn.
                    range::Message::Litter => {
                        while peer
                            .send(range::Message::Debris(Dud))
                            .map_err(std::mem::forget)
                            .is_ok()
                        {}
                    }
                    _ => self.peers.push(peer),
                }
            }
            Msg::Left(peer) => self.left.push(peer),
            Msg::Closed(count, reply) => self.waiting.push((count, reply)),
        }
        let left = self.left.len();
        for (_, reply) in self.waiting.extract_if(.., |(count, _)| *count <= left) {
            let _ = reply.send(self.peers.iter().map(Peer::is_closed).collect());
        }
    }
}

impl<L: Leaving> Served for Master<L> {
    type Talk = range::Message;

    fn heard(call: Call<range::Message>) -> Msg {
        assert!(!matches!(call.message, range::Message::Fire(Shell { at: HEARD })), "as asked");
        Msg::Call(call)
    }

    fn left(peer: PeerId) -> Option<Msg> {
        Some(L::left(peer))
    }
}

fn open<L: Leaving>() -> (System, Address<Master<L>>, Gateway) {
    let system = System::builder().workers(1).build().expect("a system");
    let (peers, left, waiting) = (Vec::new(), Vec::new(), Vec::new());
    let master = system.spawn(Master { peers, left, waiting, leaving: PhantomData });
    let builder = Gateway::builder().serve("range", &master).expect("a name");
    let gateway = builder.start("127.0.0.1:0").expect("a gateway");
    (system, master, gateway)
}

async fn socket(gateway: &Gateway) -> tokio_tungstenite::WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(gateway.address()).await.expect("it listens");
    let request = request_to(&format!("ws://{}/range", gateway.address()), &[]);
    tokio_tungstenite::client_async(request, stream).await.expect("it opens").0
}

#[tokio::test]
async fn a_panic_in_a_socket_ends_it_with_1011_and_its_actor_hears_so() {
    let (system, master, gateway) = open::<Quietly>();
    for (round, at) in [DECODED, HEARD, ENCODED].into_iter().enumerate() {
        let mut socket = socket(&gateway).await;
        socket.send(Frame::text("\"Greet\"")).await.expect("it is open");
        socket.send(Frame::text(format!("{{\"Fire\":{at}}}"))).await.expect("it is open");
        let told = socket.next().await.expect("a frame").expect("it is whole").to_string();
        assert!(told.contains("\"panicked\"") && told.contains("has panicked"), "{at}: {told}");
        let end = socket.next().await.expect("an end").expect("a frame");
        assert!(matches!(end, Frame::Close(Some(frame)) if u16::from(frame.code) == 1011));
        let closed = master.ask(|reply| Msg::Closed(round + 1, reply)).wait().expect("it lives");
        assert_eq!(closed, vec![true; round + 1], "{at}");
    }
    let mut socket = socket(&gateway).await;
    let fire = format!("{{\"Fire\":{NOWHERE}}}");
    socket.send(Frame::text(fire)).await.expect("it is open");
    let told = socket.next().await.expect("a frame").expect("it is whole").to_string();
    assert_eq!(told, "{\"Fired\":0}");
    drop((socket, gateway));
    system.shutdown(Shutdown::Drop);
}

#[tokio::test]
async fn a_panic_over_a_post_is_answered_by_500() {
    let (system, _master, gateway) = open::<Quietly>();
    let post = async |at: u8| {
        let body = format!("{{\"Fire\":{at}}}");
        let head = "POST /range HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json";
        let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        request(gateway.address(), text.as_bytes()).await
    };
    for at in [DECODED, HEARD, ENCODED] {
        let answer = post(at).await;
        assert_eq!(answer.status, 500, "{at}");
        assert!(
            answer.text().contains("the program has panicked over a message"),
            "{}",
            answer.text()
        );
    }
    assert_eq!(post(NOWHERE).await.text(), "{\"Fired\":0}");
    drop(gateway);
    system.shutdown(Shutdown::Drop);
}

#[tokio::test]
async fn messages_that_panic_when_they_are_dropped_end_one_conversation_only() {
    let (system, master, gateway) = open::<Quietly>();
    let mut first = socket(&gateway).await;
    first.send(Frame::text("\"Greet\"")).await.expect("it is open");
    first.send(Frame::text("\"Litter\"")).await.expect("it is open");
    // What is sent is dropped, which panics; so does all that is queued behind it.
    while let Some(Ok(frame)) = first.next().await {
        if matches!(frame, Frame::Close(_)) {
            break;
        }
    }
    let closed = master.ask(|reply| Msg::Closed(1, reply)).wait().expect("it lives");
    assert_eq!(closed, [true]);
    let mut second = socket(&gateway).await;
    second.send(Frame::text("{\"Fire\":0}")).await.expect("it is open");
    let told = second.next().await.expect("a frame").expect("it is whole").to_string();
    assert_eq!(told, "{\"Fired\":0}");
    drop((second, gateway));
    system.shutdown(Shutdown::Drop);
}

#[tokio::test]
async fn an_actor_whose_left_panics_is_served_all_the_same() {
    let (system, _master, gateway) = open::<Loudly>();
    for _ in 0..2 {
        let mut socket = socket(&gateway).await;
        socket.send(Frame::text("{\"Fire\":2}")).await.expect("it is open");
        let told = socket.next().await.expect("a frame").expect("it is whole").to_string();
        assert!(told.contains("\"panicked\""), "{told}");
        socket.close(None).await.expect("it is open");
    }
    gateway.stop();
    system.shutdown(Shutdown::Drop);
}
