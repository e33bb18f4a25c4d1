//! Payments that must not be lost, nor made twice, although nodes die: an outbox that journals what
//! it sends, and a bank that knows what it has applied.
//!
//! `cargo run --release -p actinium --features cluster --example at_least_once`
//!
//! - The outbox writes each payment to its journal before it accepts it, and sends it until the
//!   bank answers that it is applied. It sends again what comes back
//!   ([`RemoteAddress::on_undelivered`]), and what has no answer after a while, for the bank may
//!   have died with it in its mailbox. So a payment arrives at least once.
//! - The bank writes each payment to its own journal when it applies it, with the outbox and its
//!   number. One that it has applied before it only answers. So each is applied once.
//!
//! The nodes share a process here, on the in-process fabric, which can let one die without a word.
//! On Zenoh each is a process, and `Node::join` makes the node, as in the example `job`. (Of MPI,
//! no node outlives another.)

use actinium::cluster::fabric::{NodeId, in_process::Network};
use actinium::cluster::link::LinkConfig;
use actinium::cluster::{Node, NodeConfig, RemoteActor, RemoteAddress, RemoteSendError};
use actinium::prelude::*;
use actinium::wire::Message;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

const OUTBOX: NodeId = NodeId(0);
const BANK: NodeId = NodeId(1);
const TIMEOUT: Duration = Duration::from_secs(60);
/// What has no answer for so long is sent again.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Serialize, Deserialize, Message)]
struct Payment {
    outbox: u32,
    /// Counted by the outbox, from 1, in all its lives.
    id: u64,
    amount: u64,
    /// All payments of the outbox before this one were answered: the bank may forget them.
    first_open: u64,
    applied: Recipient<u64>,
}

// ---- a journal: lines of numbers in a file
// ------------------------------------------------------------------------------------------------

struct Journal {
    file: File,
    bytes: u64,
}

impl Journal {
    /// Opens a journal, and reads it. A last line that is torn was never written.
    fn open(path: &Path) -> io::Result<(Self, Vec<Vec<u64>>)> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        file.set_len(text.len() as u64)?;
        let numbers = |(at, line): (usize, &str)| {
            let numbers: Result<_, _> = line.split(' ').map(str::parse).collect();
            numbers.map_err(|_| {
                let what = format!("{}: line {} is no record: '{line}'", path.display(), at + 1);
                io::Error::new(io::ErrorKind::InvalidData, what)
            })
        };
        let records = text.lines().enumerate().map(numbers).collect::<io::Result<_>>()?;
        Ok((Journal { file, bytes: text.len() as u64 }, records))
    }

    /// Adds a line. When this returns, it outlives the process and the machine.
    fn append(&mut self, record: &[u64]) -> io::Result<()> {
        let words: Vec<String> = record.iter().map(u64::to_string).collect();
        let line = words.join(" ") + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.bytes += line.len() as u64,
            // Half a line must not become the beginning of the next one.
            Err(_) => self.file.set_len(self.bytes)?,
        }
        written
    }
}

// ---- node 1: the bank
// ------------------------------------------------------------------------------------------------

struct Bank {
    journal: Journal,
    /// The payments of each outbox that were applied, without those that it will not send again.
    applied: BTreeMap<u32, BTreeSet<u64>>,
    first_open: BTreeMap<u32, u64>,
    out: mpsc::Sender<u64>,
}

impl Bank {
    fn open(path: &Path, out: mpsc::Sender<u64>) -> Result<Self, Box<dyn Error>> {
        let (journal, records) = Journal::open(path)?;
        let mut applied = BTreeMap::<u32, BTreeSet<u64>>::new();
        for record in records {
            let [outbox, id, _amount] = record[..] else { return Err("a short line".into()) };
            applied.entry(outbox.try_into()?).or_default().insert(id);
        }
        Ok(Bank { journal, applied, first_open: BTreeMap::new(), out })
    }
}

impl Actor for Bank {
    type Msg = Payment;

    fn handle(&mut self, payment: Payment, _ctx: &mut Context<'_, Self>) {
        let Payment { outbox, id, amount, first_open, applied } = payment;
        let first = self.first_open.entry(outbox).or_default();
        *first = first_open.max(*first);
        let before = self.applied.entry(outbox).or_default();
        *before = before.split_off(first);
        if id >= *first && !before.contains(&id) {
            // The line is the application: it is there, or it is not.
            if let Err(error) = self.journal.append(&[outbox.into(), id, amount]) {
                return eprintln!("payment {id} is not applied, and will come again: {error}");
            }
            before.insert(id);
            // The program has ended if nobody listens.
            let _ = self.out.send(id);
        }
        applied.tell(id);
    }
}

impl RemoteActor for Bank {
    const KIND: &'static str = "example.bank-of-payments";
    type Message = Payment;
    type Request = ();
    type Answer = ();
    fn message(payment: Payment) -> Payment {
        payment
    }
    fn request((): (), _: Reply<()>) -> Payment {
        unreachable!("its type says that it answers nothing: nobody asks")
    }
}

