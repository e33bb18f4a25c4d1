//! The server: what is served where, and the threads that do it.

use crate::admission::{Admission, offered};
use crate::clock;
use crate::conversation::Conversation;
use crate::encodings::{of_subprotocols, subprotocols};
use crate::endpoint::{Client, Config, Connection, Endpoint, Standing, stopped};
use crate::fault::{Code, Fault};
use crate::limits::Limits;
use crate::rates::Rates;
use crate::served::Served;
use crate::strangers::{GatewayStats, Place, Stranger, Strangers};
use crate::tls::Tls;
use crate::{post, socket, traced};
use actinium_actor::Address;
use actinium_tap::{Tap, TapFilter, TapPoint};
use actinium_wire::{Description, Encoding};
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use futures_util::FutureExt;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls_pki_types::CertificateDer;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::{fmt, io, thread};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::time::{timeout, timeout_at};
use tokio_rustls::TlsAcceptor;

/// A gateway that is not configured as it can be.
#[derive(Debug)]
#[non_exhaustive]
pub enum GatewayError {
    /// The settings make no sense.
    Config(String),
    /// The address can not be listened at.
    Listen {
        /// The address.
        address: String,
        /// The operating system's error.
        error: io::Error,
    },
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GatewayError::Config(problem) => write!(f, "gateway: {problem}"),
            GatewayError::Listen { address, error } => {
                write!(f, "gateway: can not listen at {address}: {error}")
            }
        }
    }
}

impl std::error::Error for GatewayError {}

type Add = Box<dyn FnOnce(Router, &Arc<Config>) -> Router + Send>;

/// A gateway to be.
pub struct Builder {
    endpoints: Vec<Add>,
    names: BTreeSet<String>,
    routes: Option<Router>,
    admission: Admission,
    limits: Limits,
    tls: Option<Tls>,
    threads: usize,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("names", &self.names)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Serves an actor at `/NAME`, and keeps it alive.
    ///
    /// # Errors
    /// If the name is taken, or has other characters than letters, digits, `-`, `_` and `.`.
    pub fn serve<A: Served>(
        mut self,
        name: &str,
        actor: &Address<A>,
    ) -> Result<Self, GatewayError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            let problem = format!(
                "name '{name}': allowed are letters, digits, '-', '_' and '.', one or more"
            );
            return Err(GatewayError::Config(problem));
        }
        if !self.names.insert(name.to_owned()) {
            return Err(GatewayError::Config(format!("name '{name}': it is taken")));
        }
        let (path, address) = (format!("/{name}"), actor.clone());
        self.endpoints.push(Box::new(move |router, config| {
            let endpoint = Arc::new(Endpoint { address, config: config.clone() });
            router.route(&path, get(enter::<A>).post(send::<A>).with_state(endpoint))
        }));
        Ok(self)
    }

    /// Serves these routes of axum, too, for instance pages of the program's own: to whom it lets
    /// in, within its limits of connections. What an actor is served at comes first. Called again,
    /// it replaces the routes.
    #[must_use]
    pub fn routes(mut self, routes: Router) -> Self {
        self.routes = Some(routes);
        self
    }

    /// Only who has this token, or another one that is named here, is let in.
    #[must_use]
    pub fn token(mut self, name: &str, token: &str) -> Self {
        self.admission.tokens.push((name.to_owned(), token.to_owned()));
        self
    }

    /// Web pages from here (`https://shop.example`) may use it. Without any, no web page may; what
    /// is no web page is not asked.
    #[must_use]
    pub fn origin(mut self, origin: &str) -> Self {
        self.admission.origins.push(origin.to_owned());
        self
    }

    /// Bounds for each connection.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Encrypted connections only.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the number of threads for sockets, which is 1 if this is not called.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Listens, on threads of its own.
    ///
    /// # Errors
    /// If nothing is served, a setting makes no sense, or the address can not be listened at.
    pub fn start(
        mut self,
        address: impl ToSocketAddrs + fmt::Debug,
    ) -> Result<Gateway, GatewayError> {
        self.check()?;
        let failed = |error| GatewayError::Listen { address: format!("{address:?}"), error };
        let listener = TcpListener::bind(&address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(self.threads)
            .thread_name("gateway")
            .enable_all()
            .build()
            .map_err(failed)?;
        let (stop, stopping) = watch::channel(false);
        let tls = self.tls.take().map(|tls| TlsAcceptor::from(tls.config));
        let (router, config) = self.router(stopping, &format!("gateway {address}"));
        let shared = config.clone();
        let serving = thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            runtime.block_on(listen(listener, tls, router, shared));
        });
        Ok(Gateway { address, stop, config, serving: Some(serving.map_err(failed)?) })
    }

    fn check(&self) -> Result<(), GatewayError> {
        self.limits.check().map_err(GatewayError::Config)?;
        if self.names.is_empty() && self.routes.is_none() {
            let problem = "nothing is served: expected an actor, or routes";
            return Err(GatewayError::Config(problem.to_owned()));
        }
        if self.threads == 0 {
            return Err(GatewayError::Config("threads: expected 1 or more, found 0".to_owned()));
        }
        if let Some((name, _)) = self.admission.tokens.iter().find(|(_, token)| token.is_empty()) {
            return Err(GatewayError::Config(format!(
                "token '{name}': expected some characters, found none"
            )));
        }
        Ok(())
    }

    pub(crate) fn router(
        self,
        stopping: watch::Receiver<bool>,
        name: &str,
    ) -> (Router, Arc<Config>) {
        let limits = self.limits;
        let most = u32::try_from(limits.connections).unwrap_or(u32::MAX) as usize;
        let config = Arc::new(Config {
            limits,
            stopping,
            admission: self.admission,
            strangers: Strangers::new(&limits),
            rates: Rates::new(&limits),
            places: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            taps: TapPoint::new(name),
        });
        let router =
            self.endpoints.into_iter().fold(Router::new(), |router, add| add(router, &config));
        let names: Vec<String> = self.names.iter().map(|name| format!("/{name}")).collect();
        let unknown = format!("nothing is served here: allowed are {}", names.join(", "));
        let router = match self.routes {
            Some(routes) => router.fallback_service(routes),
            None => router.fallback(move || async move { (StatusCode::NOT_FOUND, unknown) }),
        };
        // Around the whole router: what it says by itself (405, and what is allowed) is no matter
        // of strangers.
        let border = middleware::from_fn_with_state(config.clone(), border);
        (Router::new().fallback_service(router).layer(border), config)
    }
}

