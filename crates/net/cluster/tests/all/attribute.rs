//! Actors that other nodes reach by their methods, by `#[actor(remote = "..")]`.

use crate::common::{Cluster, LIMIT, reliable};
use actinium_actor::{Context, Reply, actor};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{AnyAddress, RemoteActor, RemoteAskError, RemoteSendError};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
enum Refused {
    NoFunds { missing: i64 },
}

#[derive(Default)]
struct Account {
    cents: i64,
    deposits: u64,
    waiting: Vec<Reply<u64>>,
}

#[actor(remote = "bank.account")]
impl Account {
    pub(crate) fn deposit(&mut self, cents: i64) {
        self.cents += cents;
        self.deposits += 1;
        for reply in self.waiting.drain(..) {
            let _ = reply.send(self.deposits);
        }
    }

    /// Answers at the next deposit with the number of deposits.
    pub(crate) fn next(&mut self, reply: Reply<u64>) {
        self.waiting.retain(|reply| !reply.is_cancelled());
        self.waiting.push(reply);
    }

    pub(crate) fn balance(&self) -> i64 {
        self.cents
    }

    pub(crate) fn withdraw(
        &mut self,
        cents: i64,
        ctx: &mut Context<'_, Self>,
    ) -> Result<i64, Refused> {
        if cents > self.cents {
            return Err(Refused::NoFunds { missing: cents - self.cents });
        }
        self.cents -= cents;
        if self.cents == 0 {
            ctx.stop();
        }
        Ok(self.cents)
    }

    /// Not for others: its type is no data.
    fn only_here(&self, _what: std::thread::ThreadId) -> std::thread::ThreadId {
        std::thread::current().id()
    }
}

/// The same actor, some years later: a method and a field more, and a method with another name.
mod later {
    use actinium_actor::actor;

    #[derive(Default)]
    pub(crate) struct Account {
        pub(crate) cents: i64,
        pub(crate) notes: Vec<String>,
    }

    #[actor(remote = "bank.account", version = 2)]
    impl Account {
        #[serde(alias = "Deposit")]
        pub(crate) fn pay_in(&mut self, cents: i64, #[serde(default)] note: String) {
            self.cents += cents;
            self.notes.push(note);
        }

        pub(crate) fn balance(&self) -> i64 {
            self.cents
        }

        pub(crate) fn withdraw(&mut self, cents: i64) -> Result<i64, super::Refused> {
            self.cents -= cents;
            Ok(self.cents)
        }

        pub(crate) fn notes(&self) -> Vec<String> {
            self.notes.clone()
        }
    }
}

#[test]
fn methods_reach_other_nodes() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    cluster.steps(20);
    let account = cluster.hosts[1].system.spawn(Account::default());
    cluster.hosts[1].node.export("account", &account).unwrap();
    let there = cluster.hosts[0].node.lookup::<Account>(NodeId(1), "account", LIMIT);
    let there = cluster.wait(there).unwrap();
    for address in [AnyAddress::There(there.clone()), AnyAddress::Here(NodeId(1), account.clone())]
    {
        address.deposit(20).unwrap();
        address.deposit(1).unwrap();
        let balance = address.balance(LIMIT);
        assert_eq!(cluster.wait(balance), Ok(21));
        let refused = address.withdraw(30, LIMIT);
        assert_eq!(
            cluster.wait(refused),
            Err(RemoteAskError::Failed(Refused::NoFunds { missing: 9 }))
        );
        let left = address.withdraw(20, LIMIT);
        assert_eq!(cluster.wait(left), Ok(1));
        address.deposit(-1).unwrap();
        cluster.steps(20);
    }
    let next = [there.next(LIMIT), AnyAddress::Here(NodeId(1), account.clone()).next(LIMIT)];
    there.deposit(5).unwrap();
    for next in next {
        assert_eq!(cluster.wait(next), Ok(7));
    }
    let never = there.next(LIMIT);
    let thread = account.only_here(std::thread::current().id());
    cluster.steps(20);
    assert_eq!(thread.wait(), Ok(std::thread::current().id()));
    // It ends when it is empty.
    let last = there.withdraw(5, LIMIT);
    assert_eq!(cluster.wait(last), Ok(0));
    assert_eq!(cluster.wait(never), Err(RemoteAskError::NoReply));
    let late = there.balance(LIMIT);
    assert_eq!(cluster.wait(late), Err(RemoteAskError::Closed));
    cluster.hosts.remove(1);
    cluster.steps(20_000);
    assert!(matches!(
        there.deposit(1),
        Err(RemoteSendError::NodeDown(AccountMessage::Deposit { cents: 1 }))
    ));
}

#[test]
fn an_older_and_a_newer_program_talk() {
    assert_eq!((Account::VERSION, later::Account::VERSION), (1, 2));
    let mut cluster = Cluster::new(2, 2, Faults::default(), reliable());
    cluster.steps(20);
    // The older sends to the newer: what it does not say has its default.
    let newer = cluster.hosts[1].system.spawn(later::Account::default());
    cluster.hosts[1].node.export("newer", &newer).unwrap();
    let from_older = cluster.hosts[0].node.lookup::<Account>(NodeId(1), "newer", LIMIT);
    let from_older = cluster.wait(from_older).unwrap();
    from_older.deposit(7).unwrap();
    let balance = from_older.balance(LIMIT);
    assert_eq!(cluster.wait(balance), Ok(7));
    {
        use later::AccountAddress;
        let notes = newer.notes();
        cluster.steps(1);
        assert_eq!(notes.wait(), Ok(vec![String::new()]));
    }
    // The newer asks the older: it understands what it knows, and says so of the rest.
    let older = cluster.hosts[0].system.spawn(Account { cents: 3, ..Account::default() });
    cluster.hosts[0].node.export("older", &older).unwrap();
    let from_newer = cluster.hosts[1].node.lookup::<later::Account>(NodeId(0), "older", LIMIT);
    let from_newer = cluster.wait(from_newer).unwrap();
    use later::AccountRemote;
    let (balance, notes) = (from_newer.balance(LIMIT), from_newer.notes(LIMIT));
    assert_eq!(cluster.wait(balance), Ok(3));
    assert_eq!(cluster.wait(notes), Err(RemoteAskError::NotUnderstood));
    let left = from_newer.withdraw(1, LIMIT);
    assert_eq!(cluster.wait(left), Ok(2));
}
