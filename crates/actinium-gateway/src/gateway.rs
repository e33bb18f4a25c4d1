//! The server: what is served where, and the threads that do it.

use crate::admission::{Admission, offered};
use crate::clock;
use crate::conversation::Conversation;
use crate::encodings::{of_subprotocols, subprotocols};
use crate::fault::{Code, Fault};
use crate::limits::{Bucket, Limits};
use crate::served::Served;
use crate::tls::Tls;
use crate::{post, socket};
use actinium_actor::Address;
use actinium_wire::{Description, Encoding};
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls_pki_types::CertificateDer;
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::{fmt, io, thread};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;

/// An actor that is served, and the rules.
pub(crate) struct Door<A: Served> {
    pub(crate) address: Address<A>,
    pub(crate) config: Arc<Config>,
}

/// What all doors share.
pub(crate) struct Config {
    pub(crate) limits: Limits,
    pub(crate) stopping: watch::Receiver<bool>,
    admission: Admission,
}

/// A TCP connection.
pub(crate) struct Connection {
    certificate: Option<CertificateDer<'static>>,
    bucket: Mutex<Bucket>,
    /// Free again when the connection has ended, and the WebSocket that has taken it over.
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// When its next message may come; none: now.
    pub(crate) fn wait(&self, now: Instant) -> Option<Instant> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner).wait(now)
    }

    /// A message has come.
    pub(crate) fn take(&self, now: Instant) {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(now);
    }
}

/// A gateway that is not configured as it can be.
#[derive(Debug)]
#[non_exhaustive]
pub enum GatewayError {
    /// What was asked for makes no sense.
    Config(String),
    /// The address can not be listened at.
    Listen {
        /// Which.
        address: String,
        /// Why.
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
    doors: Vec<Add>,
    names: BTreeSet<String>,
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
        self.doors.push(Box::new(move |router, config| {
            let door = Arc::new(Door { address, config: config.clone() });
            router.route(
                &path,
                get(enter::<A>).post(send::<A>).options(preflight::<A>).with_state(door),
            )
        }));
        Ok(self)
    }

    /// Only who has this token, or another one that is named here, is let in.
    #[must_use]
    pub fn token(mut self, name: &str, token: &str) -> Self {
        self.admission.tokens.push((name.to_owned(), token.to_owned()));
        self
    }

    /// Web pages from here (`https://shop.example`) may use it. Without any, no web page may; what is no web page is not asked.
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

