//! The settings with which a process joins other nodes: its own number, and the addresses at which
//! they meet.

use crate::Failure;
use crate::setting::{Parsed, Row, Setting, Source};
use clap::ArgMatches;
use std::fmt::Display;
use std::str::FromStr;

/// The flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Nodes over Zenoh")]
pub struct JoinArgs {
    /// Number of this process's node: 0 to --nodes - 1 [env: ACTINIUM_NODE]
    #[arg(long, value_name = "N", requires = "fabric")]
    node: Option<u32>,

    /// Address at which others reach this node: tcp/HOST:PORT, or quic/.. with certificates;
    /// several with commas [env: ACTINIUM_LISTEN]
    #[arg(long, value_name = "ENDPOINTS", requires = "fabric")]
    listen: Option<String>,

    /// Addresses at which this node reaches others, at least one [env: ACTINIUM_CONNECT]
    #[arg(long, value_name = "ENDPOINTS", requires = "fabric")]
    connect: Option<String>,

    /// The cluster's name: nodes of others are not seen [default: actinium] [env: ACTINIUM_CLUSTER]
    #[arg(long, value_name = "NAME", requires = "fabric")]
    cluster: Option<String>,

    /// This node's certificate, as PEM; then --tls-key and --tls-ca, too [env:
    /// ACTINIUM_TLS_CERTIFICATE]
    #[arg(long, value_name = "FILE", requires = "fabric")]
    tls_certificate: Option<String>,

    /// Private key of this node [env: ACTINIUM_TLS_KEY]
    #[arg(long, value_name = "FILE", requires = "fabric")]
    tls_key: Option<String>,

    /// Authorities whose certificates this node trusts, as PEM [env: ACTINIUM_TLS_CA]
    #[arg(long, value_name = "FILE", requires = "fabric")]
    tls_ca: Option<String>,

    /// Whose certificate may be which node, as NAME=N with commas between; nobody else may any
    /// [default: whoever has a certificate] [env: ACTINIUM_TLS_ALLOW]
    #[arg(long, value_name = "NAMES", requires = "fabric")]
    tls_allow: Option<String>,
}

/// The resolved values of these arguments.
#[derive(Clone, Debug)]
pub struct Join {
    /// The number of this node.
    pub node: Setting<Option<u32>>,
    /// Number of nodes.
    pub nodes: Setting<Option<u32>>,
    /// Texts by name, in the order of [`TEXTS`].
    texts: [Setting<Option<String>>; 7],
}

/// Flag and variable of each text.
const TEXTS: [(&str, &str); 7] = [
    ("listen", "ACTINIUM_LISTEN"),
    ("connect", "ACTINIUM_CONNECT"),
    ("cluster", "ACTINIUM_CLUSTER"),
    ("tls-certificate", "ACTINIUM_TLS_CERTIFICATE"),
    ("tls-key", "ACTINIUM_TLS_KEY"),
    ("tls-ca", "ACTINIUM_TLS_CA"),
    ("tls-allow", "ACTINIUM_TLS_ALLOW"),
];

fn number<T: FromStr<Err: Display>>(text: &str) -> Result<Option<T>, String> {
    text.parse().map(Some).map_err(|error| format!("'{}': {error}", text.escape_debug()))
}

impl Join {
    /// Flag > environment; only for a fabric that joins processes that way.
    ///
    /// # Errors
    /// If a variable's value is no number where one has to be.
    pub fn resolve(
        args: &JoinArgs,
        nodes: Setting<Option<u32>>,
        matches: &ArgMatches,
    ) -> Result<Self, Failure> {
        let given = [
            &args.listen,
            &args.connect,
            &args.cluster,
            &args.tls_certificate,
            &args.tls_key,
            &args.tls_ca,
            &args.tls_allow,
        ];
        let texts = std::array::from_fn(|index| {
            let (flag, variable) = TEXTS[index];
            let text = Setting::parsed(given[index].clone(), matches, &flag.replace('-', "_"));
            // An empty variable says nothing: `launch` connects the first node to nobody.
            let kept = |text: &str| Ok((!text.is_empty()).then(|| text.to_owned()));
            text.or_env(variable, kept).unwrap_or(Setting { value: None, source: Source::Default })
        });
        let node = Setting::parsed(args.node, matches, "node");
        Ok(Join {
            node: node.or_env("ACTINIUM_NODE", number)?,
            nodes: nodes.or_env("ACTINIUM_NODES", number)?,
            texts,
        })
    }

    /// The first flag of these that was given, if any: elsewhere they mean nothing.
    pub fn flag_given(args: &JoinArgs) -> Option<&'static str> {
        let given = [
            ("--node", args.node.is_some()),
            ("--listen", args.listen.is_some()),
            ("--connect", args.connect.is_some()),
            ("--cluster", args.cluster.is_some()),
            ("--tls-certificate", args.tls_certificate.is_some()),
            ("--tls-key", args.tls_key.is_some()),
            ("--tls-ca", args.tls_ca.is_some()),
            ("--tls-allow", args.tls_allow.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }

    /// Name, value and source of each but the number of nodes.
    pub fn rows(&self) -> Vec<Row> {
        let node = self.node.value.map_or("-".to_owned(), |node| node.to_string());
        let texts = self.texts.iter().zip(TEXTS).map(|(text, (name, _))| {
            (name, text.value.clone().unwrap_or_else(|| "-".to_owned()), text.source)
        });
        [("node", node, self.node.source)].into_iter().chain(texts).collect()
    }

    /// Returns the fabric's configuration.
    ///
    /// # Errors
    /// If a setting is missing or makes no sense; the error names it.
    #[cfg(feature = "zenoh")]
    pub fn config(&self) -> Result<actinium_cluster::fabric::zenoh::ZenohConfig, Failure> {
        use actinium_cluster::job::{JoinFault, JoinSettings};
        let text = |index: usize| self.texts[index].value.clone();
        let settings = JoinSettings {
            node: self.node.value,
            nodes: self.nodes.value,
            listen: text(0),
            connect: text(1),
            cluster: text(2),
            tls_certificate: text(3),
            tls_key: text(4),
            tls_ca: text(5),
            tls_allow: text(6),
        };
        settings.config().map_err(|fault| {
            Failure::Asked(match fault {
                JoinFault::Missing { setting, what } => {
                    let needed = "needed with --fabric zenoh";
                    format!("--{setting}: {needed}: {what} ('actinium launch' sets it)")
                }
                JoinFault::Wrong { setting, problem } => match &*setting {
                    "nodes" => format!("{}: {problem}", self.nodes.origin("--nodes")),
                    "node" => format!("{}: {problem}", self.node.origin("--node")),
                    _ => format!("--{setting}: {problem}"),
                },
            })
        })
    }
}
