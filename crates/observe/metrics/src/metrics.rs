//! What is served, and where.

use crate::health::Health;
use crate::system::SystemFigures;
use crate::text::{OPENMETRICS, PLAIN, plain, takes_openmetrics};
use actinium_actor::SystemHandle;
use actinium_gateway::{Gateway, GatewayError};
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::log;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;
use std::fmt;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::Duration;

/// The types of actors that are named unless the program says otherwise.
const TYPES: usize = 50;
/// How long a turn may last unless the program says otherwise.
const TURN: Duration = Duration::from_secs(30);
/// What stands at the end of the text.
const END: &str = "# EOF\n";

type Check = Guarded<Box<dyn Fn() -> Result<(), String> + Send + Sync>>;

/// The figures of a system for Prometheus, with those of the program's own.
///
/// ```
/// use actinium_actor::System;
/// use actinium_metrics::Metrics;
/// use actinium_metrics::prometheus_client::metrics::counter::Counter;
/// use actinium_metrics::prometheus_client::registry::Registry;
///
/// let orders = Counter::<u64>::default();
/// let mut own = Registry::default();
/// own.register("shop_orders", "Orders taken", orders.clone());
///
/// let system = System::builder().workers(1).build()?;
/// let metrics = Metrics::new(&system).registry(own);
/// orders.inc();
/// let text = metrics.text();
/// assert!(text.contains("shop_orders_total 1"));
/// assert!(text.contains("actinium_workers 1"));
/// # Ok::<(), actinium_actor::BuildError>(())
/// ```
pub struct Metrics {
    system: SystemHandle,
    figures: Registry,
    registries: Vec<Guarded<Registry>>,
    #[cfg(feature = "events")]
    graphs: crate::graphs::Graphs,
    #[cfg(feature = "cluster")]
    nodes: crate::nodes::Nodes,
    turn: Duration,
    ready: Vec<Check>,
    health: Health,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("turn", &self.turn).finish_non_exhaustive()
    }
}

impl Metrics {
    /// The figures of this system and its process.
    #[must_use]
    pub fn new(system: &SystemHandle) -> Self {
        Metrics {
            system: system.clone(),
            figures: figures(system, TYPES),
            registries: Vec::new(),
            #[cfg(feature = "events")]
            graphs: crate::graphs::Graphs::default(),
            #[cfg(feature = "cluster")]
            nodes: crate::nodes::Nodes::default(),
            turn: TURN,
            ready: Vec::new(),
            health: Health::default(),
        }
    }

