//! A link: a stream of bytes on which two sides exchange messages, in the encoding that they have
//! agreed on.

use crate::encoding::Encoding;
use crate::error::{DecodeError, EncodeError};
use crate::frame::{self, Frame, FrameError, Kind, Unframer};
use crate::hello::{Hello, Incompatible, Negotiated, negotiate};
use crate::limits::Limits;
use crate::schema::Message;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// The environment variable that says in which encoding this process's links speak.
pub const ENCODING_VARIABLE: &str = "ACTINIUM_ENCODING";

/// Node-local options of a link. What both sides have to agree on is negotiated by their hellos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The encodings that this side takes, the dearest first.
    pub encodings: Vec<Encoding>,
    /// Whether frames have checksums; if it is not said, they have them across hosts. One side that
    /// wants them is enough.
    pub checksum: Option<bool>,
    /// The limits for messages from the peer.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options { encodings: Encoding::available(), checksum: None, limits: Limits::default() }
    }
}

impl Options {
    /// Makes options with the encoding that `ACTINIUM_ENCODING` names as the only one. Without the
    /// variable, all encodings are allowed.
    ///
    /// # Errors
    /// If there is no such encoding: the line names the variable, its value, and what is allowed.
    pub fn from_env() -> Result<Self, String> {
        let mut options = Options::default();
        if let Some(name) = std::env::var_os(ENCODING_VARIABLE) {
            let encoding = name.to_string_lossy().parse();
            let encoding = encoding.map_err(|problem| format!("{ENCODING_VARIABLE}: {problem}"))?;
            options.encodings = vec![encoding];
        }
        Ok(options)
    }
}

/// An error of a link, with its place.
#[derive(Debug)]
pub struct LinkError {
    /// Which one: the peer's address, or what its owner calls it.
    pub link: String,
    /// Where in the stream that came in.
    pub offset: u64,
    /// The fault.
    pub fault: LinkFault,
}

/// A fault of a link.
#[derive(Debug)]
#[non_exhaustive]
pub enum LinkFault {
    /// The stream failed.
    Io(io::Error),
    /// A frame is damaged.
    Frame(FrameError),
    /// A frame's payload is no message.
    Decode(DecodeError),
    /// The encoding has no way to say a message, which was not sent.
    Encode(EncodeError),
    /// A message is longer than the limit, and was not sent.
    TooLong {
        /// The limit.
        limit: usize,
        /// The length.
        found: usize,
    },
    /// Another frame was expected.
    Unexpected {
        /// The frame that was expected.
        expected: &'static str,
        /// The frame that was found.
        found: String,
    },
    /// The two sides can not speak with each other.
    Incompatible(Incompatible),
    /// The peer says so.
    Refused(String),
}

impl LinkError {
    /// Whether the link is of no use any more. Else the message was passed over, and the next may
    /// come.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match &self.fault {
            LinkFault::Frame(error) => error.is_fatal(),
            LinkFault::Decode(_) | LinkFault::Encode(_) | LinkFault::TooLong { .. } => false,
            LinkFault::Unexpected { expected, .. } => *expected == A_HELLO,
            LinkFault::Io(_) | LinkFault::Incompatible(_) | LinkFault::Refused(_) => true,
        }
    }
}

impl Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {}, offset {}: ", self.link, self.offset)?;
        match &self.fault {
            LinkFault::Io(error) => write!(f, "{error}"),
            LinkFault::Frame(error) => write!(f, "{error}"),
            LinkFault::Decode(error) => write!(f, "{error}"),
            LinkFault::Encode(error) => write!(f, "{error}"),
            LinkFault::TooLong { limit, found } => {
                write!(f, "expected a message of at most {limit} bytes, found one of {found}")
            }
            LinkFault::Unexpected { expected, found } => {
                write!(f, "expected {expected}, found {found}")
            }
            LinkFault::Incompatible(why) => write!(f, "{why}"),
            LinkFault::Refused(why) => write!(f, "the peer refuses: {why}"),
        }
    }
}

impl std::error::Error for LinkError {}

const A_HELLO: &str = "a hello";
/// The size of the buffer from which on [`Link::queue`] writes it out by itself.
const QUEUE_BYTES: usize = 64 << 10;

