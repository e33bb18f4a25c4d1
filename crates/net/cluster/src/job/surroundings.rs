//! What has started this process, and which node of its job it is: asked of the environment's
//! variables, in the order of [`find`].

use super::environment::Environment;
use super::join::JoinSettings;
use super::join_error::JoinError;
use super::pod::{self, pod};
use super::slurm::{self, Task, task};

/// The fabrics of this build.
#[derive(Clone, Copy, Debug)]
pub(super) struct Build {
    pub(super) mpi: bool,
    pub(super) zenoh: bool,
}

impl Build {
    pub(super) const THIS: Build =
        Build { mpi: cfg!(feature = "mpi"), zenoh: cfg!(feature = "zenoh") };
}

/// The way in which this process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is the only node.
    Alone,
    /// It is a rank of an MPI job.
    Mpi,
    /// It is one of several that reach each other by Zenoh.
    Zenoh(Box<Asked>),
}

/// The settings for Zenoh, and the variables that gave its two numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) settings: JoinSettings,
    node_by: String,
    nodes_by: String,
}

/// The port at which processes meet, unless `ACTINIUM_PORT` says another.
const PORT: u32 = 7447;
/// Names the fabric, whatever else is said.
const FABRIC: &str = "ACTINIUM_FABRIC";

/// Asks, and takes the first that answers:
///
/// 1. `ACTINIUM_FABRIC`, which names the fabric;
/// 2. `ACTINIUM_NODE`, which `actinium launch` sets;
/// 3. a launcher of MPI;
/// 4. `srun`;
/// 5. `ACTINIUM_NODES` in a pod.
///
/// # Errors
/// If a variable is missing or not allowed, or the build lacks the fabric.
pub(super) fn find(environment: &Environment<'_>, build: Build) -> Result<Found, JoinError> {
    if let Some(fabric) = environment.text(FABRIC) {
        return named(&fabric, environment, build);
    }
    if environment.text(&JoinSettings::variable("node")).is_some() {
        return zenoh(environment, build);
    }
    let task = task(environment)?;
    if let Some(launched) = launched(environment)? {
        // `srun` itself may speak MPI's protocol to a program that has none.
        let is_task = task.is_some_and(|task| launched.is(task));
        return match launched.ranks.or(task.filter(|_| is_task).map(|task| task.tasks)) {
            _ if build.mpi => Ok(Found::Mpi),
            Some(1) => Ok(Found::Alone),
            _ if is_task && build.zenoh => zenoh(environment, build),
            _ => Err(lacks("mpi", launched.variable, &launched.value)),
        };
    }
    match task {
        Some(Task { tasks: 1, .. }) => return Ok(Found::Alone),
        Some(_) if build.mpi && !build.zenoh => return Ok(Found::Mpi),
        Some(_) => return zenoh(environment, build),
        None => (),
    }
    let given = ["nodes", "listen", "connect"].map(JoinSettings::variable);
    match given.iter().any(|variable| environment.text(variable).is_some()) {
        true => zenoh(environment, build),
        false => Ok(Found::Alone),
    }
}

/// The fabric that `ACTINIUM_FABRIC` names.
fn named(name: &str, environment: &Environment<'_>, build: Build) -> Result<Found, JoinError> {
    match name {
        "in-process" => Ok(Found::Alone),
        "mpi" if build.mpi => Ok(Found::Mpi),
        "mpi" => Err(lacks("mpi", FABRIC, name)),
        "zenoh" if build.zenoh => zenoh(environment, build),
        "zenoh" => Err(lacks("zenoh", FABRIC, name)),
        other => {
            let other = other.escape_debug();
            let problem = format!("'{other}' is not allowed: in-process, mpi, zenoh");
            Err(JoinError::wrong(FABRIC, problem))
        }
    }
}

fn lacks(feature: &'static str, variable: &str, value: &str) -> JoinError {
    JoinError::Feature { feature, said_by: format!("{variable}={value}") }
}

/// One of several processes that meet over Zenoh; or the only one, which needs no Zenoh.
fn zenoh(environment: &Environment<'_>, build: Build) -> Result<Found, JoinError> {
    let asked = asked(environment)?;
    match asked.numbers()? {
        _ if build.zenoh => Ok(Found::Zenoh(Box::new(asked))),
        (_, 1) => Ok(Found::Alone),
        (_, nodes) => Err(lacks("zenoh", &asked.nodes_by, &nodes.to_string())),
    }
}

