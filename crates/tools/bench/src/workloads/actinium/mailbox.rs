//! One sender or many, one receiver.

use crate::workloads::parts::rate;
use actinium::{Actor, Address, Context, StopReason};
use std::sync::mpsc::Sender as Channel;
use std::time::Instant;

pub(super) fn conductor(senders: u64, messages: u64, result: Channel<f64>) -> Conductor {
    Conductor { senders, messages, start: Instant::now(), result }
}

pub(super) struct Conductor {
    senders: u64,
    /// The number of messages per sender.
    messages: u64,
    start: Instant,
    result: Channel<f64>,
}

impl Actor for Conductor {
    /// The number of messages that were received.
    type Msg = u64;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        self.start = Instant::now();
        let receiver = ctx.spawn_detached(Receiver { counted: 0, end: ctx.address() });
        for _ in 0..self.senders {
            let sender =
                ctx.spawn_detached(Sender { messages: self.messages, receiver: receiver.clone() });
            sender.send(()).expect("the sender waits");
        }
    }

    fn handle(&mut self, counted: u64, _ctx: &mut Context<'_, Self>) {
        assert_eq!(counted, self.senders * self.messages);
        // Whoever asked for it may have gone.
        let _ = self.result.send(rate(counted, self.start));
    }
}

struct Sender {
    messages: u64,
    receiver: Address<Receiver>,
}

impl Actor for Sender {
    /// The request to begin.
    type Msg = ();

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
        for message in 0..self.messages {
            self.receiver.send(message).expect("the receiver waits");
        }
    }
}

struct Receiver {
    counted: u64,
    end: Address<Conductor>,
}

impl Actor for Receiver {
    type Msg = u64;

    fn handle(&mut self, _message: u64, _ctx: &mut Context<'_, Self>) {
        self.counted += 1;
    }

    /// All senders have ended, and with them the last address.
    fn stopped(&mut self, _ctx: &mut Context<'_, Self>, _reason: &StopReason) {
        self.end.send(self.counted).expect("the end is awaited");
    }
}
