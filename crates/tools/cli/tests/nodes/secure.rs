//! Commands on several nodes over QUIC, where each shows a certificate: one report of all; and who
//! is not believed is refused, with the reason.

#[path = "../../../../net/cluster/tests/zenoh/certificates.rs"]
mod certificates;
use crate::common::{Ran, command, number, run, shipped, small};
use actinium_cluster::fabric::zenoh::Tls;
use certificates::{Authority, Folder};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

/// Whose certificate may be which node.
const ALLOWED: &str = "node-0=0,node-1=1,node-2=2";

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Runs a command as so many nodes, each with its own certificate, reached by QUIC only; what node
/// 0 reports.
fn launched(name: &str, nodes: &str, arguments: &[&str]) -> Value {
    let folder = Folder::new(name);
    let ca = Authority::new(&folder, "ca");
    let all: Vec<Tls> = (0..3).map(|node| ca.sign(&format!("node-{node}"))).collect();
    // Where `launch` has them listen, but by QUIC, and by the name that stands in the certificates.
    let quic = "sed s,tcp/127.0.0.1,quic/localhost,g";
    let base = text(&all[0].certificate).strip_suffix("0.pem").expect("its name").to_owned();
    let script = format!(
        "export ACTINIUM_LISTEN=$(echo $ACTINIUM_LISTEN | {quic}) ACTINIUM_CONNECT=$(echo $ACTINIUM_CONNECT | {quic}); \
         exec \"$0\" \"$@\" --tls-certificate {base}$ACTINIUM_NODE.pem --tls-key {base}$ACTINIUM_NODE.key"
    );
    let launch = ["launch", "-n", nodes, "--", "sh", "-c", &script];
    let actinium = [env!("CARGO_BIN_EXE_actinium")];
    let zenoh = ["--fabric", "zenoh", "--json", "--tls-ca", text(ca.path())];
    let allow = ["--tls-allow", ALLOWED];
    let Ran { code, stdout, stderr } =
        run(&[&launch[..], &actinium, arguments, &zenoh, &allow].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let line = |line: &str| line.strip_prefix("[0] ").expect("node 0 reports").to_owned();
    let lines: Vec<String> = stdout.lines().map(line).collect();
    serde_json::from_str(&lines.join("\n")).expect("one report, and nothing else")
}

#[test]
fn nodes_with_certificates_share_events() {
    let file = shipped("imaging.toml");
    let events = ["events", &file, "--workers", "1", "--events", "90", "--time-scale", "0.01"];
    let json = launched("events", "3", &events);
    assert_eq!(json["fabric"], "zenoh");
    assert_eq!((number(&json, "node_count"), number(&json, "events")), (3.0, 90.0));
    let nodes = json["nodes"].as_array().expect("nodes");
    assert_eq!(nodes.iter().map(|node| number(node, "events")).sum::<f64>(), 90.0);
    assert!(nodes.iter().all(|node| node["load"].is_object()), "each is a process");
}

#[test]
fn nodes_with_certificates_ping_each_other() {
    let json = launched("probe", "2", &small(&[]));
    assert_eq!((number(&json, "node_count"), number(&json, "actor_count")), (2.0, 8.0));
    assert_eq!(number(&json, "message_count"), f64::from(2 * 4 * 50 * 2));
    let nodes = json["nodes"].as_array().expect("nodes");
    assert!(nodes.iter().all(|node| node["ledger_balanced"] == true), "{json}");
}

/// A process, ended with its test, and what it says on stderr.
struct Node {
    child: Child,
    told: Box<dyn Iterator<Item = String>>,
}

impl Node {
    /// One of two that run many events, with this certificate.
    fn start(node: &str, slots: &str, file: &str, tls: &Tls, how: [&str; 4]) -> Self {
        let events = ["events", file, "--fabric", "zenoh", "--nodes", "2", "--node", node];
        let more = ["--events", "16000", "--workers", "1", "--slots", slots, "--json"];
        let [certificate, key, ca] = [&tls.certificate, &tls.key, &tls.ca].map(|path| text(path));
        let tls = ["--tls-certificate", certificate, "--tls-key", key, "--tls-ca", ca];
        let mut command = command(&[&events[..], &more, &tls, &how].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let stderr = child.stderr.take().expect("a pipe");
        let told = BufReader::new(stderr).lines().map(|line| line.expect("a line"));
        Node { child, told: Box::new(told) }
    }

    /// The first line with all of these in it.
    #[track_caller]
    fn until(&mut self, parts: &[&str]) -> String {
        let mut seen = Vec::new();
        for line in self.told.by_ref() {
            if parts.iter().all(|part| line.contains(part)) {
                return line;
            }
            seen.push(line);
        }
        panic!("it never said {parts:?}: {seen:#?}");
    }

    /// What it reports, and all that it has not been asked for.
    fn ended(mut self) -> (Option<i32>, String, String) {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().expect("a pipe");
        pipe.read_to_string(&mut stdout).expect("text");
        let rest: Vec<String> = self.told.by_ref().collect();
        (self.child.wait().expect("it ends").code(), stdout, rest.join("\n"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_certificate_of_an_unknown_authority_is_refused_with_the_reason_and_others_are_not() {
    let folder = Folder::new("strange");
    let (ours, theirs) = (Authority::new(&folder, "ours"), Authority::new(&folder, "theirs"));
    // An event waits, so that the first alone would take more than a minute.
    let file = ours.path().with_file_name("workload.toml");
    let workload = "format = 1\n[[modules]]\nlabel = \"wait\"\nwork = \"wait\"\ntime-ms = 5\n\
                    [[modules]]\nlabel = \"write\"\nkind = \"output\"\ninputs = [\"wait\"]\n[paths]\np = [\"write\"]\n";
    std::fs::write(&file, workload).expect("a file");
    let file = text(&file);
    let port = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let listen = format!("quic/localhost:{}", port.local_addr().expect("an address").port());
    drop(port);
    let allow = ["--tls-allow", ALLOWED];
    let here = ["--listen", &listen, allow[0], allow[1]];
    let there = ["--connect", &listen, allow[0], allow[1]];
    let mut first = Node::start("0", "1", file, &ours.sign("node-0"), here);
    // It believes us; we do not believe it.
    let stranger = Tls { ca: ours.path().to_owned(), ..theirs.sign("node-1") };
    let mut stranger = Node::start("1", "500", file, &stranger, there);
    first.until(&["refused", "UnknownIssuer"]);
    stranger.until(&["Unable to connect", "it may not believe this node's certificate"]);
    drop(stranger);
    let known = Node::start("1", "500", file, &ours.sign("node-1"), there);
    let (code, stdout, stderr) = known.ended();
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "{stderr}");
    let (code, stdout, stderr) = first.ended();
    assert_eq!(code, Some(0), "{stderr}");
    let json: Value = serde_json::from_str(&stdout).expect("one report");
    assert_eq!((number(&json, "node_count"), number(&json, "events")), (2.0, 16_000.0));
    assert!(number(&json, "nodes.0.events") > 0.0 && number(&json, "nodes.1.events") > 0.0);
    assert_eq!(json["nodes_down"].as_array().map(Vec::len), Some(0), "it was never one of them");
}
