//! Serves taps to other processes, a thread for each.
//!
//! A client says in one line of JSON what it wants to see, and gets lines of JSON. A client that
//! takes nothing in loses messages, which are counted, and later its connection.

use crate::filter::TapFilter;
use crate::place::{PlaceError, TapPlace};
use crate::tap::Tap;
use crate::world::names;
use actinium_scheduler::log;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The environment variable that lets a program serve taps of all its nodes and gateways: `1` (a
/// socket in the user's own folder, `$XDG_RUNTIME_DIR/actinium`), the path of a socket, or an
/// address of this host.
pub const ENV_TAP: &str = "ACTINIUM_TAP";

/// The version of what is said on the socket.
pub(crate) const VERSION: u32 = 1;
/// Most clients at once: each has a thread.
const CLIENTS_MAX: usize = 16;
/// Most bytes of what a client asks for.
const REQUEST_BYTES_MAX: u64 = 64 << 10;
/// How long a client may take to ask, and to take in a line.
const PATIENCE: Duration = Duration::from_secs(5);
/// A client that has gone is noticed that often.
const BEAT: Duration = Duration::from_millis(500);

/// What a client asks for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) tap: u32,
    #[serde(flatten)]
    pub(crate) filter: TapFilter,
}

/// Lets other processes look at the messages of this one, until it is dropped.
///
/// ```
/// use actinium_tap::{TapPlace, TapServer};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tap.sock");
/// let server = TapServer::start(&TapPlace::Socket(path))?;
/// println!("actinium wire tap {}", server.place());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TapServer {
    place: TapPlace,
    is_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for TapServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TapServer").field("place", &self.place).finish_non_exhaustive()
    }
}

impl TapServer {
    /// Serves there: for processes of the same user at a socket, for all of this host at a port.
    ///
    /// # Errors
    /// If the address is not this host's own, the socket or port is in use, or there can be no more
    /// threads.
    pub fn start(place: &TapPlace) -> io::Result<Self> {
        let (listener, place) = match place {
            TapPlace::Socket(path) => (Listener::Socket(bind(path)?), place.clone()),
            TapPlace::Port(address) if !address.ip().is_loopback() => {
                let error = PlaceError::NotLoopback(*address).to_string();
                return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
            }
            TapPlace::Port(address) => {
                let listener = TcpListener::bind(address)?;
                let place = TapPlace::Port(listener.local_addr()?);
                (Listener::Port(listener), place)
            }
        };
        let is_ended = Arc::new(AtomicBool::new(false));
        let ended = is_ended.clone();
        let serve = move || listener.serve(&ended);
        let thread = thread::Builder::new().name("actinium-tap".to_owned()).spawn(serve)?;
        Ok(TapServer { place, is_ended, thread: Some(thread) })
    }

    /// Where it serves: with the port that it has got, if it was asked for any.
    #[must_use]
    pub fn place(&self) -> &TapPlace {
        &self.place
    }
}

impl Drop for TapServer {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `serve`.
        self.is_ended.store(true, Ordering::Release);
        // It is woken by somebody who comes.
        let is_woken = match &self.place {
            TapPlace::Socket(path) => UnixStream::connect(path).map(drop),
            TapPlace::Port(address) => TcpStream::connect(address).map(drop),
        };
        if is_woken.is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
        if let TapPlace::Socket(path) = &self.place {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Listens at a socket. What a program has left there that has died is taken away.
fn bind(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            use std::os::unix::fs::FileTypeExt;
            let is_socket = path.symlink_metadata()?.file_type().is_socket();
            if !is_socket || UnixStream::connect(path).is_ok() {
                return Err(error);
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }
}

enum Listener {
    Socket(UnixListener),
    Port(TcpListener),
}

/// A client's end: a stream that can be both read and written.
trait Stream: Read + Write + Send {
    fn patient(&self) -> io::Result<()>;
    fn other(&self) -> io::Result<Box<dyn Write + Send>>;
}

impl Stream for UnixStream {
    fn patient(&self) -> io::Result<()> {
        self.set_read_timeout(Some(PATIENCE))?;
        self.set_write_timeout(Some(PATIENCE))
    }

    fn other(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(self.try_clone()?))
    }
}

impl Stream for TcpStream {
    fn patient(&self) -> io::Result<()> {
        self.set_read_timeout(Some(PATIENCE))?;
        self.set_write_timeout(Some(PATIENCE))
    }

