//! What those may make the gateway hold who were not let in, and what they learn.

use crate::desk::{Office, request};
use actinium_gateway::{GatewayStats, Limits};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const AUTHORIZED: [(&str, &str); 2] =
    [("content-type", "application/json"), ("authorization", "Bearer s3cret")];

/// A connection from 127.0.0.LAST.
async fn connect(office: &Office, last: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, last], 0).into()).expect("all of 127.0.0.0/8 is this host");
    socket.connect(office.address()).await.expect("it listens")
}

async fn stats(office: &Office, wanted: impl Fn(&GatewayStats) -> bool) -> GatewayStats {
    loop {
        let stats = office.gateway.as_ref().expect("it is open").stats();
        if wanted(&stats) {
            return stats;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn strangers_are_few_and_whoever_shows_the_token_is_let_in_among_them() {
    let limits = Limits {
        strangers: 100,
        strangers_per_address: 60,
        silence: Duration::MAX,
        admission: Duration::MAX,
        ..Limits::default()
    };
    let office = Office::open(|builder| builder.token("till", "s3cret").limits(limits));
    let mut held = Vec::new();
    // Idle ones: 100 from each of three addresses.
    for index in 0..300_u64 {
        held.push(connect(&office, 1 + (index % 3) as u8).await);
        stats(&office, |stats| stats.strangers as u64 + stats.refused + stats.displaced > index)
            .await;
    }
    // Slow ones, who begin to say something.
    for index in 0..50_u64 {
        let mut slow = connect(&office, 4).await;
        slow.write_all(b"POST /desk HTTP/1.1\r\nauthor").await.expect("it is open");
        held.push(slow);
        stats(&office, |stats| {
            stats.strangers as u64 + stats.refused + stats.displaced > 300 + index
        })
        .await;
    }
    for _ in 0..5 {
        let answer = office.post(&AUTHORIZED, b"{\"Add\":1}").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let stats = stats(&office, |stats| stats.admitted == 5).await;
    assert_eq!(stats.strangers_most, 100);
    assert!(stats.strangers <= 100 && stats.displaced >= 200, "{stats:?}");
    let closed = held.swap_remove(0).read(&mut [0]).await;
    assert!(matches!(closed, Ok(0) | Err(_)), "the oldest was closed");
}

#[tokio::test]
async fn one_address_has_so_many_strangers_and_leaves_the_others_alone() {
    let limits = Limits { strangers_per_address: 2, ..Limits::default() };
    let office = Office::open(|builder| builder.token("till", "s3cret").limits(limits));
    let mut held = Vec::new();
    for count in 1..=2 {
        held.push(connect(&office, 9).await);
        stats(&office, |stats| stats.strangers == count).await;
    }
    let mut third = connect(&office, 9).await;
    assert!(matches!(third.read(&mut [0]).await, Ok(0) | Err(_)), "it is closed at once");
    assert_eq!(stats(&office, |stats| stats.refused == 1).await.strangers, 2);
    assert_eq!(office.post(&AUTHORIZED, b"{\"Add\":1}").await.status, 200);
    drop(held);
    stats(&office, |stats| stats.strangers == 0).await;
}

#[tokio::test]
async fn who_is_not_let_in_in_time_is_closed() {
    let limits = Limits { admission: Duration::from_millis(20), ..Limits::default() };
    let office = Office::open(|builder| builder.token("till", "s3cret").limits(limits));
    let mut idle = connect(&office, 1).await;
    assert!(matches!(idle.read(&mut [0]).await, Ok(0) | Err(_)));
    stats(&office, |stats| stats.late == 1 && stats.strangers == 0).await;
    // Who was let in may take its time.
    let mut socket = office.request(&[("authorization", "Bearer s3cret")]);
    let _ = socket.headers_mut().remove("sec-websocket-protocol");
    let stream = connect(&office, 1).await;
    let client = tokio_tungstenite::client_async(socket, stream).await.expect("it opens");
    let mut idle = connect(&office, 1).await;
    assert!(matches!(idle.read(&mut [0]).await, Ok(0) | Err(_)));
    assert_eq!(stats(&office, |stats| stats.late == 2).await.admitted, 1);
    drop(client);
}

#[tokio::test]
async fn who_is_not_let_in_learns_nothing_of_what_is_served() {
    let office = Office::open(|builder| builder.token("till", "s3cret"));
    let mut told = Vec::new();
    for line in ["GET /desk", "POST /desk", "DELETE /desk", "GET /else", "DELETE /else"] {
        let text = format!("{line} HTTP/1.1\r\nhost: x\r\n\r\n");
        let answer = request(office.address(), text.as_bytes()).await;
        assert_eq!(answer.status, 401, "{line}: and the connection is closed");
        let head: Vec<&str> =
            answer.head.lines().filter(|line| !line.starts_with("date")).collect();
        told.push((head.join("\n").replace("vary: origin", ""), answer.text()));
    }
    assert!(told.iter().all(|(_, text)| *text == told[0].1 && !text.contains("desk")), "{told:?}");
    assert!(told.iter().all(|(head, _)| !head.contains("allow")), "{told:?}");
    for path in ["/desk", "/else"] {
        let text = format!("OPTIONS {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        assert_eq!(request(office.address(), text.as_bytes()).await.status, 204);
    }
    let lost = b"GET /else HTTP/1.1\r\nhost: x\r\nauthorization: Bearer s3cret\r\nconnection: close\r\n\r\n";
    assert!(request(office.address(), lost).await.text().contains("allowed are /desk"));
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let limits = Limits { head_bytes: 8 << 10, ..Limits::default() };
    let office = Office::open(|builder| builder.limits(limits));
    let long = format!("GET /desk HTTP/1.1\r\nhost: {}\r\n\r\n", "x".repeat(9 << 10));
    assert_eq!(request(office.address(), long.as_bytes()).await.status, 431);
    let wrong = Limits { head_bytes: 100, ..Limits::default() };
    let builder = actinium_gateway::Gateway::builder().serve("desk", &office.desk).expect("a name");
    let error = builder.limits(wrong).start("127.0.0.1:0").expect_err("too little").to_string();
    assert_eq!(error, "gateway: limit head_bytes: expected 8192 or more, found 100");
}

#[tokio::test]
async fn a_new_connection_does_not_begin_a_new_rate() {
    let limits = Limits { rate: Some(1), burst: 2, remembered: 8, ..Limits::default() };
    let office = Office::open(|builder| builder.token("till", "s3cret").limits(limits));
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(office.post(&AUTHORIZED, b"{\"Add\":1}").await.status);
    }
    assert_eq!(statuses[..2], [200, 200]);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(office.gateway.as_ref().expect("it is open").stats().remembered, 1);
}

#[tokio::test]
async fn times_without_end_are_no_overflow() {
    let limits = Limits {
        silence: Duration::MAX,
        answer: Duration::MAX,
        admission: Duration::MAX,
        ..Limits::default()
    };
    let office = Office::open(|builder| builder.limits(limits));
    let mut client = office.socket(actinium_wire::Encoding::Text).await;
    client.say(&crate::desk::Talk::Add(1)).await;
    assert!(matches!(client.hear().await, crate::desk::Said::Talk(crate::desk::Talk::Total(1))));
    assert_eq!(office.post_json("{\"Add\":1}").await.text(), "{\"Total\":2}");
    client.say(&crate::desk::Talk::Bye).await;
    assert!(matches!(client.hear().await, crate::desk::Said::Closed(1000)));
}
