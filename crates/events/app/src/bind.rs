//! `--bind`: to which PUs a program's workers are bound.

use crate::Failure;
use crate::setting::{Parsed, Setting};
use actinium_actor::{Bind, Workers};
use actinium_topology::{Topology, WrongBind};
use clap::ArgMatches;

/// The flag.
#[derive(Clone, Debug, clap::Args)]
pub struct BindArgs {
    /// PUs for workers, of those that no other program has claimed: auto (all that this process may
    /// use), none (workers run unbound), or a list like 0-3,8. A worker without a PU runs unbound
    /// [env: ACTINIUM_BIND]
    #[arg(long, value_name = "auto|none|LIST", default_value = "auto", value_parser = bind)]
    bind: Bind,
}

impl BindArgs {
    /// Flag > environment > default.
    ///
    /// # Errors
    /// If the variable's value is not allowed, or PUs are listed that this process may not use.
    pub fn resolve(&self, matches: &ArgMatches) -> Result<Setting<Bind>, Failure> {
        let setting = Setting::parsed(self.bind.clone(), matches, "bind");
        let setting = setting.or_env("ACTINIUM_BIND", bind)?;
        let origin = setting.origin("--bind");
        let wrong = |error| Failure::Asked(format!("{origin}: {error}"));
        setting.value.check(&machine()?).map_err(wrong)?;
        Ok(setting)
    }
}

fn bind(text: &str) -> Result<Bind, String> {
    text.parse().map_err(|error: WrongBind| error.to_string())
}

/// Detects the topology of this machine.
///
/// # Errors
/// If it can not be looked at.
pub fn machine() -> Result<Topology, Failure> {
    Topology::detect().map_err(|error| Failure::Failed(error.to_string()))
}

/// Returns the number of workers that this means here.
///
/// # Errors
/// If it is for the machine to say, and it can not be looked at.
pub fn count_workers(workers: Workers, bind: &Bind) -> Result<usize, Failure> {
    match workers {
        Workers::Count(count) => Ok(count),
        Workers::All => Ok(bind.most(machine()?.usable_workers().workers)),
    }
}
