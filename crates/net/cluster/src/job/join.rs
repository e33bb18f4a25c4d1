//! The settings with which a process joins the others of its job over Zenoh: its node's number, and
//! the addresses at which it meets them.

use crate::fabric::NodeId;
use crate::fabric::zenoh::{NODES_MAX, Tls, ZenohConfig};
use std::collections::BTreeMap;
use std::fmt;

/// The settings of a process that joins others over Zenoh, as flags or environment variables have
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinSettings {
    /// Which node this process is: 0 to `nodes` - 1.
    pub node: Option<u32>,
    /// How many nodes there are.
    pub nodes: Option<u32>,
    /// Where it is to be reached: `tcp/HOST:PORT`, or `quic/..` with certificates; several with
    /// commas.
    pub listen: Option<String>,
    /// Where it reaches others.
    pub connect: Option<String>,
    /// The cluster's name.
    pub cluster: Option<String>,
    /// The file of this node's certificate, as PEM; then its key and the CA are needed, too.
    pub tls_certificate: Option<String>,
    /// The file of its private key.
    pub tls_key: Option<String>,
    /// The file of the certificates that have signed those that are believed.
    pub tls_ca: Option<String>,
    /// The nodes that the holders of certificates may be, as `NAME=N` with commas between.
    pub tls_allow: Option<String>,
}

/// A setting that is missing or not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinFault {
    /// The setting is missing.
    Missing {
        /// The setting, as the flag has it: `tls-ca`.
        setting: &'static str,
        /// The meaning of the setting, for people.
        what: &'static str,
    },
    /// The setting's value is not allowed.
    Wrong {
        /// The setting, as the flag has it.
        setting: String,
        /// The value, and what is allowed.
        problem: String,
    },
}

impl fmt::Display for JoinFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinFault::Missing { setting, what } => write!(f, "{setting}: needed: {what}"),
            JoinFault::Wrong { setting, problem } => write!(f, "{setting}: {problem}"),
        }
    }
}

impl std::error::Error for JoinFault {}

fn wrong(setting: &str, problem: impl Into<String>) -> JoinFault {
    JoinFault::Wrong { setting: setting.to_owned(), problem: problem.into() }
}

fn list(text: Option<&str>) -> Vec<String> {
    text.map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
}

impl JoinSettings {
    /// Reads the environment: `ACTINIUM_NODE`, `ACTINIUM_NODES`, `ACTINIUM_LISTEN`,
    /// `ACTINIUM_CONNECT`, `ACTINIUM_CLUSTER`, `ACTINIUM_TLS_CERTIFICATE`, `_KEY`, `_CA` and
    /// `_ALLOW`. `actinium launch` sets those that a process needs. An empty one says nothing.
    ///
    /// # Errors
    /// If a number is none.
    pub fn from_env() -> Result<Self, JoinFault> {
        let text = |name: &str| {
            let variable = format!("ACTINIUM_{}", name.replace('-', "_").to_uppercase());
            std::env::var_os(variable)
                .map(|text| text.to_string_lossy().into_owned())
                .filter(|text| !text.is_empty())
        };
        let number = |name: &str| {
            let parse = |text: String| {
                text.parse::<u32>()
                    .map_err(|error| wrong(name, format!("'{}': {error}", text.escape_debug())))
            };
            text(name).map(parse).transpose()
        };
        Ok(JoinSettings {
            node: number("node")?,
            nodes: number("nodes")?,
            listen: text("listen"),
            connect: text("connect"),
            cluster: text("cluster"),
            tls_certificate: text("tls-certificate"),
            tls_key: text("tls-key"),
            tls_ca: text("tls-ca"),
            tls_allow: text("tls-allow"),
        })
    }

    /// Makes the fabric's configuration of these settings.
    ///
    /// # Errors
    /// The first setting that is missing or not allowed.
    pub fn config(&self) -> Result<ZenohConfig, JoinFault> {
        let missing = |setting, what| JoinFault::Missing { setting, what };
        let nodes = self.nodes.ok_or(missing("nodes", "how many nodes there are"))?;
        if !(1..=NODES_MAX).contains(&nodes) {
            let problem = format!("'{nodes}' is not allowed: 1 to {NODES_MAX}");
            return Err(wrong("nodes", problem));
        }
        let node = self.node.ok_or(missing("node", "which node this is"))?;
        if node >= nodes {
            let problem = format!("'{node}' is not allowed: 0 to {}", nodes - 1);
            return Err(wrong("node", problem));
        }
        let default = ZenohConfig::default();
        let config = ZenohConfig {
            cluster: self.cluster.clone().unwrap_or(default.cluster.clone()),
            node: NodeId(node),
            nodes,
            listen: list(self.listen.as_deref()),
            connect: list(self.connect.as_deref()),
            tls: self.tls()?,
            ..default
        };
        match config.check() {
            Ok(()) => Ok(config),
            Err(text) => {
                let (setting, problem) = text.split_once(": ").unwrap_or(("", &text));
                Err(wrong(setting, problem))
            }
        }
    }

    fn tls(&self) -> Result<Option<Tls>, JoinFault> {
        match (&self.tls_certificate, &self.tls_key, &self.tls_ca) {
            (None, None, None) if self.tls_allow.is_some() => {
                Err(wrong("tls-allow", "only together with --tls-certificate"))
            }
            (None, None, None) => Ok(None),
            (Some(certificate), Some(key), Some(ca)) => Ok(Some(Tls {
                certificate: certificate.into(),
                key: key.into(),
                ca: ca.into(),
                allowed: self.allowed()?,
            })),
            _ => Err(wrong("tls-certificate", "only together with --tls-key and --tls-ca")),
        }
    }

    fn allowed(&self) -> Result<BTreeMap<String, NodeId>, JoinFault> {
        let pairs = list(self.tls_allow.as_deref());
        let allowed = pairs.iter().map(|pair| {
            let (name, node) = pair.rsplit_once('=').unwrap_or_default();
            node.parse().map(|node| (name.to_owned(), NodeId(node))).map_err(|_| {
                let pair = pair.escape_debug();
                wrong("tls-allow", format!("'{pair}' is not allowed: NAME=N, with commas between"))
            })
        });
        allowed.collect()
    }
}
