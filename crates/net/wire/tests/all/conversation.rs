//! Switching the encoding changes no line of a program and no result: the same random conversation
//! over every encoding ends in the same state on both sides.

use actinium_wire::{Encoding, Link, Message, Numbers, Options};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::thread;

/// What the client of a small account book asks, and what it hears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
enum Talk {
    Deposit { account: String, amount: f64 },
    Transfer { from: String, to: String, amount: f64 },
    History(Numbers<f64>),
    Forget(Option<String>),
    Ask(String),
    Balance { account: String, amount: Option<f64>, entries: Numbers<f64> },
}

/// The state of either side: bits, so that `NaN` equals itself.
type State = BTreeMap<String, Vec<u64>>;

#[derive(Default)]
struct Book(State);

impl Book {
    fn enter(&mut self, account: &str, amount: f64) {
        self.0.entry(account.to_owned()).or_default().push(amount.to_bits());
    }

    /// Takes a message, and says what there is to answer.
    fn take(&mut self, talk: Talk) -> Option<Talk> {
        match talk {
            Talk::Deposit { account, amount } => self.enter(&account, amount),
            Talk::Transfer { from, to, amount } => {
                self.enter(&from, -amount);
                self.enter(&to, amount);
            }
            Talk::History(numbers) => numbers.iter().for_each(|amount| self.enter("", amount)),
            Talk::Forget(Some(account)) => drop(self.0.remove(&account)),
            Talk::Forget(None) => self.0.clear(),
            Talk::Ask(account) => {
                let entries = self.0.get(&account);
                let floats =
                    |bits: &Vec<u64>| bits.iter().map(|bits| f64::from_bits(*bits)).collect();
                let entries: Option<Vec<f64>> = entries.map(floats);
                let amount = entries.as_ref().map(|entries| entries.iter().sum());
                return Some(Talk::Balance {
                    account,
                    amount,
                    entries: entries.unwrap_or_default().into(),
                });
            }
            Talk::Balance { account, amount, entries } => {
                self.enter(&account, amount.unwrap_or(-0.0));
                entries.iter().for_each(|amount| self.enter(&account, amount));
            }
        }
        None
    }
}

/// Runs the conversation over a real link; returns what the two sides know at its end.
fn converse(script: &[Talk], encoding: Encoding, checksum: bool) -> (State, State) {
    let options =
        Options { encodings: vec![encoding], checksum: Some(checksum), ..Options::default() };
    let (near, far) = UnixStream::pair().expect("a pair of sockets");
    let serving = options.clone();
    let server = thread::spawn(move || {
        let mut link = Link::open::<Talk>(far, "client", &serving).expect("it opens");
        let mut book = Book::default();
        while let Some(talk) = link.receive().expect("nothing is damaged") {
            if let Some(answer) = book.take(talk) {
                link.send(&answer).expect("it is sent");
            }
        }
        book.0
    });
    let mut link = Link::open::<Talk>(near, "server", &options).expect("it opens");
    let mut heard = Book::default();
    for talk in script {
        link.send(talk).expect("it is sent");
        if matches!(talk, Talk::Ask(_)) {
            let answer = link.receive().expect("nothing is damaged").expect("an answer comes");
            assert_eq!(heard.take(answer), None);
        }
    }
    drop(link);
    (heard.0, server.join().expect("it does not panic"))
}

fn talk() -> impl Strategy<Value = Talk> {
    // Canonical: which of the many NaN it was, text does not say.
    let amount = || any::<f64>().prop_map(|x| if x.is_nan() { f64::NAN } else { x });
    let account = || prop_oneof![Just("a".to_owned()), Just(" b\r".to_owned()), any::<String>()];
    prop_oneof![
        (account(), amount()).prop_map(|(account, amount)| Talk::Deposit { account, amount }),
        (account(), account(), amount()).prop_map(|(from, to, amount)| Talk::Transfer {
            from,
            to,
            amount
        }),
        vec(amount(), 0..50).prop_map(|numbers| Talk::History(numbers.into())),
        proptest::option::of(account()).prop_map(Talk::Forget),
        account().prop_map(Talk::Ask),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_same_conversation_ends_in_the_same_state(script in vec(talk(), 0..30), checksum in any::<bool>()) {
        let first = converse(&script, Encoding::Binary, checksum);
        for encoding in Encoding::available() {
            prop_assert_eq!(&converse(&script, encoding, checksum), &first);
        }
    }
}
