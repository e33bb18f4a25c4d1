//! The loop over keys and looks.

use crate::client::Client;
use crate::draw::draw;
use crate::fetch::Fetcher;
use crate::view::{View, Wish};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use std::io;
use std::time::Duration;

/// So long it waits for a key before it looks whether an answer has come.
const KEYS: Duration = Duration::from_millis(50);

/// How a program is shown.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Between two looks.
    pub interval: Duration,
}

impl Default for Settings {
    /// One look a second.
    fn default() -> Self {
        Settings { interval: Duration::from_secs(1) }
    }
}

/// Shows the program in this terminal until the user ends it.
///
/// # Errors
/// If this is no terminal, or it fails. It is left as it was before.
pub fn run(client: Client, settings: Settings) -> io::Result<()> {
    let fetcher = Fetcher::start(client, settings.interval)?;
    let mut terminal = ratatui::try_init()?;
    let ended = show(&mut terminal, &fetcher);
    ratatui::try_restore()?;
    ended
}

fn show(terminal: &mut DefaultTerminal, fetcher: &Fetcher) -> io::Result<()> {
    let (mut view, mut wished) = (View::default(), Wish::default());
    let mut has_changed = true;
    loop {
        if has_changed {
            terminal.draw(|frame| draw(frame, &view))?;
            has_changed = false;
        }
        if event::poll(KEYS)? {
            match event::read()? {
                Event::Key(key) if key.is_press() => {
                    if !view.key(key) {
                        return Ok(());
                    }
                    has_changed = true;
                }
                Event::Resize(..) => has_changed = true,
                _ => {}
            }
        }
        let wish = view.wish();
        if wish != wished {
            fetcher.wish(wish.clone());
            wished = wish;
        }
        while let Some(answer) = fetcher.answer() {
            view.take(answer);
            has_changed = true;
        }
    }
}
