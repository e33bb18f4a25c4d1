//! The last seconds of a system, over HTTP.

use actinium::gateway::Gateway;
use actinium::monitor::{Flight, diagnose, flight_router};
use actinium::prelude::*;

#[test]
fn a_program_that_runs_is_asked_over_http() {
    let system = System::builder().workers(1).build().expect("a system");
    let gateway = Gateway::builder().routes(flight_router(&system)).token("me", "secret");
    let gateway = gateway.start("127.0.0.1:0").expect("an address");
    let address = gateway.address().to_string();
    let flight = Flight::fetch(&format!("http://{address}/"), Some("secret")).expect("an answer");
    assert_eq!((flight.workers.len(), flight.process), (1, std::process::id()));
    assert!(diagnose(&flight).is_empty());
    let refused = Flight::fetch(&address, None).expect_err("it asks for a token");
    assert!(refused.to_string().contains("token"), "{refused}");
    gateway.stop();
    let gone = Flight::fetch(&address, Some("secret")).expect_err("nobody is there");
    assert!(gone.to_string().contains("/api/flight"), "{gone}");
}

#[test]
#[cfg(feature = "dashboard")]
fn a_live_page_has_the_last_seconds_too() {
    let system = System::builder().workers(1).build().expect("a system");
    let page = actinium::dashboard::Dashboard::new(&system).token("secret");
    let page = page.serve("127.0.0.1:0").expect("an address");
    let address = page.address().to_string();
    let flight = Flight::fetch(&address, Some("secret")).expect("an answer");
    assert_eq!((flight.workers.len(), flight.process), (1, std::process::id()));
    Flight::fetch(&address, Some("guess")).expect_err("it asks for the token");
}