/// Returns what the variables of Zenoh say. Where none says which node this is, Slurm or
/// Kubernetes does.
fn asked(environment: &Environment<'_>) -> Result<Asked, JoinError> {
    let given = JoinSettings::read(environment)?;
    let [node, nodes] = ["node", "nodes"].map(JoinSettings::variable);
    if given.node.is_none() {
        let port = environment.number("ACTINIUM_PORT")?.unwrap_or(PORT);
        if let Some(task) = task(environment)? {
            let nodes_by = if given.nodes.is_some() { nodes } else { slurm::TASKS.to_owned() };
            let settings = task.complete(given, port, environment)?;
            return Ok(Asked { settings, node_by: slurm::TASK.to_owned(), nodes_by });
        }
        if let Some(pod) = pod(environment)? {
            let settings = pod.complete(given, port);
            return Ok(Asked { settings, node_by: pod::NAME.to_owned(), nodes_by: nodes });
        }
    }
    Ok(Asked { settings: given, node_by: node, nodes_by: nodes })
}

impl Asked {
    /// Returns which node this is, and how many there are.
    ///
    /// # Errors
    /// If one is missing.
    fn numbers(&self) -> Result<(u32, u32), JoinError> {
        let numbers = self.settings.numbers();
        numbers.map_err(|fault| JoinError::of_setting(fault, |setting| self.variable(setting)))
    }

    /// Returns the variable that gave a setting.
    pub(super) fn variable(&self, setting: &str) -> String {
        match setting {
            "node" => self.node_by.clone(),
            "nodes" => self.nodes_by.clone(),
            other => JoinSettings::variable(other),
        }
    }
}

/// The variables of launchers of MPI: how many ranks there are, and which one this is.
const LAUNCHERS: [(&str, &str); 2] =
    [("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK")];
/// Says which rank this is; the launcher tells their number to MPI only.
const PMIX_RANK: &str = "PMIX_RANK";

/// A launcher of MPI has started this process.
struct Launched {
    /// The variable that says so.
    variable: &'static str,
    value: String,
    rank: Option<u32>,
    ranks: Option<u32>,
}

impl Launched {
    /// Whether the launcher is `srun`, so that each rank is a task.
    fn is(&self, task: Task) -> bool {
        self.rank == Some(task.task) && self.ranks.is_none_or(|ranks| ranks == task.tasks)
    }
}

fn launched(environment: &Environment<'_>) -> Result<Option<Launched>, JoinError> {
    for (variable, rank) in LAUNCHERS {
        if let Some(value) = environment.text(variable) {
            let ranks = environment.number(variable)?;
            return Ok(Some(Launched { variable, value, rank: environment.number(rank)?, ranks }));
        }
    }
    let Some(value) = environment.text(PMIX_RANK) else { return Ok(None) };
    let rank = environment.number(PMIX_RANK)?;
    Ok(Some(Launched { variable: PMIX_RANK, value, rank, ranks: None }))
}

