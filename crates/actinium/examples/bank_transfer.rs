//! Money moves between accounts whose mailboxes are bounded: senders that overfill one are muted
//! until it has caught up, and no message, and no money, gets lost.
//!
//! `cargo run --release -p actinium --example bank_transfer`

use actinium::prelude::*;
use std::error::Error;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

const ACCOUNTS: usize = 20;
const TRANSFERS: u64 = 2_000;
const OPENING: u64 = 1_000;

struct Account {
    balance: u64,
    others: Arc<OnceLock<Vec<WeakAddress<Account>>>>,
}

enum Msg {
    /// Sends one unit to so many others in turn, beginning with this one.
    Spread {
        first: usize,
        transfers: u64,
    },
    Deposit(u64),
    Balance(Reply<u64>),
}

impl Actor for Account {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Deposit(amount) => self.balance += amount,
            Msg::Balance(reply) => drop(reply.send(self.balance)),
            Msg::Spread { first, transfers } => {
                let others = self.others.get().expect("filled before the first transfer");
                for step in 0..transfers as usize {
                    let to = others[(first + step) % others.len()].upgrade();
                    if let Some(to) = to.filter(|_| self.balance > 0) {
                        // Over the bound this account is muted after this turn; what comes back
                        // stays here.
                        match to.send(Msg::Deposit(1)) {
                            Ok(()) => self.balance -= 1,
                            Err(_) => continue,
                        }
                    }
                }
            }
        }
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let others = Arc::new(OnceLock::new());
    let mut accounts = Vec::new();
    for _ in 0..ACCOUNTS {
        let (options, others) = (SpawnOptions::new().mailbox(Mailbox::bounded(16)), others.clone());
        let account = move || Account { balance: OPENING, others: others.clone() };
        accounts.push(system.spawn_with(options, account)?);
    }
    // Weak: accounts that hold each other's addresses would never end.
    if others.set(accounts.iter().map(Address::downgrade).collect()).is_err() {
        return Err("the accounts were filled in twice".into());
    }
    let chunk = 50;
    for part in 0..TRANSFERS / chunk {
        for (first, account) in accounts.iter().enumerate() {
            account
                .send_blocking(Msg::Spread { first: first + part as usize, transfers: chunk })?;
        }
    }
    system.wait_idle(Duration::MAX)?;
    let mut total = 0;
    for account in &accounts {
        total += account.ask(Msg::Balance).wait()?;
    }
    let audit = system.audit(Duration::MAX)?;
    let muted = system.stats().total().muted;
    system.shutdown(Shutdown::Drain);
    if total != ACCOUNTS as u64 * OPENING || !audit.is_balanced() {
        return Err(format!("{total} units in all accounts, {audit:?}").into());
    }
    let sum = format!("{total} units in {ACCOUNTS} accounts, before and after");
    // How often depends on how the workers ran.
    eprintln!("senders were muted {muted} times");
    Ok(format!("{sum}; every message accounted for.\n"))
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
