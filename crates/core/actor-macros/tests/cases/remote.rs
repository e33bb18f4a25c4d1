use actinium_actor::actor;

struct Private;

#[actor(remote = "test.private")]
impl Private {
    fn show(&mut self) {}
}

struct Cache<T>(T);

#[actor(remote = "test.cache")]
impl<T: Send + 'static> Cache<T> {
    pub fn clear(&mut self) {}
}

struct Watched;

#[actor(remote = "test.watched")]
impl Watched {
    pub fn watch(&mut self) {}
}

struct Unnamed;

#[actor(remote = "")]
impl Unnamed {
    pub fn show(&mut self) {}
}

struct Versioned;

#[actor(version = 2)]
impl Versioned {
    pub fn show(&mut self) {}
}

fn main() {}
