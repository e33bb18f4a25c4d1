//! A conversation by HTTP POST: one message of the client, and its answer if it has one.

use crate::clock;
use crate::conversation::{Conversation, PeerId};
use crate::encodings::{content_type, content_types, of_accept, of_content_type};
use crate::endpoint::{Client, Endpoint};
use crate::fault::{Code, Fault};
use crate::served::{Call, Served};
use crate::traced;
use actinium_tap::Direction;
use actinium_wire::Encoding;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tokio::time::timeout;

/// Answers a request that was let in.
pub(crate) async fn answer<A: Served>(
    endpoint: &Arc<Endpoint<A>>,
    client: &Client,
    headers: &HeaderMap,
    body: Body,
) -> Response {
    let (asked, answered) = match encodings(headers) {
        Ok(found) => found,
        Err(fault) => return fault.response(Encoding::Text),
    };
    let step = traced::begin(endpoint, "POST", traced::parent(endpoint, headers));
    let exchanged = step.run(exchange(endpoint, client, asked, body)).await;
    step.end(exchanged.as_ref().err().map(|fault| fault.to_string().into()));
    match exchanged {
        Ok(None) => StatusCode::ACCEPTED.into_response(),
        Ok(Some((message, id))) => {
            let mut bytes = Vec::new();
            match answered.encode(&message, &mut bytes) {
                Ok(()) => {
                    if endpoint.config.taps.is_on() {
                        endpoint.show(Direction::Out, (client, id), answered, &bytes);
                    }
                    let kind = content_type(answered).unwrap_or("application/json");
                    ([(header::CONTENT_TYPE, kind)], bytes).into_response()
                }
                Err(error) => Fault::new(Code::Encode, error).response(answered),
            }
        }
        Err(fault) => fault.response(answered),
    }
}

/// Returns the encodings of the request and of the answer.
fn encodings(headers: &HeaderMap) -> Result<(Encoding, Encoding), Fault> {
    let known = |name: HeaderName| {
        headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let unknown = |what, found: &str| {
        let problem = format!("{what} '{found}': allowed are {}", content_types());
        Fault::new(Code::Encoding, problem)
    };
    let kind = known(header::CONTENT_TYPE).unwrap_or_default();
    let asked = of_content_type(&kind).ok_or_else(|| unknown("content type", &kind))?;
    let answered = match known(header::ACCEPT) {
        None => asked,
        Some(accept) => of_accept(&accept, asked).ok_or_else(|| unknown("accept", &accept))?,
    };
    Ok((asked, answered))
}

async fn exchange<A: Served>(
    endpoint: &Arc<Endpoint<A>>,
    client: &Client,
    encoding: Encoding,
    body: Body,
) -> Result<Option<(A::Talk, PeerId)>, Fault> {
    let limits = endpoint.config.limits;
    let now = clock::now();
    if let Some(at) = client.rate.wait(now) {
        let wait = at - now;
        return Err(Fault::new(
            Code::Rate,
            format!("too many messages of this client: the next may come in {wait:?}"),
        ));
    }
    client.rate.take(now);
    let read = timeout(limits.silence, to_bytes(body, limits.message_bytes)).await;
    let late = || Fault::new(Code::Late, format!("expected the body within {:?}", limits.silence));
    let bytes =
        read.map_err(|_| late())?.map_err(|error| match error.to_string().contains("limit") {
            true => Fault::new(
                Code::TooLong,
                format!("expected at most {} bytes", limits.message_bytes),
            ),
            false => Fault::new(Code::Decode, format!("the body ended too early: {error}")),
        })?;
    let decoded = encoding.decode(&bytes, &limits.wire());
    let message = decoded.map_err(|error| Fault::new(Code::Decode, error))?;
    let talk = Conversation::<A::Talk>::new(client.identity.clone(), limits.queued);
    if endpoint.config.taps.is_on() {
        endpoint.show(Direction::In, (client, talk.id), encoding, &bytes);
    }
    /// Closes the conversation when dropped, so that whoever says something to a client that has
    /// gone hears of it.
    struct Closing<'a, M: actinium_wire::protocol::Spoken>(&'a Conversation<M>);
    impl<M: actinium_wire::protocol::Spoken> Drop for Closing<'_, M> {
        fn drop(&mut self) {
            self.0.close();
        }
    }
    let _closing = Closing(&talk);
    let call = Call::hear(&talk, message)?;
    let state = talk.state();
    let within = state.within.filter(|_| state.asked).unwrap_or(limits.answer);
    let answer = async {
        let sent = endpoint.address.send_async(A::heard(call)).await;
        sent.map_err(|_| Fault::new(Code::Gone, "the actor has ended"))?;
        if !state.asked {
            return Ok(None);
        }
        loop {
            if let Some(message) = talk.next_out() {
                return Ok(Some((message, talk.id)));
            }
            if talk.is_unanswered() {
                let problem =
                    format!("state '{}': the actor has dropped it without an answer", state.name);
                return Err(Fault::new(Code::NoAnswer, problem));
            }
            talk.work.notified().await;
        }
    };
    let late = |_| {
        let problem =
            format!("state '{}': the actor has not answered within {within:?}", state.name);
        Fault::new(Code::AnswerLate, problem)
    };
    timeout(within, answer).await.map_err(late)?
}
