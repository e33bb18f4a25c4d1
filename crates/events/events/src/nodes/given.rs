//! The source of one of several nodes: events that it is given, or pieces of the source that it
//! reads itself.

use super::codec::Codec;
use crate::cause::{Cause, said};
use crate::engine::Engine;
use crate::erased::ErasedSource;
use crate::module::{Next, Piece};
use actinium_scheduler::guard;
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Waker;

/// Something for a node to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// An event that the first node has read: its number, and the source's product.
    Event {
        /// The event's number.
        number: u64,
        /// The source's product, encoded.
        bytes: Vec<u8>,
    },
    /// A piece of the source, all of it but these events.
    Piece {
        /// The piece's place in [`Source::pieces`](crate::Source::pieces).
        piece: u32,
        /// The numbers within the piece of events that need not run.
        done: Vec<u64>,
    },
}

/// Where a node's source finds what the node is to run.
pub trait Inbox: Send + 'static {
    /// The next event or piece. A piece is asked for when the one before has been read.
    fn next(&mut self) -> Next<Given>;
    /// All events of a piece have been read (not run): how many there are, or why the rest can not
    /// be read.
    fn piece_ended(&mut self, piece: u32, ended: Result<u64, Cause>);
}

/// The source of a node.
pub(super) struct GivenSource<I> {
    pub(super) inbox: I,
    /// For pieces.
    pub(super) source: Box<dyn ErasedSource>,
    /// For events.
    pub(super) codec: Option<Arc<dyn Codec>>,
    pub(super) reading: Option<Reading>,
}

/// A piece that is being read.
pub(super) struct Reading {
    piece: u32,
    /// The next event's number within the piece.
    index: u64,
    done: BTreeSet<u64>,
}

impl<I: Inbox> GivenSource<I> {
    /// What comes next of the piece that is being read; `None`: nothing.
    fn read(&mut self, engine: &Engine, slot: u32) -> Option<Next<()>> {
        let Reading { piece, index, done } = self.reading.as_mut()?;
        let next = loop {
            let source = &mut self.source;
            let is_done = done.contains(index);
            let next = said(guard::catch(|| match is_done {
                true => source.next_loose(*index).map(|next| next.map(drop)),
                false => source.next(engine, slot, *index),
            }));
            match next {
                Ok(Next::Event(()) | Next::Numbered(..)) => {
                    *index += 1;
                    if !is_done {
                        break Ok(Next::Numbered(Piece::number(*piece, *index - 1), ()));
                    }
                }
                next => break next,
            }
        };
        let ended = match next {
            Ok(Next::End) => Ok(*index),
            Ok(next) => return Some(next),
            Err(cause) => Err(cause.into_string().into()),
        };
        self.inbox.piece_ended(*piece, ended);
        self.reading = None;
        None
    }
}

impl<I: Inbox> ErasedSource for GivenSource<I> {
    fn next(&mut self, engine: &Engine, slot: u32, _: u64) -> Result<Next<()>, Cause> {
        loop {
            if let Some(next) = self.read(engine, slot) {
                return Ok(next);
            }
            match self.inbox.next() {
                Next::Event(Given::Piece { piece, done })
                | Next::Numbered(_, Given::Piece { piece, done }) => {
                    let done = done.into_iter().collect();
                    match said(guard::catch(|| self.source.open(piece))) {
                        Ok(()) => self.reading = Some(Reading { piece, index: 0, done }),
                        Err(cause) => {
                            self.inbox.piece_ended(piece, Err(cause.into_string().into()))
                        }
                    }
                }
                Next::Event(Given::Event { number, bytes })
                | Next::Numbered(_, Given::Event { number, bytes }) => {
                    let codec = self.codec.as_ref().ok_or("the source's product does not cross")?;
                    let put = codec.put(&bytes, engine, slot, engine.layout.source);
                    put.map_err(|cause| {
                        format!("event {number} can not be decoded on this node: {cause}")
                    })?;
                    return Ok(Next::Numbered(number, ()));
                }
                Next::Transition(transition) => return Ok(Next::Transition(transition)),
                Next::Later => return Ok(Next::Later),
                Next::End => return Ok(Next::End),
            }
        }
    }

    fn next_loose(&mut self, _: u64) -> Result<Next<Box<dyn Any + Send>>, Cause> {
        Err("what a node is given goes to its own graph".into())
    }

    fn attach(&mut self, waker: &Waker) {
        self.source.attach(waker);
    }

    fn pieces(&self) -> Vec<Piece> {
        Vec::new()
    }

    fn open(&mut self, _: u32) -> Result<(), Cause> {
        Err("what a node is given has no pieces".into())
    }
}
