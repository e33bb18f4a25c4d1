//! Protocols: which message may follow which between two parties, apart from how the messages are
//! encoded.
//!
//! [`protocol!`](crate::protocol!) makes a module with the messages (`Message`), a handle for each
//! party with a method per message that it may say, and the table that a [`Monitor`] goes by. The
//! monitor stands at the border where messages come in: what the state does not allow is an error
//! with protocol, state, message and peer, and never reaches the program. It stands where messages
//! go out, too.
//!
//! ```
//! # use serde::{Deserialize, Serialize};
//! use actinium_wire::{Link, Message, Options, protocol};
//!
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
//! pub struct Order { article: String, count: u32 }
//!
//! protocol! {
//!     /// A shop.
//!     pub protocol Shop, version 1, between client and server;
//!
//!     state Idle within 5s {
//!         client request Place(Order) -> server Placed(u64) -> Idle;
//!         client signal Watch -> Watching;
//!         client signal Bye -> end;
//!     }
//!     state Watching {
//!         server stream Tick(f64);
//!         client signal Stop -> Idle;
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let (near, far) = std::os::unix::net::UnixStream::pair()?;
//! let serving = std::thread::spawn(move || {
//!     let mut server = shop::Server::new(Link::open::<shop::Message>(far, "client", &Options::default())?);
//!     if let Some(shop::Message::Place(order)) = server.receive()? {
//!         server.placed(order.count.into())?;
//!     }
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
//! });
//! let mut client = shop::Client::new(Link::open::<shop::Message>(near, "server", &Options::default())?);
//! let number = client.place(Order { article: "cog".into(), count: 7 })?;
//! assert_eq!(number, 7);
//! assert!(client.stop().is_err(), "nothing is being watched");
//! serving.join().expect("it does not panic")?;
//! # Ok(())
//! # }
//! ```
//!
//! A `request` has a response, and nothing else may be said before that. A `signal` may lead to
//! another state. A `stream` may be said again and again in its state. The first state is where it
//! begins; `-> end` is where it ends. `within` says how long a party waits in a state for the other
//! to say anything at all (`500ms`, `5s`, `1min`).
//!
//! What makes no sense does not compile: a state that is never reached, one in which nothing can be
//! said, one from which the end can not be reached, a request without a response.
//!
//! ```compile_fail
//! actinium_wire::protocol! {
//!     protocol Stuck, version 1, between client and server;
//!     state Idle { client signal Go -> Far; client signal Bye -> end; }
//!     state Far { client signal Walk; }
//! }
//! ```

use crate::link::{Link, LinkError, LinkFault};
use crate::schema::Message;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The table of states: it says which message may follow which.
#[derive(Debug)]
pub struct Model {
    /// The protocol's name.
    pub name: &'static str,
    /// The names of the two parties.
    pub parties: [&'static str; 2],
    /// The first is where it begins, the last is the end.
    pub states: &'static [State],
    /// The messages.
    pub words: &'static [Word],
    /// A row per state, a column per message: the state after it, or 255 if it is not allowed.
    pub next: &'static [u8],
}

/// A state.
#[derive(Debug)]
pub struct State {
    /// The name.
    pub name: &'static str,
    /// How long one waits in it.
    pub within: Option<Duration>,
    /// Whether a request is open: the response is due, and nothing else may be said.
    pub asked: bool,
}

/// A message.
#[derive(Debug)]
pub struct Word {
    /// The name.
    pub name: &'static str,
    /// The party that says it, as an index into [`Model::parties`].
    pub from: u8,
}

/// The messages of a protocol.
pub trait Spoken: Message {
    /// Which may follow which.
    const MODEL: &'static Model;
    /// The message's place in [`Model::words`].
    fn number(&self) -> usize;
}

/// Where a conversation is.
#[derive(Clone, Debug)]
pub struct Monitor {
    model: &'static Model,
    state: u8,
}

/// A message that the state does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The protocol.
    pub protocol: &'static str,
    /// The state.
    pub state: &'static str,
    /// The message.
    pub message: &'static str,
    /// The party that has said it.
    pub from: &'static str,
    /// The messages that the party might have said.
    pub allowed: Vec<&'static str>,
}

impl Monitor {
    /// Begins in the first state.
    #[must_use]
    pub fn new(model: &'static Model) -> Self {
        Monitor { model, state: 0 }
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> &'static State {
        &self.model.states[usize::from(self.state)]
    }

    /// Whether nothing more can be said.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        usize::from(self.state) + 1 == self.model.states.len()
    }

    /// Goes on by a message of this number, said by this party. If it is not allowed, the state
    /// stays as it is.
    ///
    /// # Errors
    /// If it is not allowed.
    #[inline]
    pub fn step(&mut self, message: usize, party: usize) -> Result<(), Violation> {
        let words = self.model.words;
        let next = self.model.next.get(usize::from(self.state) * words.len() + message);
        match (words.get(message), next) {
            (Some(word), Some(&next)) if next != u8::MAX && usize::from(word.from) == party => {
                self.state = next;
                Ok(())
            }
            _ => Err(self.violation(message, party)),
        }
    }

    #[cold]
    fn violation(&self, message: usize, party: usize) -> Violation {
        let Model { name, parties, words, next, .. } = *self.model;
        let row = usize::from(self.state) * words.len();
        let allowed = words.iter().enumerate().filter(|(index, word)| {
            next[row + index] != u8::MAX && usize::from(word.from) == party
        });
        Violation {
            protocol: name,
            state: self.state().name,
            message: words.get(message).map_or("?", |word| word.name),
            from: parties[party],
            allowed: allowed.map(|(_, word)| word.name).collect(),
        }
    }
}

