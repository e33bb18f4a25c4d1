//! One producer, one counter.

use crate::workloads::parts::rate;
use actinium::{Actor, Address, Context, StopReason};
use std::sync::mpsc::Sender;
use std::time::Instant;

pub(super) fn conductor(messages: u64, result: Sender<f64>) -> Conductor {
    Conductor { messages, start: Instant::now(), result }
}

pub(super) struct Conductor {
    messages: u64,
    start: Instant,
    result: Sender<f64>,
}

impl Actor for Conductor {
    /// The number of messages that were counted.
    type Msg = u64;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        self.start = Instant::now();
        let counter = ctx.spawn(Counter { counted: 0, end: ctx.address() });
        let producer = ctx.spawn(Producer { messages: self.messages, counter });
        producer.send(()).expect("the producer waits");
    }

    fn handle(&mut self, counted: u64, _ctx: &mut Context<'_, Self>) {
        assert_eq!(counted, self.messages);
        // Whoever asked for it may have gone.
        let _ = self.result.send(rate(counted, self.start));
    }
}

struct Producer {
    messages: u64,
    counter: Address<Counter>,
}

impl Actor for Producer {
    /// The request to begin.
    type Msg = ();

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
        for message in 0..self.messages {
            self.counter.send(message).expect("the counter waits");
        }
    }
}

struct Counter {
    counted: u64,
    end: Address<Conductor>,
}

impl Actor for Counter {
    type Msg = u64;

    fn handle(&mut self, _message: u64, _ctx: &mut Context<'_, Self>) {
        self.counted += 1;
    }

    /// The producer has ended, and with it the last address.
    fn stopped(&mut self, _ctx: &mut Context<'_, Self>, _reason: &StopReason) {
        self.end.send(self.counted).expect("the end is awaited");
    }
}
