//! A conversation by WebSocket: one task that reads, writes and watches the time.
//!
//! It reads only while the actor keeps up: not while a message waits for capacity in the mailbox,
//! as many are in flight as may be, or the rate is used up. Then the socket's buffers fill, and
//! the client is held up by TCP. In the other direction it is the queue of the conversation that
//! fills.

use crate::clock;
use crate::conversation::Conversation;
use crate::endpoint::{Client, Endpoint, stopped};
use crate::fault::{Code, Fault};
use crate::served::{Call, Served};
use crate::traced;
use actinium_actor::trace::TraceContext;
use actinium_actor::{Address, SendError};
use actinium_tap::Direction;
use actinium_wire::Encoding;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use bytes::Bytes;
use futures_util::{FutureExt, SinkExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

/// The end of a conversation.
enum Ending {
    /// The protocol's end was reached.
    Done,
    /// The client has gone, or is about to.
    Left,
    /// This was wrong.
    Fault(Fault),
}

/// Why a message reached nobody.
const GONE: &str = "the actor has ended";

/// How long a client may take to take in that it has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// A message that waits for capacity in the mailbox; false, if the actor has ended.
type Delivery = Pin<Box<dyn Future<Output = bool> + Send>>;

struct Session<A: Served> {
    socket: WebSocket,
    endpoint: Arc<Endpoint<A>>,
    client: Client,
    talk: Arc<Conversation<A::Talk>>,
    encoding: Encoding,
    /// The step that the conversation is part of, if its client has said so.
    parent: Option<TraceContext>,
    stopping: watch::Receiver<bool>,
    delivering: Option<Delivery>,
    /// Messages of the client.
    count: u64,
    /// The time at which the state became what it is, or at which the client last said something
    /// that the state allows.
    since: Instant,
    state: &'static str,
    /// The time of the client's last sign of life.
    alive: Instant,
    is_pinged: bool,
}

/// Holds the conversation to its end.
pub(crate) async fn converse<A: Served>(
    socket: WebSocket,
    endpoint: Arc<Endpoint<A>>,
    client: Client,
    talk: Arc<Conversation<A::Talk>>,
    encoding: Encoding,
    parent: Option<TraceContext>,
) {
    let now = clock::now();
    let mut session = Session {
        socket,
        stopping: endpoint.config.stopping.clone(),
        client,
        talk: talk.clone(),
        encoding,
        parent,
        delivering: None,
        count: 0,
        since: now,
        state: talk.state().name,
        alive: now,
        is_pinged: false,
        endpoint,
    };
    let address = session.endpoint.address.clone();
    let leaving = Leaving { talk: talk.clone(), address, is_told: false };
    // What the messages' own code does is caught here: decoding, encoding, dropping them.
    let ran = AssertUnwindSafe(session.run()).catch_unwind().await;
    let ending = ran.unwrap_or_else(|panic| {
        std::mem::forget(panic);
        Ending::Fault(Fault::panicked().of_message(session.count))
    });
    talk.close();
    session.end(ending).await;
    leaving.tell().await;
    // Its place is free after that.
    session.drain().await;
}

/// A conversation that will end. However it does, by a panic or with its task too, its actor hears
/// so.
struct Leaving<A: Served> {
    talk: Arc<Conversation<A::Talk>>,
    address: Address<A>,
    is_told: bool,
}

impl<A: Served> Leaving<A> {
    fn message(&self) -> Option<A::Msg> {
        self.talk.close();
        let made = catch_unwind(AssertUnwindSafe(|| A::left(self.talk.id)));
        made.unwrap_or_else(|panic| {
            std::mem::forget(panic);
            None
        })
    }

    /// Waits for capacity in the mailbox, if it has to.
    async fn tell(mut self) {
        self.is_told = true;
        if let Some(message) = self.message() {
            // An actor that has ended needs not hear it.
            let _ = self.address.send_async(message).await;
        }
    }
}

impl<A: Served> Drop for Leaving<A> {
    fn drop(&mut self) {
        // The task ends here and now: there is no time to wait for capacity.
        if !self.is_told
            && let Some(message) = self.message()
        {
            self.address.tell(message);
        }
    }
}

impl<A: Served> Session<A> {
    async fn run(&mut self) -> Ending {
        loop {
            if let Err(ending) = self.write().await {
                return ending;
            }
            if self.talk.has_ended() {
                return Ending::Done;
            }
            if self.talk.is_unanswered() {
                let problem =
                    format!("state '{}': the actor has dropped it without an answer", self.state);
                return Ending::Fault(Fault::new(Code::NoAnswer, problem).of_message(self.count));
            }
            let now = clock::now();
            let rate = self.client.rate.wait(now);
            let limits = self.endpoint.config.limits;
            let may_read = self.delivering.is_none()
                && rate.is_none()
                && self.talk.in_flight() < limits.in_flight;
            if !may_read {
                // What we do not read is not the client's silence.
                self.alive = now;
                self.is_pinged = false;
            }
            let due = match self.due(now, limits.silence, limits.answer) {
                Ok(due) => rate.map_or(due, |rate| rate.min(due)),
                Err(fault) => return Ending::Fault(fault),
            };
            if !self.is_pinged && now >= clock::after(self.alive, limits.silence / 2) {
                self.is_pinged = true;
                if let Err(ending) = self.put(Message::Ping(Bytes::new()), limits.silence).await {
                    return ending;
                }
            }
            // The client first: what the actor says goes out each time round in any case.
            tokio::select! {
                biased;
                frame = self.socket.recv(), if may_read => {
                    if let Err(ending) = self.heard(frame).await {
                        return ending;
                    }
                }
                is_taken = async { self.delivering.as_mut().expect("it is there").await }, if self.delivering.is_some() => {
                    self.delivering = None;
                    if !is_taken {
                        return self.gone();
                    }
                }
                () = self.talk.work.notified() => {}
                () = stopped(&mut self.stopping) => {
                    return Ending::Fault(Fault::new(Code::Stopping, "the gateway stops"));
                }
                () = sleep_until(due) => {}
            }
        }
    }

    /// Sends what the actor has said; not more at once than may be queued, so that the client gets
    /// a hearing.
    async fn write(&mut self) -> Result<(), Ending> {
        let limits = self.endpoint.config.limits;
        let mut count = 0;
        while let Some(message) = self.talk.next_out() {
            let mut bytes = Vec::new();
            if let Err(error) = self.encoding.encode(&message, &mut bytes) {
                return Err(Ending::Fault(Fault::new(Code::Encode, error)));
            }
            if self.endpoint.config.taps.is_on() {
                self.show(Direction::Out, &bytes);
            }
            let frame = self.frame(bytes);
            let fed = timeout(limits.silence, self.socket.feed(frame)).await;
            self.written(fed)?;
            count += 1;
            if count == limits.queued {
                self.talk.work.notify_one();
                break;
            }
        }
        if count > 0 {
            let flushed = timeout(limits.silence, self.socket.flush()).await;
            self.written(flushed)?;
        }
        let state = self.talk.state().name;
        if state != self.state {
            (self.state, self.since) = (state, clock::now());
        }
        Ok(())
    }

    fn show(&self, direction: Direction, bytes: &[u8]) {
        let who = (&self.client, self.talk.id);
        self.endpoint.show(direction, who, self.encoding, bytes);
    }

    async fn put(&mut self, frame: Message, within: Duration) -> Result<(), Ending> {
        let sent = timeout(within, self.socket.send(frame)).await;
        self.written(sent)
    }

    fn written<E, T>(&self, result: Result<Result<(), E>, T>) -> Result<(), Ending> {
        // Stuck or broken: there is nobody to tell.
        result.map_err(|_| Ending::Left)?.map_err(|_| Ending::Left)
    }

    /// In the frames of this encoding.
    fn frame(&self, mut bytes: Vec<u8>) -> Message {
        if self.encoding.is_text() {
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            if let Ok(text) = Utf8Bytes::try_from(Bytes::from(bytes)) {
                return Message::Text(text);
            }
            return Message::Text(Utf8Bytes::default());
        }
        Message::Binary(bytes.into())
    }

    /// Returns the time of the next deadline, or the fault if a deadline has passed: for a ping, a
    /// sign of life, a message, or the actor's answer.
    fn due(&self, now: Instant, silence: Duration, answer: Duration) -> Result<Instant, Fault> {
        let state = self.talk.state();
        let dead = clock::after(self.alive, silence);
        if now >= dead {
            return Err(Fault::new(
                Code::Late,
                format!("expected a sign of life within {silence:?}, found none"),
            ));
        }
        let mut due = if self.is_pinged { dead } else { clock::after(self.alive, silence / 2) };
        let within = if state.asked { Some(state.within.unwrap_or(answer)) } else { state.within };
        if let Some(within) = within {
            let end = clock::after(self.since, within);
            if now >= end && self.delivering.is_none() {
                let name = state.name;
                return Err(match state.asked {
                    true => {
                        let problem =
                            format!("state '{name}': the actor has not answered within {within:?}");
                        Fault::new(Code::AnswerLate, problem).of_message(self.count)
                    }
                    false => {
                        let problem = format!(
                            "state '{name}': expected a message within {within:?}, found none"
                        );
                        Fault::new(Code::Late, problem)
                    }
                });
            }
            due = due.min(end);
        }
        Ok(due)
    }

    async fn heard(&mut self, frame: Option<Result<Message, axum::Error>>) -> Result<(), Ending> {
        let frame = match frame {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                return Err(broken(&error, self.endpoint.config.limits.message_bytes));
            }
            None => return Err(Ending::Left),
        };
        let now = clock::now();
        (self.alive, self.is_pinged) = (now, false);
        let (bytes, is_text) = match frame {
            Message::Text(text) => (Bytes::from(text), true),
            Message::Binary(bytes) => (bytes, false),
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
            Message::Close(_) => return Err(Ending::Left),
        };
        self.count += 1;
        self.client.rate.take(now);
        if self.endpoint.config.taps.is_on() {
            self.show(Direction::In, &bytes);
        }
        match self.call(&bytes, is_text) {
            Ok(call) => {
                self.since = now;
                self.state = self.talk.state().name;
                self.deliver(call)
            }
            // It is told, and the conversation goes on as if nothing had been said.
            Err(fault) => self.tell(fault.of_message(self.count)).await,
        }
    }

    fn call(&self, bytes: &Bytes, is_text: bool) -> Result<Call<A::Talk>, Fault> {
        if is_text != self.encoding.is_text() {
            let kind = |is_text| if is_text { "a text frame" } else { "a binary frame" };
            let (expected, found) = (kind(self.encoding.is_text()), kind(is_text));
            let problem = format!("encoding {}: expected {expected}, found {found}", self.encoding);
            return Err(Fault::new(Code::Encoding, problem));
        }
        let decoded = self.encoding.decode(bytes, &self.endpoint.config.limits.wire());
        let message = decoded.map_err(|error| Fault::new(Code::Decode, error))?;
        Call::hear(&self.talk, message)
    }

    fn deliver(&mut self, call: Call<A::Talk>) -> Result<(), Ending> {
        let step = traced::begin(&self.endpoint, "WebSocket", self.parent);
        match step.scope(|| self.endpoint.address.try_send(A::heard(call))) {
            Ok(()) => {
                step.end(None);
                Ok(())
            }
            Err(SendError::Full(message)) => {
                let address = self.endpoint.address.clone();
                self.delivering = Some(Box::pin(async move {
                    let sent = step.run(address.send_async(message)).await;
                    step.end(sent.is_err().then(|| GONE.into()));
                    sent.is_ok()
                }));
                Ok(())
            }
            Err(_) => {
                step.end(Some(GONE.into()));
                Err(self.gone())
            }
        }
    }

    fn gone(&self) -> Ending {
        Ending::Fault(Fault::new(Code::Gone, GONE).of_message(self.count))
    }

    async fn tell(&mut self, fault: Fault) -> Result<(), Ending> {
        let frame = self.frame(fault.encode(self.encoding));
        self.put(frame, self.endpoint.config.limits.silence).await
    }

    /// Says why, and closes.
    async fn end(&mut self, ending: Ending) {
        let (code, reason) = match ending {
            Ending::Left => return,
            Ending::Done => (1000, ""),
            Ending::Fault(fault) => {
                let code = fault.close_code();
                // If it can not be told any more, it can not be helped.
                let _ = self.tell(fault).await;
                (code, "see the last message")
            }
        };
        let reason = Utf8Bytes::from_static(reason);
        let close = Message::Close(Some(CloseFrame { code, reason }));
        let _ = self.put(close, self.endpoint.config.limits.silence).await;
    }

    /// Waits until the client has taken the end in: a socket that is closed with something unread
    /// in it takes back what it has sent.
    async fn drain(mut self) {
        let within = self.endpoint.config.limits.silence.min(DRAIN);
        let drained = async { while let Some(Ok(_)) = self.socket.recv().await {} };
        let _ = timeout(within, drained).await;
    }
}

/// Nothing can be read any more.
fn broken(error: &axum::Error, limit: usize) -> Ending {
    let text = error.to_string();
    if text.contains("too long") {
        return Ending::Fault(Fault::new(
            Code::TooLong,
            format!("expected at most {limit} bytes: {text}"),
        ));
    }
    Ending::Left
}
