//! A progress bar with rate and time left, on stderr and only if that is a terminal.
//!
//! It draws when told that work was done, at most 20 times a second, and runs no thread of its own:
//! a bar beside a measurement must not take part in it. Tell it of work in chunks, not of every
//! message.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use actinium_observe::number::{count, rate};

/// Draws at most this often.
const DRAWS_PER_S: u8 = 20;

/// A bar that disappears when it is finished or dropped, or nothing at all where nobody would see
/// it: if stderr is no terminal, or a dumb one.
///
/// Colours are left out if the environment variable `NO_COLOR` is set and not empty
/// ([no-color.org](https://no-color.org)).
///
/// ```
/// use actinium_report::Progress;
///
/// let progress = Progress::new(1_000, "events");
/// for _ in 0..10 {
///     progress.add(100);
/// }
/// assert_eq!(progress.position(), 1_000);
/// progress.finish();
/// ```
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar of `total` units of work; `what` stands before it.
    #[must_use]
    pub fn new(total: u64, what: &str) -> Self {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr_with_hz(DRAWS_PER_S),
            false => ProgressDrawTarget::hidden(),
        };
        Progress::on(target, total, what, colours(std::env::var_os("NO_COLOR").as_deref()))
    }

    /// A count of units of work, of which nobody knows how many there are.
    #[must_use]
    pub fn counting(what: &str) -> Self {
        let style = ProgressStyle::with_template("{prefix} {done}  {rate}  {wide_msg}");
        let progress = Progress::new(0, what);
        progress.bar.unset_length();
        progress.bar.set_style(keys(style.expect("the template is valid")));
        progress
    }

    /// A bar that nobody sees, for `--quiet`.
    #[must_use]
    pub fn hidden(total: u64) -> Self {
        Progress::on(ProgressDrawTarget::hidden(), total, "", false)
    }

    fn on(target: ProgressDrawTarget, total: u64, what: &str, colours: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style(colours));
        bar.set_prefix(what.to_owned());
        Progress { bar }
    }

    /// Notes that `n` more units are done.
    pub fn add(&self, n: u64) {
        self.bar.inc(n);
    }

    /// Notes that `n` units are done in all.
    pub fn set(&self, n: u64) {
        self.bar.set_position(n);
    }

    /// Says behind the bar what is being done.
    pub fn message(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
    }

    /// Writes a line to stderr above the bar; where there is no bar too.
    pub fn line(&self, text: &str) {
        // If nobody can read it, there is nobody to tell.
        self.bar.suspend(|| drop(writeln!(io::stderr(), "{text}")));
    }

    /// How many units are done.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.bar.position()
    }

    /// Whether anybody sees it.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Takes the bar away, as does dropping it.
    pub fn finish(self) {
        drop(self);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Whether `NO_COLOR` lets us use colours.
fn colours(no_color: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty)
}

/// `events ━━━━━━━━╺─────── 4,321/10,000  12.3 k/s  0:07 left  message`
fn style(colours: bool) -> ProgressStyle {
    let bar = if colours { "{bar:30.cyan/dim}" } else { "{bar:30}" };
    let template =
        format!("{{prefix}} {bar} {{done}}/{{total}}  {{rate}}  {{left}} left  {{wide_msg}}");
    let style = ProgressStyle::with_template(&template).expect("the template is valid");
    keys(style).progress_chars("━╸─")
}

/// What a template may name.
fn keys(style: ProgressStyle) -> ProgressStyle {
    style
        .with_key("done", |state: &ProgressState, w: &mut dyn fmt::Write| {
            show(w, &count(state.pos()));
        })
        .with_key("total", |state: &ProgressState, w: &mut dyn fmt::Write| {
            show(w, &count(state.len().unwrap_or(0)));
        })
        .with_key("rate", |state: &ProgressState, w: &mut dyn fmt::Write| {
            show(w, &rate(state.per_sec()));
        })
        .with_key("left", |state: &ProgressState, w: &mut dyn fmt::Write| {
            show(w, &left(state.per_sec(), state.eta()));
        })
}

/// A bar that cannot be written is no reason to fail.
fn show(w: &mut dyn fmt::Write, text: &str) {
    let _ = w.write_str(text);
}

/// The time left, rounded up; unknown until something was done.
fn left(per_s: f64, left: Duration) -> String {
    match per_s > 0.0 {
        true => clock(left.as_secs() + u64::from(left.subsec_nanos() > 0)),
        false => String::from("-:--"),
    }
}

/// Seconds as on a clock: `0:07`, `1:02:03`.
fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{}:{minutes:02}:{seconds:02}", count(hours)),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal that keeps what it is shown.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl Screen {
        fn text(&self) -> String {
            self.0.lock().expect("nobody panics with it").clone()
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().expect("nobody panics with it").push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.write_str("<cleared>")
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn it_shows_what_is_done_the_rate_and_the_time_left() {
        let screen = Screen::default();
        let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
        let progress = Progress::on(target, 10_000, "events", false);
        progress.message("warming up");
        progress.add(1_000);
        progress.set(4_321);
        assert!(progress.is_visible());
        let text = screen.text();
        assert!(text.contains("events ━━━━━━━━━━━━"), "{text}");
        assert!(text.contains("4,321/10,000  "), "{text}");
        assert!(text.contains("/s  ") && text.contains(" left  "), "{text}");
        assert!(text.contains("warming up"), "{text}");
        progress.finish();
        assert!(screen.text().ends_with("<cleared>"), "{}", screen.text());
    }

    #[test]
    fn a_hidden_one_only_counts() {
        let progress = Progress::hidden(5);
        progress.message("unseen");
        progress.add(2);
        progress.add(2);
        assert!(!progress.is_visible());
        assert_eq!(progress.position(), 4);
    }

    #[test]
    fn no_color_counts_when_it_says_something() {
        assert!(colours(None));
        assert!(colours(Some(OsStr::new(""))));
        assert!(!colours(Some(OsStr::new("0"))));
    }

    #[test]
    fn all_styles_are_valid() {
        let _ = (style(true), style(false), Progress::counting("events"));
    }

    #[test]
    fn time_left_is_rounded_up_or_unknown() {
        assert_eq!(left(1e6, Duration::from_millis(6_001)), "0:07");
        assert_eq!(left(1e6, Duration::ZERO), "0:00");
        assert_eq!(left(0.0, Duration::ZERO), "-:--");
    }

    #[test]
    fn time_left_looks_like_a_clock() {
        assert_eq!([0, 7, 67, 3_723].map(clock), ["0:00", "0:07", "1:07", "1:02:03"]);
    }
}
