//! What real clients get: by a socket, and by Prometheus itself.

use actinium_actor::{Actor, BuildError, Context, Shutdown, System};
use actinium_gateway::Gateway;
use actinium_metrics::prometheus_client::collector::Collector;
use actinium_metrics::prometheus_client::encoding::DescriptorEncoder;
use actinium_metrics::prometheus_client::metrics::MetricType;
use actinium_metrics::prometheus_client::metrics::counter::Counter as Counting;
use actinium_metrics::prometheus_client::registry::Registry;
use actinium_metrics::{COUNTERS, Measured, Metrics};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Counts, and stays in its turn if it is given a channel.
struct Counter;

enum Msg {
    Count,
    Stay(Receiver<()>),
}

impl Actor for Counter {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _: &mut Context<'_, Self>) {
        match msg {
            Msg::Count => {}
            Msg::Stay(until) => _ = until.recv(),
        }
    }
}

fn system() -> System {
    System::builder().workers(2).build().expect("it starts")
}

/// The status and the body of an answer.
fn get(address: SocketAddr, path: &str) -> (u16, String) {
    get_as(address, path, "*/*")
}

/// As `get`, for a client that takes this media type.
fn get_as(address: SocketAddr, path: &str, accept: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let head = format!("host: test\r\naccept: {accept}\r\nconnection: close");
    write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no status: {head}")), body.to_owned())
}

/// The value of a series.
fn value(text: &str, series: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    line.parse().ok()
}

fn serve(system: &System, of: impl FnOnce(Metrics) -> Metrics) -> Gateway {
    of(Metrics::new(system)).serve("127.0.0.1:0").expect("it listens")
}

#[test]
fn figures_are_those_of_the_system() {
    let system = system();
    let counters: Vec<_> = (0..3).map(|_| system.spawn(Counter)).collect();
    (0..100).for_each(|n| counters[n % 3].tell(Msg::Count));
    system.wait_idle(Duration::from_secs(60)).expect("it comes to rest");
    let gateway = serve(&system, |metrics| metrics);
    let (status, text) =
        get_as(gateway.address(), "/metrics", "application/openmetrics-text;version=1.0.0");
    assert_eq!(status, 200);
    let handled =
        |worker| value(&text, &format!("actinium_messages_handled_total{{worker=\"{worker}\"}}"));
    assert_eq!(handled("0").unwrap() + handled("1").unwrap(), 100.0);
    assert_eq!(handled("external"), Some(0.0));
    let sent = value(&text, "actinium_messages_sent_total{worker=\"external\"}");
    assert_eq!(sent, Some(100.0));
    assert_eq!(value(&text, "actinium_actors"), Some(3.0));
    assert_eq!(value(&text, "actinium_messages_waiting"), Some(0.0));
    let kind = std::any::type_name::<Counter>();
    assert_eq!(value(&text, &format!("actinium_type_actors{{type=\"{kind}\"}}")), Some(3.0));
    assert!(value(&text, "process_cpu_seconds_total").unwrap() > 0.0);
    assert!(value(&text, "process_resident_memory_max_bytes").unwrap() > 1e6);
    let samples = value(&text, "actinium_message_latency_seconds_count");
    assert_eq!(value(&text, "actinium_message_latency_seconds_bucket{le=\"+Inf\"}"), samples);
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    for name in COUNTERS {
        assert!(text.contains(&format!("# TYPE {} counter\n", name.metric)), "{name:?}");
    }
}

#[test]
fn types_beyond_the_most_are_one() {
    let system = system();
    let _kept = (system.spawn(Counter), system.spawn(Other), system.spawn(Other));
    let metrics = Metrics::new(&system).types(1);
    let named = format!("actinium_type_actors{{type=\"{}\"}}", std::any::type_name::<Other>());
    let others = "actinium_type_actors{type=\"other\"}";
    let text = metrics.text();
    assert_eq!((value(&text, &named), value(&text, others)), (Some(2.0), Some(1.0)));
    // A type keeps its name when others have more actors: a counter must not fall.
    let _more: Vec<_> = (0..3).map(|_| system.spawn(Counter)).collect();
    let text = metrics.text();
    assert_eq!((value(&text, &named), value(&text, others)), (Some(2.0), Some(4.0)));
    assert!(!Metrics::new(&system).types(0).text().contains("actinium_type_actors"));
}

