//! Nodes that reach each other by [Zenoh](https://zenoh.io), over TCP, TLS or QUIC: from node to
//! node, or through routers.
//!
//! A node subscribes to what is sent to its number, and sends to those of others. Zenoh's `put`
//! tells nobody what becomes of a message, so that this fabric rests on nothing but: what arrives
//! is what was sent, and in order on one connection. What makes it dependable is in
//! [`crate::link`].
//!
//! - A `put` never waits: it may drop (`CongestionControl::Drop`, at once), and `flow` sees to it
//!   that there is capacity, so that it does not. If it does all the same, the links count the
//!   loss, or send again.
//! - Nothing waits in a callback: `inbox` takes what comes, and is bounded.
//! - A frame is below 65,000 bytes: Zenoh splits it in two at most. Shared memory is not compiled
//!   in.
//! - Datagrams go with a lower priority than frames, which has a queue of its own: more can be
//!   under way, and no frame waits behind them.
//! - Tokens of liveliness tell of nodes that come. That a node is down is for the links to find
//!   out.
//!
//! Numbers of nodes are configured; a process whose number another one has is refused (`identity`).

mod config;
mod flow;
mod identity;
mod inbox;
mod notices;

pub use config::{NODES_MAX, Tls, ZenohConfig};
pub use notices::tell_notices;

use super::{Bell, Fabric, NodeId, SendRefused};
use actinium_scheduler::{Clock, log};
use flow::{DATAGRAM_BYTES_MAX, Flow, Lane, TRAILER_BYTES, Trailer};
use identity::{Identity, State};
use inbox::{Heard, Inbox};
use std::collections::BTreeMap;
use std::sync::Arc;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::{Publisher, Subscriber};
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::Queryable;
use zenoh::sample::SampleKind;
use zenoh::{Session, Wait};

/// Longest frame: with what stands behind it, Zenoh sends it in two pieces at most.
const FRAME_BYTES_MAX: usize = 65_000 - TRAILER_BYTES;

/// Another node.
struct There {
    frames: Publisher<'static>,
    datagrams: Publisher<'static>,
    flow: Flow,
}

/// The subscribers and the token that this node has declared. Once they are dropped, no other node
/// sees or hears it any more.
struct Declared {
    _frames: Subscriber<()>,
    _tokens: Subscriber<()>,
    _token: LivelinessToken,
}

/// The fabric.
pub struct Zenoh {
    identity: Arc<Identity>,
    cluster: String,
    shares_way: bool,
    others: BTreeMap<NodeId, There>,
    inbox: Arc<Inbox>,
    dropped: u64,
    /// Whether people were told that some node speaks another version.
    told_version: bool,
    clock: Clock,
    /// None: this process had to give way to another one.
    declared: Option<Declared>,
    /// Answers questions about this node's number, even after the process had to give way.
    _who: Queryable<()>,
    session: Session,
}

fn text(error: impl std::fmt::Display) -> String {
    format!("Zenoh: {error}")
}

impl Zenoh {
    /// Joins a cluster. What it connects to need not be there yet.
    ///
    /// # Errors
    /// If the configuration makes no sense, an endpoint can not be listened on, or another process
    /// has this node's number.
    pub fn start(config: &ZenohConfig) -> Result<Self, String> {
        let mut settings = zenoh::Config::default();
        for (path, value) in config.settings()? {
            settings
                .insert_json5(path, &value.to_string())
                .map_err(|error| format!("Zenoh's {path} = {value}: {error}"))?;
        }
        if config.listen.iter().chain(&config.connect).any(|it| it.starts_with("tls/")) {
            log!(
                Warn,
                {node: u64::from(config.node.0)},
                "tls/ is used because the configuration says so; Zenoh 1.10 uses a connection from two threads at once (its issue 2557): use quic/"
            );
        }
        let identity = Arc::new(Identity::new(config.node));
        let session = zenoh::open(settings).wait().map_err(text)?;
        let inbox = Arc::new(Inbox::default());
        let asked = identity.clone();
        let key = format!("actinium/{}/who/{}", config.cluster, config.node.0);
        let who = session.declare_queryable(key).callback(move |query| asked.reply(&query));
        let mut fabric = Zenoh {
            _who: who.wait().map_err(text)?,
            cluster: config.cluster.clone(),
            shares_way: config.through_routers,
            others: BTreeMap::new(),
            dropped: 0,
            told_version: false,
            clock: Clock::real(),
            declared: None,
            session,
            identity,
            inbox,
        };
        fabric.declared = Some(fabric.declare()?);
        for node in (0..config.nodes).map(NodeId) {
            fabric.add(node).map_err(text)?;
        }
        Ok(fabric)
    }

