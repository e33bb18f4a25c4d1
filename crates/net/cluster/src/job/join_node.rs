//! A node of the job that its process belongs to.

use super::fabric::JobFabric;
use super::join_error::JoinError;
use super::node::config;
use crate::fabric::NodeId;
use crate::fabric::in_process::Network;
use crate::link::LinkConfig;
use crate::node::{Node, NodeConfig};
use actinium_actor::SystemHandle;
use std::time::Duration;

impl Node {
    /// Joins a system to the job that this process belongs to. So the same program runs alone,
    /// under `actinium launch`, under `mpiexec`, in a step of Slurm and in a StatefulSet.
    ///
    /// The environment's variables say which job that is. The first of these that is there counts:
    ///
    /// | variable | says | the fabric |
    /// |---|---|---|
    /// | `ACTINIUM_FABRIC` | `in-process`, `mpi` or `zenoh` | that one; `in-process`: this node is alone |
    /// | `ACTINIUM_NODE` | `actinium launch` has started it, or somebody who says as much | Zenoh |
    /// | `OMPI_COMM_WORLD_SIZE`, `PMI_SIZE`, `PMIX_RANK` | it is a rank of an MPI job | MPI |
    /// | `SLURM_STEP_NUM_TASKS` | `srun` has started it | Zenoh; MPI in a build with MPI only |
    /// | `ACTINIUM_NODES`, with `KUBERNETES_SERVICE_HOST` | it is a pod of a StatefulSet | Zenoh |
    /// | none | it is alone | in-process |
    ///
    /// A job of one process needs no fabric, and so no feature. Links lose nothing, and a node that
    /// is not heard for a second is down; `ACTINIUM_ENCODING` names the encoding.
    /// [`Node::join_with`] takes other settings.
    ///
    /// ```
    /// use actinium_actor::{Shutdown, System};
    /// use actinium_cluster::Node;
    ///
    /// let system = System::builder().from_env()?.build()?;
    /// let node = Node::join(&system)?;
    /// println!("{} of {}", node.id(), node.nodes().len());
    /// system.shutdown(Shutdown::Drain);
    /// node.leave();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a variable is missing or not allowed, the fabric is not in this build (the features `mpi`
    /// and `zenoh`), or the node does not start. The error names the variable.
    pub fn join(system: &SystemHandle) -> Result<Self, JoinError> {
        let down_after = Duration::from_nanos(LinkConfig::default().down_after_ns);
        let encoding = |problem: String| match problem.split_once(": ") {
            Some((variable, problem)) => JoinError::wrong(variable, problem),
            None => JoinError::wrong("ACTINIUM_ENCODING", problem),
        };
        let config = config(down_after).map_err(|error| encoding(error.to_string()))?;
        Self::join_with(system, config)
    }

    /// Joins a system like [`Node::join`], with settings of the program's own.
    ///
    /// # Errors
    /// The same as those of [`Node::join`].
    pub fn join_with(system: &SystemHandle, config: NodeConfig) -> Result<Self, JoinError> {
        let system = system.clone();
        let node = match JobFabric::from_env()? {
            JobFabric::InProcess(_) => {
                let alone = Network::new().node(NodeId(0));
                Node::start(system, config, move || Ok(alone))
            }
            #[cfg(feature = "mpi")]
            JobFabric::Mpi => Node::start(system, config, crate::fabric::mpi::Mpi::start),
            #[cfg(feature = "zenoh")]
            JobFabric::Zenoh(zenoh) => {
                Node::start(system, config, move || crate::fabric::zenoh::Zenoh::start(&zenoh))
            }
        };
        Ok(node?)
    }
}
