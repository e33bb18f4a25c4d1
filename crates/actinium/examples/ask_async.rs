//! Async code asks an actor, with and without a deadline. Any executor will do: here the smallest
//! one.
//!
//! `cargo run --release -p actinium --example ask_async`

use actinium::prelude::*;
use std::error::Error;
use std::time::Duration;

/// Answers even numbers at once, and odd ones never.
#[derive(Default)]
struct Oracle {
    pending: Vec<Reply<u64>>,
}

struct Question(u64, Reply<u64>);

impl Actor for Oracle {
    type Msg = Question;

    fn handle(&mut self, Question(number, reply): Question, _ctx: &mut Context<'_, Self>) {
        if number.is_multiple_of(2) {
            // Whoever asked may have given up.
            let _ = reply.send(number / 2);
        } else {
            self.pending.push(reply);
        }
    }
}

async fn consult(oracle: Address<Oracle>) -> Result<String, Box<dyn Error>> {
    let half = oracle.ask(|reply| Question(84, reply)).await?;
    let limit = Duration::from_millis(20);
    let error = match oracle.ask_timeout(limit, |reply| Question(7, reply)).await {
        Ok(answer) => return Err(format!("an answer to an odd question: {answer}").into()),
        Err(error) => error,
    };
    Ok(format!("half of 84 is {half}\nhalf of 7: {error}\n"))
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let oracle = system.spawn(Oracle::default());
    let text = futures_lite::future::block_on(consult(oracle))?;
    system.shutdown(Shutdown::Drain);
    Ok(text)
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
