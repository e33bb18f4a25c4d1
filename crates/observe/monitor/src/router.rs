//! The last seconds of a system, over HTTP.

use crate::flight::{FLIGHT_PATH, FlightError, FlightRecorder};
use actinium_actor::SystemHandle;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// Routes for a server of the program's own, such as a gateway's: `/api/flight` answers with the
/// last seconds of the system, as [`Flight`](crate::Flight) in JSON. `actinium explain ADDRESS`
/// asks for that.
///
/// The system's recorder serves them, or one in memory that begins now. Whoever reaches the route
/// sees the names of types, and the program's arguments: ask for a token where others may.
///
/// ```
/// use actinium_actor::System;
/// use actinium_monitor::flight_router;
///
/// let system = System::builder().workers(1).build()?;
/// let routes = axum::Router::new().merge(flight_router(&system)?);
/// // .. axum::serve(listener, routes), or a gateway's `routes` ..
/// # drop(routes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a recorder can not be started: there can be no more threads.
pub fn flight_router(system: &SystemHandle) -> Result<Router, FlightError> {
    let recorder = FlightRecorder::of_or_in_memory(system)?;
    Ok(Router::new().route(FLIGHT_PATH, get(flight)).with_state(recorder))
}

async fn flight(State(recorder): State<FlightRecorder>) -> Response {
    // It waits for the recorder's thread, and writes much text: not on the server's.
    let made = blocking::unblock(move || {
        let flight = recorder.flight("it was asked for over HTTP");
        flight.map(|flight| serde_json::to_vec(&flight))
    });
    match made.await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Ok(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}
