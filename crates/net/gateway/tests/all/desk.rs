//! The actor that the tests reach from outside, and clients for it.

use actinium_actor::{Actor, Address, Context, Mailbox, Reply, Shutdown, SpawnOptions, System};
use actinium_gateway::{Builder, Call, Fault, Gateway, Peer, PeerId, Served, subprotocol};
use actinium_wire::{Encoding, Limits};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue, Request};

actinium_wire::protocol! {
    /// What the tests say.
    pub(crate) protocol Desk, version 2, between client and server;

    state Open {
        client request Add(u64) -> server Total(u64);
        client request WhoAmI -> server You(String);
        client request Forget -> server Remembered;
        client request Ponder -> server Pondered;
        client request Panic -> server Unharmed;
        client signal Keep;
        client signal Watch(u64) -> Watching;
        client signal Hurry -> Hurried;
        client signal Bye -> end;
    }
    state Watching {
        server stream Tick(u64);
        client signal Stop -> Open;
    }
    state Hurried within 5ms {
        client signal Calm -> Open;
    }
}
pub(crate) use desk::Message as Talk;

#[derive(Default)]
pub(crate) struct Desk {
    total: u64,
    kept: Vec<Call<Talk>>,
    pondered: Vec<Peer<Talk>>,
    most_kept: usize,
    log: Vec<String>,
    waiting: Vec<(String, Reply<Vec<String>>)>,
}

pub(crate) enum Msg {
    Call(Call<Talk>),
    Left,
    /// There is room again, up to this number.
    Ready(Peer<Talk>, u64, u64),
    /// Lets go of what was kept.
    Release(Reply<usize>),
    MostKept(Reply<usize>),
    /// The log, once it has a line that begins so.
    Log(String, Reply<Vec<String>>),
}

impl Desk {
    fn note(&mut self, line: String) {
        self.log.push(line);
        let ready: Vec<_> = {
            let log = &self.log;
            self.waiting
                .extract_if(.., |(start, _)| {
                    log.iter().any(|line| line.starts_with(start.as_str()))
                })
                .collect()
        };
        for (_, reply) in ready {
            let _ = reply.send(self.log.clone());
        }
    }

    /// Counts on, until the queue is full.
    fn tick(&mut self, peer: Peer<Talk>, from: u64, to: u64, ctx: &Context<'_, Self>) {
        for number in from..to {
            match peer.send(Talk::Tick(number)) {
                Ok(()) => {}
                Err(actinium_gateway::Unsent::Full(_)) => {
                    self.note("full".to_owned());
                    let ready = peer.ready();
                    return ctx.pipe(ready, move |()| Msg::Ready(peer, number, to));
                }
                Err(error) => return self.note(format!("tick {number}: {error}")),
            }
        }
    }
}

impl Actor for Desk {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        let call = match msg {
            Msg::Call(call) => call,
            Msg::Left => return self.note("left".to_owned()),
            Msg::Ready(peer, from, to) => return self.tick(peer, from, to, ctx),
            Msg::Release(reply) => {
                let _ = reply.send(self.kept.drain(..).count());
                return;
            }
            Msg::MostKept(reply) => {
                let _ = reply.send(self.most_kept);
                return;
            }
            Msg::Log(start, reply) => {
                self.waiting.push((start, reply));
                return self.note("looked".to_owned());
            }
        };
        let peer = call.peer.clone();
        match call.message {
            Talk::Add(count) => {
                self.total += count;
                let _ = peer.send(Talk::Total(self.total));
                self.note(format!("add {count}"));
            }
            Talk::WhoAmI => drop(peer.send(Talk::You(peer.identity().to_string()))),
            Talk::Ponder => self.pondered.push(peer),
            Talk::Panic => panic!("as asked"),
            Talk::Keep => {
                self.kept.push(call);
                self.most_kept = self.most_kept.max(self.kept.len());
                self.note(format!("kept {}", self.kept.len()));
            }
            Talk::Watch(to) => self.tick(peer, 0, to, ctx),
            other => self.note(format!("{other:?}")),
        }
    }
}

impl Served for Desk {
    type Talk = Talk;

    fn heard(call: Call<Talk>) -> Msg {
        Msg::Call(call)
    }

    fn left(_peer: PeerId) -> Option<Msg> {
        Some(Msg::Left)
    }
}

/// A system, its desk and a gateway to it.
pub(crate) struct Office {
    pub(crate) desk: Address<Desk>,
    pub(crate) gateway: Option<Gateway>,
    system: Option<System>,
}

impl Office {
    pub(crate) fn open(configure: impl FnOnce(Builder) -> Builder) -> Self {
        Self::with(SpawnOptions::new(), configure)
    }

    pub(crate) fn with_mailbox(places: usize, configure: impl FnOnce(Builder) -> Builder) -> Self {
        Self::with(SpawnOptions::new().mailbox(Mailbox::bounded(places)), configure)
    }