// ---- node 0: the outbox
// ------------------------------------------------------------------------------------------------

struct Outbox {
    node: Arc<Node>,
    journal: Journal,
    last: u64,
    /// The payments without an answer, and those of them that are to be sent.
    open: BTreeMap<u64, u64>,
    to_send: BTreeSet<u64>,
    bank: Option<RemoteAddress<Bank>>,
    is_looking: bool,
    is_waiting_for_room: bool,
    /// The numbers of payments that came back.
    back: mpsc::Sender<u64>,
    when_empty: Vec<Reply<()>>,
}

enum OutboxMsg {
    /// The answer, the payment's number, says that it will be made.
    Pay(u64, Reply<io::Result<u64>>),
    Applied(u64),
    Back(u64),
    Found(Option<RemoteAddress<Bank>>),
    Room,
    Again,
    WhenEmpty(Reply<()>),
}

impl From<u64> for OutboxMsg {
    fn from(id: u64) -> Self {
        OutboxMsg::Applied(id)
    }
}

impl Outbox {
    /// The journal has `1 id amount` for a payment, and `0 id` when it is applied.
    fn open(path: &Path, node: Arc<Node>, back: mpsc::Sender<u64>) -> Result<Self, Box<dyn Error>> {
        let (journal, records) = Journal::open(path)?;
        let (mut open, mut last) = (BTreeMap::new(), 0);
        for record in records {
            match record[..] {
                [1, id, amount] => {
                    open.insert(id, amount);
                    last = id;
                }
                [0, id] => drop(open.remove(&id)),
                _ => return Err("an unknown line".into()),
            }
        }
        let to_send = open.keys().copied().collect();
        let (bank, is_looking, is_waiting_for_room) = (None, false, false);
        let when_empty = Vec::new();
        Ok(Outbox {
            node,
            journal,
            last,
            open,
            to_send,
            bank,
            is_looking,
            is_waiting_for_room,
            back,
            when_empty,
        })
    }

    fn pay(&mut self, amount: u64) -> io::Result<u64> {
        let id = self.last + 1;
        self.journal.append(&[1, id, amount])?;
        self.last = id;
        self.open.insert(id, amount);
        self.to_send.insert(id);
        Ok(id)
    }

    fn applied(&mut self, id: u64) {
        if !self.open.contains_key(&id) {
            return;
        }
        if let Err(error) = self.journal.append(&[0, id]) {
            // It stays open: the bank is asked again, and knows it.
            return eprintln!("that payment {id} is applied could not be noted: {error}");
        }
        self.open.remove(&id);
        self.to_send.remove(&id);
        self.tell_if_empty();
    }

    fn tell_if_empty(&mut self) {
        if self.open.is_empty() {
            // Whoever has stopped waiting needs no answer.
            for reply in self.when_empty.drain(..) {
                let _ = reply.send(());
            }
        }
    }

    /// Looks for the bank, which may have been started again.
    fn look(&mut self, ctx: &mut Context<'_, Self>) {
        if !std::mem::replace(&mut self.is_looking, true) {
            let found = self.node.find::<Bank>(BANK, "bank", TIMEOUT);
            ctx.pipe(found, |found| OutboxMsg::Found(found.ok()));
        }
    }

    /// Sends what is to be sent, as far as there is a bank and room.
    fn send(&mut self, ctx: &mut Context<'_, Self>) {
        let Some(bank) = &self.bank else { return self.look(ctx) };
        let Some(&first_open) = self.open.keys().next() else { return };
        while !self.is_waiting_for_room
            && let Some(id) = self.to_send.pop_first()
        {
            let Some(&amount) = self.open.get(&id) else { continue };
            let (outbox, applied) = (OUTBOX.0, ctx.address().into());
            match bank.send(Payment { outbox, id, amount, first_open, applied }) {
                Ok(()) => {}
                Err(RemoteSendError::Full(_)) => {
                    self.to_send.insert(id);
                    self.is_waiting_for_room = true;
                    ctx.pipe(bank.ready(), |()| OutboxMsg::Room);
                }
                // The node is down.
                Err(_) => {
                    self.to_send.insert(id);
                    self.bank = None;
                    return self.look(ctx);
                }
            }
        }
    }
}

