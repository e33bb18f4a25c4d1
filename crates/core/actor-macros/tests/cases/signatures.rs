use actinium_actor::actor;

struct Counter(u64);

#[actor]
impl Counter {
    async fn load(&mut self) {}

    fn new() -> Self {
        Counter(0)
    }

    fn finish(self) {}

    fn boxed(self: Box<Self>) {}

    fn put<T: Into<u64>>(&mut self, n: T) {
        self.0 += n.into();
    }

    fn borrow<'a>(&'a mut self) {}

    fn bounded(&mut self)
    where
        Self: Send,
    {
    }
}

fn main() {}
