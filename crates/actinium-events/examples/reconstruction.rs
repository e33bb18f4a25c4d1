//! Writes the shipped synthetic workload to stdout:
//! `cargo run -p actinium-events --example reconstruction > workloads/reconstruction.toml`

use actinium_events::workload::generate::{SEED, reconstruction};

fn main() {
    print!("{}", reconstruction(SEED));
}
