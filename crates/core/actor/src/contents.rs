//! What a message contains, as a short text: only of types of actors that say how it is written.

use crate::actor::{Actor, ShowMessage};
use actinium_scheduler::{Worker, guard};
use std::fmt::{self, Write};

/// Most bytes of a text; a longer one is cut.
const LONGEST: usize = 200;

/// Notes what the message contains that is about to be handled, if its type shows it and somebody
/// looks at the actor.
pub(crate) fn note<A: Actor>(worker: &Worker, name: &'static str, msg: &A::Msg) {
    if let Some(show) = A::SHOW_MESSAGE {
        worker.note_contents(name, || text_of(msg, show));
    }
}

/// The text of a message. The code that writes it is the user's.
fn text_of<M>(msg: &M, show: ShowMessage<M>) -> String {
    let mut short = Short { text: String::new(), is_cut: false };
    let written = guard::catch(|| write!(short, "{}", Shown(msg, show)));
    match written {
        _ if short.is_cut => short.text + "…",
        Ok(Ok(())) => short.text,
        Ok(Err(fmt::Error)) => short.text + " (writing it failed)",
        Err(_) => short.text + " (writing it panicked)",
    }
}

struct Shown<'a, M>(&'a M, ShowMessage<M>);

impl<M> fmt::Display for Shown<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.1)(self.0, f)
    }
}

/// Takes the beginning of a text, and then ends the writing by an error.
struct Short {
    text: String,
    is_cut: bool,
}

impl Write for Short {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let left = LONGEST - self.text.len();
        let mut ends = (0..=left.min(part.len())).rev();
        let end = ends.find(|&end| part.is_char_boundary(end)).unwrap_or(0);
        self.text.push_str(&part[..end]);
        self.is_cut |= end < part.len();
        if self.is_cut { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn text(show: ShowMessage<u64>) -> String {
        text_of(&7, show)
    }

    #[test]
    fn a_message_is_written_as_its_type_says() {
        assert_eq!(text(<u64 as fmt::Debug>::fmt), "7");
        assert_eq!(text(|msg, f| f.debug_struct("add").field("n", msg).finish()), "add { n: 7 }");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = text(|_, f| (0..1 << 20).try_for_each(|_| f.write_str("äöü")));
        assert_eq!(long, format!("{}ä…", "äöü".repeat(33)));
        // Whoever goes on after an error writes nothing more.
        let long = text(|_, f| {
            let _ = f.write_str(&"x".repeat(300));
            f.write_str("y")
        });
        assert_eq!(long, "x".repeat(200) + "…");
    }

    #[test]
    fn what_fails_to_write_itself_is_noted() {
        assert_eq!(text(|_, _| Err(fmt::Error)), " (writing it failed)");
        assert_eq!(text(|_, _| panic!("a test")), " (writing it panicked)");
    }
}
