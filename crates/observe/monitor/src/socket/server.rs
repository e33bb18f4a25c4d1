//! The thread that answers at a socket.

use super::answer::answer;
use super::folder::{Folder, own_uid};
use super::request;
use crate::live::Live;
use actinium_actor::{Observer, OnEnd, SystemHandle};
use std::error::Error;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

/// Clients that are answered at a time; others are refused.
const CLIENTS: usize = 8;

/// An [`Observer`] that opens a socket, by which programs of the same user look at a system: see
/// [`Monitored::observable`](crate::Monitored::observable).
#[derive(Debug)]
pub struct ServeOnSocket {
    folder: Folder,
}

impl ServeOnSocket {
    /// In the folder of the present user.
    #[must_use]
    pub fn new() -> Self {
        ServeOnSocket::at(Folder::of_user())
    }

    /// In another folder.
    #[must_use]
    pub fn at(folder: Folder) -> Self {
        ServeOnSocket { folder }
    }
}

impl Default for ServeOnSocket {
    fn default() -> Self {
        ServeOnSocket::new()
    }
}

impl Observer for ServeOnSocket {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let (listener, path) = self.folder.listen()?;
        let socket = Socket::serve(listener, path, Live::new(system))?;
        Ok(OnEnd::new(move |_| drop(socket)))
    }
}

/// A socket that is answered at until this is dropped.
struct Socket {
    listener: Arc<UnixListener>,
    path: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Socket {
    fn serve(listener: UnixListener, path: PathBuf, live: Live) -> io::Result<Self> {
        let mut socket = Socket { listener: Arc::new(listener), path, thread: None };
        let listener = socket.listener.clone();
        let named = thread::Builder::new().name("actinium-top".to_owned());
        socket.thread = Some(named.spawn(move || accept(&listener, &live))?);
        Ok(socket)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // The thread's wait for clients ends.
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        let _ = self.thread.take().map(JoinHandle::join);
        let _ = std::fs::remove_file(&self.path);
    }
}

fn accept(listener: &UnixListener, live: &Live) {
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if is_passing(&error) => {
                // Memory or descriptors are short: others may have given some back by then.
                thread::park_timeout(std::time::Duration::from_millis(100));
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            // It was closed.
            Err(_) => return,
        };
        let Some(seat) = Seat::take(&clients) else {
            refuse(stream);
            continue;
        };
        let live = live.clone();
        let named = thread::Builder::new().name("actinium-look".to_owned());
        // If there can be no thread, the client's connection is closed.
        let _ = named.spawn(move || serve(stream, seat, &live));
    }
}

fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let short = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    short.iter().any(|it| Some(it.raw_os_error()) == error.raw_os_error())
}

/// One of the places for clients.
struct Seat(Arc<AtomicUsize>);

impl Seat {
    fn take(taken: &Arc<AtomicUsize>) -> Option<Self> {
        // Relaxed, both here and below: only a count. One thread takes seats.
        if taken.load(Ordering::Relaxed) >= CLIENTS {
            return None;
        }
        taken.fetch_add(1, Ordering::Relaxed);
        Some(Seat(taken.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // Relaxed: as in `take`.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(mut stream: UnixStream, _seat: Seat, live: &Live) {
    if !is_same_user(&stream) {
        return answer_error(&mut stream, 403, "another user's program");
    }
    let target = match request::read(&mut stream) {
        Ok(target) => target,
        Err(Some((status, why))) => return answer_error(&mut stream, status, &why),
        Err(None) => return,
    };
    match answer(live, &target) {
        Ok(json) => request::answer(&mut stream, 200, &json),
        Err((status, why)) => answer_error(&mut stream, status, &why),
    }
}

/// There are too many clients. What is so short waits for nobody.
fn refuse(mut stream: UnixStream) {
    answer_error(&mut stream, 503, &format!("{CLIENTS} others look already"));
}

fn answer_error(stream: &mut UnixStream, status: u16, why: &str) {
    request::answer(stream, status, &serde_json::json!({ "error": why }).to_string());
}

fn is_same_user(stream: &UnixStream) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(stream);
    peer.is_ok_and(|peer| peer.uid.as_raw() == own_uid())
}