/// Whether a launcher of MPI, or `srun`, has started this process.
pub(super) fn is_mpi_job(environment: &Environment<'_>) -> bool {
    let variables = LAUNCHERS.map(|(ranks, _)| ranks);
    let is_set = |variable: &&str| environment.text(variable).is_some();
    variables.iter().chain(&[PMIX_RANK, slurm::TASK]).any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Build = Build { mpi: false, zenoh: false };
    const MPI: Build = Build { mpi: true, ..NONE };
    const ZENOH: Build = Build { zenoh: true, ..NONE };
    const BOTH: Build = Build { mpi: true, zenoh: true };

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn found(variables: Variables<'_>, build: Build) -> Result<Found, JoinError> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        find(&Environment::new(&variable), build)
    }

    #[track_caller]
    fn is(variables: Variables<'_>, build: Build, expected: &Found) {
        let found = found(variables, build).expect("it is allowed");
        assert_eq!(&found, expected, "{variables:?} {build:?}");
    }

    #[track_caller]
    fn refused(variables: Variables<'_>, build: Build, line: &str) {
        let error = found(variables, build).expect_err("it is not allowed").to_string();
        assert!(error.starts_with(line), "{error}");
    }

    /// Node, number of nodes, where it listens and connects, and the cluster.
    #[track_caller]
    fn meets(variables: Variables<'_>, build: Build, expected: (u32, u32, &str, &str, &str)) {
        let Ok(Found::Zenoh(asked)) = found(variables, build) else { panic!("{variables:?}") };
        let Asked { settings, .. } = *asked;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (node, nodes, listen, connect, cluster) = expected;
        assert_eq!((settings.node, settings.nodes), (Some(node), Some(nodes)));
        let texts = [&settings.listen, &settings.connect, &settings.cluster].map(text);
        assert_eq!(texts, [listen, connect, cluster]);
    }

    const LAUNCH: Variables<'_> = &[
        ("ACTINIUM_NODE", "1"),
        ("ACTINIUM_NODES", "2"),
        ("ACTINIUM_LISTEN", "tcp/127.0.0.1:2"),
        ("ACTINIUM_CONNECT", "tcp/127.0.0.1:1"),
    ];
    const OPEN_MPI: Variables<'_> =
        &[("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "1"), ("PMIX_RANK", "1")];
    const SLURM: Variables<'_> = &[
        ("SLURM_STEP_NUM_TASKS", "4"),
        ("SLURM_PROCID", "3"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_STEP_NODELIST", "n[01-02]"),
        ("SLURM_JOB_ID", "77"),
        ("SLURM_STEP_ID", "0"),
    ];
    const POD: Variables<'_> = &[
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
        ("HOSTNAME", "my-app-2"),
        ("ACTINIUM_NODES", "3"),
    ];

    #[test]
    fn who_is_started_by_nobody_is_alone() {
        for build in [NONE, MPI, ZENOH, BOTH] {
            is(&[], build, &Found::Alone);
            is(&[("ACTINIUM_FABRIC", "in-process"), LAUNCH[0]], build, &Found::Alone);
            is(&[("ACTINIUM_NODE", ""), ("ACTINIUM_CLUSTER", "x")], build, &Found::Alone);
            // A batch script of Slurm, a pod of a Deployment.
            is(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")], build, &Found::Alone);
            is(&POD[..2], build, &Found::Alone);
            is(&[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")], build, &Found::Alone);
        }
        // Jobs of one process need no feature.
        is(&[("PMI_SIZE", "1")], NONE, &Found::Alone);
        is(&[("ACTINIUM_NODE", "0"), ("ACTINIUM_NODES", "1")], NONE, &Found::Alone);
    }

    #[test]
    fn launch_says_all_and_comes_before_others() {
        let expected = (1, 2, "tcp/127.0.0.1:2", "tcp/127.0.0.1:1", "");
        meets(LAUNCH, ZENOH, expected);
        meets(&[LAUNCH, OPEN_MPI, SLURM].concat(), BOTH, expected);
        refused(
            LAUNCH,
            MPI,
            "ACTINIUM_NODES=2: this process belongs to a job of several, and 'zenoh'",
        );
        refused(&LAUNCH[..1], NONE, "ACTINIUM_NODES: needed: how many nodes there are");
        refused(&LAUNCH[1..2], ZENOH, "ACTINIUM_NODE: needed: which node this is");
        refused(&LAUNCH[2..3], BOTH, "ACTINIUM_NODES: needed");
        refused(&[("ACTINIUM_NODE", "one")], BOTH, "ACTINIUM_NODE: 'one': invalid digit");
    }

    #[test]
    fn ranks_need_mpi() {
        for variables in [OPEN_MPI, &[("PMI_SIZE", "2")], &[("PMIX_RANK", "0")]] {
            is(variables, MPI, &Found::Mpi);
            is(&[variables, SLURM].concat(), BOTH, &Found::Mpi);
        }
        refused(
            OPEN_MPI,
            ZENOH,
            "OMPI_COMM_WORLD_SIZE=4: this process belongs to a job of several, and 'mpi' is not in this build: it needs the feature mpi",
        );
        refused(&[("PMIX_RANK", "0")], NONE, "PMIX_RANK=0: ");
        refused(&[("PMI_SIZE", "x")], BOTH, "PMI_SIZE: 'x': invalid digit");
        is(&[("PMI_SIZE", "1")], MPI, &Found::Mpi);
    }

    #[test]
    fn tasks_of_slurm_meet_at_the_first_host() {
        meets(SLURM, ZENOH, (3, 4, "tcp/0.0.0.0:7448", "tcp/n01:7447", "slurm-77.0"));
        let quic = [SLURM, &[("ACTINIUM_TLS_CERTIFICATE", "x"), ("ACTINIUM_PORT", "5")]].concat();
        meets(&quic, BOTH, (3, 4, "quic/0.0.0.0:6", "quic/n01:5", "slurm-77.0"));
        let first = [&[("SLURM_PROCID", "0"), ("ACTINIUM_CONNECT", "tcp/n01:1")], SLURM].concat();
        meets(&first, ZENOH, (0, 4, "tcp/0.0.0.0:7448", "", "slurm-77.0"));
        // srun that offers PMI to a program that has no MPI.
        for pmi in [("PMIX_RANK", "3"), ("PMI_SIZE", "4")] {
            let variables = [SLURM, &[pmi, ("PMI_RANK", "3")]].concat();
            meets(&variables, ZENOH, (3, 4, "tcp/0.0.0.0:7448", "tcp/n01:7447", "slurm-77.0"));
        }
        // mpiexec in a step of Slurm.
        refused(&[OPEN_MPI, SLURM].concat(), ZENOH, "OMPI_COMM_WORLD_SIZE=4: ");
        is(SLURM, MPI, &Found::Mpi);
        refused(SLURM, NONE, "SLURM_STEP_NUM_TASKS=4: this process belongs to a job");
        refused(&SLURM[..1], BOTH, "SLURM_PROCID: needed: which task of the step this is");
        refused(&SLURM[..3], BOTH, "SLURM_STEP_NODELIST: needed: the hosts of the step");
        let bad = [&[("SLURM_STEP_NODELIST", "n[01")], SLURM].concat();
        refused(&bad, ZENOH, "SLURM_STEP_NODELIST: 'n[01' is not allowed: hosts");
    }

    #[test]
    fn pods_of_a_set_meet_at_its_first() {
        let expected = (2, 3, "tcp/0.0.0.0:7447", "tcp/my-app-0.my-app:7447", "");
        meets(POD, ZENOH, expected);
        let first = [&[("HOSTNAME", "my-app-0")], POD].concat();
        meets(&first, ZENOH, (0, 3, "tcp/0.0.0.0:7447", "", ""));
        let service = [POD, &[("ACTINIUM_CONNECT", "tcp/my-app-0.other:7447")]].concat();
        meets(&service, BOTH, (2, 3, "tcp/0.0.0.0:7447", "tcp/my-app-0.other:7447", ""));
        refused(POD, NONE, "ACTINIUM_NODES=3: ");
        let other = [&[("HOSTNAME", "my-app-x7")], POD].concat();
        refused(&other, ZENOH, "HOSTNAME: 'my-app-x7' is not allowed: NAME-N");
    }

    #[test]
    fn the_fabric_that_is_named_counts() {
        let zenoh = ("ACTINIUM_FABRIC", "zenoh");
        let expected = (3, 4, "tcp/0.0.0.0:7448", "tcp/n01:7447", "slurm-77.0");
        meets(&[&[zenoh], SLURM, OPEN_MPI].concat(), BOTH, expected);
        is(&[&[("ACTINIUM_FABRIC", "mpi")], LAUNCH].concat(), BOTH, &Found::Mpi);
        refused(&[zenoh], MPI, "ACTINIUM_FABRIC=zenoh: ");
        refused(&[("ACTINIUM_FABRIC", "mpi")], ZENOH, "ACTINIUM_FABRIC=mpi: ");
        let line = "ACTINIUM_FABRIC: 'pigeons' is not allowed: in-process, mpi, zenoh";
        refused(&[("ACTINIUM_FABRIC", "pigeons")], BOTH, line);
    }

    #[test]
    fn what_zenoh_refuses_names_the_variable_that_said_it() {
        let variables = [&[("SLURM_STEP_NUM_TASKS", "9")], SLURM].concat();
        let Ok(Found::Zenoh(asked)) = found(&variables, ZENOH) else { panic!("{variables:?}") };
        let told = ["node", "nodes", "tls-ca"].map(|setting| asked.variable(setting));
        assert_eq!(told, ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "ACTINIUM_TLS_CA"]);
    }
}
