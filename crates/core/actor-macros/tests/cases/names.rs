use actinium_actor::actor;

struct Counter(u64);

#[actor]
impl Counter {
    fn add_one(&mut self) {}

    fn add__one(&mut self) {}

    fn len(&self) -> u64 {
        self.0
    }

    fn handle(&mut self) {}

    fn self_(&mut self) {}
}

fn main() {}
