//! The example `bank` as a process that is killed again and again: what it has acknowledged is
//! there when it starts again.
//!
//! A program of its own: it starts itself as the example, and needs a `main`.

#[path = "../examples/bank.rs"]
mod bank;
mod http;

use actinium::wire::{Encoding, Message};
use http::{Service, ask};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const ACCOUNTS: u64 = 3;

/// After how many answers, in all, the process is killed: some before the first snapshot, some
/// after.
const KILLED_AFTER: [u64; 4] = [1, 37, 260, 90];

fn main() {
    if http::is_example() {
        return bank::main().expect("it serves");
    }
    let folder = std::env::temp_dir().join(format!("actinium-bank-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("bank.sqlite");
    let file = file.to_str().expect("UTF-8");
    let start = || Service::start(&[file, "127.0.0.1:0"]);

    let mut cents = [0; ACCOUNTS as usize];
    for answers in KILLED_AFTER {
        let mut service = start();
        let address = &service.address;
        for (account, cents) in (0..).zip(&mut cents) {
            let found = cents_of(address, account);
            // Beyond those acknowledged there may be the one that was under way.
            assert!((*cents..=*cents + 1).contains(&found), "{found} for {cents}");
            *cents = found;
        }
        let seen = AtomicU64::new(0);
        thread::scope(|scope| {
            for (account, cents) in (0..).zip(&mut cents) {
                let seen = &seen;
                scope.spawn(move || {
                    while add(address, account, 1).is_some() {
                        *cents += 1;
                        // Relaxed: only a count.
                        seen.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while seen.load(Ordering::Relaxed) < answers {
                thread::yield_now();
            }
            service.signal("KILL");
        });
        assert!(!service.wait());
    }

    reads_what_version_1_has_written(file);
    let mut service = start();
    let address = service.address.clone();
    assert_eq!(cents_of(&address, 1_000), 12);
    assert_eq!(add(&address, 1_000, -7), Some((200, "5".to_owned())));
    assert_eq!(
        add(&address, 1_000, -7),
        Some((409, "a balance of 5 cents can not change by -7".to_owned()))
    );
    assert_eq!(add(&address, 1_000, i64::MAX).expect("an answer").0, 409);
    assert_eq!(ask(&address, "POST", "/x/add/1", "").expect("an answer").0, 400);
    service.signal("TERM");
    let report = service.line();
    assert!(report.contains("dropped: 0") && report.contains("dead: 0"), "{report}");
    assert!(service.wait());

    let database = Connection::open(file).expect("the database");
    let count = |sql| database.query_row(sql, [], |row| row.get::<_, u64>(0)).expect("a count");
    let events = count("SELECT count(*) FROM events WHERE account < 3");
    assert!(events >= KILLED_AFTER.iter().sum(), "{events} events");
    assert!(count("SELECT count(*) FROM snapshots") > 0, "a hundred events, a snapshot");
    drop(database);
    std::fs::remove_dir_all(folder).expect("the folder goes");
}

fn cents_of(address: &str, account: u64) -> i64 {
    let (code, body) = ask(address, "GET", &format!("/{account}"), "").expect("an answer");
    assert_eq!(code, 200, "{body}");
    body.parse().expect("a number")
}

fn add(address: &str, account: u64, cents: i64) -> Option<(u16, String)> {
    ask(address, "POST", &format!("/{account}/add/{cents}?purpose=test"), "")
}

/// An account whose events are those of the bank's first version, which knew no purposes.
fn reads_what_version_1_has_written(file: &str) {
    #[derive(Serialize, Deserialize, Message)]
    enum Event {
        Added { cents: i64 },
    }

    let database = Connection::open(file).expect("the database");
    for (number, cents) in [(0, 10), (1, 2)] {
        let mut bytes = Vec::new();
        Encoding::SelfDescribing.encode(&Event::Added { cents }, &mut bytes).expect("encoded");
        let row = params![1_000, number, bytes];
        database.execute("INSERT INTO events VALUES (?, ?, ?)", row).expect("a row");
    }
}
