//! What is answered.

use crate::admission::{Admission, border};
use crate::frames::Frames;
use crate::seats::{SEATS, Seats, events};
use crate::source::{Refusal, Source};
use actinium_monitor::live::ActorsQuery;
use actinium_report::html::COLOURS;
use actinium_scheduler::guard;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Questions that are looked into at once; more wait.
const AT_ONCE: usize = 2;

const PAGE: &str = include_str!("assets/page.html");
/// The other parts of the page. Its scripts are no modules: for those, browsers ask as for pages
/// from elsewhere, which the gateway refuses.
const ASSETS: [(&str, &str, &str); 3] = [
    ("/colours.css", "text/css; charset=utf-8", COLOURS),
    ("/page.css", "text/css; charset=utf-8", include_str!("assets/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", SCRIPT),
];
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("assets/basics.js"),
    include_str!("assets/history.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/machine.js"),
    include_str!("assets/actors.js"),
    include_str!("assets/panes.js"),
    include_str!("assets/page.js"),
    "})();\n",
);

/// What the routes share.
pub(crate) struct Shared {
    pub(crate) sources: Arc<[Box<dyn Source>]>,
    pub(crate) frames: Frames,
    pub(crate) seats: Arc<Seats>,
    pub(crate) places: Semaphore,
}

impl Shared {
    pub(crate) fn new(sources: Arc<[Box<dyn Source>]>) -> std::io::Result<Self> {
        let frames = Frames::start(sources.clone())?;
        Ok(Shared { sources, frames, seats: Arc::default(), places: Semaphore::new(AT_ONCE) })
    }
}

type Ours = State<Arc<Shared>>;

pub(crate) fn router(shared: Arc<Shared>, more: Router, admission: Admission) -> Router {
    let page = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], PAGE);
    let mut router = Router::new().route("/", get(move || async move { page }));
    for (path, kind, text) in ASSETS {
        let asset = ([(header::CONTENT_TYPE, kind)], text);
        router = router.route(path, get(move || async move { asset }));
    }
    router
        .route("/events", get(watch))
        .route("/api/nodes", get(nodes))
        .route("/api/about", get(about))
        .route("/api/snapshot", get(snapshot))
        .route("/api/actors", get(actors))
        .route("/api/actor/{number}", get(actor))
        .route("/api/family", get(family))
        .fallback(nothing)
        .with_state(shared)
        .merge(more)
        .layer(middleware::from_fn_with_state(Arc::new(admission), border))
}

