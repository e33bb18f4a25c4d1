//! Actors that clients reach by their methods, by `#[actor(gateway)]`.

use crate::desk::{Answer, request, request_to};
use actinium_actor::{Actor, Address, Context, Reply, Shutdown, System, actor};
use actinium_gateway::{Gateway, Served};
use actinium_wire::{Description, Message, typescript};
use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::{WebSocketStream, client_async};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
enum Refused {
    NoFunds { missing: i64 },
}

#[derive(Default)]
struct Account {
    cents: i64,
    notes: Vec<String>,
    waiting: Vec<Reply<i64>>,
    watchers: Vec<Reply<usize>>,
}

#[actor(gateway, version = 2)]
impl Account {
    #[serde(alias = "Deposit")]
    pub(crate) fn pay_in(&mut self, cents: i64, #[serde(default)] note: Option<String>) {
        self.cents += cents;
        self.notes.extend(note);
        for reply in self.waiting.drain(..) {
            let _ = reply.send(self.cents);
        }
    }

    #[serde(rename = "Total")]
    pub(crate) fn balance(&self) -> i64 {
        self.cents
    }

    pub(crate) fn withdraw(&mut self, cents: i64) -> Result<i64, Refused> {
        if cents > self.cents {
            return Err(Refused::NoFunds { missing: cents - self.cents });
        }
        self.cents -= cents;
        Ok(self.cents)
    }

    /// Answers at the next deposit.
    pub(crate) fn next(&mut self, reply: Reply<i64>) {
        self.waiting.push(reply);
        for watcher in self.watchers.drain(..) {
            let _ = watcher.send(self.waiting.len());
        }
    }

    pub(crate) fn flush(&mut self) -> () {}

    pub(crate) fn fail(&mut self) -> u8 {
        panic!("as asked")
    }

    #[tell]
    pub(crate) fn check(&mut self) -> Result<(), String> {
        Ok(())
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Not for clients: its type is no data.
    fn thread(&self) -> std::thread::ThreadId {
        std::thread::current().id()
    }

    /// Answers once another client waits for a deposit.
    fn watch(&mut self, reply: Reply<usize>) {
        self.watchers.push(reply);
    }

    /// Forgets those who wait.
    fn forget(&mut self) -> usize {
        self.waiting.drain(..).count()
    }

    /// Answers when nobody waits for the first of those any more.
    fn gone(&mut self, reply: Reply<bool>, ctx: &mut Context<'_, Self>) {
        let mut first = self.waiting.remove(0);
        let gone = async move {
            first.cancelled().await;
            let _ = reply.send(first.is_cancelled() && first.send(0) == Err(0));
        };
        ctx.pipe(gone, |()| AccountMsg::Check);
    }
}

struct Bank {
    account: Address<Account>,
    gateway: Option<Gateway>,
    system: Option<System>,
}

impl Bank {
    fn open() -> Self {
        let system = System::builder().workers(1).build().expect("a system");
        let account = system.spawn(Account::default());
        let gateway = Gateway::builder().serve("account", &account).expect("a name");
        let gateway = gateway.start("127.0.0.1:0").expect("a gateway");
        Bank { account, gateway: Some(gateway), system: Some(system) }
    }

    fn address(&self) -> SocketAddr {
        self.gateway.as_ref().expect("it is open").address()
    }

    async fn post(&self, body: &str) -> Answer {
        let head = "POST /account HTTP/1.1\r\nhost: bank\r\nconnection: close\r\ncontent-type: \
                    application/json\r\ncontent-length: ";
        request(self.address(), format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).await
    }

    async fn socket(&self) -> Client {
        let stream = TcpStream::connect(self.address()).await.expect("it listens");
        let url = format!("ws://{}/account", self.address());
        let request = request_to(&url, &[("sec-websocket-protocol", "Account.2.json")]);
        Client(client_async(request, stream).await.expect("it opens").0)
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        self.gateway = None;
        if let Some(system) = self.system.take() {
            system.shutdown(Shutdown::Drop);
        }
    }
}

struct Client(WebSocketStream<TcpStream>);

impl Client {
    async fn say(&mut self, message: &str) {
        self.0.send(Frame::text(message)).await.expect("it is open");
    }

