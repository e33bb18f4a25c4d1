//! A shop of actors with a live page, for looking at: tills that talk with warehouses, cooks who
//! are slow, clerks who are supervised and fail now and then, and letters that reach nobody.
//!
//! ```text
//! cargo run --example shop -- 127.0.0.1:7070
//! ```

#![expect(clippy::disallowed_methods, reason = "customers come in real time")]

use actinium_actor::{Actor, Address, Context, ShowMessage, SpawnOptions, Supervision, System};
use actinium_dashboard::Watched;
use actinium_monitor::live;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Takes orders, and asks the warehouse for goods.
struct Till {
    warehouse: Address<Warehouse>,
    cook: Address<Cook>,
    next: Option<Address<Till>>,
    orders: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Order {
    number: u64,
    hops: u32,
}

impl Actor for Till {
    type Msg = Order;
    // Who opens a till on the page sees its orders.
    const SHOW_MESSAGE: Option<ShowMessage<Order>> = Some(fmt::Debug::fmt);

    fn handle(&mut self, order: Order, _: &mut Context<'_, Self>) {
        // Relaxed: a count.
        self.orders.fetch_add(1, Ordering::Relaxed);
        self.warehouse.tell(order.number);
        if order.number.is_multiple_of(64) {
            self.cook.tell(order.number);
        }
        if let Some(next) = self.next.as_ref().filter(|_| order.hops > 0) {
            next.tell(Order { hops: order.hops - 1, ..order });
        }
    }
}

/// Counts goods.
struct Warehouse {
    goods: Vec<u64>,
}

impl Actor for Warehouse {
    type Msg = u64;

    fn handle(&mut self, number: u64, _: &mut Context<'_, Self>) {
        let len = self.goods.len() as u64;
        self.goods[(number % len) as usize] += 1;
    }
}

/// Takes its time.
struct Cook;

impl Actor for Cook {
    type Msg = u64;

    fn handle(&mut self, number: u64, _: &mut Context<'_, Self>) {
        let mut mixed = number | 1;
        for _ in 0..40_000 {
            mixed =
                std::hint::black_box(mixed.wrapping_mul(6_364_136_223_846_793_005).rotate_left(7));
        }
    }
}

/// Has clerks, who fail now and then.
struct Office {
    clerks: Vec<Address<Clerk>>,
}

struct Clerk;

impl Actor for Office {
    type Msg = u64;

    fn handle(&mut self, number: u64, ctx: &mut Context<'_, Self>) {
        if self.clerks.is_empty() {
            let options = SpawnOptions::new().supervise(Supervision::restart());
            let clerk = |_| ctx.spawn_with(options.clone(), || Clerk).expect("it starts");
            self.clerks = (0..6).map(clerk).collect();
        }
        self.clerks[number as usize % self.clerks.len()].tell(number);
    }
}

impl Actor for Clerk {
    type Msg = u64;

    fn handle(&mut self, number: u64, ctx: &mut Context<'_, Self>) {
        assert_ne!(number % 5_003, 5_002, "a clerk is tired");
        if number % 20_011 == 20_010 {
            ctx.stop();
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Clerks fail on purpose: the page shows it.
    std::panic::set_hook(Box::new(|_| ()));
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:7070".to_owned());
    let workers = std::env::args().nth(2).map_or(Ok(2), |it| it.parse())?;
    let system = System::builder().workers(workers).dashboard(&*address).build()?;
    println!("http://{address}/");
    let orders = Arc::new(AtomicU64::new(0));
    let shown = orders.clone();
    // Relaxed: a count.
    let _section = live::section("orders", move || {
        serde_json::json!({
            "taken": shown.load(Ordering::Relaxed),
            "tills": [{ "street": "High Street", "open": true }, { "street": "Harbour", "open": false }],
        })
    });
    let mut tills: Vec<Address<Till>> = Vec::new();
    for n in 0..400 {
        let warehouse = system.spawn(Warehouse { goods: vec![0; 4_096] });
        let options = SpawnOptions::new().name(format!("till {n}"));
        let till = Till {
            warehouse,
            cook: system.spawn(Cook),
            next: tills.last().cloned(),
            orders: orders.clone(),
        };
        tills.push(system.spawn_with(options, till)?);
    }
    let offices: Vec<_> = (0..3).map(|_| system.spawn(Office { clerks: Vec::new() })).collect();
    let gone = system.spawn(Cook);
    gone.kill();
    for number in 0_u64.. {
        let hops = if (number / 3_000).is_multiple_of(2) { 30 } else { 8 };
        tills[(number as usize * 7) % tills.len()].tell(Order { number, hops });
        offices[number as usize % offices.len()].tell(number);
        if number.is_multiple_of(40) {
            std::thread::sleep(Duration::from_millis(9 + (number / 1_000) % 6));
        }
        if number.is_multiple_of(997) {
            gone.tell(number);
        }
    }
    Ok(())
}
