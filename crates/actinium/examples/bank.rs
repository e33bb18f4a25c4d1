//! A bank behind HTTP, whose accounts survive the process.
//!
//! An account is an actor by *event sourcing*: what has happened to it is in SQLite, event by
//! event, and the actor's state is what follows from them. It saves an event before it answers, so
//! what was acknowledged is on the disk when the process is killed. Each hundred events it saves a
//! snapshot, from which it starts faster.
//!
//! `cargo run -p actinium --features tokio,wire --example bank -- bank.sqlite 127.0.0.1:8080`, and
//! then `curl -X POST 'http://127.0.0.1:8080/7/add/100?purpose=gift'` and
//! `curl http://127.0.0.1:8080/7`

use actinium::prelude::*;
use actinium::wire::{Encoding, Limits, Message};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Any error of the store; as an actor's failure it keeps its type.
type StoreError = Box<dyn Error + Send + Sync>;

/// What has happened to an account. Version 1 knew no purpose: its events can be read.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(version = 2)]
enum Event {
    Added {
        cents: i64,
        #[serde(default)]
        purpose: Option<String>,
    },
}

/// What follows from an account's events.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Message)]
struct Balance {
    cents: i64,
    events: u64,
}

impl Balance {
    /// `None` if there can be no such event.
    fn after(&self, event: &Event) -> Option<Balance> {
        let Event::Added { cents, .. } = event;
        let cents = self.cents.checked_add(*cents).filter(|&cents| cents >= 0)?;
        Some(Balance { cents, events: self.events + 1 })
    }
}

/// The database. Its calls block, so they are made where that does not matter.
#[derive(Clone)]
struct Store(Arc<Mutex<Connection>>);

impl Store {
    fn open(path: &str) -> Result<Store, StoreError> {
        let database = Connection::open(path)?;
        database.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             CREATE TABLE IF NOT EXISTS events
                 (account INTEGER, number INTEGER, event BLOB NOT NULL, PRIMARY KEY (account, number));
             CREATE TABLE IF NOT EXISTS snapshots (account INTEGER PRIMARY KEY, balance BLOB NOT NULL);",
        )?;
        Ok(Store(Arc::new(Mutex::new(database))))
    }

    /// The account as its latest snapshot and the events after that make it.
    fn load(&self, account: u64) -> Result<Balance, StoreError> {
        // What panics in between leaves nothing half done: SQLite rolls back.
        let database = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = database
            .prepare_cached("SELECT balance FROM snapshots WHERE account = ?")?
            .query_row([account], |row| row.get::<_, Vec<u8>>(0))
            .optional()?;
        let mut balance = snapshot.map_or_else(|| Ok(Balance::default()), decode::<Balance>)?;
        let mut events = database.prepare_cached(
            "SELECT event FROM events WHERE account = ? AND number >= ? ORDER BY number",
        )?;
        let after = events.query_map([account, balance.events], |row| row.get::<_, Vec<u8>>(0))?;
        for event in after {
            let event = decode(event?)?;
            let next = balance.after(&event);
            balance = next.ok_or_else(|| format!("{event:?} can not follow {balance:?}"))?;
        }
        Ok(balance)
    }

    /// Saves an event, and what follows from it. On the disk when it returns.
    fn save(&self, account: u64, event: &Event, after: &Balance) -> Result<(), StoreError> {
        let mut database = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let change = database.transaction()?;
        let number = after.events - 1;
        change.execute(
            "INSERT INTO events VALUES (?, ?, ?)",
            params![account, number, encode(event)?],
        )?;
        if after.events.is_multiple_of(100) {
            let snapshot = params![account, encode(after)?];
            change.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?)", snapshot)?;
        }
        Ok(change.commit()?)
    }
}

/// With names, so that later versions read it: docs/wire.md says which changes are compatible.
fn encode<M: Message>(message: &M) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    Encoding::SelfDescribing.encode(message, &mut bytes)?;
    Ok(bytes)
}

fn decode<M: Message + DeserializeOwned>(bytes: Vec<u8>) -> Result<M, StoreError> {
    Ok(Encoding::SelfDescribing.decode(&bytes.into(), &Limits::default())?)
}

/// Why an account refuses a change: an answer, and no failure.
#[derive(Debug)]
struct Refused {
    cents: i64,
    change: i64,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a balance of {} cents can not change by {}", self.cents, self.change)
    }
}

