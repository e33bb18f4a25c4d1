//! A whole node against a peer whose every act is read from bytes: `fuzz/` looks for such bytes,
//! and the tests here run chosen and random ones.
//!
//! The peer begins as it should, so that what it says then gets as far as anybody's. Whatever
//! follows, the node stays within its bounds, its own actors answer, what they have asked others
//! has an end, and when the node is gone nothing of it is left.

mod script;
#[cfg(test)]
mod tests;
mod world;

use actinium_cluster::NodeEvent;
use script::Input;
use world::World;

/// Acts of one run, so that none takes long.
const ACTS_MAX: usize = 400;

/// Does what the bytes say. What the node has told meanwhile.
///
/// # Panics
/// If something does not hold.
pub(crate) fn run(bytes: &[u8]) -> Vec<NodeEvent> {
    let mut input = Input::new(bytes);
    let mut world = World::new(&mut input);
    for _ in 0..ACTS_MAX {
        if input.is_empty() {
            break;
        }
        world.act(&mut input);
        world.check_bounds();
    }
    world.end()
}