    async fn hear(&mut self) -> String {
        loop {
            match self.0.next().await {
                Some(Ok(Frame::Text(text))) => return text.to_string(),
                Some(Ok(Frame::Ping(_))) => {}
                other => panic!("expected a text frame, found {other:?}"),
            }
        }
    }

    async fn ask(&mut self, message: &str) -> String {
        self.say(message).await;
        self.hear().await
    }
}

#[tokio::test]
async fn methods_are_reached_by_http() {
    let bank = Bank::open();
    for paid in [r#"{"PayIn":{"cents":5}}"#, r#"{"Deposit":{"cents":2,"note":"a gift"}}"#] {
        let told = bank.post(paid).await;
        assert_eq!((told.status, told.text().as_str()), (202, ""), "{paid}");
    }
    for (asked, status, answer) in [
        ("\"Total\"", 200, r#"{"TotalAnswer":7}"#),
        (r#"{"Withdraw":{"cents":4}}"#, 200, r#"{"WithdrawAnswer":{"Ok":3}}"#),
        (
            r#"{"Withdraw":{"cents":4}}"#,
            200,
            r#"{"WithdrawAnswer":{"Err":{"NoFunds":{"missing":1}}}}"#,
        ),
        ("\"Notes\"", 200, r#"{"NotesAnswer":["a gift"]}"#),
        ("\"Flush\"", 200, r#"{"FlushAnswer":null}"#),
        ("\"Check\"", 202, ""),
    ] {
        let answered = bank.post(asked).await;
        assert_eq!((answered.status, answered.text().as_str()), (status, answer), "{asked}");
    }
    // What is private, and what is the actor's to say, can not be said.
    for (wrong, status, code) in
        [("\"Thread\"", 400, "decode"), (r#"{"TotalAnswer":7}"#, 409, "state")]
    {
        let refused = bank.post(wrong).await;
        let code = format!(r#""code":"{code}""#);
        assert!(refused.status == status && refused.text().contains(&code), "{refused:?}");
    }
}

#[tokio::test]
async fn methods_are_reached_by_websocket() {
    let bank = Bank::open();
    let (mut one, mut other) = (bank.socket().await, bank.socket().await);
    let watching = bank.account.watch();
    one.say("\"Next\"").await;
    assert_eq!(watching.await, Ok(1));
    // Another client's requests are answered meanwhile, but its own wait.
    assert_eq!(other.ask("\"Total\"").await, r#"{"TotalAnswer":0}"#);
    assert!(one.ask("\"Total\"").await.contains("Open, Next asked"));
    other.say(r#"{"PayIn":{"cents":9}}"#).await;
    assert_eq!(one.hear().await, r#"{"NextAnswer":9}"#);
    assert_eq!(one.ask("\"Total\"").await, r#"{"TotalAnswer":9}"#);
    // Nobody answers any more.
    let watching = bank.account.watch();
    one.say("\"Next\"").await;
    assert_eq!(watching.await, Ok(1));
    assert_eq!(bank.account.forget().await, Ok(1));
    let fault = one.hear().await;
    assert!(fault.contains("no_answer") && fault.contains("Next asked"), "{fault}");
    let fault = other.ask("\"Fail\"").await;
    assert!(fault.contains("no_answer"), "{fault}");
}

#[tokio::test]
async fn an_actor_sees_that_its_client_has_gone() {
    let bank = Bank::open();
    let mut client = bank.socket().await;
    let watching = bank.account.watch();
    client.say("\"Next\"").await;
    assert_eq!(watching.await, Ok(1));
    let gone = bank.account.gone();
    drop(client);
    assert_eq!(gone.await, Ok(true));
    assert_eq!(bank.account.thread().await.map(drop), Ok(()));
}

#[test]
fn clients_can_be_made_of_its_description() {
    fn talk<A: Served + Actor>() -> Description {
        Description::of::<A::Talk>()
    }
    let description = talk::<Account>();
    assert_eq!((description.schema.name.as_str(), description.schema.version), ("Account", 2));
    let module = typescript::module(&description).expect("a module");
    for method in [
        "payIn(data: { cents: number; note?: string | null }): Promise<void>",
        "total(): Promise<number>",
        "next(): Promise<number>",
        "withdraw(data: { cents: number }): Promise<",
    ] {
        assert!(module.contains(method), "no `{method}` in {module}");
    }
    assert!(!module.contains("thread"), "{module}");
}