impl Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { protocol, state, message, from, allowed } = self;
        let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
        write!(
            f,
            "{protocol}, state '{state}': expected {allowed} from the {from}, found {message}"
        )
    }
}

impl std::error::Error for Violation {}

/// An error in a conversation.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A message that the state does not allow; it was not taken, or not sent.
    Violation {
        /// The link.
        peer: String,
        /// Which message, in which state.
        violation: Violation,
    },
    /// Nothing came in time.
    Late {
        /// The link.
        peer: String,
        /// The protocol.
        protocol: &'static str,
        /// The state.
        state: &'static str,
        /// How long it may last.
        within: Duration,
    },
    /// The peer has closed the link in the midst of it.
    Closed {
        /// The link.
        peer: String,
        /// The protocol.
        protocol: &'static str,
        /// The state.
        state: &'static str,
    },
    /// The link.
    Link(LinkError),
}

impl Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolError::Violation { peer, violation } => write!(f, "link {peer}: {violation}"),
            ProtocolError::Late { peer, protocol, state, within } => write!(
                f,
                "link {peer}: {protocol}, state '{state}': expected a message within {within:?}, found none"
            ),
            ProtocolError::Closed { peer, protocol, state } => write!(
                f,
                "link {peer}: {protocol}, state '{state}': expected a message, found the end of the link"
            ),
            ProtocolError::Link(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ProtocolError {}

/// A stream whose reads can be made to end after a time.
pub trait Stream: Read + Write {
    /// Makes a read that gets nothing for so long an error.
    ///
    /// # Errors
    /// If the stream can not.
    fn read_within(&self, time: Option<Duration>) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn read_within(&self, time: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(time)
    }
}

impl Stream for UnixStream {
    fn read_within(&self, time: Option<Duration>) -> io::Result<()> {
        self.set_read_timeout(time)
    }
}

/// One party of a conversation on a link. `protocol!` makes a type with a method per message around
/// it.
#[derive(Debug)]
pub struct Party<M, S> {
    link: Link<S>,
    monitor: Monitor,
    own: usize,
    /// The time limit that the stream was given last.
    within: Option<Duration>,
    messages: PhantomData<fn(M)>,
}

impl<M: Spoken, S: Stream> Party<M, S> {
    /// The party at this place in [`Model::parties`].
    #[must_use]
    pub fn new(link: Link<S>, own: usize) -> Self {
        Party { link, monitor: Monitor::new(M::MODEL), own, within: None, messages: PhantomData }
    }

    /// The state's name.
    #[must_use]
    pub fn state(&self) -> &'static str {
        self.monitor.state().name
    }

    /// Says something. What the state does not allow is not sent.
    ///
    /// # Errors
    /// If it is not allowed, or the link fails.
    pub fn send(&mut self, message: &M) -> Result<(), ProtocolError> {
        let before = self.monitor.clone();
        self.step(message, self.own)?;
        self.link.send(message).map_err(|error| {
            // It was not said.
            self.monitor = before;
            ProtocolError::Link(error)
        })
    }

    /// Waits for what the other says; none if it has closed the link at the end, or where the
    /// protocol has none.
    ///
    /// # Errors
    /// If the link fails, nothing comes in time, or what comes is not allowed.
    pub fn receive(&mut self) -> Result<Option<M>, ProtocolError> {
        let within = self.monitor.state().within;
        if within != self.within {
            let told = self.link.stream().read_within(within);
            told.map_err(|error| self.link_error(error))?;
            self.within = within;
        }
        match self.link.receive::<M>() {
            Ok(Some(message)) => {
                self.step(&message, 1 - self.own)?;
                Ok(Some(message))
            }
            Ok(None) if self.monitor.has_ended() || self.endless() => Ok(None),
            Ok(None) => Err(self.closed()),
            Err(error) => Err(match (&error.fault, within) {
                (LinkFault::Io(io), Some(within))
                    if matches!(io.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    ProtocolError::Late {
                        peer: self.link.name().to_owned(),
                        protocol: M::MODEL.name,
                        state: self.state(),
                        within,
                    }
                }
                _ => ProtocolError::Link(error),
            }),
        }
    }

    /// Makes the error that the peer has gone in the midst of the conversation.
    #[must_use]
    pub fn closed(&self) -> ProtocolError {
        let (peer, protocol) = (self.link.name().to_owned(), M::MODEL.name);
        ProtocolError::Closed { peer, protocol, state: self.state() }
    }

    /// Whether the protocol has no end, so that a party may go whenever no request is open.
    fn endless(&self) -> bool {
        let end = M::MODEL.states.len() - 1;
        let ends = M::MODEL.next.iter().any(|next| usize::from(*next) == end);
        !ends && !self.monitor.state().asked
    }

    #[inline]
    fn step(&mut self, message: &M, party: usize) -> Result<(), ProtocolError> {
        self.monitor.step(message.number(), party).map_err(|violation| ProtocolError::Violation {
            peer: self.link.name().to_owned(),
            violation,
        })
    }

    fn link_error(&self, error: io::Error) -> ProtocolError {
        let link = self.link.name().to_owned();
        ProtocolError::Link(LinkError { link, offset: 0, fault: LinkFault::Io(error) })
    }
}
