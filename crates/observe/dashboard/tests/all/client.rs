//! A client for tests, and a system to look at.

use actinium_actor::{Actor, Address, Context, System};
use actinium_dashboard::{Dashboard, Serving};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// As long as a test waits for what has to come.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Has children, and counts.
pub(crate) struct Counter {
    children: Vec<Address<Counter>>,
}

pub(crate) enum Msg {
    Count,
    Raise(usize),
}

impl Counter {
    pub(crate) fn new() -> Self {
        Counter { children: Vec::new() }
    }
}

impl Actor for Counter {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        if let Msg::Raise(children) = msg {
            self.children.extend((0..children).map(|_| ctx.spawn(Counter::new())));
        }
    }
}

pub(crate) fn system() -> System {
    System::builder().workers(2).build().expect("it starts")
}

pub(crate) fn serve(system: &System) -> Serving {
    Dashboard::new(system).serve("127.0.0.1:0").expect("it listens")
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(its, _)| its.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Sends these bytes, and reads until the other side closes.
pub(crate) fn raw(address: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    // It may have been refused before all was sent.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// Asks with these further headers, each with its line end.
pub(crate) fn get_with(address: SocketAddr, path: &str, headers: &str) -> Answer {
    let host = if headers.to_lowercase().contains("host:") { "" } else { "host: localhost\r\n" };
    let request = format!("GET {path} HTTP/1.1\r\n{host}{headers}connection: close\r\n\r\n");
    raw(address, request.as_bytes()).expect("an answer")
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    get_with(address, path, "")
}

/// Events of the server, as they come.
pub(crate) struct Events {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Events {
    pub(crate) fn open(address: SocketAddr, path: &str) -> Self {
        let mut stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        write!(stream, "GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n").expect("it is sent");
        Events { stream, bytes: Vec::new() }
    }

    /// Waits for the next event of this name; none if the stream has ended.
    pub(crate) fn next(&mut self, name: &str) -> Option<Value> {
        loop {
            while let Some(at) = self.bytes.windows(2).position(|it| it == b"\n\n") {
                let event = String::from_utf8(self.bytes.drain(..at + 2).collect()).expect("text");
                if let Some(data) = event.trim().strip_prefix(&format!("event: {name}\ndata: ")) {
                    return Some(serde_json::from_str(data).expect("JSON"));
                }
            }
            let mut part = [0; 64 << 10];
            match self.stream.read(&mut part).expect("an event") {
                0 => return None,
                n => self.bytes.extend_from_slice(&part[..n]),
            }
        }
    }
}