    /// Adds figures of the program's own. A name must not stand in two registries. A registry with
    /// a collector that fails or panics is left out of that scrape, and the log says so.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registries.push(Guarded::new(registry));
        self
    }

    /// Names at most so many types of actors: those with most actors at the first scrape, and then
    /// whatever comes. All others are `other`. Default: 50. With 0, no scrape walks over the actors
    /// (see [`SystemHandle::actor_types`]).
    #[must_use]
    pub fn types(mut self, most: usize) -> Self {
        self.figures = figures(&self.system, most);
        self
    }

    /// Adds the figures of a graph, with this name as the label `graph`: a name for each graph.
    #[cfg(feature = "events")]
    #[must_use]
    pub fn graph(mut self, name: &str, monitor: &actinium_events::Monitor) -> Self {
        self.graphs.0.push((name.to_owned(), monitor.clone()));
        self
    }

    /// Adds the figures of a node and its links, with the labels `node` and `peer`: the numbers of
    /// the nodes.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn node(mut self, node: &actinium_cluster::NodeHandle) -> Self {
        self.nodes.0.push(node.clone());
        self
    }

    /// The figures of graphs and nodes.
    fn parts(&self) -> Registry {
        #[allow(unused_mut, reason = "without any of these features there are none")]
        let mut registry = Registry::default();
        #[cfg(feature = "events")]
        registry.register_collector(Box::new(self.graphs.clone()));
        #[cfg(feature = "cluster")]
        registry.register_collector(Box::new(self.nodes.clone()));
        registry
    }

    /// Takes a worker for stuck that has been in one turn for so long. Default: 30 s. It is noticed
    /// by comparing one question for `/healthz` with the next.
    #[must_use]
    pub fn longest_turn(mut self, limit: Duration) -> Self {
        self.turn = limit;
        self
    }

    /// Takes the program for ready only if this says so; the error is told to who asks. It is
    /// called at each question for `/readyz`; if it panics, the program is not ready.
    #[must_use]
    pub fn ready_if(
        mut self,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.ready.push(Guarded::new(Box::new(check)));
        self
    }

    /// The figures in OpenMetrics' text format.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let parts = self.parts();
        let registries =
            [&self.figures, &parts].into_iter().chain(self.registries.iter().map(|it| &**it));
        for registry in registries {
            let mut part = String::new();
            match guard::catch(|| encode(&mut part, registry)) {
                // Each ends with the mark of the end, and there is to be one.
                Ok(Ok(())) => text.push_str(part.trim_end_matches(END)),
                Ok(Err(_)) => {
                    log!(Error, {}, "a collector of metrics failed: its registry is left out")
                }
                Err(panicked) => {
                    let why = panicked.message();
                    log!(
                        Error,
                        {},
                        "a collector of metrics panicked, its registry is left out: {why}"
                    );
                }
            }
        }
        text + END
    }

    /// Routes for a server of the program's own: `/metrics`, `/healthz` and `/readyz`. With
    /// [`actinium_gateway::Builder::routes`], the gateway asks for a token, or encrypts:
    ///
    /// ```
    /// use actinium_actor::System;
    /// use actinium_gateway::Gateway;
    /// use actinium_metrics::Metrics;
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let routes = Metrics::new(&system).router();
    /// let gateway = Gateway::builder().routes(routes).token("scraper", "secret");
    /// let gateway = gateway.start("127.0.0.1:0")?;
    /// # gateway.stop();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn router(self) -> Router {
        Router::new()
            .route("/metrics", get(metrics))
            .route("/healthz", get(healthz))
            .route("/readyz", get(readyz))
            .with_state(Arc::new(self))
    }

    /// Serves them at this address, on a thread of its own, until what is returned is dropped.
    ///
    /// # Errors
    /// If the address can not be listened at: the error names it.
    pub fn serve(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<Gateway, GatewayError> {
        Gateway::builder().routes(self.router()).start(address)
    }

    fn is_ready(&self) -> Result<(), String> {
        if self.system.is_ending() {
            return Err("the system ends".to_owned());
        }
        let ask = |check: &Check| {
            guard::catch(&**check).unwrap_or_else(|panicked| {
                Err(format!("the check whether it is ready panicked: {}", panicked.message()))
            })
        };
        self.ready.iter().try_for_each(ask)
    }
}

/// A registry with the figures of a system.
fn figures(system: &SystemHandle, types: usize) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(SystemFigures::new(system.clone(), types)));
    registry
}

async fn metrics(State(metrics): State<Arc<Metrics>>, headers: HeaderMap) -> Response {
    let accept = headers.get_all(header::ACCEPT).into_iter().filter_map(|it| it.to_str().ok());
    let (kind, text) = match accept.into_iter().any(takes_openmetrics) {
        true => (OPENMETRICS, metrics.text()),
        false => (PLAIN, plain(&metrics.text())),
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

async fn healthz(State(metrics): State<Arc<Metrics>>) -> Response {
    let stuck = metrics.health.stuck(&metrics.system, metrics.turn);
    if stuck.is_empty() {
        return "ok\n".into_response();
    }
    let stuck = stuck.into_iter().map(|it| {
        let actor = it.occupied.and_then(|it| it.actor);
        json!({
            "worker": it.worker,
            "in_one_turn_for_s": it.since.as_secs(),
            "actor": actor.map(|(id, _)| id.to_string()),
            "type": actor.map(|(_, kind)| kind),
        })
    });
    let stuck = json!({ "stuck": stuck.collect::<Vec<_>>() });
    let json = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::SERVICE_UNAVAILABLE, json, stuck.to_string()).into_response()
}

async fn readyz(State(metrics): State<Arc<Metrics>>) -> Response {
    match metrics.is_ready() {
        Ok(()) => "ready\n".into_response(),
        Err(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")).into_response()
        }
    }
}
