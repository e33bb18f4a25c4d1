//! A node elsewhere, which serves its own live page.

use crate::client::{encoded, get};
use crate::source::{Look, Refusal, Source, Summary};
use actinium_monitor::live::{ActorsNow, ActorsQuery, FamilyNow, LIVE_VERSION, Snapshot};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two questions to a node, if somebody looks.
const PAUSE: Duration = Duration::from_millis(250);
/// A node that is down is asked less often.
const PAUSE_DOWN: Duration = Duration::from_secs(1);
/// If nobody has looked for so long, it is not asked.
const UNWANTED: Duration = Duration::from_secs(3);

/// A node elsewhere. A thread asks it.
pub(crate) struct Remote {
    node: Arc<Node>,
    /// The thread ends with this.
    wake: Mutex<Sender<()>>,
}

struct Node {
    address: String,
    token: Option<String>,
    seen: Mutex<Seen>,
}

struct Seen {
    look: Look,
    wanted: Instant,
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "nodes are asked in real time")]
    Instant::now()
}

impl Remote {
    pub(crate) fn new(address: String, token: Option<String>) -> io::Result<Self> {
        let summary = Summary { address: address.clone(), ..Summary::default() };
        let look = Look::down(summary, "it was not asked yet".to_owned());
        let seen = Mutex::new(Seen { look, wanted: now() });
        let node = Arc::new(Node { address, token, seen });
        let (wake, woken) = channel();
        let asked = node.clone();
        let ask = move || asked.ask_again_and_again(&woken);
        thread::Builder::new().name("dashboard-node".to_owned()).spawn(ask)?;
        Ok(Remote { node, wake: Mutex::new(wake) })
    }
}

impl Node {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_again_and_again(&self, woken: &Receiver<()>) {
        loop {
            let is_wanted = self.seen().wanted.elapsed() < UNWANTED;
            let pause = match is_wanted {
                true => self.look_once(),
                false => UNWANTED * 1_000,
            };
            if woken.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    /// Asks the node, and says how long to wait before the next time.
    fn look_once(&self) -> Duration {
        let found = self.snapshot();
        let mut seen = self.seen();
        match found {
            Ok(snapshot) => {
                seen.look = Look::of(&self.address, &snapshot);
                PAUSE
            }
            Err(Refusal::Wrong(why) | Refusal::Missing(why) | Refusal::Down(why)) => {
                seen.look = Look::down(seen.look.summary.clone(), why);
                PAUSE_DOWN
            }
        }
    }

    fn snapshot(&self) -> Result<Snapshot, Refusal> {
        let body = self.get("/api/snapshot")?;
        let version: Value = serde_json::from_str(&body).map_err(|error| self.garbage(&error))?;
        if let Some(version) = version["schema_version"].as_u64()
            && version > u64::from(LIVE_VERSION)
        {
            return Err(Refusal::Down(format!(
                "{} tells figures of version {version}, and this release reads up to \
                 {LIVE_VERSION}: use the release that it runs, or a later one",
                self.address
            )));
        }
        serde_json::from_value(version).map_err(|error| self.garbage(&error))
    }

    fn garbage(&self, error: &serde_json::Error) -> Refusal {
        Refusal::Down(format!("what {} answers is no live page's: {error}", self.address))
    }

    fn get(&self, path: &str) -> Result<String, Refusal> {
        match get(&self.address, path, self.token.as_deref()) {
            Ok((200, body)) => Ok(body),
            Ok((status, body)) => {
                let said = serde_json::from_str::<Value>(&body).unwrap_or_default();
                let why = said["error"].as_str().unwrap_or("no reason given").to_owned();
                Err(match status {
                    400 => Refusal::Wrong(why),
                    404 => Refusal::Missing(why),
                    401 => Refusal::Down(format!("{}: it asks for another token", self.address)),
                    _ => Refusal::Down(format!("{}: status {status}: {why}", self.address)),
                })
            }
            Err(why) => Err(Refusal::Down(format!("{}: {why}", self.address))),
        }
    }

    /// What a node answers is read before it is passed on: it may be anything.
    fn read<T: DeserializeOwned + serde::Serialize>(&self, path: &str) -> Result<Value, Refusal> {
        let body = self.get(path)?;
        let read: T = serde_json::from_str(&body).map_err(|error| self.garbage(&error))?;
        serde_json::to_value(read).map_err(|error| self.garbage(&error))
    }
}

impl Source for Remote {
    fn look(&self) -> Look {
        let mut seen = self.node.seen();
        let was_forgotten = seen.wanted.elapsed() >= UNWANTED;
        seen.wanted = now();
        let look = seen.look.clone();
        drop(seen);
        if was_forgotten {
            let _ = self.wake.lock().unwrap_or_else(PoisonError::into_inner).send(());
        }
        look
    }

    fn snapshot(&self) -> Result<Snapshot, Refusal> {
        self.node.snapshot()
    }

    fn actors(&self, query: &ActorsQuery) -> Result<Value, Refusal> {
        let ActorsQuery { sort, search, kind, after, take } = query;
        let take = take.map(|take| take.to_string());
        let all =
            [("sort", sort), ("search", search), ("kind", kind), ("after", after), ("take", &take)];
        let part = |(name, value): (&str, &Option<String>)| {
            value.as_ref().map(|value| format!("{name}={}", encoded(value)))
        };
        let parts: Vec<_> = all.into_iter().filter_map(part).collect();
        self.node.read::<ActorsNow>(&format!("/api/actors?{}", parts.join("&")))
    }

    fn actor(&self, number: u64) -> Result<Value, Refusal> {
        self.node.read::<Value>(&format!("/api/actor/{number}"))
    }

    fn family(&self, of: Option<u64>) -> Result<Value, Refusal> {
        let of = of.map_or_else(String::new, |of| format!("?of={of}"));
        self.node.read::<FamilyNow>(&format!("/api/family{of}"))
    }
}
