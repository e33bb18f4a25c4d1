//! The interface, by sockets.

use crate::client::{Counter, Events, LONG, Msg, get, get_with, raw, serve, system};
use actinium_actor::{Actor, ActorId, BuildError, Context, Shutdown, SpawnOptions, System};
use actinium_dashboard::{Dashboard, DashboardError, Watched};
use actinium_monitor::live::{self, Snapshot};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

#[test]
fn figures_are_those_of_the_system() {
    let system = system();
    let counters: Vec<_> = (0..5).map(|_| system.spawn(Counter::new())).collect();
    (0..100).for_each(|n| counters[n % 5].tell(Msg::Count));
    system.wait_idle(LONG).expect("it comes to rest");
    let serving = serve(&system);
    let answer = get(serving.address(), "/api/snapshot");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let snapshot: Snapshot = serde_json::from_str(&answer.body).expect("a snapshot");
    let handled: u64 = snapshot.now.workers.iter().map(|it| it.counters["handled"]).sum();
    assert_eq!((handled, snapshot.now.actors, snapshot.about.workers.len()), (100, 5, 2));
    let about = get(serving.address(), "/api/about").json();
    assert_eq!(about["life"], json!(snapshot.about.life.to_string()));
    let nodes = get(serving.address(), "/api/nodes").json();
    assert_eq!((&nodes[0]["handled"], &nodes[0]["error"]), (&json!(100), &json!(null)));
    assert_eq!(nodes.as_array().map(Vec::len), Some(1));
    for (path, text) in [
        ("/metrics", "actinium_messages_handled_total{worker=\"0\"}"),
        ("/healthz", "ok"),
        ("/readyz", "ready"),
    ] {
        let answer = get(serving.address(), path);
        assert!(answer.status == 200 && answer.body.contains(text), "{path}: {}", answer.body);
    }
}

#[test]
fn actors_are_sorted_searched_and_paged_by_the_server() {
    let system = system();
    let parent = system
        .spawn_with(SpawnOptions::new().name("The Till"), Counter::new())
        .expect("a free name");
    parent.tell(Msg::Raise(30));
    system.wait_idle(LONG).expect("it comes to rest");
    let serving = serve(&system);
    let get = |path: &str| get(serving.address(), path);
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = get(&format!("/api/actors?sort=youngest&take=7&after={after}")).json();
        assert_eq!(page["total"], 31);
        let numbers = page["actors"].as_array().expect("a list").iter();
        seen.extend(numbers.map(|it| it["actor"].as_u64().expect("a number")));
        match page["next"].as_str() {
            Some(next) => after = next.replace(':', "%3A"),
            None => break,
        }
    }
    assert!(seen.len() == 31 && seen.is_sorted_by(|a, b| a > b), "{seen:?}");
    let found = get("/api/actors?search=till").json();
    assert_eq!((&found["total"], &found["actors"][0]["name"]), (&json!(1), &json!("The Till")));

    let root = get("/api/family").json();
    assert_eq!((&root["total"], &root["members"][0][1]), (&json!(1), &json!(30)));
    let number = parent.id().as_u64();
    let family = get(&format!("/api/family?of={number}")).json();
    assert_eq!(
        (&family["total"], &family["members"][0][0]["parent"]),
        (&json!(30), &json!(number))
    );
}

#[test]
fn the_last_turns_of_an_actor_are_kept_while_somebody_asks() {
    let system = system();
    let counter = system.spawn(Counter::new());
    let serving = serve(&system);
    let path = format!("/api/actor/{}", counter.id().as_u64());
    assert!(!system.is_recording());
    let first = get(serving.address(), &path).json();
    assert_eq!((&first["turns"]["turns"], &first["children"]["total"]), (&json!([]), &json!(0)));
    assert!(system.is_recording());
    // A worker begins with its next round.
    let turns = (0..10_000).find_map(|_| {
        counter.tell(Msg::Count);
        system.wait_idle(LONG).expect("it comes to rest");
        let answer = get(serving.address(), &path).json();
        answer["turns"]["turns"].as_array().filter(|it| !it.is_empty()).cloned()
    });
    let turns = turns.expect("a turn is seen");
    assert!(turns[0]["handled"].as_u64() >= Some(1), "{turns:?}");
    serving.stop();
    assert!(!system.is_recording(), "it ends with the page");
}

enum Word {
    Yes,
    No(u64),
}

/// Names the variants of its messages.
struct Voter(u64);

