//! Plain state that routes, sockets and requests share: an actor that is served, the rules, a
//! connection and its client.

use crate::admission::{Admission, Identity};
use crate::conversation::PeerId;
use crate::limits::Limits;
use crate::rates::{Rate, Rates};
use crate::served::Served;
use crate::strangers::{Stranger, Strangers};
use actinium_actor::Address;
use actinium_tap::{Direction, Seen, TapPoint};
use actinium_wire::Encoding;
use actinium_wire::Message;
use rustls_pki_types::CertificateDer;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Where somebody comes from that has no address.
#[cfg(any(test, fuzzing))]
pub(crate) const CALLER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// An actor that is served, and the rules.
pub(crate) struct Endpoint<A: Served> {
    pub(crate) address: Address<A>,
    pub(crate) config: Arc<Config>,
}

impl<A: Served> Endpoint<A> {
    /// Shows a message to those who look at the gateway.
    #[cold]
    pub(crate) fn show(
        &self,
        direction: Direction,
        (client, id): (&Client, PeerId),
        encoding: Encoding,
        bytes: &[u8],
    ) {
        let who = match &client.identity {
            Identity::Anybody => "anybody",
            Identity::Token(name) => name,
            Identity::Certificate(_) => "certificate",
        };
        let peer = format!("client {} {who} {}", id.0, client.connection.from);
        let mut seen = Seen::new(direction, &peer, A::Talk::NAME, encoding, bytes);
        seen.schema = Some(A::Talk::schema);
        self.config.taps.show(&seen);
    }
}

/// The rules and counters that all endpoints share.
pub(crate) struct Config {
    pub(crate) limits: Limits,
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) admission: Admission,
    pub(crate) strangers: Arc<Strangers>,
    pub(crate) rates: Rates,
    /// For connections that were let in.
    pub(crate) places: Arc<Semaphore>,
    /// Where messages are shown to who looks.
    pub(crate) taps: Arc<TapPoint>,
}

/// A TCP connection.
pub(crate) struct Connection {
    pub(crate) from: IpAddr,
    pub(crate) certificate: Option<CertificateDer<'static>>,
    /// Until it is let in; then its place, which is free again when the connection has ended, and
    /// the WebSocket that has taken it over.
    pub(crate) standing: tokio::sync::Mutex<Standing>,
}

pub(crate) enum Standing {
    Stranger(Option<Stranger>),
    Admitted { _place: OwnedSemaphorePermit },
}

/// A client that was let in with a request.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) identity: Identity,
    pub(crate) rate: Rate,
    pub(crate) connection: Arc<Connection>,
}

impl Connection {
    /// Waits for a place among those that were let in, unless it has one.
    pub(crate) async fn admit(&self, config: &Config) {
        let mut standing = self.standing.lock().await;
        if let Standing::Stranger(stranger) = &mut *standing
            && let Ok(place) = config.places.clone().acquire_owned().await
        {
            if let Some(stranger) = stranger.take() {
                stranger.admit();
            }
            *standing = Standing::Admitted { _place: place };
        }
    }
}

/// Waits until the gateway stops.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error would say that the gateway is gone: then it has stopped, too.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
