//! This crate's tests, as one program: to link one takes a fraction of the time that many take.
//! What runs on several nodes is in `nodes`.

mod bad_input;
mod binding;
#[allow(dead_code, reason = "`nodes` uses the rest of it")]
mod common;
mod dashboard;
mod elastic;
mod events_drawn;
mod events_gaudi;
mod events_nodes;
mod events_page;
mod events_plan;
mod events_run;
mod explain;
mod locality;
mod probe;
mod settings;
mod sim;
mod sim_cluster;
mod sim_placement;
mod terminal;
mod top;
mod topology;
mod traces;
mod wire;
mod wire_live;
mod wire_look;
mod wire_typescript;