    fn with(options: SpawnOptions, configure: impl FnOnce(Builder) -> Builder) -> Self {
        let system = System::builder().workers(1).build().expect("a system");
        let desk = system.spawn_with(options, Desk::default).expect("a desk");
        let builder = Gateway::builder().serve("desk", &desk).expect("a name");
        let gateway = configure(builder).start("127.0.0.1:0").expect("a gateway");
        Office { desk, gateway: Some(gateway), system: Some(system) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.gateway.as_ref().expect("it is open").address()
    }

    /// The log, once it has such a line.
    pub(crate) fn log(&self, start: &str) -> Vec<String> {
        self.desk.ask(|reply| Msg::Log(start.to_owned(), reply)).wait().expect("a log")
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!(
            "POST /desk HTTP/1.1\r\nhost: desk\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        request(self.address(), &[head.as_bytes(), b"\r\n", body].concat()).await
    }

    pub(crate) async fn post_json(&self, body: &str) -> Answer {
        self.post(&[("content-type", "application/json")], body.as_bytes()).await
    }

    pub(crate) async fn socket(&self, encoding: Encoding) -> Client<TcpStream> {
        self.socket_with(&[], encoding).await
    }

    /// Of a client that has this token.
    pub(crate) async fn socket_of(&self, token: &str, encoding: Encoding) -> Client<TcpStream> {
        self.socket_with(&[("authorization", &format!("Bearer {token}"))], encoding).await
    }

    async fn socket_with(&self, headers: &[(&str, &str)], encoding: Encoding) -> Client<TcpStream> {
        let name = subprotocol::<Talk>(encoding).expect("it has a name");
        let request = self.request(&[headers, &[("sec-websocket-protocol", &name)]].concat());
        Client::connect(
            TcpStream::connect(self.address()).await.expect("it listens"),
            request,
            encoding,
        )
        .await
    }

    pub(crate) fn request(&self, headers: &[(&str, &str)]) -> Request<()> {
        request_to(&format!("ws://{}/desk", self.address()), headers)
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        self.gateway = None;
        if let Some(system) = self.system.take() {
            system.shutdown(Shutdown::Drop);
        }
    }
}

pub(crate) fn request_to(url: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut request = url.into_client_request().expect("a request");
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
        request.headers_mut().insert(name, HeaderValue::from_str(value).expect("a value"));
    }
    request
}

/// What comes back by HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim().to_owned()
    }
}

pub(crate) async fn request(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(bytes).await.expect("it is read");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("it answers");
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
    Answer { status, head, body: answer[end + 4..].to_vec() }
}

/// What a WebSocket says.
#[derive(Debug)]
pub(crate) enum Said {
    Talk(Talk),
    Fault(Fault),
    Closed(u16),
}

#[derive(Deserialize)]
struct Told {
    error: Fault,
}

pub(crate) struct Client<S> {
    pub(crate) socket: WebSocketStream<S>,
    encoding: Encoding,
}

impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin> Client<S> {
    pub(crate) async fn connect(stream: S, request: Request<()>, encoding: Encoding) -> Self {
        let (socket, _) = tokio_tungstenite::client_async(request, stream).await.expect("it opens");
        Client { socket, encoding }
    }

    pub(crate) async fn say(&mut self, message: &Talk) {
        let mut bytes = Vec::new();
        self.encoding.encode(message, &mut bytes).expect("it can be said");
        let frame = match self.encoding.is_text() {
            true => Frame::text(String::from_utf8(bytes).expect("text")),
            false => Frame::binary(bytes),
        };
        self.socket.send(frame).await.expect("it is open");
    }

    pub(crate) async fn hear(&mut self) -> Said {
        loop {
            let bytes = match self.socket.next().await {
                Some(Ok(Frame::Text(text))) => text.as_bytes().to_vec(),
                Some(Ok(Frame::Binary(bytes))) => bytes.to_vec(),
                Some(Ok(Frame::Close(frame))) => {
                    return Said::Closed(frame.map_or(0, |frame| frame.code.into()));
                }
                Some(Ok(_)) => continue,
                other => panic!("expected a frame, found {other:?}"),
            };
            let limits = Limits::default();
            if let Ok(talk) = self.encoding.decode_slice::<Talk>(&bytes, &limits) {
                return Said::Talk(talk);
            }
            let told = self.encoding.decode_slice::<Told>(&bytes, &limits);
            return Said::Fault(
                told.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&bytes))).error,
            );
        }
    }

    /// A fault, and then the end.
    pub(crate) async fn hear_the_end(&mut self) -> (Fault, u16) {
        match (self.hear().await, self.hear().await) {
            (Said::Fault(fault), Said::Closed(code)) => (fault, code),
            other => panic!("expected a fault and the end, found {other:?}"),
        }
    }
}
