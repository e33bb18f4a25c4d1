//! What a node of these tests is, as the test tells its process in one variable.

use actinium_cluster::NodeConfig;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::zenoh::{Tls, ZenohConfig};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::route::Route;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) zenoh: ZenohConfig,
    pub(crate) node: NodeConfig,
    pub(crate) workers: usize,
    /// A rank of a job, and not over Zenoh.
    pub(crate) mpi: bool,
}

/// On a busy machine a process may not run for seconds: that is no death here.
pub(crate) const PATIENT_NS: u64 = 300_000_000_000;

impl Setting {
    /// A node of a cluster of so many, which listens here and reaches those.
    pub(crate) fn new(node: u32, nodes: u32, listen: &str, connect: &[&str]) -> Self {
        let zenoh = ZenohConfig {
            cluster: "test".to_owned(),
            node: NodeId(node),
            nodes,
            listen: vec![listen.to_owned()],
            connect: connect.iter().map(|&it| it.to_owned()).collect(),
            lease: Duration::from_secs(60),
            ..ZenohConfig::default()
        };
        let link = LinkConfig { down_after_ns: PATIENT_NS, ..LinkConfig::default() };
        let linger = Duration::from_nanos(PATIENT_NS);
        let node = NodeConfig { link, linger, ..NodeConfig::default() };
        Setting { zenoh, node, workers: 1, mpi: false }
    }

    /// Four nodes, of which the first listens here and the others reach it.
    pub(crate) fn four(listen: &str, route: Route) -> Vec<Self> {
        let setting = |node| {
            let mut setting = match node {
                0 => Setting::new(0, 4, listen, &[]),
                _ => Setting::new(node, 4, "tcp/127.0.0.1:0", &[listen]),
            };
            setting.node.route = route;
            setting
        };
        (0..4).map(setting).collect()
    }

    /// As words.
    pub(crate) fn write(&self) -> String {
        let (zenoh, link) = (&self.zenoh, &self.node.link);
        let mut words = vec![
            format!("node={}", zenoh.node.0),
            format!("nodes={}", zenoh.nodes),
            format!("workers={}", self.workers),
            format!("mpi={}", u8::from(self.mpi)),
            format!("routers={}", u8::from(zenoh.through_routers)),
            format!("lease_ms={}", zenoh.lease.as_millis()),
            format!("square={}", u8::from(self.node.route == Route::Square)),
            format!("reliable={}", u8::from(link.reliable)),
            format!("down_ns={}", link.down_after_ns),
        ];
        words.extend(zenoh.listen.iter().map(|it| format!("listen={it}")));
        words.extend(zenoh.connect.iter().map(|it| format!("connect={it}")));
        if let Some(tls) = &zenoh.tls {
            words.push(format!("over_tcp={}", u8::from(zenoh.allow_tls_over_tcp)));
            words.push(format!("certificate={}", tls.certificate.display()));
            words.push(format!("key={}", tls.key.display()));
            words.push(format!("ca={}", tls.ca.display()));
            words.extend(
                tls.allowed.iter().map(|(name, node)| format!("allowed={name}:{}", node.0)),
            );
        }
        words.join(" ")
    }

    pub(crate) fn read(text: &str) -> Self {
        let mut setting = Setting::new(0, 1, "", &[]);
        setting.zenoh.listen.clear();
        let mut tls = Tls {
            certificate: PathBuf::new(),
            key: PathBuf::new(),
            ca: PathBuf::new(),
            allowed: BTreeMap::new(),
        };
        for word in text.split(' ') {
            let (name, value) = word.split_once('=').unwrap();
            let number = || value.parse::<u64>().unwrap();
            let (zenoh, link) = (&mut setting.zenoh, &mut setting.node.link);
            match name {
                "workers" => setting.workers = number() as usize,
                "mpi" => setting.mpi = number() == 1,
                "node" => zenoh.node = NodeId(number() as u32),
                "nodes" => zenoh.nodes = number() as u32,
                "routers" => zenoh.through_routers = number() == 1,
                "over_tcp" => zenoh.allow_tls_over_tcp = number() == 1,
                "lease_ms" => zenoh.lease = Duration::from_millis(number()),
                "square" if number() == 1 => setting.node.route = Route::Square,
                "square" => {}
                "reliable" => link.reliable = number() == 1,
                "down_ns" => link.down_after_ns = number(),
                "listen" => zenoh.listen.push(value.to_owned()),
                "connect" => zenoh.connect.push(value.to_owned()),
                "certificate" => tls.certificate = value.into(),
                "key" => tls.key = value.into(),
                "ca" => tls.ca = value.into(),
                "allowed" => {
                    let (name, node) = value.split_once(':').unwrap();
                    tls.allowed.insert(name.to_owned(), NodeId(node.parse().unwrap()));
                }
                _ => panic!("{word}"),
            }
        }
        if !tls.ca.as_os_str().is_empty() {
            setting.zenoh.tls = Some(tls);
        }
        setting
    }
}
