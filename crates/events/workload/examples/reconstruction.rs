//! Writes the shipped synthetic workload to stdout:
//! `cargo run -p actinium-workload --example reconstruction > workloads/reconstruction.toml`

use actinium_workload::generate::{SEED, reconstruction};

fn main() {
    print!("{}", reconstruction(SEED));
}