impl Actor for Voter {
    type Msg = Word;
    const MESSAGE_NAMES: &'static [&'static str] = &["yes", "no"];

    fn handle(&mut self, word: Word, _: &mut Context<'_, Self>) {
        if let Word::No(weight) = word {
            self.0 += weight;
        }
    }
}

#[test]
fn the_messages_of_an_actor_are_told_apart_while_somebody_asks() {
    let system = system();
    let voter = system.spawn(Voter(0));
    let serving = serve(&system);
    let path = format!("/api/actor/{}", voter.id().as_u64());
    // Of a sample of the messages.
    let seen = (0..10_000).find_map(|_| {
        (0..500).for_each(|_| voter.tell(Word::Yes));
        (0..500).for_each(|n| voter.tell(Word::No(n)));
        system.wait_idle(LONG).expect("it comes to rest");
        let turns = get(serving.address(), &path).json()["turns"].clone();
        (turns["messages"].as_array().map(Vec::len) == Some(2)).then_some(turns)
    });
    let seen = seen.expect("both variants are seen");
    let names = [&seen["messages"][0]["name"], &seen["messages"][1]["name"]];
    assert!(names.contains(&&json!("yes")) && names.contains(&&json!("no")), "{seen}");
    assert_eq!(seen["message_bytes"], json!(size_of::<Word>()));
    serving.stop();
}

/// Shows what its messages contain.
struct Till(u64);

#[actinium_actor::actor(debug)]
impl Till {
    fn pay(&mut self, cents: u64, _by: &'static str) {
        self.0 += cents;
    }
}

/// Does not.
struct Safe(u64);

#[actinium_actor::actor]
impl Safe {
    fn put(&mut self, cents: u64, _code: &'static str) {
        self.0 += cents;
    }
}

#[test]
fn what_messages_contain_is_seen_of_types_that_opt_in() {
    let system = system();
    let (till, safe) = (system.spawn(Till(0)), system.spawn(Safe(0)));
    let serving = serve(&system);
    let ask = |id: ActorId| get(serving.address(), &format!("/api/actor/{}", id.as_u64()));
    // Of a sample of the messages.
    let shown = (0..10_000).find_map(|_| {
        let answers = [ask(till.id()), ask(safe.id())];
        (0..500).for_each(|_| till.pay(350, "<b>card</b>"));
        (0..500).for_each(|_| safe.put(350, "secret"));
        system.wait_idle(LONG).expect("it comes to rest");
        let turns = answers.each_ref().map(|it| it.json()["turns"].clone());
        assert!(!answers[1].body.contains("secret"), "{}", answers[1].body);
        let both_sampled = turns.iter().all(|it| it["messages"][0]["handled"].is_u64());
        (both_sampled && turns[0]["contents"][0].is_object()).then_some(turns)
    });
    let [of_till, of_safe] = shown.expect("the contents are seen");
    let expected = "pay { cents: 350, _by: \"<b>card</b>\" }";
    assert_eq!(of_till["contents"][0]["text"], expected);
    assert_eq!(of_safe["contents"], json!([]));
    serving.stop();
}

#[test]
fn records_that_a_trace_takes_are_left_to_it() {
    let system = system();
    let counter = system.spawn(Counter::new());
    system.record(8);
    let serving = serve(&system);
    let answer = get(serving.address(), &format!("/api/actor/{}", counter.id().as_u64())).json();
    assert!(answer["turns"]["note"].as_str().is_some_and(|it| it.contains("trace")), "{answer}");
    serving.stop();
    assert!(system.is_recording(), "it was not the page's");
}

