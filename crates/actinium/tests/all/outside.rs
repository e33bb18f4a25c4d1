//! One actor, reached by its methods from its own node, from another, and by a client of a gateway.

use actinium::cluster::fabric::NodeId;
use actinium::cluster::fabric::in_process::Network;
use actinium::cluster::{Node, NodeConfig};
use actinium::gateway::Gateway;
use actinium::prelude::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Default)]
struct Account {
    cents: i64,
}

#[actor(remote = "test.account", gateway = "Banking", version = 2)]
impl Account {
    pub(crate) fn deposit(&mut self, cents: i64) -> i64 {
        self.cents += cents;
        self.cents
    }

    pub(crate) fn withdraw(&mut self, cents: i64, reply: Reply<Result<i64, String>>) {
        let left = self.cents.checked_sub(cents).filter(|left| *left >= 0);
        self.cents = left.unwrap_or(self.cents);
        let _ = reply.send(left.ok_or_else(|| format!("there are only {} cents", self.cents)));
    }
}

fn post(gateway: SocketAddr, body: &str) -> String {
    let mut client = TcpStream::connect(gateway).expect("it listens");
    let length = body.len();
    write!(
        client,
        "POST /account HTTP/1.1\r\nhost: bank\r\nconnection: close\r\ncontent-type: \
         application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("it answers");
    answer.split_once("\r\n\r\n").expect("a head and a body").1.trim().to_owned()
}

#[test]
fn nodes_and_clients_reach_the_same_methods() {
    const LIMIT: Duration = Duration::from_secs(60);
    let network = Network::new();
    let fabrics = [network.node(NodeId(0)), network.node(NodeId(1))];
    let (systems, nodes): (Vec<_>, Vec<_>) = fabrics
        .into_iter()
        .map(|fabric| {
            let system = System::builder().workers(1).build().expect("a system");
            let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric));
            (system, node.expect("a node"))
        })
        .unzip();
    let account = systems[0].spawn(Account::default());
    nodes[0].export("account", &account).expect("a name");
    let gateway = Gateway::builder().serve("account", &account).expect("a name");
    let gateway = gateway.start("127.0.0.1:0").expect("a gateway");

    let there = nodes[1].lookup::<Account>(NodeId(0), "account", LIMIT).wait().expect("an account");
    assert_eq!(account.deposit(1).wait(), Ok(1));
    assert_eq!(there.deposit(2, LIMIT).wait(), Ok(3));
    let client = |body: &str| post(gateway.address(), body);
    assert_eq!(client(r#"{"Deposit":{"cents":4}}"#), r#"{"DepositAnswer":7}"#);
    assert_eq!(there.withdraw(5, LIMIT).wait(), Ok(2));
    let refused = r#"{"WithdrawAnswer":{"Err":"there are only 2 cents"}}"#;
    assert_eq!(client(r#"{"Withdraw":{"cents":5}}"#), refused);
    gateway.stop();
}
