//! The settings of a node on Zenoh, and the configuration that is made of them for Zenoh.

use super::flow::BATCHES;
use crate::fabric::NodeId;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most nodes of a cluster on this fabric: what a stranger could make up has a bound.
pub const NODES_MAX: u32 = 1024;
/// Longest name of a cluster: it stands in each frame.
const CLUSTER_MAX: usize = 64;
/// The transports that are encrypted. Those that are not follow.
const ENCRYPTED: &[&str] = &["quic", "tls"];
const PLAIN: &[&str] = &["tcp"];

/// The settings with which a node joins its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZenohConfig {
    /// The cluster's name: letters, digits, `-`, `_`, `.`. Nodes of others are neither seen nor
    /// heard, even on the same network.
    pub cluster: String,
    /// Which node this is: no other one of the cluster has the same number. A second one is
    /// refused, and both say so.
    pub node: NodeId,
    /// Nodes that there are from the start: their numbers are 0 to `nodes` - 1. Others may come
    /// later, with any number.
    pub nodes: u32,
    /// Where this node is to be reached: `tcp/0.0.0.0:7447`, or `quic/..` with certificates.
    /// (`tls/..` is refused: see [`ZenohConfig::allow_tls_over_tcp`].) None: nowhere; it reaches
    /// others.
    pub listen: Vec<String>,
    /// Where it reaches others: at least one that is in touch with all the rest. They are tried
    /// until they are there.
    pub connect: Vec<String>,
    /// This node's certificate, and the authorities that it trusts. Without them, anybody on the
    /// network may join, and read everything.
    pub tls: Option<Tls>,
    /// Whether `tls/..` may be used, although Zenoh 1.10 gives both the thread that reads and the
    /// one that writes the same connection to change, without a lock between them (its issue 2557):
    /// connections break now and then, a node may hang, and memory may be damaged. `quic/..` is as
    /// safe from strangers, and has none of this.
    pub allow_tls_over_tcp: bool,
    /// Through routers (`zenohd`) instead of from node to node. They drop what a slow node does not
    /// take in time; the links say so, and reliable ones send it again.
    pub through_routers: bool,
    /// A connection on which nothing is heard for so long is closed, and tried again. That a node
    /// is down is known from the links' `down_after_ns`, not from this.
    pub lease: Duration,
}

/// Certificates, as PEM files. Both ends of a connection show theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// This node's certificate. It names the host as others write it in `connect`.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The certificates of the authorities that sign trusted certificates.
    pub ca: PathBuf,
    /// Which node the holder of a certificate may be, by the certificate's common name; who is not
    /// in it is connected and heard in nothing. Empty: each holder of a believed certificate may be
    /// any node.
    pub allowed: BTreeMap<String, NodeId>,
}

impl Default for ZenohConfig {
    fn default() -> Self {
        ZenohConfig {
            cluster: "actinium".to_owned(),
            node: NodeId(0),
            nodes: 1,
            listen: Vec::new(),
            connect: Vec::new(),
            tls: None,
            allow_tls_over_tcp: false,
            through_routers: false,
            lease: Duration::from_secs(10),
        }
    }
}

