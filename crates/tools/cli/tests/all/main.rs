//! All of this crate's tests, as one program: to link one takes a fraction of the time that many
//! take.

mod bad_input;
mod binding;
mod common;
mod dashboard;
mod elastic;
mod events_cluster;
mod events_drawn;
mod events_gaudi;
mod events_nodes;
mod events_page;
mod events_plan;
mod events_run;
mod explain;
mod launch;
mod locality;
mod memory;
mod probe;
mod probe_cluster;
#[cfg(feature = "zenoh")]
mod secure;
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
