//! Hops: two actors exchange messages while many others do nothing.

use super::settings::Settings;
use crate::Failure;
use crate::failure::REST;
use actinium::prelude::*;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// One number of bystanders.
#[derive(Clone, Debug)]
pub struct Point {
    /// Actors that do nothing.
    pub bystanders: u64,
    /// The time of all hops, for each run.
    pub runs: Vec<Duration>,
}

/// Sends back what it gets as long as there is something left.
struct Player {
    other: Option<Address<Player>>,
    left: u64,
    done: mpsc::Sender<Instant>,
}

/// The messages of a player.
enum Msg {
    /// Introduces the other player, and asks for so many hops.
    Play(Address<Player>, u64),
    /// One hop.
    Hop,
}

impl Player {
    fn hop(&mut self) {
        if let Some(other) = &self.other {
            let _ = other.send(Msg::Hop);
        }
    }
}

impl Actor for Player {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Play(other, left) => (self.other, self.left) = (Some(other), left),
            Msg::Hop if self.left > 0 => {
                self.left -= 1;
                self.hop();
            }
            Msg::Hop => {
                // Nobody listens any more if the run was given up.
                let _ = self.done.send(Instant::now());
            }
        }
    }
}

/// Does nothing; it was started, and has handled a message.
struct Bystander;

impl Actor for Bystander {
    type Msg = ();

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

/// Measures each number of bystanders; `note` is called after each run.
///
/// # Errors
/// If a system does not start, or loses a message.
pub fn measure(settings: &Settings, mut note: impl FnMut()) -> Result<Vec<Point>, Failure> {
    let mut points: Vec<(Point, Table)> = Vec::new();
    for &bystanders in &settings.bystanders.value {
        let table = Table::set_up(settings, bystanders)?;
        points.push((Point { bystanders, runs: Vec::new() }, table));
    }
    // They take turns: a warm-up, which does not count, and the runs.
    for round in 0..=settings.repeat.value {
        for (point, table) in &mut points {
            let took = table.play(settings.hops.value)?;
            if round > 0 {
                point.runs.push(took);
                note();
            }
        }
    }
    Ok(points.into_iter().map(|(point, _)| point).collect())
}

/// A system with its players.
struct Table {
    system: System,
    players: [Address<Player>; 2],
    finished: mpsc::Receiver<Instant>,
    _bystanders: Vec<Address<Bystander>>,
}

impl Table {
    fn set_up(settings: &Settings, bystanders: u64) -> Result<Self, Failure> {
        let system = super::system::system(settings, settings.workers.value, true)?;
        let some: Vec<_> = (0..bystanders).map(|_| system.spawn(Bystander)).collect();
        some.iter().for_each(|bystander| bystander.tell(()));
        let (done, finished) = mpsc::channel();
        let player = || system.spawn(Player { other: None, left: 0, done: done.clone() });
        let players = [player(), player()];
        system.wait_idle(REST)?;
        Ok(Table { system, players, finished, _bystanders: some })
    }

    fn play(&self, hops: u64) -> Result<Duration, Failure> {
        let [one, other] = &self.players;
        // Each hop is a message; the last one ends it.
        one.tell(Msg::Play(other.clone(), hops / 2));
        other.tell(Msg::Play(one.clone(), hops));
        self.system.wait_idle(REST)?;
        let begin = Instant::now();
        one.tell(Msg::Hop);
        let lost = |_| Failure::Failed("a message was lost: a defect of the runtime".to_owned());
        let end = self.finished.recv().map_err(lost)?;
        self.system.wait_idle(REST)?;
        Ok(end.duration_since(begin))
    }
}
