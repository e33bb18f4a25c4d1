//! A camera's frames go to two actors at other workers, and nobody copies them: a frame is written
//! once, in memory on the node of the camera's worker, and both receivers read it there. Whoever is
//! done with it last sends it home, with others.
//!
//! `cargo run --release -p actinium --example frames`

use actinium::memory::heap::{Arena, Heap, Payload};
use actinium::memory::{Placement, Segment, Size};
use actinium::prelude::*;
use actinium::topology::{PuId, Topology};
use std::error::Error;
use std::sync::mpsc;

const FRAMES: u64 = 2_000;
const FRAME_BYTES: usize = 16 << 10;

struct Camera {
    arena: Arena,
    viewers: Vec<Address<Viewer>>,
    made: u64,
}

/// The next one, please.
struct Shoot;

impl Actor for Camera {
    type Msg = Shoot;

    fn handle(&mut self, _: Shoot, ctx: &mut Context<'_, Self>) {
        let number = self.made;
        let frame = self.arena.payload_with(FRAME_BYTES, |pixels| {
            for (pixel, at) in pixels.iter_mut().zip(number..) {
                *pixel = at as u8;
            }
        });
        // No room: the viewers have all frames there are. They come back, so try again.
        if let Ok(pixels) = frame {
            self.made += 1;
            for viewer in &self.viewers {
                let (pixels, made_at) = (pixels.clone(), pixels.as_ptr() as usize);
                viewer.tell(View::Frame { number, pixels, made_at });
            }
        }
        match self.made {
            FRAMES => self.viewers.drain(..).for_each(|viewer| viewer.tell(View::Last)),
            _ => ctx.address().tell(Shoot),
        }
    }
}

struct Viewer {
    seen: Seen,
    done: mpsc::Sender<Seen>,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    frames: u64,
    wrong: u64,
    copies: u64,
}

enum View {
    Frame { number: u64, pixels: Payload, made_at: usize },
    Last,
}

impl Actor for Viewer {
    type Msg = View;

    fn handle(&mut self, msg: View, _ctx: &mut Context<'_, Self>) {
        match msg {
            View::Frame { number, pixels, made_at } => {
                let is_right = pixels.iter().zip(number..).all(|(&pixel, at)| pixel == at as u8);
                self.seen.frames += 1;
                self.seen.wrong += u64::from(!is_right);
                self.seen.copies += u64::from(pixels.as_ptr() as usize != made_at);
            }
            // The program has ended if nobody listens.
            View::Last => drop(self.done.send(self.seen)),
        }
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    // An arena for each worker, on its node. One without a PU may be anywhere.
    let anywhere = Topology::detect()?.allowed().first().ok_or("no PU may be used")?;
    let pus: Vec<PuId> = system.pus().iter().map(|pu| pu.unwrap_or(anywhere)).collect();
    let segment = Segment::builder().size(Size::Bytes(8 * pus.len() as u64 * (1 << 20)));
    let heap = Heap::leak(segment.placement(Placement::Local(pus)).build()?)?;

    let (done, seen) = mpsc::channel();
    let at = |worker: usize| SpawnOptions::new().on_worker(worker % system.workers());
    let mut viewers = Vec::new();
    for worker in 1..=2 {
        let done = done.clone();
        let viewer = move || Viewer { seen: Seen::default(), done: done.clone() };
        viewers.push(system.spawn_with(at(worker), viewer)?);
    }
    let camera = move || {
        let arena = heap.arena(0).expect("nobody else has it");
        Camera { arena, viewers: viewers.clone(), made: 0 }
    };
    let camera = system.spawn_with(at(0), camera)?;
    camera.send(Shoot)?;
    let seen: Vec<Seen> = seen.iter().take(2).collect();
    system.shutdown(Shutdown::Drain);

    let of = |field: fn(&Seen) -> u64| seen.iter().map(field).sum::<u64>();
    let mut arena = heap.arena(0).ok_or("the camera has ended, but not given its arena back")?;
    let figures = arena.figures();
    if of(|seen| seen.wrong) > 0 || figures.returned != FRAMES {
        return Err(format!("{} frames were wrong; {figures:?}", of(|seen| seen.wrong)).into());
    }
    Ok(format!(
        "{} frames seen, {} copied.\n{} came home in {} batches.\n",
        of(|seen| seen.frames),
        of(|seen| seen.copies) + figures.copied_bytes,
        figures.returned,
        figures.batches
    ))
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