async fn listen(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    config: Arc<Config>,
) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let most = u32::try_from(config.places.available_permits()).unwrap_or(u32::MAX);
    let mut stopping = config.stopping.clone();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopped(&mut stopping) => break,
            accepted = accept(&listener) => accepted,
        };
        // What went wrong with one connection is the client's matter; without a descriptor we wait
        // for one.
        let Some((stream, from)) = accepted else { continue };
        let (tls, router, config) = (tls.clone(), router.clone(), config.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            serve(stream, from, tls, router, config).await;
        });
    }
    drop(listener);
    // All places are free when all who were let in have ended; they have been told.
    let _ = timeout(config.limits.silence, config.places.acquire_many(most)).await;
}

async fn accept(listener: &tokio::net::TcpListener) -> Option<(tokio::net::TcpStream, IpAddr)> {
    match listener.accept().await {
        Ok((stream, from)) => Some((stream, from.ip())),
        Err(_) => {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            None
        }
    }
}

/// Serves a connection to its end, which comes soon if it is not let in.
pub(crate) async fn serve<S>(
    stream: S,
    from: IpAddr,
    tls: Option<TlsAcceptor>,
    router: Router,
    config: Arc<Config>,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    // Who is one too many is closed without a word.
    let Some((stranger, displaced)) = config.strangers.enter(from) else { return };
    let until = clock::after(clock::now(), config.limits.admission);
    let serving = async {
        match tls {
            None => talk(stream, from, None, stranger, router, &config).await,
            Some(tls) => {
                let Ok(stream) = tls.accept(stream).await else { return };
                let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                let certificate = shown.map(|one| one.clone().into_owned());
                talk(stream, from, certificate, stranger, router, &config).await;
            }
        }
    };
    let over = async {
        match timeout_at(until, displaced).await {
            // For a newer one.
            Ok(Ok(())) => {}
            Ok(Err(_)) => std::future::pending().await,
            Err(_) => config.strangers.was_late(),
        }
    };
    tokio::select! {
        biased;
        () = serving => {}
        () = over => {}
    }
}

