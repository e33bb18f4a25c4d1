use actinium_actor::{Context, Reply, actor};

struct Counter(u64);

#[actor]
impl Counter {
    fn name(&mut self, _name: &str) {}

    fn any(&mut self, n: impl Into<u64> + Send + 'static) {
        self.0 += n.into();
    }

    fn pair(&mut self, (a, b): (u64, u64)) {
        self.0 += a + b;
    }

    fn ignored(&mut self, _: u64) {}

    fn early(&mut self, ctx: &mut Context<'_, Self>, n: u64) {
        self.0 += n;
        ctx.stop();
    }

    fn twice(&mut self, _one: Reply<u64>, _two: Reply<u64>) {}

    fn maybe(&mut self, #[cfg(unix)] _n: u64) {}

    fn back(&mut self, reply: u64) -> u64 {
        reply
    }
}

fn main() {}