    /// How many threads the gateway has for its sockets; 1 if this is not called.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Listens, on threads of its own.
    ///
    /// # Errors
    /// If nothing is served, a setting makes no sense, or the address can not be listened at.
    pub fn start(self, address: impl ToSocketAddrs + fmt::Debug) -> Result<Gateway, GatewayError> {
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
        let serving = thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            runtime.block_on(self.listen(listener, stopping));
        });
        Ok(Gateway { address, stop, serving: Some(serving.map_err(failed)?) })
    }

    fn check(&self) -> Result<(), GatewayError> {
        self.limits.check().map_err(GatewayError::Config)?;
        if self.names.is_empty() {
            return Err(GatewayError::Config("nothing is served: expected an actor".to_owned()));
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

    pub(crate) fn router(self, stopping: watch::Receiver<bool>) -> (Router, Arc<Config>) {
        let config = Arc::new(Config { limits: self.limits, stopping, admission: self.admission });
        let router = self.doors.into_iter().fold(Router::new(), |router, add| add(router, &config));
        let names: Vec<String> = self.names.iter().map(|name| format!("/{name}")).collect();
        let unknown = format!("nothing is served here: allowed are {}", names.join(", "));
        let router = router.fallback(move || async move { (StatusCode::NOT_FOUND, unknown) });
        (router.layer(middleware::from_fn_with_state(config.clone(), tell_origin)), config)
    }

    async fn listen(mut self, listener: TcpListener, mut stopping: watch::Receiver<bool>) {
        let tls = self.tls.take().map(|tls| TlsAcceptor::from(tls.config));
        let (router, config) = self.router(stopping.clone());
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let most = u32::try_from(config.limits.connections).unwrap_or(u32::MAX);
        let places = Arc::new(Semaphore::new(most as usize));
        loop {
            let accepted = tokio::select! {
                biased;
                () = stopped(&mut stopping) => break,
                accepted = accept(&listener, &places) => accepted,
            };
            // What went wrong with one connection is the client's matter; without a place or a descriptor we wait for one.
            let Some((stream, place)) = accepted else { continue };
            let (tls, router, config) = (tls.clone(), router.clone(), config.clone());
            tokio::spawn(async move {
                let _ = stream.set_nodelay(true);
                match tls {
                    None => serve(stream, None, Some(place), router, config).await,
                    Some(tls) => {
                        let hello = timeout(config.limits.silence, tls.accept(stream)).await;
                        let Ok(Ok(stream)) = hello else { return };
                        let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                        let certificate = shown.map(|one| one.clone().into_owned());
                        serve(stream, certificate, Some(place), router, config).await;
                    }
                }
            });
        }
        drop(listener);
        // All places are free when all connections have ended; they have been told.
        let _ = timeout(config.limits.silence, places.acquire_many(most)).await;
    }
}

/// Waits until the gateway stops.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error would say that the gateway is gone: then it has stopped, too.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

async fn accept(
    listener: &tokio::net::TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(_) => {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            None
        }
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve<S>(
    stream: S,
    certificate: Option<CertificateDer<'static>>,
    place: Option<OwnedSemaphorePermit>,
    router: Router,
    config: Arc<Config>,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let bucket = Mutex::new(Bucket::new(&config.limits, clock::now()));
    let connection = Arc::new(Connection { certificate, bucket, _place: place });
    let service = TowerToHyperService::new(router.layer(Extension(connection)));
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(config.limits.silence);
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

/// Somebody comes by GET: a WebSocket, or to learn what can be said.
async fn enter<A: Served>(
    State(door): State<Arc<Door<A>>>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let identity = match door.config.admission.admit(&headers, connection.certificate.as_ref()) {
        Ok(identity) => identity,
        Err(fault) => return fault.response(Encoding::Text),
    };
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
    let limits = door.config.limits;
    let talk = Conversation::new(identity, limits.queued);
    upgrade
        .max_message_size(limits.message_bytes)
        .max_frame_size(limits.message_bytes)
        .on_upgrade(move |socket| socket::converse(socket, door, connection, talk, encoding))
}

/// Somebody comes by POST.
async fn send<A: Served>(
    State(door): State<Arc<Door<A>>>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    match door.config.admission.admit(&headers, connection.certificate.as_ref()) {
        Ok(identity) => post::answer(&door, &connection, identity, &headers, body).await,
        Err(fault) => fault.response(Encoding::Text),
    }
}

/// A browser asks whether a web page may. It sends no token along.
async fn preflight<A: Served>(State(door): State<Arc<Door<A>>>, headers: HeaderMap) -> Response {
    match door.config.admission.origin(&headers) {
        Ok(_) => {
            let allowed = [
                (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
                (header::ACCESS_CONTROL_ALLOW_HEADERS, "accept, authorization, content-type"),
                (header::ACCESS_CONTROL_MAX_AGE, "600"),
            ];
            (StatusCode::NO_CONTENT, allowed).into_response()
        }
        Err(fault) => fault.response(Encoding::Text),
    }
}

/// Tells the browser which web page may read the answer.
async fn tell_origin(
    State(config): State<Arc<Config>>,
    method: Method,
    headers: HeaderMap,
    request: axum::extract::Request,
    next: middleware::Next,
) -> Response {
    let mut response = next.run(request).await;
    if let Ok(Some(origin)) = config.admission.origin(&headers) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
    if method != Method::GET {
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// A gateway that listens. It stops when this is dropped.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    serving: Option<JoinHandle<()>>,
}

impl Gateway {
    /// A gateway to be: without tokens, for no web pages, with the default limits.
    #[must_use]
    pub fn builder() -> Builder {
        Builder {
            doors: Vec::new(),
            names: BTreeSet::new(),
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
