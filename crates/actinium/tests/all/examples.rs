//! Each example does what it says.

/// Runs an example and looks for lines in what it says.
macro_rules! examples {
    ($($(#[$only:meta])* $name:ident $path:literal: $expected:expr;)+) => {$(
        $(#[$only])*
        #[path = $path]
        mod $name;

        $(#[$only])*
        #[test]
        fn $name() {
            let text = $name::run().expect("the example succeeds");
            for line in $expected {
                assert!(text.lines().any(|found| found == line), "no line '{line}' in:\n{text}");
            }
        }
    )+};
}

examples! {
    hello "../../examples/hello.rs": [
        "Hello, Ada! You are number 1.",
        "Hello, Grace! You are number 3.",
        "3 messages handled, 0 dropped.",
    ];
    ping_pong "../../examples/ping_pong.rs": ["100000 round trips, 200000 messages."];
    ring "../../examples/ring.rs": ["the token made 100000 hops; each of 100 actors saw it 1000 times."];
    supervision "../../examples/supervision.rs": [
        "8 / 2 = 4 (number 2 since its start)",
        "9 / 3 = 3 (number 1 since its start)",
        "5 / 1: no living actor has the name 'divider'",
    ];
    #[cfg(feature = "memory")]
    frames "../../examples/frames.rs": ["4000 frames seen, 0 copied."];
    ask_async "../../examples/ask_async.rs": ["half of 84 is 42"];
    router "../../examples/router.rs": ["4 the", "2 fox", "2 quick", "1 lazy"];
    bank_transfer "../../examples/bank_transfer.rs": [
        "20000 units in 20 accounts, before and after; every message accounted for.",
    ];
}

#[cfg(all(feature = "cluster", feature = "events", feature = "gateway"))]
examples! {
    follow_request "../../examples/follow_request.rs": [
        "HTTP/1.1 200 OK, and the price is 10",
        "node 0: POST Shop",
        "  node 0: message to Shop",
        "    node 1: message to Store",
        "      node 1: hold",
        "      node 1: event 0",
        "        node 1: message to Clerk",
    ];
}

#[cfg(feature = "cluster")]
examples! {
    at_least_once "../../examples/at_least_once.rs": [
        "payments came back, and were sent again",
        "35 payments, each applied once: true",
        "in sum 630",
    ];
    placement "../../examples/placement.rs": [
        "a third of the crossings or fewer: true",
        "pinned actors have stayed: true",
        "each greeting was heard once: true",
    ];
    reply_addresses "../../examples/reply_addresses.rs": [
        "the shop sells the violin",
        "at most 900 for the violin",
        "the bank has 300 left on account 7",
        "the shop sells the trumpet",
        "at most 10 for the trumpet",
    ];
}
