//! The thread that asks a program, so that keys do not wait for it.

use crate::client::Client;
use crate::view::{Answer, Wish};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// An actor that is looked at is asked for so often at least: otherwise the program forgets it.
const ACTOR_EVERY: Duration = Duration::from_secs(2);

/// Asks from time to time, and whenever something else is wished for. It ends with this.
pub(crate) struct Fetcher {
    wishes: Sender<Wish>,
    answers: Receiver<Answer>,
}

impl Fetcher {
    pub(crate) fn start(client: Client, interval: Duration) -> io::Result<Self> {
        let (wishes, wished) = channel();
        let (answer, answers) = channel();
        let ask = move || ask_again_and_again(&client, interval, &wished, &answer);
        thread::Builder::new().name("ask".to_owned()).spawn(ask)?;
        Ok(Fetcher { wishes, answers })
    }

    /// Wishes for something else from now on.
    pub(crate) fn wish(&self, wish: Wish) {
        // The thread ends after this only.
        let _ = self.wishes.send(wish);
    }

    /// The next answer that has come.
    pub(crate) fn answer(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

fn ask_again_and_again(
    client: &Client,
    interval: Duration,
    wished: &Receiver<Wish>,
    answers: &Sender<Answer>,
) {
    let mut wish = Wish::default();
    loop {
        if !wish.is_paused && answers.send(ask(client, &wish)).is_err() {
            return;
        }
        let pause = wish.actor.map_or(interval, |_| interval.min(ACTOR_EVERY));
        wish = match wished.recv_timeout(pause) {
            // Of several that came meanwhile, the last one counts.
            Ok(first) => wished.try_iter().last().unwrap_or(first),
            Err(RecvTimeoutError::Timeout) => wish,
            Err(RecvTimeoutError::Disconnected) => return,
        };
    }
}

fn ask(client: &Client, wish: &Wish) -> Answer {
    Answer {
        wish: wish.clone(),
        actors: wish.actors.as_ref().map(|it| client.actors(it).map_err(|error| error.to_string())),
        actor: wish.actor.map(|it| client.actor(it).map_err(|error| error.to_string())),
        family: wish.family.map(|it| client.family(it).map_err(|error| error.to_string())),
        seen: client.snapshot().map(Box::new).map_err(|error| error.to_string()),
    }
}
