//! The example `service` as a process: asked over HTTP, and ended by a signal.
//!
//! A program of its own: it starts itself as the example, and needs a `main`.

mod http;
#[path = "../examples/service.rs"]
mod service;

use http::Service;

fn main() {
    if http::is_example() {
        return service::main().expect("it serves");
    }
    let mut example = Service::start(&["127.0.0.1:0"]);
    let address = example.address.clone();

    assert_eq!(post(&address, "[1, 3]"), (200, r#"{"mean":2.0,"spread":1.0,"rank":0}"#.into()));
    assert_eq!(post(&address, "[5, 5]"), (200, r#"{"mean":5.0,"spread":0.0,"rank":0}"#.into()));
    assert_eq!(post(&address, "[0, 9]"), (200, r#"{"mean":4.5,"spread":4.5,"rank":2}"#.into()));
    assert_eq!(post(&address, "[]"), (400, "an empty array has no mean".into()));
    assert_eq!(post(&address, "[1, ").0, 400);
    // An event that fails is answered, too, and ends nothing.
    let too_large = post(&address, "[1e308, 1e308]");
    assert_eq!(too_large, (422, "the numbers are too large".into()));
    many_at_once(&address);

    example.signal("INT");
    let graph = example.line();
    assert!(graph.starts_with("graph requests: ") && graph.contains("1 events failed"), "{graph}");
    let actors = example.line();
    assert!(actors.starts_with("actors: ") && actors.ends_with(", 0 dropped"), "{actors}");
    assert!(example.wait());
}

/// Each gets its own answer.
fn many_at_once(address: &str) {
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                for k in 0..20 {
                    let mean = f64::from(n * 100 + k);
                    let (code, body) = post(address, &format!("[{mean}, {mean}]"));
                    let is_own = body.starts_with(&format!("{{\"mean\":{mean:.1},\"spread\":0.0"));
                    assert!(code == 200 && is_own, "{code} {body}");
                }
            });
        }
    });
}

fn post(address: &str, body: &str) -> (u16, String) {
    http::ask(address, "POST", "/", body).expect("an answer")
}