    fn other(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(self.try_clone()?))
    }
}

impl Listener {
    fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Listener::Socket(listener) => {
                let (stream, _) = listener.accept()?;
                let theirs = rustix::net::sockopt::socket_peercred(&stream)?.uid;
                if theirs != rustix::process::geteuid() {
                    return Err(io::Error::from(io::ErrorKind::PermissionDenied));
                }
                Ok(Box::new(stream))
            }
            Listener::Port(listener) => Ok(Box::new(listener.accept()?.0)),
        }
    }

    fn serve(&self, is_ended: &Arc<AtomicBool>) {
        let clients = Arc::new(AtomicUsize::new(0));
        loop {
            let accepted = self.accept();
            // Acquire: pairs with the release in `drop`.
            if is_ended.load(Ordering::Acquire) {
                return;
            }
            let Ok(mut stream) = accepted else {
                // No descriptor is free, say, or it was somebody else's client.
                thread::park_timeout(Duration::from_millis(10));
                continue;
            };
            // Relaxed, here and below: only a count.
            if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
                clients.fetch_sub(1, Ordering::Relaxed);
                // Whether it hears of that is its own matter.
                let _ = stream.patient();
                let _ =
                    say(&mut stream, &json!({ "error": "too many look at this program already" }));
                continue;
            }
            let place = Place(clients.clone());
            let ended = is_ended.clone();
            let serve = move || {
                let _place = place;
                // It has gone: there is nobody to tell.
                let _ = client(stream, &ended);
            };
            let spawned = thread::Builder::new().name("actinium-tap".to_owned()).spawn(serve);
            if let Err(error) = spawned {
                log!(Warn, {}, "a tap can not be served: {error}");
            }
        }
    }
}

/// A place among the clients.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        // Relaxed: only a count.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn say(stream: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    stream.write_all(&bytes)
}

fn client(stream: Box<dyn Stream>, is_ended: &AtomicBool) -> io::Result<()> {
    stream.patient()?;
    let mut out = stream.other()?;
    let mut line = String::new();
    let read = BufReader::new(stream.take(REQUEST_BYTES_MAX)).read_line(&mut line);
    let request = read.map_err(|error| error.to_string());
    let request = request
        .and_then(|_| serde_json::from_str::<Request>(&line).map_err(|error| error.to_string()));
    let filter = match request {
        Ok(Request { tap: VERSION, filter }) => filter,
        Ok(Request { tap, .. }) => {
            let problem = format!("this program serves taps of version {VERSION}, not {tap}");
            return say(&mut *out, &json!({ "error": problem }));
        }
        Err(problem) => return say(&mut *out, &json!({ "error": problem })),
    };
    let mut tap = Tap::open(filter);
    let program = std::env::args().next().unwrap_or_default();
    let hello = json!({
        "tap": VERSION, "process": std::process::id(), "program": program, "points": names(),
    });
    say(&mut *out, &hello)?;
    let mut told = tap.missed();
    // Acquire: pairs with the release in `drop`.
    while !is_ended.load(Ordering::Acquire) {
        match tap.next_within(BEAT) {
            Some(message) => say(&mut *out, &message)?,
            // Says whether it is still there.
            None => out.write_all(b"\n")?,
        }
        let missed = tap.missed();
        if missed != told {
            told = missed;
            say(&mut *out, &json!({ "missed": missed }))?;
        }
    }
    Ok(())
}

/// The server that the environment asks for, as long as somebody keeps it.
pub(crate) fn of_environment() -> Option<Arc<TapServer>> {
    static SERVER: Mutex<Weak<TapServer>> = Mutex::new(Weak::new());
    let place = std::env::var(ENV_TAP).ok().filter(|place| !place.is_empty())?;
    let mut known = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = known.upgrade() {
        return Some(server);
    }
    let served = TapPlace::to_serve(&place).map_err(|error| error.to_string());
    let started = served
        .and_then(|place| TapServer::start(&place).map_err(|error| format!("{place}: {error}")));
    match started {
        Ok(server) => {
            let server = Arc::new(server);
            log!(Info, {}, "taps are served: actinium wire tap {}", server.place());
            *known = Arc::downgrade(&server);
            Some(server)
        }
        Err(error) => {
            log!(Error, {}, "{ENV_TAP}: no taps are served: {error}");
            None
        }
    }
}
