//! `actinium dashboard`.

use actinium::dashboard::{Dashboard, ENV_TOKEN};
use actinium_app::{Failure, Interrupts, output};
use clap::ValueHint;
use std::sync::mpsc::channel;

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Show programs that serve live pages in one view.

A program serves a live page if it is linked with the feature 'dashboard' and ACTINIUM_DASHBOARD names an address, or if its code asks \
for one. So does each command of this one with --dashboard ADDR. A program that is down is shown as such, and comes back by itself.";

/// Arguments of `actinium dashboard`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  actinium launch -n 2 -- actinium probe --dashboard 127.0.0.1:7070
  actinium dashboard 127.0.0.1:7070 127.0.0.1:7071")]
pub struct Args {
    /// Where the programs serve their live pages.
    #[arg(value_name = "ADDR", required = true, value_hint = ValueHint::Hostname)]
    addr: Vec<String>,
    /// Serve the page here. Beyond this machine it needs a token.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7069")]
    listen: String,
    /// The token of the programs, and of this page.
    #[arg(long, value_name = "TOKEN", env = ENV_TOKEN, hide_env_values = true)]
    token: Option<String>,
}

/// Serves it until Ctrl-C.
///
/// # Errors
/// If the address can not be listened at, or others reach it and there is no token.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut dashboard = Dashboard::of_nodes(args.addr.clone());
    if let Some(token) = args.token.as_ref().filter(|token| !token.is_empty()) {
        dashboard = dashboard.token(token).node_token(token);
    }
    let (stop, stopped) = channel();
    let failed = |error| Failure::Failed(format!("can not listen to Ctrl-C: {error}"));
    // It may have been told before.
    let told = move |_| {
        let _ = stop.send(());
    };
    let _interrupts = Interrupts::listen(told).map_err(failed)?;
    let serving =
        dashboard.serve(&*args.listen).map_err(|error| Failure::Failed(error.to_string()))?;
    output::note(&format!("the page is at http://{}/ until Ctrl-C", serving.address()));
    let _ = stopped.recv();
    serving.stop();
    Ok(())
}
