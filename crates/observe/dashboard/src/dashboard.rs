//! What is served: one system, or several nodes.

use crate::admission::Admission;
use crate::error::DashboardError;
use crate::local::Local;
use crate::remote::Remote;
use crate::routes::{Shared, router};
use crate::source::Source;
use actinium_actor::SystemHandle;
use actinium_gateway::{Gateway, Tls};
use actinium_metrics::Metrics;
use actinium_monitor::flight_router;
use axum::Router;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

/// How long the end waits for clients that do not read.
const SILENCE: Duration = Duration::from_secs(2);

/// A live page to be.
///
/// ```
/// use actinium_actor::System;
/// use actinium_dashboard::Dashboard;
///
/// let system = System::builder().workers(1).build()?;
/// let serving = Dashboard::new(&system).token("a long secret").serve("127.0.0.1:0")?;
/// println!("http://{}/?token=a%20long%20secret", serving.address());
/// serving.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Dashboard {
    what: What,
    admission: Admission,
    metrics: Option<Metrics>,
    tls: Option<Tls>,
    node_token: Option<String>,
}

enum What {
    System(SystemHandle),
    Nodes(Vec<String>),
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Dashboard");
        match &self.what {
            What::System(system) => all.field("system", system),
            What::Nodes(nodes) => all.field("nodes", nodes),
        };
        all.finish_non_exhaustive()
    }
}

impl Dashboard {
    /// Shows this system, and serves its figures at `/metrics`. `actinium explain ADDR` says in
    /// words what is wrong with it.
    #[must_use]
    pub fn new(system: &SystemHandle) -> Self {
        Dashboard {
            what: What::System(system.clone()),
            admission: Admission::default(),
            metrics: Some(Metrics::new(system)),
            tls: None,
            node_token: None,
        }
    }

    /// Shows the nodes whose own live pages are at these addresses, in one view. One that is down
    /// is shown as such, and comes back.
    #[must_use]
    pub fn of_nodes(addresses: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let nodes = addresses.into_iter().map(Into::into).collect();
        Dashboard {
            what: What::Nodes(nodes),
            admission: Admission::default(),
            metrics: None,
            tls: None,
            node_token: None,
        }
    }

    /// Asks for this token: as `Authorization: Bearer TOKEN`, or in a browser by a form, or by
    /// `?token=TOKEN`, which becomes a cookie. Whoever reads the network reads it, too, unless the
    /// connection is encrypted.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.admission.token = Some(token.into());
        self
    }

    /// Shows this token to the nodes.
    #[must_use]
    pub fn node_token(mut self, token: impl Into<String>) -> Self {
        self.node_token = Some(token.into());
        self
    }

    /// A further name of this machine, by which browsers may ask without a token, besides
    /// `localhost` and loopback addresses: what a proxy on this machine is called, for instance.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>) -> Self {
        self.admission.hosts.push(name.into());
        self
    }

    /// Serves these figures at `/metrics`, instead of the system's without the program's own.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Encrypted connections only.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Routes for a server of the program's own. They ask for the token, if there is one, and serve
    /// the page at `/`. The server has to bound connections, and must not nest them below a path.
    ///
    /// # Errors
    /// If there is no node, the token is empty, or there can be no more threads.
    pub fn router(self) -> Result<Router, DashboardError> {
        self.routes().map(|(router, _)| router)
    }

    fn routes(self) -> Result<(Router, Arc<Shared>), DashboardError> {
        let token = self.admission.token.as_deref();
        if token
            .is_some_and(|it| it.trim() != it || it.is_empty() || it.chars().any(char::is_control))
        {
            let problem = "the token: expected some characters, without spaces at either end";
            return Err(DashboardError::Config(problem.to_owned()));
        }
        let mut more = self.metrics.map_or_else(Router::new, Metrics::router);
        if let What::System(system) = &self.what {
            more = more.merge(flight_router(system));
        }
        let sources: Vec<Box<dyn Source>> = match self.what {
            What::System(system) => vec![Box::new(Local::new(&system))],
            What::Nodes(nodes) if nodes.is_empty() => {
                return Err(DashboardError::Config("no node: expected an address".to_owned()));
            }
            What::Nodes(nodes) => {
                let remote = |address| -> Result<Box<dyn Source>, DashboardError> {
                    let remote = Remote::new(address, self.node_token.clone());
                    Ok(Box::new(remote.map_err(DashboardError::Thread)?))
                };
                nodes.into_iter().map(remote).collect::<Result<_, _>>()?
            }
        };
        let shared = Arc::new(Shared::new(sources.into()).map_err(DashboardError::Thread)?);
        Ok((router(shared.clone(), more, self.admission), shared))
    }

    /// Serves it at this address, on threads of its own, until what is returned is dropped.
    ///
    /// # Errors
    /// If others than this machine reach the address and no token is asked for, if it can not be
    /// listened at, or as [`router`](Self::router).
    pub fn serve(mut self, address: impl Into<String>) -> Result<Serving, DashboardError> {
        let text = address.into();
        let found = text.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let addresses: Vec<SocketAddr> =
            found.map_err(|cause| DashboardError::Address { text: text.clone(), cause })?;
        let open = addresses.iter().find(|it| !it.ip().to_canonical().is_loopback());
        if let (Some(&address), None) = (open, &self.admission.token) {
            return Err(DashboardError::Open { address });
        }
        let mut builder = Gateway::builder();
        builder =
            builder.limits(actinium_gateway::Limits { silence: SILENCE, ..Default::default() });
        if let Some(tls) = self.tls.take() {
            builder = builder.tls(tls);
        }
        let (router, shared) = self.routes()?;
        let gateway =
            builder.routes(router).start(&addresses[..]).map_err(DashboardError::Gateway)?;
        Ok(Serving { shared, gateway })
    }
}

/// A live page that is served. It ends when this is dropped.
pub struct Serving {
    shared: Arc<Shared>,
    gateway: Gateway,
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("gateway", &self.gateway).finish_non_exhaustive()
    }
}

impl Serving {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.gateway.address()
    }

    /// Ends. It waits two seconds at most for clients that do not read.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Before the gateway waits for its clients: they are told that there is no more.
        self.shared.frames.end();
    }
}
