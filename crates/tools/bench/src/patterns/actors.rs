//! An actor that fits all patterns, and a system of them.

use super::shapes::{Place, Shape};
use actinium::{Actor, Address, Context, Policy, Shutdown, System};
use std::hint::black_box;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// One actor of a pattern.
#[derive(Default)]
struct Member {
    steps: u32,
    next: Vec<Address<Member>>,
    up: Option<Address<Member>>,
    needs: u32,
    /// Messages of work, and answers, since it went on last.
    work: u32,
    answers: usize,
}

enum Msg {
    /// Spawns so many members.
    Spawn {
        members: usize,
        steps: u32,
        done: mpsc::Sender<Vec<Address<Member>>>,
    },
    /// Gives the member its place, with the addresses that go with it.
    Take {
        next: Vec<Address<Member>>,
        up: Option<Address<Member>>,
        needs: u32,
    },
    Work,
    Answer,
    /// Lets go of the others, so that all can end.
    Leave,
}

impl Actor for Member {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Work => self.work(),
            Msg::Answer => self.answer(),
            Msg::Spawn { members, steps, done } => {
                let member = |_| ctx.spawn(Member { steps, ..Member::default() });
                // Nobody listens any more if the program ends.
                let _ = done.send((0..members).map(member).collect());
            }
            Msg::Take { next, up, needs } => (self.next, self.up, self.needs) = (next, up, needs),
            Msg::Leave => (self.next, self.up) = (Vec::new(), None),
        }
    }
}

impl Member {
    fn work(&mut self) {
        burn(self.steps);
        self.work += 1;
        if self.work < self.needs {
            return;
        }
        self.work = 0;
        match &self.up {
            Some(up) if self.next.is_empty() => up.tell(Msg::Answer),
            _ => self.next.iter().for_each(|next| next.tell(Msg::Work)),
        }
    }

    fn answer(&mut self) {
        burn(self.steps);
        self.answers += 1;
        if self.answers < self.next.len() {
            return;
        }
        self.answers = 0;
        match &self.up {
            Some(up) => up.tell(Msg::Answer),
            None => self.next.iter().for_each(|next| next.tell(Msg::Work)),
        }
    }
}

/// A multiplication and an addition after the other, so many times: a nanosecond and a half each.
fn burn(steps: u32) {
    (0..steps).fold(1_u64, |x, _| black_box(x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1)));
}

/// Messages per second of a pattern, after a time of warming up, over a time.
pub(super) fn rate(
    shape: Shape,
    steps: u32,
    workers: usize,
    policy: Policy,
    (warm_up, measured): (Duration, Duration),
) -> Result<f64, String> {
    let system = System::builder().workers(workers).policy(policy).build();
    let system = system.map_err(|error| error.to_string())?;
    let gone = |_| "an actor has ended".to_owned();
    // Members are children of their spawner, and live as long.
    let spawner = system.spawn(Member::default());
    let (done, spawned) = mpsc::channel();
    let places = shape.places();
    let order = Msg::Spawn { members: places.len(), steps, done };
    spawner.send(order).map_err(|_| "the spawner has ended")?;
    let members = spawned.recv().map_err(gone)?;
    for (member, place) in members.iter().zip(&places) {
        let Place { next, up, needs, .. } = place;
        let next = next.iter().map(|&other| members[other].clone()).collect();
        let up = up.map(|other| members[other].clone());
        member.tell(Msg::Take { next, up, needs: *needs });
    }
    for (member, place) in members.iter().zip(&places) {
        (0..place.starts_with).for_each(|_| member.tell(Msg::Work));
    }
    thread::sleep(warm_up);
    let handled = || system.stats().total().handled;
    let (before, start) = (handled(), Instant::now());
    thread::sleep(measured);
    let (after, took) = (handled(), start.elapsed());
    members.iter().for_each(|member| member.tell(Msg::Leave));
    system.shutdown(Shutdown::Drop);
    Ok((after - before) as f64 / took.as_secs_f64())
}
