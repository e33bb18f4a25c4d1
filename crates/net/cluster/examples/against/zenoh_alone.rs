//! Zenoh by itself: what a program would write that puts each message, and takes them in callbacks.
//!
//! The second node is a process that this one starts. Each process has a session for its node and
//! one for this.

use crate::player::{Error, PAYLOAD_BYTES, Side, median};
use crate::{Engine, answer, compare};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::zenoh::{Zenoh, ZenohConfig};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

const MESSAGES: u64 = 200_000;
const TRIPS: usize = 5_000;
const PAYLOADS: usize = 500;
const SMALL: [u8; 64] = [1; 64];

/// A session by itself: the first process listens, the second connects.
fn open(endpoint: &str, is_first: bool) -> Result<Session, Error> {
    let mut config = Config::default();
    let path = if is_first { "listen/endpoints" } else { "connect/endpoints" };
    config.insert_json5(path, &format!("[{endpoint:?}]"))?;
    if !is_first {
        config.insert_json5("listen/endpoints", "[]")?;
    }
    config.insert_json5("scouting/multicast/enabled", "false")?;
    zenoh::open(config).wait()
}

fn publisher(session: &Session, key: &'static str) -> Result<Publisher<'static>, Error> {
    session
        .declare_publisher(key)
        .congestion_control(CongestionControl::Block)
        .express(false)
        .wait()
}

/// The second process's part: counts a stream, and sends back the messages that are to go there and
/// back.
struct Second {
    _session: Session,
}

impl Second {
    fn start(endpoint: &str) -> Result<Self, Error> {
        let session = open(endpoint, false)?;
        let (done, back) = (publisher(&session, "alone/done")?, publisher(&session, "alone/back")?);
        let done = Arc::new(done);
        for (key, messages) in [("alone/stream", MESSAGES), ("alone/bulk", PAYLOADS as u64)] {
            let (received, done) = (AtomicU64::new(0), done.clone());
            let count = move |_| {
                // Relaxed: one callback at a time.
                if (received.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(messages) {
                    drop(done.put(SMALL).wait());
                }
            };
            session.declare_subscriber(key).callback(count).background().wait()?;
        }
        let bounce = move |_| drop(back.put(SMALL).wait());
        session.declare_subscriber("alone/there").callback(bounce).background().wait()?;
        Ok(Second { _session: session })
    }
}

struct Alone {
    _session: Session,
    stream: Publisher<'static>,
    bulk: Publisher<'static>,
    there: Publisher<'static>,
    done: Receiver<()>,
    back: Receiver<()>,
}

impl Alone {
    fn start(endpoint: &str) -> Result<Self, Error> {
        let session = open(endpoint, true)?;
        let (sender, done) = channel();
        let heard = move |_| sender.send(()).unwrap_or_default();
        session.declare_subscriber("alone/done").callback(heard).background().wait()?;
        let (sender, back) = channel();
        let heard = move |_| sender.send(()).unwrap_or_default();
        session.declare_subscriber("alone/back").callback(heard).background().wait()?;
        let stream = publisher(&session, "alone/stream")?;
        let bulk = publisher(&session, "alone/bulk")?;
        let there = publisher(&session, "alone/there")?;
        // The other process may not be there yet.
        loop {
            there.put(SMALL).wait()?;
            if back.recv_timeout(std::time::Duration::from_millis(100)).is_ok() {
                return Ok(Alone { _session: session, stream, bulk, there, done, back });
            }
        }
    }
}

impl Engine for Alone {
    const NAME: &'static str = "Zenoh alone";
    const MESSAGES: (u64, u64) = (2_000_000, MESSAGES);
    const TRIPS: usize = TRIPS;
    const PAYLOADS: usize = PAYLOADS;

    fn stream(&mut self) -> Result<f64, Error> {
        let start = Instant::now();
        for _ in 0..MESSAGES {
            self.stream.put(SMALL).wait()?;
        }
        self.done.recv()?;
        Ok(MESSAGES as f64 / start.elapsed().as_secs_f64())
    }

    fn bulk(&mut self) -> Result<f64, Error> {
        let payload = zenoh::bytes::ZBytes::from(vec![7_u8; PAYLOAD_BYTES]);
        let start = Instant::now();
        for _ in 0..PAYLOADS {
            self.bulk.put(payload.clone()).wait()?;
        }
        self.done.recv()?;
        Ok((PAYLOADS * PAYLOAD_BYTES) as f64 / start.elapsed().as_secs_f64())
    }

    fn one_way_ns(&mut self) -> Result<f64, Error> {
        let mut one_way_ns = Vec::with_capacity(TRIPS);
        for _ in 0..TRIPS {
            let start = Instant::now();
            self.there.put(SMALL).wait()?;
            self.back.recv()?;
            one_way_ns.push(start.elapsed().as_nanos() as f64 / 2.0);
        }
        Ok(median(one_way_ns))
    }
}

/// `asked`: "zenoh", and for the second process what it is to connect to.
pub(crate) fn run(asked: &[String], json: bool) -> Result<(), Error> {
    if let [_, node, alone] = asked {
        let config = config(1, &[], &[node.as_str()]);
        let side = Side::start(true, move || Zenoh::start(&config))?;
        let _second = Second::start(alone)?;
        answer(&side);
        side.node.leave();
        return Ok(());
    }
    let [node, alone] = endpoints()?;
    let second = Command::new(std::env::current_exe()?).args(["zenoh", &node, &alone]).spawn();
    let mut second = second?;
    let config = config(0, &[node.as_str()], &[]);
    let side = Side::start(true, move || Zenoh::start(&config))?;
    let compared = Alone::start(&alone).and_then(|alone| compare(&side, alone, json));
    side.node.leave();
    second.wait()?;
    compared
}

/// Two that are free now.
fn endpoints() -> Result<[String; 2], Error> {
    let free = || TcpListener::bind("127.0.0.1:0");
    let (a, b) = (free()?, free()?);
    Ok([format!("tcp/{}", a.local_addr()?), format!("tcp/{}", b.local_addr()?)])
}

fn config(node: u32, listen: &[&str], connect: &[&str]) -> ZenohConfig {
    let list = |endpoints: &[&str]| endpoints.iter().map(|&it| it.to_owned()).collect();
    ZenohConfig {
        node: NodeId(node),
        nodes: 2,
        listen: list(listen),
        connect: list(connect),
        ..ZenohConfig::default()
    }
}