/// Settings of Zenoh: the place of each, and its value as JSON.
type Settings = Vec<(&'static str, Value)>;

impl ZenohConfig {
    /// Whether it makes sense, and the files in it can be read.
    ///
    /// # Errors
    /// What is wrong: which setting, its value, and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        self.settings().map(drop)
    }

    /// Zenoh's settings for this.
    ///
    /// # Errors
    /// What is wrong: which setting, its value, and what is allowed.
    pub(super) fn settings(&self) -> Result<Settings, String> {
        self.check_values()?;
        let mode = if self.through_routers { "client" } else { "peer" };
        let lease_ms = u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX);
        let mut settings = vec![
            ("mode", json!(mode)),
            ("listen/endpoints", json!(self.listen)),
            ("connect/endpoints", json!(self.connect)),
            // Tried until it is there, in the background.
            ("connect/timeout_ms", json!(-1)),
            ("connect/exit_on_failure", json!(false)),
            (
                "connect/retry",
                json!({ "period_init_ms": 100, "period_max_ms": 2_000, "period_increase_factor": 2.0 }),
            ),
            // Whom to reach is said, or heard from those that were reached; nobody is believed who
            // shouts on the local network.
            ("scouting/multicast/enabled", json!(false)),
            ("scouting/gossip/enabled", json!(true)),
            ("scouting/gossip/autoconnect_strategy", json!("greater-zid")),
            // It tears payloads when a process is stopped; it is not compiled in either.
            ("transport/shared_memory/enabled", json!(false)),
            ("transport/unicast/max_sessions", json!(2 * NODES_MAX)),
            ("transport/unicast/accept_pending", json!(NODES_MAX)),
            ("transport/link/tx/lease", json!(lease_ms)),
            // Of frames, and of datagrams.
            ("transport/link/tx/queue/size/data", json!(BATCHES)),
            ("transport/link/tx/queue/size/data_low", json!(BATCHES)),
            // Messages are aggregated here already. By default Zenoh's sender sleeps for a
            // millisecond and more, for a batch to fill, whenever it meets somebody who writes to
            // one; all that may be under way goes in less.
            ("transport/link/tx/queue/batching/time_limit", json!(0)),
            // A message that finds no capacity is dropped, at once: `flow` keeps capacity, and the
            // links count what is lost all the same.
            ("transport/link/tx/queue/congestion_control/drop/wait_before_drop", json!(0)),
        ];
        let protocols = if self.tls.is_some() { ENCRYPTED } else { PLAIN };
        settings.push(("transport/link/protocols", json!(protocols)));
        if let Some(tls) = &self.tls {
            settings.extend(tls.settings(&self.cluster)?);
        }
        Ok(settings)
    }

    fn check_values(&self) -> Result<(), String> {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let cluster = &self.cluster;
        if !(1..=CLUSTER_MAX).contains(&cluster.len()) || !cluster.chars().all(is_letter) {
            return Err(format!(
                "cluster: '{}' is not allowed: 1 to {CLUSTER_MAX} letters, digits, '-', '_' and '.'",
                cluster.escape_debug()
            ));
        }
        if !(1..=NODES_MAX).contains(&self.nodes) {
            return Err(format!("nodes: '{}' is not allowed: 1 to {NODES_MAX}", self.nodes));
        }
        if self.node.0 >= NODES_MAX {
            return Err(format!("node: '{}' is not allowed: 0 to {}", self.node.0, NODES_MAX - 1));
        }
        if self.through_routers && self.connect.is_empty() {
            return Err("connect: it is empty, and has to name a router".to_owned());
        }
        if self.lease < Duration::from_millis(100) {
            return Err(format!("lease: '{:?}' is not allowed: 100 ms or more", self.lease));
        }
        for (setting, endpoints) in [("listen", &self.listen), ("connect", &self.connect)] {
            for endpoint in endpoints {
                self.check_endpoint(setting, endpoint)?;
            }
        }
        Ok(())
    }

    fn check_endpoint(&self, setting: &str, endpoint: &str) -> Result<(), String> {
        let shown = endpoint.escape_debug();
        let (protocol, _) = endpoint.split_once('/').unwrap_or_default();
        let allowed = if self.tls.is_some() { ENCRYPTED } else { PLAIN };
        if !allowed.contains(&protocol) {
            let why = match (&self.tls, ENCRYPTED.contains(&protocol)) {
                (Some(_), _) => " (there are certificates, so nothing goes unencrypted)",
                (None, true) => " (it needs certificates)",
                (None, false) => "",
            };
            let allowed: Vec<_> =
                allowed.iter().map(|protocol| format!("{protocol}/HOST:PORT")).collect();
            let allowed = allowed.join(" or ");
            return Err(format!("{setting}: '{shown}' is not allowed{why}: {allowed}"));
        }
        if protocol == "tls" && !self.allow_tls_over_tcp {
            return Err(format!(
                "{setting}: '{shown}' is not allowed: Zenoh 1.10 uses such a connection from two threads at once (its issue 2557), which breaks it, and may hang the node \
                 or damage its memory: quic/HOST:PORT does as much with the same certificates (allow_tls_over_tcp in the configuration takes it all the same)"
            ));
        }
        endpoint
            .parse::<zenoh::config::EndPoint>()
            .map(drop)
            .map_err(|error| format!("{setting}: '{shown}' is not allowed: {error}"))
    }
}

