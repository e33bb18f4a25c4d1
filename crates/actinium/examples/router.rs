//! Words counted by several actors: a router sends each word to the same counter every time, a
//! broadcast asks all of them.
//!
//! `cargo run --release -p actinium --example router`

use actinium::prelude::*;
use actinium::{Broadcast, Router};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::mpsc;

const TEXT: &str =
    "the quick brown fox jumps over the lazy dog and the dog sleeps on while the fox is quick";

#[derive(Default)]
struct Counter {
    words: BTreeMap<&'static str, u64>,
}

#[derive(Clone)]
enum Msg {
    Word(&'static str),
    Report(mpsc::Sender<BTreeMap<&'static str, u64>>),
}

impl Actor for Counter {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Word(word) => *self.words.entry(word).or_default() += 1,
            // The program has ended if nobody listens.
            Msg::Report(out) => drop(out.send(self.words.clone())),
        }
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let counters: Vec<_> = (0..3).map(|_| system.spawn(Counter::default())).collect();
    let router = Router::by_key(counters.clone(), |msg: &Msg| match msg {
        Msg::Word(word) => *word,
        Msg::Report(_) => "",
    });
    for word in TEXT.split(' ') {
        router.send(Msg::Word(word))?;
    }
    let (out, reports) = mpsc::channel();
    let asked = Broadcast::new(counters).send(Msg::Report(out));
    let mut all = BTreeMap::new();
    for report in reports.iter().take(asked) {
        for (word, n) in report {
            if all.insert(word, n).is_some() {
                return Err(format!("'{word}' was counted by two counters").into());
            }
        }
    }
    drop(router);
    system.shutdown(Shutdown::Drain);
    if all.values().sum::<u64>() != TEXT.split(' ').count() as u64 {
        return Err(format!("words got lost: {all:?}").into());
    }
    Ok(all.iter().map(|(word, n)| format!("{n} {word}\n")).collect())
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