/// One end of a link.
#[derive(Debug)]
pub struct Link<S> {
    stream: S,
    name: String,
    unframer: Unframer,
    out: Vec<u8>,
    limits: Limits,
    negotiated: Negotiated,
    peer: Hello,
}

impl Link<TcpStream> {
    /// Opens a link for messages of type `M` on a connection. Frames have checksums if the peer is
    /// on another host, or if either side wants it.
    ///
    /// # Errors
    /// As [`Link::open`].
    pub fn open_tcp<M: Message>(stream: TcpStream, options: &Options) -> Result<Self, LinkError> {
        // A message is one write: there is nothing to wait for. If it fails, messages are late, not
        // lost.
        let _ = stream.set_nodelay(true);
        let peer = stream.peer_addr();
        let name = peer.as_ref().map_or_else(|_| "?".to_owned(), SocketAddr::to_string);
        let local = peer.is_ok_and(|peer| {
            let own = stream.local_addr().ok().map(|own| own.ip());
            peer.ip().is_loopback() || own == Some(peer.ip())
        });
        let checksum = Some(options.checksum.unwrap_or(!local));
        Link::open::<M>(stream, &name, &Options { checksum, ..options.clone() })
    }
}

impl<S: Read + Write> Link<S> {
    /// Opens a link for messages of type `M`: says hello, hears the peer's, negotiates.
    ///
    /// # Errors
    /// If the stream fails, the peer says something else, or the two can not speak with each other;
    /// then the peer is told why.
    pub fn open<M: Message>(
        mut stream: S,
        name: &str,
        options: &Options,
    ) -> Result<Self, LinkError> {
        let own = Hello::of::<M>(&options.encodings, options.checksum.unwrap_or(false));
        let mut unframer = Unframer::new(Limits::HELLO.frame_bytes);
        let error = |offset, fault| LinkError { link: name.to_owned(), offset, fault };
        let mut out = Vec::new();
        hello_frame(&own, &mut out).map_err(|fault| error(0, fault))?;
        stream.write_all(&out).map_err(|fault| error(0, LinkFault::Io(fault)))?;
        let frame = next_frame(&mut unframer, &mut stream);
        let frame = frame.map_err(|fault| error(unframer.offset(), fault))?;
        let peer = heard(frame).map_err(|fault| error(0, fault))?;
        out.clear();
        match negotiate(&own, &peer) {
            Ok(negotiated) => {
                unframer.set_limit(options.limits.frame_bytes);
                let (name, limits) = (name.to_owned(), options.limits);
                Ok(Link { stream, name, unframer, out, limits, negotiated, peer })
            }
            Err(why) => {
                // If the peer does not hear why, it comes to the same by itself.
                let _ = refusal(&why.to_string(), &mut out);
                let _ = stream.write_all(&out);
                Err(error(0, LinkFault::Incompatible(why)))
            }
        }
    }

    /// Returns the terms that the two sides have negotiated.
    #[must_use]
    pub fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// Returns the peer's hello.
    #[must_use]
    pub fn peer(&self) -> &Hello {
        &self.peer
    }

    /// Returns the name of the link in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The stream.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Sends a message, and all that was queued before it.
    ///
    /// # Errors
    /// If it can not be encoded, is too long, or the stream fails.
    pub fn send<M: Message>(&mut self, message: &M) -> Result<(), LinkError> {
        self.queue(message)?;
        self.flush()
    }