impl Tls {
    fn settings(&self, cluster: &str) -> Result<Settings, String> {
        let file = |setting, path: &Path| {
            let problem = |error| format!("{setting}: can not read {}: {error}", path.display());
            File::open(path).map_err(|error| problem(error.to_string()))?;
            path.to_str().map(|path| json!(path)).ok_or_else(|| problem("not UTF-8".to_owned()))
        };
        let certificate = file("tls-certificate", &self.certificate)?;
        let key = file("tls-key", &self.key)?;
        let mut settings = vec![
            ("transport/link/tls/root_ca_certificate", file("tls-ca", &self.ca)?),
            ("transport/link/tls/enable_mtls", json!(true)),
            ("transport/link/tls/verify_name_on_connect", json!(true)),
            ("transport/link/tls/close_link_on_expiration", json!(true)),
            ("transport/link/tls/listen_certificate", certificate.clone()),
            ("transport/link/tls/listen_private_key", key.clone()),
            ("transport/link/tls/connect_certificate", certificate),
            ("transport/link/tls/connect_private_key", key),
        ];
        if !self.allowed.is_empty() {
            settings.push(("access_control", self.access_control(cluster)));
        }
        Ok(settings)
    }

    /// Builds Zenoh's rules of access: each certificate's holder may send as the node that it is,
    /// and may be asked and listened to as that node. A holder that no rule names may do nothing.
    fn access_control(&self, cluster: &str) -> Value {
        let all = format!("actinium/{cluster}/**");
        let mut rules = vec![json!({
            "id": "to them", "permission": "allow", "flows": ["egress"], "key_exprs": [&all],
            "messages": [
                "put", "declare_subscriber", "query", "reply", "declare_queryable",
                "liveliness_token", "liveliness_query", "declare_liveliness_subscriber",
            ],
        })];
        let (mut subjects, mut policies) = (Vec::new(), Vec::new());
        for (name, NodeId(node)) in &self.allowed {
            let rule = |id: String, messages: &[&str], keys: &[String]| {
                json!({
                    "id": id, "permission": "allow", "flows": ["ingress"], "messages": messages, "key_exprs": keys,
                })
            };
            let base = format!("actinium/{cluster}");
            let ids = [format!("{name} sends"), format!("{name} is"), format!("{name} looks")];
            rules.extend([
                rule(ids[0].clone(), &["put"], &[format!("{base}/to/*/{node}")]),
                rule(
                    ids[1].clone(),
                    &["declare_subscriber", "declare_queryable", "reply", "liveliness_token"],
                    &[
                        format!("{base}/to/{node}/*"),
                        format!("{base}/who/{node}"),
                        format!("{base}/alive/{node}/*"),
                    ],
                ),
                rule(
                    ids[2].clone(),
                    &["query", "liveliness_query", "declare_liveliness_subscriber"],
                    &[format!("{base}/who/{node}"), format!("{base}/alive/**")],
                ),
            ]);
            subjects.push(json!({ "id": name, "cert_common_names": [name] }));
            let [sends, is, looks] = ids;
            policies.push(json!({ "rules": ["to them", sends, is, looks], "subjects": [name] }));
        }
        json!({
            "enabled": true, "default_permission": "deny",
            "rules": rules, "subjects": subjects, "policies": policies,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(config: &ZenohConfig, parts: &[&str]) {
        let problem = config.settings().unwrap_err();
        for part in parts {
            assert!(problem.contains(part), "{part} in {problem}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let ok = ZenohConfig::default;
        assert!(ok().settings().is_ok());
        for cluster in ["", "a/b", "a*", "ä", &"a".repeat(65)] {
            refused(
                &ZenohConfig { cluster: cluster.to_owned(), ..ok() },
                &["cluster: '", "1 to 64"],
            );
        }
        refused(&ZenohConfig { nodes: 0, ..ok() }, &["nodes: '0'", "1 to 1024"]);
        refused(&ZenohConfig { nodes: 1025, ..ok() }, &["nodes: '1025'"]);
        refused(&ZenohConfig { node: NodeId(1024), ..ok() }, &["node: '1024'", "0 to 1023"]);
        refused(&ZenohConfig { lease: Duration::ZERO, ..ok() }, &["lease: '0ns'", "100 ms"]);
        refused(&ZenohConfig { through_routers: true, ..ok() }, &["connect", "router"]);
        for listen in ["", "tcp", "udp/127.0.0.1:1", "carrots"] {
            let listen = vec![listen.to_owned()];
            refused(&ZenohConfig { listen, ..ok() }, &["listen: '", "tcp/HOST:PORT"]);
        }
        let connect = vec!["tls/localhost:1".to_owned()];
        refused(&ZenohConfig { connect, ..ok() }, &["connect: 'tls/", "needs certificates"]);
    }

    #[test]
    fn with_certificates_nothing_goes_unencrypted() {
        // Any file there is: it is read later.
        let there = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let tls = Tls {
            certificate: there.clone(),
            key: there.clone(),
            ca: there,
            allowed: BTreeMap::new(),
        };
        let ok = || ZenohConfig { tls: Some(tls.clone()), ..ZenohConfig::default() };
        assert!(ok().settings().is_ok());
        let listen = vec!["tcp/127.0.0.1:1".to_owned()];
        refused(
            &ZenohConfig { listen, ..ok() },
            &["listen: 'tcp/", "unencrypted", "tls/", "quic/"],
        );
        let listen = vec!["tls/127.0.0.1:1".to_owned()];
        let over_tcp = ZenohConfig { listen, ..ok() };
        refused(&over_tcp, &["listen: 'tls/", "2557", "quic/", "allow_tls_over_tcp"]);
        assert!(ZenohConfig { allow_tls_over_tcp: true, ..over_tcp }.settings().is_ok());
        let key = PathBuf::from("no/such/file");
        let tls = Some(Tls { key, ..tls.clone() });
        refused(
            &ZenohConfig { tls, ..ok() },
            &["tls-key: can not read no/such/file", "No such file"],
        );
    }

    /// Zenoh's own default is two, and it drops what is beyond.
    #[test]
    fn the_queue_of_each_lane_holds_what_may_be_under_way() {
        let settings = ZenohConfig::default().settings().unwrap();
        for queue in ["data", "data_low"] {
            let path = format!("transport/link/tx/queue/size/{queue}");
            let size = settings.iter().find(|(setting, _)| *setting == path);
            assert_eq!(size.map(|(_, size)| size), Some(&json!(BATCHES)), "{queue}");
        }
    }

    #[test]
    fn zenoh_understands_its_settings() {
        let there = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let allowed =
            BTreeMap::from([("node-0".to_owned(), NodeId(0)), ("b".to_owned(), NodeId(7))]);
        let tls = Tls { certificate: there.clone(), key: there.clone(), ca: there, allowed };
        for tls in [None, Some(tls)] {
            let config = ZenohConfig { tls, ..ZenohConfig::default() };
            let mut zenoh = zenoh::Config::default();
            for (path, value) in config.settings().unwrap() {
                zenoh.insert_json5(path, &value.to_string()).unwrap();
                // Not silently ignored, either.
                assert!(zenoh.get_json(path).unwrap().contains(|c| c != '{' && c != '}'), "{path}");
            }
        }
    }
}
