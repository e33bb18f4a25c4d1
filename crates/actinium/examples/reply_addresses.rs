//! Three nodes that pass reply addresses around: a shop takes an order, the bank that it hands the
//! order to answers the customer, and nobody knows more of the others than what they take.
//!
//! `cargo run --release -p actinium --features cluster --example reply_addresses`
//!
//! The nodes share a process here, on the in-process fabric. The actors are the same where each
//! node is a process: there, `Node::join` makes the node, as in the example `job`.

use actinium::cluster::fabric::{NodeId, in_process::Network};
use actinium::cluster::{Node, NodeConfig, RemoteActor, RemoteAddress};
use actinium::prelude::*;
use actinium::wire::Message;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

/// What becomes of an order. The customer takes these.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
enum News {
    Accepted { article: String },
    Paid { account: u64, left: u64 },
}

/// An order, and whom to tell.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
struct Order {
    article: String,
    price: u64,
    account: u64,
    tell: Recipient<News>,
    /// How much of the account may be spent on it: the customer decides.
    limit: AskRecipient<String, u64>,
}

// ---- node 2: the bank
// ------------------------------------------------------------------------------------------------

struct Bank {
    balance: u64,
}

enum BankMsg {
    Charge(Order),
    Limit(Order, Result<u64, AskError>),
}

impl Actor for Bank {
    type Msg = BankMsg;

    fn handle(&mut self, msg: BankMsg, ctx: &mut Context<'_, Self>) {
        match msg {
            BankMsg::Charge(order) => {
                // The customer is on another node, which the bank has never been told of.
                let limit = order.limit.ask_timeout(TIMEOUT, order.article.clone());
                ctx.pipe(limit, |limit| BankMsg::Limit(order, limit));
            }
            BankMsg::Limit(order, limit) => {
                if limit.is_ok_and(|limit| order.price <= limit.min(self.balance)) {
                    self.balance -= order.price;
                }
                order.tell.tell(News::Paid { account: order.account, left: self.balance });
            }
        }
    }
}

impl RemoteActor for Bank {
    const KIND: &'static str = "example.bank";
    type Message = Order;
    type Request = ();
    type Answer = ();
    fn message(order: Order) -> BankMsg {
        BankMsg::Charge(order)
    }
    fn request((): (), _: Reply<()>) -> BankMsg {
        unreachable!("its type says that it answers nothing: nobody asks")
    }
}

// ---- node 1: the shop
// ------------------------------------------------------------------------------------------------

struct Shop {
    bank: RemoteAddress<Bank>,
}

impl Actor for Shop {
    type Msg = Order;

    fn handle(&mut self, order: Order, _ctx: &mut Context<'_, Self>) {
        order.tell.tell(News::Accepted { article: order.article.clone() });
        if let Err(refused) = self.bank.send(order) {
            eprintln!("the order is lost: {refused}");
        }
    }
}

impl RemoteActor for Shop {
    const KIND: &'static str = "example.shop";
    type Message = Order;
    type Request = ();
    type Answer = ();
    fn message(order: Order) -> Order {
        order
    }
    fn request((): (), _: Reply<()>) -> Order {
        unreachable!("its type says that it answers nothing: nobody asks")
    }
}

// ---- node 0: the customer
// --------------------------------------------------------------------------------------------

struct Customer {
    out: mpsc::Sender<String>,
}

enum CustomerMsg {
    News(News),
    Limit(String, Reply<u64>),
}

impl From<News> for CustomerMsg {
    fn from(news: News) -> Self {
        CustomerMsg::News(news)
    }
}

impl From<(String, Reply<u64>)> for CustomerMsg {
    fn from((article, reply): (String, Reply<u64>)) -> Self {
        CustomerMsg::Limit(article, reply)
    }
}

impl Actor for Customer {
    type Msg = CustomerMsg;

    fn handle(&mut self, msg: CustomerMsg, _ctx: &mut Context<'_, Self>) {
        let line = match msg {
            CustomerMsg::News(News::Accepted { article }) => {
                format!("the shop sells the {article}")
            }
            CustomerMsg::News(News::Paid { account, left }) => {
                format!("the bank has {left} left on account {account}")
            }
            CustomerMsg::Limit(article, reply) => {
                let limit = if article == "violin" { 900 } else { 10 };
                // The bank waits for it, unless it has ended.
                let _ = reply.send(limit);
                format!("at most {limit} for the {article}")
            }
        };
        // The program has ended if nobody listens.
        let _ = self.out.send(line);
    }
}

fn node(system: &System, network: &Network, id: u32) -> Result<Node, Box<dyn Error>> {
    let fabric = network.node(NodeId(id));
    Ok(Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric))?)
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let network = Network::new();
    let system = || System::builder().workers(1).build();
    let systems = [system()?, system()?, system()?];
    let nodes: Vec<Node> = (0..)
        .zip(&systems)
        .map(|(id, system)| node(system, &network, id))
        .collect::<Result<_, _>>()?;

    nodes[2].export("bank", &systems[2].spawn(Bank { balance: 1_000 }))?;
    let bank = nodes[1].find::<Bank>(NodeId(2), "bank", TIMEOUT).wait()?;
    nodes[1].export("shop", &systems[1].spawn(Shop { bank }))?;
    let shop = nodes[0].find::<Shop>(NodeId(1), "shop", TIMEOUT).wait()?;

    let (out, lines) = mpsc::channel();
    let customer = systems[0].spawn(Customer { out });
    let mut said = Vec::new();
    for (article, price) in [("violin", 700), ("trumpet", 200)] {
        let order = Order {
            article: article.to_owned(),
            price,
            account: 7,
            tell: (&customer).into(),
            limit: (&customer).into(),
        };
        shop.send(order)?;
        // Three lines for each order: those of the shop and the bank may come in either order.
        for _ in 0..3 {
            said.push(lines.recv_timeout(TIMEOUT)?);
        }
    }

    // A handle that has travelled keeps nobody alive.
    drop(customer);
    nodes.iter().for_each(Node::leave);
    Ok(said.join("\n") + "\n")
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
