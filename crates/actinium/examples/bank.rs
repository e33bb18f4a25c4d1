//! A bank behind axum, inside a tokio program: each account is an actor, which its bank supervises.
//! Ctrl-C or `SIGTERM` ends it: requests under way are answered, then the actors end.
//!
//! `cargo run --release -p actinium --features tokio --example bank`, and then
//! `curl -X POST localhost:8080/ada/500`, `curl localhost:8080/ada`

use actinium::prelude::*;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Stands for a database: what an account has said there outlives its failures.
#[derive(Clone, Default)]
struct Books(Arc<Mutex<HashMap<String, i64>>>);

impl Books {
    fn balance(&self, name: &str) -> i64 {
        self.0.lock().expect("nobody panics with the books").get(name).copied().unwrap_or(0)
    }

    fn save(&self, name: &str, cents: i64) {
        self.0.lock().expect("nobody panics with the books").insert(name.to_owned(), cents);
    }
}

#[derive(Debug)]
struct NoFunds;

impl fmt::Display for NoFunds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the account has not so much")
    }
}

impl Error for NoFunds {}

struct Account {
    name: String,
    cents: i64,
    books: Books,
}

#[actor]
impl Account {
    /// Adds to the balance, or takes from it; returns the new one.
    fn add(&mut self, cents: i64) -> Result<i64, NoFunds> {
        // A failure of the account: its supervision decides.
        let after = self.cents.checked_add(cents).expect("a balance fits");
        if after < 0 {
            return Err(NoFunds);
        }
        self.books.save(&self.name, after);
        self.cents = after;
        Ok(after)
    }

    fn balance(&self) -> i64 {
        self.cents
    }
}

#[derive(Default)]
struct Bank {
    books: Books,
    accounts: HashMap<String, Address<Account>>,
}

#[actor]
impl Bank {
    /// The account of this name, which is opened if there is none.
    fn account(
        &mut self,
        name: String,
        ctx: &mut Context<'_, Self>,
    ) -> Result<Address<Account>, SpawnError> {
        if let Some(account) = self.accounts.get(&name) {
            return Ok(account.clone());
        }
        let (owner, books) = (name.clone(), self.books.clone());
        let open = move || {
            let (name, books) = (owner.clone(), books.clone());
            Account { cents: books.balance(&name), name, books }
        };
        let supervision = Supervision::restart().limit(5, Duration::from_secs(60));
        let account = ctx.spawn_with(SpawnOptions::new().supervise(supervision), open)?;
        let closed = name.clone();
        ctx.watch(&account, move |_| BankMsg::Closed { name: closed });
        self.accounts.insert(name, account.clone());
        Ok(account)
    }

    /// The account has failed too often: the next request opens it anew.
    fn closed(&mut self, name: String) {
        self.accounts.remove(&name);
    }
}

type Answered = Result<String, (StatusCode, String)>;

fn unavailable(error: impl Error) -> (StatusCode, String) {
    (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

async fn add(
    State(bank): State<Address<Bank>>,
    Path((name, cents)): Path<(String, i64)>,
) -> Answered {
    let account = bank.account(name).await.map_err(unavailable)?;
    match account.add(cents).timeout(Duration::from_secs(2)).await {
        Ok(balance) => Ok(balance.to_string()),
        Err(AskError::Failed(why)) => Err((StatusCode::CONFLICT, why.to_string())),
        Err(error) => Err(unavailable(error)),
    }
}

async fn balance(State(bank): State<Address<Bank>>, Path(name): Path<String>) -> Answered {
    let account = bank.account(name).await.map_err(unavailable)?;
    Ok(account.balance().await.map_err(unavailable)?.to_string())
}

/// Runs the bank at this address until a signal comes.
pub(crate) async fn run(address: &str) -> Result<(), Box<dyn Error>> {
    let system = System::builder().from_env()?.share_with_tokio().build()?;
    let options = SpawnOptions::new().supervise(Supervision::restart());
    let bank = system.spawn_with(options, Bank::default)?;
    let _signals = system.stop_on_signals()?;
    let routes = axum::Router::new()
        .route("/{name}", get(balance))
        .route("/{name}/{cents}", post(add))
        .with_state(bank);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening at http://{}", listener.local_addr()?);
    axum::serve(listener, routes).with_graceful_shutdown(system.stopped()).await?;
    let report = system.shutdown_async(Shutdown::DrainWithin(Duration::from_secs(10))).await;
    println!("{} messages handled, {} dropped", report.handled, report.dropped);
    Ok(())
}

#[tokio::main(worker_threads = 2)]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    run(&address).await
}
