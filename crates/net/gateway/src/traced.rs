//! A client's message as a step of a trace: the one that its header `traceparent` names, or one
//! that begins here.

use crate::endpoint::Endpoint;
use crate::served::Served;
use actinium_actor::SystemHandle;
use actinium_actor::trace::{Step, TraceContext};
use axum::http::HeaderMap;

/// The step that the request came from, as its header says: `None` if nobody traces, or it says
/// nothing that can be read.
pub(crate) fn parent<A: Served>(
    endpoint: &Endpoint<A>,
    headers: &HeaderMap,
) -> Option<TraceContext> {
    let system = SystemHandle::of(&endpoint.address);
    let header = headers.get("traceparent").filter(|_| system.traces())?;
    system.read_traceparent(&String::from_utf8_lossy(header.as_bytes()))
}

/// Begins the step of a message of a client.
pub(crate) fn begin<A: Served>(
    endpoint: &Endpoint<A>,
    way: &str,
    parent: Option<TraceContext>,
) -> Step {
    let system = SystemHandle::of(&endpoint.address);
    let name = if system.traces() {
        format!("{way} {}", std::any::type_name::<A>())
    } else {
        String::new()
    };
    system.begin_span(name, parent)
}
