//! The last seconds of a system, over HTTP.

use crate::flight::{FLIGHT_PATH, FlightError, FlightRecorder, FlightSettings};
use actinium_actor::SystemHandle;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A recorder that begins with a question has seen so much when it answers: most ills are told from
/// two seconds.
const FIRST: Duration = Duration::from_secs(4);

/// Routes for a server of the program's own, such as a gateway's: `/api/flight` answers with the
/// last seconds of the system, as [`Flight`](crate::Flight) in JSON. `actinium explain ADDRESS`
/// asks for that.
///
/// The system's recorder serves them. If it has none, one in memory begins with the first question,
/// which waits for four seconds to see something, and goes on for later ones. Whoever reaches the
/// route sees the names of types, and the program's arguments: ask for a token where others may.
///
/// ```
/// use actinium_actor::System;
/// use actinium_monitor::flight_router;
///
/// let system = System::builder().workers(1).build()?;
/// let routes = axum::Router::new().merge(flight_router(&system));
/// // .. axum::serve(listener, routes), or a gateway's `routes` ..
/// # drop(routes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn flight_router(system: &SystemHandle) -> Router {
    let recorded = Arc::new(Recorded { system: system.clone(), own: Mutex::default() });
    Router::new().route(FLIGHT_PATH, get(flight)).with_state(recorded)
}

/// A system, and the recorder that was begun for questions.
struct Recorded {
    system: SystemHandle,
    own: Mutex<Option<FlightRecorder>>,
}

impl Recorded {
    /// The system's recorder. One that begins now is kept.
    fn recorder(&self) -> Result<FlightRecorder, FlightError> {
        // Held while it waits: who asks meanwhile waits, too.
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(recorder) = FlightRecorder::of(&self.system) {
            return Ok(recorder);
        }
        let begun = FlightRecorder::start(&self.system, FlightSettings::in_memory())?;
        *own = Some(begun.clone());
        thread::park_timeout(FIRST);
        Ok(begun)
    }
}

async fn flight(State(recorded): State<Arc<Recorded>>) -> Response {
    // It waits for the recorder's thread, and writes much text: not on the server's.
    let made = blocking::unblock(move || {
        let flight = recorded.recorder()?.flight("it was asked for over HTTP")?;
        Ok::<_, FlightError>(serde_json::to_vec(&flight))
    });
    match made.await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Ok(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}