#[test]
fn looks_come_as_events_and_end_with_the_system() -> Result<(), Box<dyn Error>> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let system = System::builder().workers(1).dashboard(port.to_string()).build()?;
    let counter = system.spawn(Counter::new());
    let section = live::section("events of a test", || json!({ "open": 3 }));
    let mut events = Events::open(port, "/events");
    let first = events.next("now").expect("a look");
    assert_eq!(first["now"]["sections"]["events of a test"], json!({ "open": 3 }));
    drop(section);
    counter.tell(Msg::Count);
    let handled = |look: &serde_json::Value| look["now"]["workers"][0]["counters"]["handled"] == 1;
    while !handled(&events.next("now").expect("a look")) {}
    let nodes = events.next("nodes").expect("the nodes");
    assert_eq!(nodes[0]["life"], first["life"]);
    system.shutdown(Shutdown::Drain);
    while events.next("now").is_some() {}
    assert!(TcpStream::connect(port).is_err(), "nobody listens any more");
    Ok(())
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let system = system();
    let serving = serve(&system);
    for (path, status, why) in [
        ("/api/actors?sort=size", 400, "expected one of oldest"),
        ("/api/actors?after=7", 400, "ACTOR,QUEUED,WORKER,TYPE"),
        ("/api/actors?take=many", 400, "take"),
        ("/api/actors?limit=5", 400, "limit"),
        ("/api/actors?node=1", 404, "node 1"),
        ("/api/actor/x", 400, "x"),
        ("/api/actor/99999", 404, "99999"),
        ("/api/family?of=-1", 400, "of"),
        ("/events?node=7", 404, "node"),
        ("/nothing", 404, "the page is at /"),
        ("/api/../etc/passwd", 404, "the page is at /"),
    ] {
        let answer = get(serving.address(), path);
        let said = answer.json()["error"].as_str().map(str::to_owned).expect("a reason");
        assert!(answer.status == status && said.contains(why), "{path}: {} {said}", answer.status);
    }
    let long = get(serving.address(), &format!("/api/actors?search={}", "x".repeat(2_000)));
    assert_eq!(long.status, 400);
    assert_eq!(get(serving.address(), &format!("/?{}", "x".repeat(5_000))).status, 414);
}

#[test]
fn it_is_read_only_and_garbage_harms_nobody() {
    let system = system();
    let serving = serve(&system);
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let request = format!(
            "{method} /api/actors HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let answer = raw(serving.address(), request.as_bytes()).expect("an answer");
        assert_eq!(answer.status, 405, "{method}");
    }
    let big = vec![b'x'; 1 << 20];
    for garbage in [&b"\x16\x03\x01\x02\x00"[..], b"GET\r\n\r\n", b"\0\0\0\0\r\n\r\n", &big] {
        if let Some(answer) = raw(serving.address(), garbage) {
            assert!((400..500).contains(&answer.status), "{}", answer.head);
        }
    }
    let heads = format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    assert!(raw(serving.address(), heads.as_bytes()).is_none_or(|it| it.status == 431));
    assert_eq!(get(serving.address(), "/").status, 200, "it goes on");
}

#[test]
fn a_page_from_elsewhere_reads_nothing() {
    let system = system();
    let serving = serve(&system);
    let get = |headers: &str| get_with(serving.address(), "/api/nodes", headers);
    assert_eq!(get("host: evil.example\r\n").status, 421, "another name for this machine");
    assert_eq!(get("origin: http://evil.example\r\n").status, 403);
    let port = serving.address().port();
    for host in [format!("127.0.0.1:{port}"), format!("[::1]:{port}"), "LOCALHOST".to_owned()] {
        assert_eq!(get(&format!("host: {host}\r\n")).status, 200, "{host}");
    }
    let page = crate::client::get(serving.address(), "/");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let named = Dashboard::new(&system).host("box.lan").serve("127.0.0.1:0").expect("it listens");
    assert_eq!(get_with(named.address(), "/api/nodes", "host: box.lan\r\n").status, 200);
}

#[test]
fn a_token_is_asked_for_and_a_browser_keeps_it_as_a_cookie() {
    let system = system();
    let secret = "correct horse+battery";
    let serving =
        Dashboard::new(&system).token(secret).serve("0.0.0.0:0").expect("with a token it may");
    let address = ([127, 0, 0, 1], serving.address().port()).into();
    let get = |path: &str, headers: &str| get_with(address, path, headers);
    for path in ["/api/snapshot", "/events", "/metrics", "/page.js"] {
        assert_eq!(get(path, "").status, 401, "{path}");
    }
    for wrong in ["Bearer correct", "Bearer correct horse+batterz", "Basic x", "Bearer "] {
        assert_eq!(
            get("/api/nodes", &format!("authorization: {wrong}\r\n")).status,
            401,
            "{wrong}"
        );
    }
    let bearer = format!("authorization: Bearer {secret}\r\nhost: any.example\r\n");
    assert_eq!(get("/api/nodes", &bearer).status, 200);

    let form = get("/", "");
    assert!(form.status == 401 && form.body.contains("type=\"password\""), "{}", form.body);
    let wrong = get("/?token=no", "");
    assert!(wrong.status == 401 && wrong.body.contains("That is not the token"));
    let given = get("/?token=correct+horse%2Bbattery", "");
    assert_eq!((given.status, given.header("location")), (303, Some("/")));
    let set = given.header("set-cookie").expect("a cookie");
    assert!(set.contains("; HttpOnly; SameSite=Strict") && !set.contains("Secure"), "{set}");
    assert!(!set.contains("horse"), "as it may stand in a cookie: {set}");
    let cookie = set.split(';').next().expect("a pair");
    assert_eq!(get("/", &format!("cookie: other=1; {cookie}\r\n")).status, 200);
    assert_eq!(get("/", &format!("cookie: {cookie}0\r\n")).status, 401);
    let behind = get("/?token=correct+horse%2Bbattery", "x-forwarded-proto: https\r\n");
    assert!(behind.header("set-cookie").expect("a cookie").ends_with("; Secure"));
}