    fn key(&self, rest: &str) -> String {
        format!("actinium/{}/{rest}", self.cluster)
    }

    fn who(&self) -> String {
        self.key(&format!("who/{}", self.identity.node.0))
    }

    /// Makes sure that this process is the only one of its number, and lets all see and hear it.
    fn declare(&self) -> Result<Declared, String> {
        let (node, incarnation) = (self.identity.node.0, self.identity.incarnation);
        self.identity.make_sure(&self.session, &self.who())?;
        self.identity.set(State::Is);
        let inbox = self.inbox.clone();
        let frames = self.session.declare_subscriber(self.key(&format!("to/{node}/*")));
        let frames = frames.callback(move |sample| {
            // Copied: a small frame would else keep the whole buffer that it came in.
            if let Some(from) = last_number(sample.key_expr().as_str()) {
                let (payload, mut frame) = (sample.payload(), inbox.spare());
                frame.reserve_exact(payload.len());
                payload.slices().for_each(|slice| frame.extend_from_slice(slice));
                inbox.put(Heard::Frame(from, frame));
            }
        });
        let inbox = self.inbox.clone();
        let tokens = self.session.liveliness().declare_subscriber(self.key("alive/*/*"));
        let tokens = tokens.history(true).callback(move |sample| {
            if sample.kind() == SampleKind::Put
                && let Some((node, incarnation)) = sample.key_expr().as_str().rsplit_once('/')
                && let (Some(node), Ok(incarnation)) = (last_number(node), incarnation.parse())
            {
                inbox.put(Heard::Appeared(node, incarnation));
            }
        });
        Ok(Declared {
            _frames: frames.wait().map_err(text)?,
            _tokens: tokens.wait().map_err(text)?,
            _token: self
                .session
                .liveliness()
                .declare_token(self.key(&format!("alive/{node}/{incarnation}")))
                .wait()
                .map_err(text)?,
        })
    }

    /// Another node, which is added if it was not known.
    fn add(&mut self, node: NodeId) -> zenoh::Result<()> {
        if node == self.identity.node || self.others.contains_key(&node) {
            return Ok(());
        }
        let key = self.key(&format!("to/{}/{}", node.0, self.identity.node.0));
        let publisher = |priority| {
            let publisher = self.session.declare_publisher(key.clone()).priority(priority);
            publisher.congestion_control(CongestionControl::Drop).wait()
        };
        let (frames, datagrams) = (publisher(Priority::Data)?, publisher(Priority::DataLow)?);
        self.others.insert(node, There { frames, datagrams, flow: Flow::default() });
        Ok(())
    }

    fn appeared(&mut self, node: NodeId) {
        if let Err(error) = self.add(node) {
            log!(Warn, {node: u64::from(node.0)}, "{node} can not be sent to: {error}");
        }
    }

    /// A frame has come; None if it was none.
    fn frame(&mut self, from: NodeId, mut frame: Vec<u8>) -> Option<(NodeId, Vec<u8>)> {
        let Ok(trailer) = Trailer::take(&mut frame) else {
            self.tell_version(from);
            self.appeared(from);
            // The link counts it as garbage, which it is with whatever stands behind it.
            return (frame.len() >= TRAILER_BYTES).then_some((from, frame));
        };
        self.appeared(from);
        let own = self.identity.incarnation;
        let there = self.others.get_mut(&from)?;
        there.flow.heard(own, trailer, frame.len());
        if let Some(news) = there.flow.news(own, self.shares_way) {
            // If it is lost, the next frame says the same.
            drop(there.frames.put(news.to_bytes()).wait());
        }
        (!frame.is_empty()).then_some((from, frame))
    }

    fn tell_version(&mut self, from: NodeId) {
        if !std::mem::replace(&mut self.told_version, true) {
            log!(
                Warn,
                {node: u64::from(self.identity.node.0)},
                "{}: {from} sends what is not understood here, and not heard: all nodes need the same version of this program",
                self.identity.node
            );
        }
    }

    /// A figure of each other node but one; their sum, if all share the way there.
    fn of_others(&self, but: NodeId, figure: impl Fn(&Flow) -> usize) -> Option<usize> {
        let others = self.others.iter().filter(|(node, _)| **node != but);
        self.shares_way.then(|| others.map(|(_, there)| figure(&there.flow)).sum())
    }