struct Other;

impl Actor for Other {
    type Msg = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {}
}

#[test]
fn a_worker_that_stays_in_a_turn_is_named() {
    let system = system();
    let gateway = serve(&system, |metrics| metrics.longest_turn(Duration::ZERO));
    assert_eq!(get(gateway.address(), "/healthz"), (200, "ok\n".to_owned()));
    let (release, until) = channel();
    let counter = system.spawn(Counter);
    counter.tell(Msg::Stay(until));
    while !(0..2).any(|worker| system.is_occupied(worker)) {
        thread::yield_now();
    }
    let (status, said) = get(gateway.address(), "/healthz");
    assert_eq!(status, 503);
    let id = counter.id().to_string();
    assert!(said.contains(&id) && said.contains("Counter"), "{said}");
    drop(release);
    system.wait_idle(Duration::from_secs(60)).expect("it comes to rest");
    assert_eq!(get(gateway.address(), "/healthz").0, 200);
}

#[test]
fn readiness_is_what_the_program_and_the_system_say() {
    let system = system();
    let warm = serve(&system, |metrics| metrics.ready_if(|| Err("the cache is cold".to_owned())));
    let said = get(warm.address(), "/readyz");
    assert_eq!(said, (503, "not ready: the cache is cold\n".to_owned()));
    let broken = serve(&system, |metrics| metrics.ready_if(|| panic!("no idea")));
    let (status, said) = get(broken.address(), "/readyz");
    assert!(status == 503 && said.contains("no idea"), "{said}");

    let plain = serve(&system, |metrics| metrics.ready_if(|| Ok(())));
    assert_eq!(get(plain.address(), "/readyz").0, 200);
    system.shutdown(Shutdown::Drain);
    let said = get(plain.address(), "/readyz");
    assert_eq!(said, (503, "not ready: the system ends\n".to_owned()));
    assert_eq!(get(plain.address(), "/nothing").0, 404);
}

#[test]
fn a_builder_serves_until_the_system_has_ended() -> Result<(), BuildError> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let system = System::builder().workers(1).metrics(free.to_string()).build()?;
    assert_eq!(get(free, "/metrics").0, 200);
    let taken = System::builder().workers(1).metrics(free.to_string()).build();
    let taken = taken.expect_err("the port is in use").to_string();
    assert!(taken.contains(&free.port().to_string()), "{taken}");
    system.shutdown(Shutdown::Drain);
    assert!(TcpStream::connect(free).is_err());
    Ok(())
}

/// A collector that fails in the middle of a line, or panics.
#[derive(Debug)]
struct Broken(fn() -> std::fmt::Result);

impl Collector for Broken {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        encoder.encode_descriptor("broken", "It breaks", None, MetricType::Gauge)?;
        (self.0)()
    }
}

#[test]
fn a_registry_that_fails_is_left_out() {
    let system = system();
    let orders = Counting::<u64>::default();
    let mut own = Registry::default();
    own.register("orders", "Orders of a \"kind\"\n", orders.clone());
    orders.inc_by(7);
    let broken = |how: fn() -> std::fmt::Result| {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Broken(how)));
        registry
    };
    let metrics = Metrics::new(&system)
        .registry(broken(|| Err(std::fmt::Error)))
        .registry(broken(|| panic!("on purpose")))
        .registry(own);
    let text = metrics.text();
    assert_eq!(value(&text, "orders_total"), Some(7.0));
    assert_eq!(value(&text, "actinium_workers"), Some(2.0));
    assert!(!text.contains("broken") && text.matches("# EOF").count() == 1, "{text}");
}

#[test]
fn garbage_and_silence_harm_nobody() {
    let system = system();
    let gateway = serve(&system, |metrics| metrics);
    let silent: Vec<_> =
        (0..50).map(|_| TcpStream::connect(gateway.address()).expect("it listens")).collect();
    let mut garbage = TcpStream::connect(gateway.address()).expect("it listens");
    garbage.write_all(&[0x80; 70_000]).ok();
    let mut answer = Vec::new();
    let _ = garbage.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
    assert_eq!(get(gateway.address(), "/metrics").0, 200);
    drop(silent);
}

