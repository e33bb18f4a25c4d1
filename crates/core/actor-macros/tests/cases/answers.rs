use actinium_actor::{Reply, actor};

struct Counter(u64);

#[actor]
impl Counter {
    fn borrowed(&self) -> &u64 {
        &self.0
    }

    fn all(&self) -> impl Iterator<Item = u64> {
        0..self.0
    }

    fn both(&self, reply: Reply<u64>) -> u64 {
        drop(reply);
        self.0
    }

    #[tell]
    fn nothing(&mut self) {}

    #[tell]
    fn ignored(&mut self) -> u64 {
        self.0
    }

    #[tell(now)]
    fn now(&mut self) -> Result<(), String> {
        Ok(())
    }
}

fn main() {}