    /// The way to a node, if this process is heard.
    fn there(&mut self, to: NodeId) -> Result<&mut There, SendRefused> {
        let there = self.others.get_mut(&to).filter(|_| self.declared.is_some());
        there.ok_or(SendRefused::NoSuchNode(to))
    }

    fn tell_dropped(&mut self) {
        let dropped = self.inbox.dropped();
        if dropped > self.dropped {
            if self.dropped == 0 {
                log!(
                    Warn,
                    {node: u64::from(self.identity.node.0)},
                    "{}: somebody sends more than it may: what is beyond is dropped",
                    self.identity.node
                );
            }
            self.dropped = dropped;
        }
    }
}

/// The number of a node at the end of a key.
fn last_number(key: &str) -> Option<NodeId> {
    let (_, number) = key.rsplit_once('/')?;
    number.parse().ok().filter(|&number| number < NODES_MAX).map(NodeId)
}

impl Fabric for Zenoh {
    fn name(&self) -> &'static str {
        "zenoh"
    }

    fn node(&self) -> NodeId {
        self.identity.node
    }

    fn nodes(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.others.keys().copied().collect();
        let at = nodes.partition_point(|&node| node < self.identity.node);
        nodes.insert(at, self.identity.node);
        nodes
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }

    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        if frame.len() > FRAME_BYTES_MAX {
            return Err(SendRefused::TooLong { bytes: frame.len(), allowed: FRAME_BYTES_MAX });
        }
        let (own_incarnation, now_ns) = (self.identity.incarnation, self.clock.now_ns());
        let others_bytes = self.of_others(to, Flow::bytes).unwrap_or(0);
        let there = self.there(to)?;
        if frame.is_empty() {
            // Only news are empty.
            return Ok(());
        }
        if !there.flow.may_send(frame.len(), others_bytes, now_ns) {
            return Err(SendRefused::Busy);
        }
        let trailer = there.flow.send(Lane::Frames, own_incarnation, frame.len(), now_ns);
        // A session that is closed sends nothing; then nothing is heard either.
        drop(there.frames.put([frame, &trailer.to_bytes()].concat()).wait());
        Ok(())
    }

    fn datagram_bytes_max(&self) -> usize {
        DATAGRAM_BYTES_MAX
    }

    fn send_datagram(&mut self, to: NodeId, head: &[u8], body: &[u8]) -> Result<(), SendRefused> {
        let bytes = head.len() + body.len();
        if bytes > DATAGRAM_BYTES_MAX {
            return Err(SendRefused::TooLong { bytes, allowed: DATAGRAM_BYTES_MAX });
        }
        let (own_incarnation, now_ns) = (self.identity.incarnation, self.clock.now_ns());
        let others = self.of_others(to, Flow::datagrams);
        let there = self.there(to)?;
        if !there.flow.may_send_datagram(others, now_ns) {
            return Err(SendRefused::Busy);
        }
        let trailer = there.flow.send(Lane::Datagrams, own_incarnation, bytes, now_ns);
        drop(there.datagrams.put([head, body, &trailer.to_bytes()].concat()).wait());
        Ok(())
    }

    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        self.tell_dropped();
        while let Some(heard) = self.inbox.take() {
            if self.declared.is_none() {
                continue;
            }
            match heard {
                Heard::Frame(from, frame) => {
                    let frame = self.frame(from, frame);
                    if frame.is_some() {
                        return frame;
                    }
                }
                Heard::Appeared(node, _) if node != self.identity.node => self.appeared(node),
                Heard::Appeared(_, incarnation) if incarnation != self.identity.incarnation => {
                    let inbox = self.inbox.clone();
                    self.identity.look_for_twin(&self.session, &self.who(), move |answer| {
                        inbox.put(Heard::Twin(answer));
                    });
                }
                Heard::Appeared(..) => {}
                Heard::Twin(other) => {
                    if self.identity.gives_way_to(&other) {
                        self.identity.set(State::Was);
                        self.declared = None;
                    }
                }
            }
        }
        None
    }

    fn recycle(&mut self, frame: Vec<u8>) {
        self.inbox.recycle(frame);
    }

    fn set_bell(&mut self, bell: Bell) -> bool {
        self.inbox.set_bell(bell);
        true
    }
}

impl Drop for Zenoh {
    /// Closes the session: messages that were given to Zenoh leave before its connections close.
    fn drop(&mut self) {
        drop(self.session.close().wait());
    }
}