    /// Encodes a message, to be sent with others by one write.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn queue<M: Message>(&mut self, message: &M) -> Result<(), LinkError> {
        let Negotiated { encoding, checksum, .. } = self.negotiated;
        let limit = self.limits.frame_bytes;
        let write = |out: &mut Vec<u8>| encoding.encode(message, out);
        let fault =
            match frame::append(&mut self.out, Kind::Message, encoding, checksum, limit, write) {
                Ok(Ok(())) => None,
                Ok(Err(found)) => Some(LinkFault::TooLong { limit, found }),
                Err(error) => Some(LinkFault::Encode(error)),
            };
        match fault {
            Some(fault) => Err(self.error(fault)),
            None if self.out.len() >= QUEUE_BYTES => self.flush(),
            None => Ok(()),
        }
    }

    /// Writes what was queued.
    ///
    /// # Errors
    /// If the stream fails.
    pub fn flush(&mut self) -> Result<(), LinkError> {
        let written = self.stream.write_all(&self.out).and_then(|()| self.stream.flush());
        self.out.clear();
        written.map_err(|error| self.error(LinkFault::Io(error)))
    }

    /// Waits for the next message; none if the peer has closed the link.
    ///
    /// # Errors
    /// If what comes is no message. If the error is not fatal, it has been passed over.
    pub fn receive<M: Message>(&mut self) -> Result<Option<M>, LinkError> {
        let frame = match next_frame(&mut self.unframer, &mut self.stream) {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(None),
            Err(fault) => return Err(self.error(fault)),
        };
        let fault = match frame.kind {
            Kind::Message if frame.encoding == self.negotiated.encoding => {
                match frame.encoding.decode(&frame.payload, &self.limits) {
                    Ok(message) => return Ok(Some(message)),
                    Err(error) => LinkFault::Decode(error),
                }
            }
            Kind::Message => LinkFault::Unexpected {
                expected: "the encoding that was agreed on",
                found: format!("{} instead of {}", frame.encoding, self.negotiated.encoding),
            },
            Kind::Refusal => LinkFault::Refused(refusal_text(&frame)),
            Kind::Hello => {
                LinkFault::Unexpected { expected: "a message", found: "another hello".to_owned() }
            }
        };
        Err(LinkError { link: self.name.clone(), offset: frame.offset, fault })
    }

    #[cold]
    fn error(&self, fault: LinkFault) -> LinkError {
        // A damaged frame may have been passed over: it knows where it was.
        let offset = match &fault {
            LinkFault::Frame(error) => error.offset,
            _ => self.unframer.offset(),
        };
        LinkError { link: self.name.clone(), offset, fault }
    }
}

/// The next frame that comes; none at the end of the stream.
fn next_frame(unframer: &mut Unframer, stream: &mut impl Read) -> Result<Option<Frame>, LinkFault> {
    loop {
        if let Some(frame) = unframer.next().map_err(LinkFault::Frame)? {
            return Ok(Some(frame));
        }
        match unframer.fill(stream) {
            Ok(0) => return unframer.end().map(|()| None).map_err(LinkFault::Frame),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(LinkFault::Io(error)),
        }
    }
}

/// Appends a hello's frame; it has a checksum always.
pub(crate) fn hello_frame(hello: &Hello, out: &mut Vec<u8>) -> Result<(), LinkFault> {
    let (encoding, limit) = (Encoding::SelfDescribing, Limits::HELLO.frame_bytes);
    let write = |out: &mut Vec<u8>| encoding.encode(hello, out);
    match frame::append(out, Kind::Hello, encoding, true, limit, write) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(found)) => Err(LinkFault::TooLong { limit, found }),
        Err(error) => Err(LinkFault::Encode(error)),
    }
}

fn refusal(why: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let (encoding, limit) = (Encoding::Text, Limits::HELLO.frame_bytes);
    let write = |out: &mut Vec<u8>| encoding.encode(why, out);
    frame::append(out, Kind::Refusal, encoding, true, limit, write).map(drop)
}

/// Decodes the text of a refusal.
pub(crate) fn refusal_text(frame: &Frame) -> String {
    frame.encoding.decode(&frame.payload, &Limits::HELLO).unwrap_or_else(|_| "?".to_owned())
}

fn heard(frame: Option<Frame>) -> Result<Hello, LinkFault> {
    match frame {
        Some(frame) if frame.kind == Kind::Hello => hello_of(&frame).map_err(LinkFault::Decode),
        Some(frame) if frame.kind == Kind::Refusal => Err(LinkFault::Refused(refusal_text(&frame))),
        Some(frame) => {
            let found = format!("{:?} of {} bytes", frame.kind, frame.payload.len());
            Err(LinkFault::Unexpected { expected: A_HELLO, found })
        }
        None => {
            Err(LinkFault::Unexpected { expected: A_HELLO, found: "the end of the stream".into() })
        }
    }
}

/// The hello that a frame carries.
///
/// # Errors
/// If it carries none.
pub fn hello_of(frame: &Frame) -> Result<Hello, DecodeError> {
    Hello::decode(frame.encoding, &frame.payload)
}
