//! The loop over keys and looks.

use crate::client::Client;
use crate::draw::draw;
use crate::fetch::Fetcher;
use crate::signals::Signals;
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

/// Shows the program in this terminal until the user ends it, or a signal does.
///
/// # Errors
/// If this is no terminal, it fails, or the process may not listen to signals. The terminal is left
/// as it was before.
pub fn run(client: Client, settings: Settings) -> io::Result<()> {
    let fetcher = Fetcher::start(client, settings.interval)?;
    let signals = Signals::hold()?;
    let mut terminal = ratatui::try_init()?;
    let ended = show(&mut terminal, &fetcher, &signals);
    let restored = ratatui::try_restore();
    signals.release()?;
    ended.and(restored)
}

fn show(terminal: &mut DefaultTerminal, fetcher: &Fetcher, signals: &Signals) -> io::Result<()> {
    let (mut view, mut wished) = (View::default(), Wish::default());
    let mut has_changed = true;
    while !signals.is_some() {
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
    Ok(())
}
