//! The runtimes that are compared.

/// The runtime whose actors are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    Actinium,
    Tokio,
    /// What a message costs at the least: see `workloads/minimal.rs`.
    Minimal,
}

impl Runtime {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Runtime::Actinium => "actinium",
            Runtime::Tokio => "tokio",
            Runtime::Minimal => "minimal",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        let all = [Runtime::Actinium, Runtime::Tokio, Runtime::Minimal];
        all.into_iter().find(|runtime| runtime.name() == name)
    }

    /// The runtime's name for people to read.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Runtime::Actinium => "Actinium",
            Runtime::Tokio => "tokio",
            Runtime::Minimal => "minimal",
        }
    }
}

/// A runtime, ready to be built.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    pub(crate) runtime: Runtime,
    pub(crate) workers: usize,
    /// The name of Actinium's policy.
    pub(crate) policy: String,
}