fn answer(status: StatusCode, value: &impl Serialize) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    match serde_json::to_string(value) {
        Ok(text) => (status, json, text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn wrong(status: StatusCode, why: &str) -> Response {
    answer(status, &json!({ "error": why }))
}

async fn nothing() -> Response {
    wrong(StatusCode::NOT_FOUND, "nothing is served here: the page is at /")
}

/// Which node is asked; the first unless said.
#[derive(Debug, Default, Deserialize)]
struct Node {
    #[serde(default)]
    node: usize,
}

/// Asks a source, on a thread that may take its time.
async fn ask<T: Send + 'static>(
    shared: &Arc<Shared>,
    node: usize,
    question: impl FnOnce(&dyn Source) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Response> {
    let nodes = shared.sources.len();
    if node >= nodes {
        let why = format!("node {node}: there are {nodes}, from 0 on");
        return Err(wrong(StatusCode::NOT_FOUND, &why));
    }
    let gone = |what: &str| wrong(StatusCode::INTERNAL_SERVER_ERROR, what);
    let Ok(_place) = shared.places.acquire().await else { return Err(gone("it ends")) };
    let sources = shared.sources.clone();
    let asked = move || guard::catch(|| question(&*sources[node]));
    match tokio::task::spawn_blocking(asked).await {
        Ok(Ok(Ok(found))) => Ok(found),
        Ok(Ok(Err(Refusal::Wrong(why)))) => Err(wrong(StatusCode::BAD_REQUEST, &why)),
        Ok(Ok(Err(Refusal::Missing(why)))) => Err(wrong(StatusCode::NOT_FOUND, &why)),
        Ok(Ok(Err(Refusal::Down(why)))) => Err(wrong(StatusCode::BAD_GATEWAY, &why)),
        Ok(Err(panicked)) => Err(gone(panicked.message())),
        Err(_) => Err(gone("it ends")),
    }
}

async fn asked<T: Serialize + Send + 'static>(
    shared: &Arc<Shared>,
    node: usize,
    question: impl FnOnce(&dyn Source) -> Result<T, Refusal> + Send + 'static,
) -> Response {
    match ask(shared, node, question).await {
        Ok(found) => answer(StatusCode::OK, &found),
        Err(refused) => refused,
    }
}

fn bad_query(rejected: &QueryRejection) -> Response {
    wrong(StatusCode::BAD_REQUEST, &rejected.body_text())
}

async fn watch(State(shared): Ours, node: Result<Query<Node>, QueryRejection>) -> Response {
    let node = match node {
        Ok(Query(Node { node })) => node,
        Err(rejected) => return bad_query(&rejected),
    };
    if node >= shared.sources.len() {
        return wrong(StatusCode::NOT_FOUND, "there is no such node");
    }
    let Some(seat) = shared.seats.take() else {
        let why = format!("{SEATS} are watching, and no more can");
        return wrong(StatusCode::SERVICE_UNAVAILABLE, &why);
    };
    let body = Body::from_stream(events(seat, shared.frames.subscribe(), node));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

async fn nodes(State(shared): Ours) -> Response {
    let sources = shared.sources.clone();
    let look = move || sources.iter().map(|it| it.look().summary).collect::<Vec<_>>();
    asked(&shared, 0, move |_| Ok(look())).await
}

async fn about(State(shared): Ours, node: Result<Query<Node>, QueryRejection>) -> Response {
    let Query(Node { node }) = match node {
        Ok(node) => node,
        Err(rejected) => return bad_query(&rejected),
    };
    // A browser's numbers have 53 bits.
    let about = |source: &dyn Source| {
        let about = source.snapshot()?.about;
        let life = about.life.to_string();
        let mut about = serde_json::to_value(about).unwrap_or_default();
        about["life"] = Value::String(life);
        Ok(about)
    };
    asked(&shared, node, about).await
}

async fn snapshot(State(shared): Ours, node: Result<Query<Node>, QueryRejection>) -> Response {
    match node {
        Ok(Query(Node { node })) => asked(&shared, node, |source| source.snapshot()).await,
        Err(rejected) => bad_query(&rejected),
    }
}

/// [`ActorsQuery`], and of which node.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Actors {
    node: usize,
    sort: Option<String>,
    search: Option<String>,
    kind: Option<String>,
    after: Option<String>,
    take: Option<usize>,
}

async fn actors(State(shared): Ours, query: Result<Query<Actors>, QueryRejection>) -> Response {
    let Query(Actors { node, sort, search, kind, after, take }) = match query {
        Ok(query) => query,
        Err(rejected) => return bad_query(&rejected),
    };
    let query = ActorsQuery { sort, search, kind, after, take };
    asked(&shared, node, move |source| source.actors(&query)).await
}

async fn actor(
    State(shared): Ours,
    number: Result<Path<u64>, PathRejection>,
    node: Result<Query<Node>, QueryRejection>,
) -> Response {
    let number = match number {
        Ok(Path(number)) => number,
        Err(rejected) => return wrong(StatusCode::BAD_REQUEST, &rejected.body_text()),
    };
    let Query(Node { node }) = match node {
        Ok(node) => node,
        Err(rejected) => return bad_query(&rejected),
    };
    asked(&shared, node, move |source| source.actor(number)).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Of {
    node: usize,
    of: Option<u64>,
}

async fn family(State(shared): Ours, of: Result<Query<Of>, QueryRejection>) -> Response {
    match of {
        Ok(Query(Of { node, of })) => asked(&shared, node, move |it| it.family(of)).await,
        Err(rejected) => bad_query(&rejected),
    }
}
