//! The fabric's configuration, of the settings with which a process joins.

use super::JoinSettings;
use crate::fabric::NodeId;
use crate::fabric::zenoh::{NODES_MAX, Tls, ZenohConfig};
use crate::job::JoinFault;
use std::collections::BTreeMap;

fn wrong(setting: &str, problem: impl Into<String>) -> JoinFault {
    JoinFault::Wrong { setting: setting.to_owned(), problem: problem.into() }
}

fn list(text: Option<&str>) -> Vec<String> {
    text.map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
}

impl JoinSettings {
    /// Makes the fabric's configuration of these settings.
    ///
    /// # Errors
    /// The first setting that is missing or not allowed.
    pub fn config(&self) -> Result<ZenohConfig, JoinFault> {
        let (node, nodes) = self.numbers()?;
        if !(1..=NODES_MAX).contains(&nodes) {
            let problem = format!("'{nodes}' is not allowed: 1 to {NODES_MAX}");
            return Err(wrong("nodes", problem));
        }
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
                Err(wrong("tls-allow", "only together with tls-certificate"))
            }
            (None, None, None) => Ok(None),
            (Some(certificate), Some(key), Some(ca)) => Ok(Some(Tls {
                certificate: certificate.into(),
                key: key.into(),
                ca: ca.into(),
                allowed: self.allowed()?,
            })),
            _ => Err(wrong("tls-certificate", "only together with tls-key and tls-ca")),
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