#[test]
fn the_docs_have_all_names_and_no_other() {
    let system = system();
    let _kept = system.spawn(Counter);
    let text = Metrics::new(&system).text();
    let served = text.lines().filter_map(|line| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        let total = if kind == "counter" { "_total" } else { "" };
        Some(format!("| `{name}{total}` | {kind} |"))
    });
    let docs = include_str!("../../../../docs/metrics.md");
    let (_, table) = docs.split_once("| metric | type | what |").expect("a table");
    let (table, _) = table.split_once("\n\n").expect("the end of the table");
    let told = table.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let (name_and_type, _) = line.trim_end_matches(" |").rsplit_once(" | ").expect("columns");
        format!("{name_and_type} |")
    });
    assert_eq!(told.collect::<Vec<_>>(), served.collect::<Vec<_>>());
}

/// A process that is killed at the end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Prometheus, as it is installed.
fn prometheus() -> Option<PathBuf> {
    let path = std::env::var_os("ACTINIUM_PROMETHEUS").map(PathBuf::from);
    let found =
        path.or_else(|| Some(PathBuf::from("/usr/bin/prometheus"))).filter(|it| it.exists());
    if found.is_none() {
        println!("skipped: there is no Prometheus");
    }
    found
}

#[test]
fn prometheus_promtool_has_nothing_to_say() -> Result<(), Box<dyn Error>> {
    let Some(program) = prometheus() else { return Ok(()) };
    let system = system();
    let _kept = system.spawn(Counter);
    let mut promtool = Command::new(program.with_file_name("promtool"));
    promtool.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut promtool = promtool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let gateway = serve(&system, |metrics| metrics);
    let (_, text) = get(gateway.address(), "/metrics");
    promtool.stdin.take().expect("it is piped").write_all(text.as_bytes())?;
    let said = promtool.wait_with_output()?;
    let texts = [&said.stdout, &said.stderr].map(|it| String::from_utf8_lossy(it).into_owned());
    assert!(said.status.success() && texts.concat().is_empty(), "{texts:?}\n{text}");
    Ok(())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "another process is asked until it has an answer")]
fn prometheus_scrapes_it() -> Result<(), Box<dyn Error>> {
    let Some(program) = prometheus() else { return Ok(()) };
    let system = system();
    let counter = system.spawn(Counter);
    (0..100).for_each(|_| counter.tell(Msg::Count));
    system.wait_idle(Duration::from_secs(60))?;
    let gateway = serve(&system, |metrics| metrics);

    let folder = tempfile::tempdir()?;
    let config = folder.path().join("prometheus.yml");
    std::fs::write(
        &config,
        format!(
            "global: {{ scrape_interval: 1s }}\nscrape_configs:\n  - job_name: actinium\n    static_configs:\n      - targets: ['{}']\n",
            gateway.address()
        ),
    )?;
    let promtool = program.with_file_name("promtool");
    let checked = Command::new(promtool).args(["check", "config"]).arg(&config).output()?;
    assert!(checked.status.success(), "{checked:?}");
    let own = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let mut command = Command::new(&program);
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
    command.arg(format!("--web.listen-address={own}"));
    let log = std::fs::File::create(folder.path().join("log"))?;
    let mut running = Killed(command.stdout(Stdio::null()).stderr(log).spawn()?);

    let said = || std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    let ask = |query: &str| -> Option<serde_json::Value> {
        TcpStream::connect(own).ok()?;
        let (status, body) = get(own, &format!("/api/v1/query?query={query}"));
        let answer: serde_json::Value =
            serde_json::from_str(&body).ok().filter(|_| status == 200)?;
        let result = &answer["data"]["result"];
        result.get(0).map(|first| first["value"][1].clone())
    };
    let handled = loop {
        assert!(running.0.try_wait()?.is_none(), "Prometheus has ended: {}", said());
        match ask("sum(actinium_messages_handled_total)") {
            Some(value) => break value,
            None => thread::sleep(Duration::from_millis(100)),
        }
    };
    assert_eq!(handled, "100");
    assert_eq!(ask("actinium_workers").expect("of the same scrape"), "2");
    assert_eq!(ask("up").expect("it is up"), "1");
    let quantile = "histogram_quantile(0.5,actinium_message_latency_seconds_bucket)";
    assert!(ask(quantile).is_some(), "a histogram");
    Ok(())
}
