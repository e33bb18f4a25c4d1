use actinium_actor::actor;

#[actor]
struct Counter(u64);

#[actor]
impl Clone for Counter {
    fn clone(&self) -> Self {
        Counter(self.0)
    }
}

struct View<'a>(&'a str);

#[actor]
impl<'a> View<'a> {
    fn show(&mut self) {}
}

#[actor]
impl [u8] {
    fn show(&mut self) {}
}

struct Limited;

#[actor]
impl Limited {
    const MOST: u64 = 3;
}

struct Named;

#[actor(name = "named")]
impl Named {
    fn show(&mut self) {}
}

fn main() {}