async fn talk<S>(
    stream: S,
    from: IpAddr,
    certificate: Option<CertificateDer<'static>>,
    stranger: Stranger,
    router: Router,
    config: &Arc<Config>,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let standing = tokio::sync::Mutex::new(Standing::Stranger(Some(stranger)));
    let connection = Arc::new(Connection { from, certificate, standing });
    let service = TowerToHyperService::new(router.layer(Extension(connection)));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(config.limits.silence.min(clock::NEVER))
        .max_buf_size(config.limits.head_bytes);
    let serving = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut serving = std::pin::pin!(serving);
    let mut stopping = config.stopping.clone();
    let _ = tokio::select! {
        served = serving.as_mut() => served,
        () = stopped(&mut stopping) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
}

/// Before anything is said of what is served here: who asks, whether a page may, whether there is a
/// place. Behind it, what the program's own code does is caught.
async fn border(
    State(config): State<Arc<Config>>,
    Extension(connection): Extension<Arc<Connection>>,
    mut request: Request,
    next: middleware::Next,
) -> Response {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let admitted = config.admission.admit(&headers, connection.certificate.as_ref());
    let mut response = match (method == Method::OPTIONS, admitted) {
        (true, _) => preflight(&config, &headers),
        (false, Err(fault)) => {
            let mut response = fault.response(Encoding::Text);
            // One attempt for each connection.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
            response
        }
        (false, Ok(identity)) => {
            connection.admit(&config).await;
            let place = Place::of(connection.from);
            let rate = config.rates.of(place, &identity, clock::now());
            request.extensions_mut().insert(Client { identity, rate, connection });
            let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
            answered.unwrap_or_else(|panic| {
                // What a panic brings along may panic when it is dropped, too.
                std::mem::forget(panic);
                Fault::panicked().response(Encoding::Text)
            })
        }
    };
    // The browser is told which web page may read the answer.
    if let Ok(Some(origin)) = config.admission.origin(&headers) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    if method != Method::GET {
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// Somebody comes by GET: a WebSocket, or to learn what can be said.
async fn enter<A: Served>(
    State(endpoint): State<Arc<Endpoint<A>>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let Ok(mut upgrade) = upgrade else {
        // Who wants no WebSocket is told what can be said.
        let mut text = Vec::new();
        return match Encoding::Text.encode(&Description::of::<A::Talk>(), &mut text) {
            Ok(()) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
            Err(error) => Fault::new(Code::Encode, error).response(Encoding::Text),
        };
    };
    let mut all = offered(&headers).peekable();
    // Who offers nothing is somebody at a console.
    let encoding = match all.peek() {
        None => Encoding::Text,
        Some(_) => match of_subprotocols::<A::Talk>(all) {
            Some((encoding, name)) => {
                if let Ok(name) = HeaderValue::try_from(name) {
                    upgrade.set_selected_protocol(name);
                }
                encoding
            }
            None => {
                let found: Vec<&str> = offered(&headers).collect();
                let allowed = subprotocols::<A::Talk>();
                let problem = format!("subprotocols {}: allowed are {allowed}", found.join(", "));
                return Fault::new(Code::Encoding, problem).response(Encoding::Text);
            }
        },
    };
    let limits = endpoint.config.limits;
    let parent = traced::parent(&endpoint, &headers);
    let talk = Conversation::new(client.identity.clone(), limits.queued);
    upgrade.max_message_size(limits.message_bytes).max_frame_size(limits.message_bytes).on_upgrade(
        move |socket| socket::converse(socket, endpoint, client, talk, encoding, parent),
    )
}

/// Somebody comes by POST.
async fn send<A: Served>(
    State(endpoint): State<Arc<Endpoint<A>>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    post::answer(&endpoint, &client, &headers, body).await
}

/// A browser asks whether a web page may, wherever: it sends no token along, and does not learn
/// what is there.
fn preflight(config: &Config, headers: &HeaderMap) -> Response {
    match config.admission.origin(headers) {
        Ok(_) => {
            let allowed = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
                (
                    header::ACCESS_CONTROL_ALLOW_HEADERS,
                    "accept, authorization, content-type, traceparent",
                ),
                (header::ACCESS_CONTROL_MAX_AGE, "600"),
            ];
            (StatusCode::NO_CONTENT, allowed).into_response()
        }
        Err(fault) => fault.response(Encoding::Text),
    }
}

/// A gateway that listens. It stops when this is dropped.
pub struct Gateway {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    config: Arc<Config>,
    serving: Option<JoinHandle<()>>,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway to be: without tokens, for no web pages, with the default limits.
    #[must_use]
    pub fn builder() -> Builder {
        Builder {
            endpoints: Vec::new(),
            names: BTreeSet::new(),
            routes: None,
            admission: Admission::default(),
            limits: Limits::default(),
            tls: None,
            threads: 1,
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns counters of connections.
    #[must_use]
    pub fn stats(&self) -> GatewayStats {
        GatewayStats { remembered: self.config.rates.len(), ..self.config.strangers.stats() }
    }

    /// Looks at the messages of its clients from now on, as they come and go: by WebSocket and by
    /// POST. Each client is a peer called `client NUMBER WHO ADDRESS`.
    ///
    /// ```no_run
    /// use actinium_gateway::Gateway;
    /// use actinium_tap::TapFilter;
    /// # fn gateway() -> Gateway { panic!("one of the program's") }
    ///
    /// let gateway: Gateway = gateway();
    /// let mut tap = gateway.tap(TapFilter::new().sample(100));
    /// while let Some(message) = tap.next_within(std::time::Duration::from_secs(60)) {
    ///     println!("{message}");
    /// }
    /// ```
    #[must_use]
    pub fn tap(&self, filter: TapFilter) -> Tap {
        self.config.taps.open(filter)
    }

    /// Listens no more, tells those who are connected, and waits until they have been told.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It listens as long as this is there.
        let _ = self.stop.send(true);
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}