impl Error for Refused {}

struct Account {
    id: u64,
    balance: Balance,
    store: Store,
}

#[actor]
impl Account {
    /// Messages wait until it knows what it has.
    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let (store, id) = (self.store.clone(), self.id);
        ctx.hold_blocking(
            move || store.load(id),
            |this, loaded, ctx| match loaded {
                Ok(balance) => this.balance = balance,
                Err(error) => ctx.fail(error),
            },
        );
    }

    fn cents(&self) -> i64 {
        self.balance.cents
    }

    /// Adds, or takes if it is negative. Answers with the new balance.
    fn add(
        &mut self,
        cents: i64,
        purpose: Option<String>,
        reply: Reply<Result<i64, Refused>>,
        ctx: &mut Context<'_, Self>,
    ) {
        let event = Event::Added { cents, purpose };
        let Some(after) = self.balance.after(&event) else {
            let _ = reply.send(Err(Refused { cents: self.balance.cents, change: cents }));
            return;
        };
        let (store, id, next) = (self.store.clone(), self.id, after.clone());
        ctx.hold_blocking(
            move || store.save(id, &event, &after),
            move |this, saved, ctx| match saved {
                Ok(()) => {
                    this.balance = next;
                    let _ = reply.send(Ok(this.balance.cents));
                }
                // Whoever asked hears of no answer, and the restarted account loads what is saved.
                Err(error) => ctx.fail(error),
            },
        );
    }
}

/// The parent of all accounts.
struct Bank {
    accounts: HashMap<u64, Address<Account>>,
    store: Store,
}

#[actor]
impl Bank {
    fn account(
        &mut self,
        id: u64,
        ctx: &mut Context<'_, Self>,
    ) -> Result<Address<Account>, SpawnError> {
        if let Some(account) = self.accounts.get(&id).filter(|account| !account.is_closed()) {
            return Ok(account.clone());
        }
        let restart = Supervision::restart()
            .limit(5, Duration::from_secs(60))
            .backoff(Duration::from_millis(50), Duration::from_secs(5));
        let options = SpawnOptions::new().mailbox(Mailbox::bounded(1_000)).supervise(restart);
        let store = self.store.clone();
        let account = ctx.spawn_with(options, move || Account {
            id,
            balance: Balance::default(),
            store: store.clone(),
        })?;
        self.accounts.insert(id, account.clone());
        Ok(account)
    }
}

/// An answer to the browser.
type Answered<T> = Result<Json<T>, (StatusCode, String)>;

const SOON: Duration = Duration::from_secs(5);

async fn account(bank: &Address<Bank>, id: u64) -> Result<Address<Account>, (StatusCode, String)> {
    bank.account(id).timeout(SOON).await.map_err(unavailable)
}

async fn cents(State(bank): State<Address<Bank>>, Path(id): Path<u64>) -> Answered<i64> {
    let cents = account(&bank, id).await?.cents().timeout(SOON).await;
    cents.map(Json).map_err(unavailable)
}

#[derive(Deserialize)]
struct Why {
    purpose: Option<String>,
}

async fn add(
    State(bank): State<Address<Bank>>,
    Path((id, cents)): Path<(u64, i64)>,
    Query(why): Query<Why>,
) -> Answered<i64> {
    let added = account(&bank, id).await?.add(cents, why.purpose).timeout(SOON).await;
    added.map(Json).map_err(|error| match error {
        AskError::Failed(refused) => (StatusCode::CONFLICT, refused.to_string()),
        other => unavailable(other),
    })
}

fn unavailable(error: impl Error) -> (StatusCode, String) {
    (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

/// Serves until Ctrl-C or SIGTERM; then ends what was begun, and says so.
#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let database = arguments.next().unwrap_or_else(|| "bank.sqlite".to_owned());
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());

    let system = System::builder().from_env()?.share_with_tokio().build()?;
    let _signals = system.stop_on_signals()?;
    let bank = system.spawn(Bank { accounts: HashMap::new(), store: Store::open(&database)? });
    let app = Router::new()
        .route("/{id}", get(cents))
        .route("/{id}/add/{cents}", post(add))
        .with_state(bank);

    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening at http://{}", listener.local_addr()?);
    axum::serve(listener, app).with_graceful_shutdown(system.stopped()).await?;
    println!("{:?}", system.shutdown_async(Shutdown::DrainWithin(SOON)).await);
    Ok(())
}