impl Actor for Outbox {
    type Msg = OutboxMsg;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        ctx.every(AGAIN_AFTER, || OutboxMsg::Again);
        self.look(ctx);
    }

    fn handle(&mut self, msg: OutboxMsg, ctx: &mut Context<'_, Self>) {
        match msg {
            OutboxMsg::Pay(amount, reply) => {
                let accepted = self.pay(amount);
                // Who pays and does not wait finds out by the account.
                let _ = reply.send(accepted);
                self.send(ctx);
            }
            OutboxMsg::Applied(id) => self.applied(id),
            OutboxMsg::Back(id) => {
                self.to_send.insert(id);
                self.bank = None;
                self.look(ctx);
                let _ = self.back.send(id);
            }
            OutboxMsg::Found(bank) => {
                self.is_looking = false;
                self.bank = bank;
                if let Some(bank) = &self.bank {
                    let me = ctx.address().downgrade();
                    bank.on_undelivered(move |back| {
                        if let Some(me) = me.upgrade() {
                            me.tell(OutboxMsg::Back(back.message.id));
                        }
                    });
                    self.send(ctx);
                }
            }
            OutboxMsg::Room => {
                self.is_waiting_for_room = false;
                self.send(ctx);
            }
            // The bank may have died with payments in its mailbox, or with answers under way: then
            // nothing comes back. It may have been started again since.
            OutboxMsg::Again if !self.open.is_empty() => {
                self.to_send.extend(self.open.keys());
                self.look(ctx);
            }
            OutboxMsg::Again => {}
            OutboxMsg::WhenEmpty(reply) => {
                self.when_empty.push(reply);
                self.tell_if_empty();
            }
        }
    }
}

// ---- the two nodes, which die
// ------------------------------------------------------------------------------------------------

/// One life of a node.
struct Life {
    system: System,
    node: Arc<Node>,
}

impl Life {
    fn new(network: &Network, id: NodeId) -> Result<Self, Box<dyn Error>> {
        let system = System::builder().workers(1).build()?;
        let (fabric, linger) = (network.node(id), Duration::ZERO);
        // Here a node is missed when it starts again, and not before, however slow the disk is.
        let down_after_ns = TIMEOUT.as_nanos() as u64;
        let link = LinkConfig { down_after_ns, ..LinkConfig::default() };
        let config = NodeConfig { linger, link, ..NodeConfig::default() };
        let node = Arc::new(Node::start(system.handle(), config, move || Ok(fabric))?);
        Ok(Life { system, node })
    }

    /// It dies without a word: nobody hears its farewell.
    fn kill(self, network: &Network) {
        network.kill(self.node.id());
        self.system.shutdown(Shutdown::Drop);
        self.node.leave();
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("at-least-once-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let said = pay_although_nodes_die(&folder);
    std::fs::remove_dir_all(&folder)?;
    said
}

fn pay_although_nodes_die(folder: &Path) -> Result<String, Box<dyn Error>> {
    let (bank_path, outbox_path) = (folder.join("bank"), folder.join("outbox"));
    let network = Network::new();
    let (applies, applied) = mpsc::channel();
    let (gives, back) = mpsc::channel();
    let start_bank = || -> Result<Life, Box<dyn Error>> {
        let life = Life::new(&network, BANK)?;
        life.node.export("bank", &life.system.spawn(Bank::open(&bank_path, applies.clone())?))?;
        Ok(life)
    };
    let start_outbox = || -> Result<_, Box<dyn Error>> {
        let life = Life::new(&network, OUTBOX)?;
        let outbox = Outbox::open(&outbox_path, life.node.clone(), gives.clone())?;
        let outbox = life.system.spawn(outbox);
        Ok((life, outbox))
    };
    let pay = |outbox: &Address<Outbox>, amounts: std::ops::RangeInclusive<u64>| {
        for amount in amounts {
            outbox.ask(|reply| OutboxMsg::Pay(amount, reply)).wait()??;
        }
        Ok::<(), Box<dyn Error>>(())
    };

    // The bank dies with some payments applied, and others on their way or in its mailbox.
    let bank = start_bank()?;
    let (life, outbox) = start_outbox()?;
    pay(&outbox, 1..=20)?;
    applied.recv_timeout(TIMEOUT)?;
    bank.kill(&network);
    // Nobody has noticed yet: these are sent, and come back when it is there again.
    pay(&outbox, 21..=30)?;
    let bank = start_bank()?;
    while back.recv_timeout(TIMEOUT)? <= 20 {}
    outbox.ask(OutboxMsg::WhenEmpty).wait()?;

    // The outbox dies with payments that only its journal has seen, and while it writes a line.
    network.kill(OUTBOX);
    pay(&outbox, 31..=35)?;
    life.kill(&network);
    OpenOptions::new().append(true).open(&outbox_path)?.write_all(b"1 36 3")?;
    let (life, outbox) = start_outbox()?;
    outbox.ask(OutboxMsg::WhenEmpty).wait()?;

    life.node.leave();
    bank.node.leave();
    let (_, records) = Journal::open(&bank_path)?;
    let mut ids: Vec<u64> = records.iter().map(|record| record[1]).collect();
    ids.sort_unstable();
    let total: u64 = records.iter().map(|record| record[2]).sum();
    Ok(format!(
        "payments came back, and were sent again\n35 payments, each applied once: {}\nin sum {total}\n",
        ids.into_iter().eq(1..=35),
    ))
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
