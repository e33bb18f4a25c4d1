//! A shop that is reached from outside: `cargo run -p actinium-gateway --example shop --
//! 127.0.0.1:8080`.
//!
//! ```sh
//! curl -H 'content-type: application/json' http://127.0.0.1:8080/shop \
//!     -d '{"Place":{"customer":"Ada","items":[{"article":"cog","count":3}],"wish":"Nothing"}}'
//! ```
//!
//! Arguments after the address: `--token TOKEN`, and `--origin URL` for a web page that may use it.
//! It ends when its standard input does. `--typescript` alone prints its client in TypeScript.

pub mod protocol;

use actinium_actor::{Actor, Context, System};
use actinium_gateway::{Builder, Call, Gateway, Peer, PeerId, Served, Unsent};
use protocol::shop::Message;
use protocol::{Bill, Order, Wish};
use std::collections::HashMap;
use std::error::Error;
use std::io::Read;

/// Prices that there are in a day.
const PRICES: u32 = 2000;

/// Takes orders, and tells prices.
#[derive(Default)]
pub struct Shop {
    orders: u64,
    /// The clients that watch, each with its next price.
    watching: HashMap<PeerId, (Peer<Message>, u32)>,
}

/// The messages of the shop's actor.
pub enum Msg {
    /// From outside.
    Call(Call<Message>),
    /// A client that watches has room for more prices.
    Ready(PeerId),
    /// A client has gone.
    Left(PeerId),
}

impl Shop {
    fn place(&mut self, order: Order) -> Bill {
        self.orders += 1;
        let price = |article: &str| article.len() as f64;
        let lines = order
            .items
            .iter()
            .map(|item| (item.article.clone(), f64::from(item.count) * price(&item.article)));
        let lines: std::collections::BTreeMap<_, _> = lines.collect();
        let factor = match order.wish {
            Wish::Discount(percent) => 1.0 - percent / 100.0,
            _ => 1.0,
        };
        let total = lines.values().sum::<f64>() * factor;
        Bill { number: self.orders, lines, total }
    }

    /// Tells prices as fast as the client's socket takes them.
    fn tell_prices(&mut self, id: PeerId, ctx: &Context<'_, Self>) {
        let Some((peer, next)) = self.watching.get_mut(&id) else { return };
        while *next < PRICES {
            match peer.send(Message::Price(f64::from(*next) / 4.0)) {
                Ok(()) => *next += 1,
                Err(Unsent::Full(_)) => {
                    return ctx.pipe(peer.ready(), move |()| Msg::Ready(id));
                }
                // It has stopped watching, or gone.
                Err(_) => break,
            }
        }
        self.watching.remove(&id);
    }
}

impl Actor for Shop {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        let Call { message, peer, .. } = match msg {
            Msg::Call(call) => call,
            Msg::Ready(id) => return self.tell_prices(id, ctx),
            Msg::Left(id) => return drop(self.watching.remove(&id)),
        };
        let answer = match message {
            Message::Place(order) => Message::Billed(self.place(order)),
            Message::Mirror(sample) => Message::Mirrored(sample),
            Message::Watch(_article) => {
                let id = peer.id();
                self.watching.insert(id, (peer, 0));
                return self.tell_prices(id, ctx);
            }
            // Of what only the server says, the monitor lets nothing through; of the rest, nothing
            // is to be done.
            _ => return,
        };
        // An error, if the client has gone meanwhile.
        let _ = peer.send(answer);
    }
}

impl Served for Shop {
    type Talk = Message;

    fn heard(call: Call<Message>) -> Msg {
        Msg::Call(call)
    }

    fn left(peer: PeerId) -> Option<Msg> {
        Some(Msg::Left(peer))
    }
}

/// Opens the shop.
pub fn open(
    arguments: impl IntoIterator<Item = String>,
) -> Result<(System, Gateway), Box<dyn Error>> {
    let system = System::builder().workers(1).build()?;
    let mut builder: Builder = Gateway::builder().serve("shop", &system.spawn(Shop::default()))?;
    let mut arguments = arguments.into_iter();
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name}: expected a value"))?;
        builder = match name.as_str() {
            "--token" => builder.token("argument", &value),
            "--origin" => builder.origin(&value),
            _ => {
                return Err(
                    format!("unknown argument '{name}': allowed are --token, --origin").into()
                );
            }
        };
    }
    let gateway = builder.start(address.as_str())?;
    Ok((system, gateway))
}

/// Its client in TypeScript.
pub fn typescript() -> Result<String, String> {
    actinium_wire::typescript::module(&actinium_wire::Description::of::<Message>())
}

#[allow(dead_code, reason = "the tests open the shop themselves")]
fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("--typescript") {
        print!("{}", typescript()?);
        return Ok(());
    }
    let (_system, gateway) = open(std::env::args().skip(1))?;
    println!("http://{}/shop", gateway.address());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    gateway.stop();
    Ok(())
}
