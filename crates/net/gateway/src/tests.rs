//! Rate and silence, in virtual time: the clock moves only when nothing else can go on.

use crate::clock;
use crate::endpoint::CALLER;
use crate::gateway::serve;
use crate::{Builder, Call, Gateway, Limits, PeerId, Served};
use actinium_actor::{Actor, Context, Reply, System};
use futures_util::{SinkExt, StreamExt};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Message as Frame;

actinium_wire::protocol! {
    /// A protocol whose messages are said only to be heard.
    protocol Notes, version 1, between client and server;
    state Open {
        client signal Note;
        client signal Bye -> end;
    }
}

struct Sink;

impl Actor for Sink {
    type Msg = Call<notes::Message>;

    fn handle(&mut self, _call: Self::Msg, _ctx: &mut Context<'_, Self>) {}
}

impl Served for Sink {
    type Talk = notes::Message;

    fn heard(call: Call<notes::Message>) -> Self::Msg {
        call
    }
}

/// One message a second, and so many at once.
fn paced(burst: u32) -> Limits {
    let hour = Duration::from_secs(3600);
    Limits { rate: Some(1), burst, silence: hour, answer: hour, ..Limits::default() }
}

/// No answer of the actor is waited for: it lives in real time.
fn connect(limits: Limits) -> (System, watch::Sender<bool>, DuplexStream) {
    let system = System::builder().workers(1).build().expect("a system");
    let builder: Builder = Gateway::builder().serve("sink", &system.spawn(Sink)).expect("a name");
    let (stop, stopping) = watch::channel(false);
    let (router, config) = builder.limits(limits).router(stopping, "gateway");
    let (near, far) = duplex(1 << 16);
    tokio::spawn(serve(far, CALLER, None, router, config));
    (system, stop, near)
}

#[tokio::test(start_paused = true)]
async fn a_socket_is_read_no_faster_than_the_rate() {
    let (_system, _stop, stream) = connect(paced(2));
    let start = clock::now();
    let (mut socket, _) =
        tokio_tungstenite::client_async("ws://sink/sink", stream).await.expect("it opens");
    for _ in 0..6 {
        socket.send(Frame::text("\"Note\"")).await.expect("it is open");
    }
    socket.send(Frame::text("\"Bye\"")).await.expect("it is open");
    let end = socket.next().await.expect("an end").expect("a frame");
    assert!(matches!(end, Frame::Close(Some(frame)) if u16::from(frame.code) == 1000));
    let took = clock::now() - start;
    let expected = Duration::from_secs(5);
    assert!(took >= expected && took < 2 * expected, "7 messages, 2 of them at once: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_post_beyond_the_rate_is_refused() {
    let (_system, _stop, mut stream) = connect(paced(2));
    let post =
        "POST /sink HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 6\r\n";
    let (one, last) =
        (format!("{post}\r\n\"Note\""), format!("{post}connection: close\r\n\r\n\"Note\""));
    stream.write_all([&*one, &*one, &*last].concat().as_bytes()).await.expect("it is read");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.expect("it is text");
    let statuses: Vec<&str> =
        answers.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")).collect();
    assert_eq!(statuses, ["202 Accepted", "202 Accepted", "429 Too Many Requests"], "{answers}");
    assert!(
        answers.contains("too many messages of this client: the next may come in 1s"),
        "{answers}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_gives_no_sign_of_life_is_asked_told_and_left() {
    let (_system, _stop, stream) = connect(Limits::default());
    let start = clock::now();
    let (mut socket, _) =
        tokio_tungstenite::client_async("ws://sink/sink", stream).await.expect("it opens");
    // It would answer the ping if it read frames, and it looks at the bytes only.
    let mut bytes = Vec::new();
    socket.get_mut().read_to_end(&mut bytes).await.expect("it ends");
    assert_eq!(bytes[..2], [0x89, 0], "a ping");
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("expected a sign of life within 60s, found none"), "{text}");
    let close = bytes.windows(4).position(|bytes| bytes[0] == 0x88 && bytes[2..] == [0x03, 0xF0]);
    assert!(close.is_some(), "closed with 1008: {bytes:?}");

    let (_system, _stop, stream) = connect(Limits::default());
    let (mut socket, _) =
        tokio_tungstenite::client_async("ws://sink/sink", stream).await.expect("it opens");
    let reading = async { while let Some(Ok(_)) = socket.next().await {} };
    let waited = tokio::time::timeout(Duration::from_secs(1000), reading).await;
    assert!(waited.is_err(), "who answers the pings may be silent for long");
    assert!(clock::now() - start >= Duration::from_secs(1000));
}

/// Counts those who have come and gone.
#[derive(Default)]
struct Counter {
    notes: usize,
    left: usize,
}

enum Count {
    Note,
    Left,
    Notes(Reply<usize>),
    AllLeft(Reply<usize>),
}

impl Actor for Counter {
    type Msg = Count;

    fn handle(&mut self, msg: Count, _ctx: &mut Context<'_, Self>) {
        match msg {
            Count::Note => self.notes += 1,
            Count::Left => self.left += 1,
            Count::Notes(reply) => drop(reply.send(self.notes)),
            Count::AllLeft(reply) => drop(reply.send(self.left)),
        }
    }
}

impl Served for Counter {
    type Talk = notes::Message;

    fn heard(_call: Call<notes::Message>) -> Count {
        Count::Note
    }

    fn left(_peer: PeerId) -> Option<Count> {
        Some(Count::Left)
    }
}

/// Nobody has the time to wait for anything then.
#[test]
fn a_conversation_whose_task_is_taken_away_is_left_all_the_same() {
    let system = System::builder().workers(1).build().expect("a system");
    let counter = system.spawn(Counter::default());
    let builder = Gateway::builder().serve("counter", &counter).expect("a name");
    let (_stop, stopping) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let socket = runtime.block_on(async {
        let (router, config) = builder.router(stopping, "gateway");
        let (near, far) = duplex(1 << 16);
        tokio::spawn(serve(far, CALLER, None, router, config));
        let opened = tokio_tungstenite::client_async("ws://counter/counter", near).await;
        let (mut socket, _) = opened.expect("it opens");
        socket.send(Frame::text("\"Note\"")).await.expect("it is open");
        while counter.ask(Count::Notes).await.expect("it lives") == 0 {
            tokio::task::yield_now().await;
        }
        socket
    });
    drop(runtime);
    assert_eq!(counter.ask(Count::AllLeft).wait(), Ok(1));
    drop(socket);
    system.shutdown(actinium_actor::Shutdown::Drop);
}