#[test]
fn without_a_token_no_other_machine_is_let_in() {
    let system = system();
    for open in ["0.0.0.0:0", "[::]:0"] {
        let error = Dashboard::new(&system).serve(open).expect_err("others reach it");
        assert!(matches!(error, DashboardError::Open { .. }), "{error}");
        assert!(error.to_string().contains("ACTINIUM_DASHBOARD_TOKEN"), "{error}");
    }
    let error = System::builder().workers(1).dashboard("0.0.0.0:0").build().expect_err("open");
    let said = error.to_string();
    assert!(matches!(error, BuildError::Observer(..)) && said.contains("token"), "{said}");
    for (address, why) in [("7070", "no address"), ("nowhere.invalid:1", "no address")] {
        let error = Dashboard::new(&system).serve(address).expect_err("no address");
        assert!(error.to_string().contains(why), "{error}");
    }
    for token in ["", " x", "a\nb"] {
        let error = Dashboard::new(&system).token(token).serve("127.0.0.1:0");
        assert!(matches!(error, Err(DashboardError::Config(_))), "{token:?}");
    }
}

#[test]
fn a_port_in_use_is_an_error_of_build() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let error = System::builder().workers(1).dashboard(&*address).build().expect_err("in use");
    let said = error.to_string();
    assert!(said.contains(&address) && said.contains("in use"), "{said}");
}

/// A client that asks for looks, and never reads.
fn never_reads(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    write!(stream, "GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("it is sent");
    stream
}

/// The memory that this process has, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}

/// The status of what a client was answered that has read nothing so far.
fn status_of(mut stream: &TcpStream) -> u16 {
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    let mut head = [0; 12];
    stream.read_exact(&mut head).expect("a status");
    std::str::from_utf8(&head[9..]).ok().and_then(|it| it.parse().ok()).expect("a number")
}

#[test]
fn a_thousand_slow_clients_miss_looks_and_harm_nobody() {
    // Both ends of each connection are in this process.
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    setrlimit(Resource::Nofile, raised).expect("a process may raise its own");
    let system = system();
    let serving = serve(&system);
    let mut events = Events::open(serving.address(), "/events");
    let before_kib = resident_kib();
    let slow: Vec<_> = (0..1_000).map(|_| never_reads(serving.address())).collect();
    let looks: Vec<_> = (0..8).filter_map(|_| events.next("now")).collect();
    let numbers: Vec<_> = looks.iter().filter_map(|it| it["now"]["number"].as_u64()).collect();
    assert!(numbers.len() == 8 && numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let counter = system.spawn(Counter::new());
    (0..1_000).for_each(|_| counter.tell(Msg::Count));
    system.wait_idle(LONG).expect("the workers go on");
    assert_eq!(get(serving.address(), "/api/nodes").json()[0]["handled"], 1_000);
    // About 15 KiB each, and what other tests of this process have meanwhile.
    let more_kib = resident_kib().saturating_sub(before_kib);
    assert!(more_kib < 256 << 10, "{more_kib} KiB more");
    // Beyond the seats: an error that says why.
    let (seated, refused): (Vec<_>, Vec<_>) = slow.iter().partition(|it| status_of(it) == 200);
    assert!(seated.len() <= 256 && !refused.is_empty(), "{} have seats", seated.len());
    let mut said = [0; 1 << 10];
    let mut first: &TcpStream = refused[0];
    let length = first.read(&mut said).expect("an answer");
    let said = String::from_utf8_lossy(&said[..length]);
    assert!(
        said.starts_with(" Service Unavailable") && said.contains("256 are watching"),
        "{said}"
    );
}
