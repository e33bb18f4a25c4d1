//! Looks at all sources while somebody is told of it: once for all clients together.
//!
//! Each client gets the latest look when its socket has taken the one before: who is slow misses
//! looks, and holds one of them at most.

use crate::source::{Look, Source};
use actinium_observe::process::cpu_time::thread_time;
use bytes::Bytes;
use serde_json::json;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::watch;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// Looks take at most one part in so many of a CPU's time.
const REST: u32 = 20;

/// What was seen at one look, as events for clients.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    /// The list of nodes.
    pub(crate) nodes: Bytes,
    /// All figures of each node; empty if it is down.
    pub(crate) each: Vec<Bytes>,
}

/// The looks of all clients.
pub(crate) struct Frames {
    latest: watch::Receiver<Arc<Frame>>,
    /// `true`: end; `false`: somebody has come.
    control: Mutex<Sender<bool>>,
    looking: Option<JoinHandle<()>>,
}

impl Frames {
    /// Begins, by a thread of its own.
    pub(crate) fn start(sources: Arc<[Box<dyn Source>]>) -> io::Result<Self> {
        let (publish, latest) = watch::channel(Arc::new(Frame::default()));
        let (control, told) = channel();
        let look = move || look_again_and_again(&sources, &publish, &told);
        let looking = thread::Builder::new().name("dashboard".to_owned()).spawn(look)?;
        Ok(Frames { latest, control: Mutex::new(control), looking: Some(looking) })
    }

    /// Tells of each look from the next one on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Frame>> {
        let mut latest = self.latest.clone();
        latest.mark_unchanged();
        self.tell(false);
        latest
    }

    /// Ends: so do all who were told.
    pub(crate) fn end(&self) {
        self.tell(true);
    }

    fn tell(&self, what: bool) {
        // The thread may have ended.
        let _ = self.control.lock().unwrap_or_else(PoisonError::into_inner).send(what);
    }
}

impl Drop for Frames {
    /// Waits for the look that is being taken: what is looked at is free afterwards.
    fn drop(&mut self) {
        self.end();
        if let Some(looking) = self.looking.take() {
            // If a look panicked, its thread has said so.
            let _ = looking.join();
        }
    }
}

fn look_again_and_again(
    sources: &[Box<dyn Source>],
    publish: &watch::Sender<Arc<Frame>>,
    told: &Receiver<bool>,
) {
    let mut pause = Duration::ZERO;
    loop {
        // One receiver is kept for those who come.
        let is_watched = publish.receiver_count() > 1;
        let told = match is_watched {
            true => told.recv_timeout(pause),
            false => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match told {
            Ok(true) | Err(RecvTimeoutError::Disconnected) => return,
            // Who comes is told at the next look: else each would make one more.
            Ok(false) if is_watched => continue,
            Ok(false) | Err(RecvTimeoutError::Timeout) => {}
        }
        let used = thread_time();
        publish.send_replace(Arc::new(frame(sources.iter().map(|it| it.look()).collect())));
        pause = PAUSE.max((thread_time() - used) * REST);
    }
}

fn frame(looks: Vec<Look>) -> Frame {
    let nodes: Vec<_> = looks.iter().map(|it| &it.summary).collect();
    let event = |(node, look): (usize, &Look)| {
        let Some(now) = &look.now else { return Bytes::new() };
        let life = &look.summary.life;
        // `now` is JSON, and has no line ends.
        let data = format!("{{\"node\":{node},\"life\":\"{life}\",\"now\":{now}}}");
        Bytes::from(format!("event: now\ndata: {data}\n\n"))
    };
    Frame {
        nodes: Bytes::from(format!("event: nodes\ndata: {}\n\n", json!(nodes))),
        each: looks.iter().enumerate().map(event).collect(),
    }
}
