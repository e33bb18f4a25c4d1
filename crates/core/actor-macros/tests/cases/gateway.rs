use actinium_actor::actor;

struct Private;

#[actor(gateway)]
impl Private {
    fn show(&mut self) {}
}

struct Cache<T>(T);

#[actor(gateway)]
impl<T: Send + 'static> Cache<T> {
    pub fn clear(&mut self) {}
}

struct Twice;

#[actor(gateway)]
impl Twice {
    pub fn get(&self) -> u64 {
        0
    }

    pub fn get_answer(&mut self) {}
}

struct Sometimes;

#[actor(gateway)]
impl Sometimes {
    #[cfg(unix)]
    pub fn show(&mut self) {}
}

struct Named;

#[actor(gateway = "bank.account")]
impl Named {
    pub fn show(&mut self) {}
}

fn main() {}
