//! The task of a Slurm step that this process is.

use super::environment::Environment;
use super::join::JoinSettings;
use super::join_error::JoinError;

/// Says how many tasks the step has. `srun` sets it, and a batch script of its own has none.
pub(super) const TASKS: &str = "SLURM_STEP_NUM_TASKS";
/// Says which task this is.
pub(super) const TASK: &str = "SLURM_PROCID";
/// Say which hosts the step has, and the job.
const HOSTS: [&str; 2] = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"];

/// One of the tasks of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) task: u32,
    pub(super) tasks: u32,
}

/// Returns the task that this process is, if `srun` has started it.
///
/// # Errors
/// If a variable is no number, or missing beside the others.
pub(super) fn task(environment: &Environment<'_>) -> Result<Option<Task>, JoinError> {
    let Some(tasks) = environment.number(TASKS)? else { return Ok(None) };
    Ok(Some(Task { task: environment.needed(TASK, "which task of the step this is")?, tasks }))
}

impl Task {
    /// Adds what is not given to the settings: each task listens at a port of its own, and connects
    /// to the first one, which is on the first host.
    ///
    /// # Errors
    /// If a variable is missing or not allowed.
    pub(super) fn complete(
        self,
        given: JoinSettings,
        port: u32,
        environment: &Environment<'_>,
    ) -> Result<JoinSettings, JoinError> {
        let protocol = given.protocol();
        let local = environment.number("SLURM_LOCALID")?.unwrap_or(0);
        let listen = || format!("{protocol}/0.0.0.0:{}", port.saturating_add(local));
        let connect = match (self.task, &given.connect) {
            (0, _) => None,
            (_, Some(connect)) => Some(connect.clone()),
            (_, None) => Some(format!("{protocol}/{}:{port}", first_host(environment)?)),
        };
        // The steps of other jobs may be on the same hosts.
        let id = |variable| environment.text(variable).unwrap_or_else(|| "0".to_owned());
        let cluster = || format!("slurm-{}.{}", id("SLURM_JOB_ID"), id("SLURM_STEP_ID"));
        Ok(JoinSettings {
            node: Some(self.task),
            nodes: given.nodes.or(Some(self.tasks)),
            listen: given.listen.clone().or_else(|| Some(listen())),
            connect,
            cluster: given.cluster.clone().or_else(|| Some(cluster())),
            ..given
        })
    }
}

fn first_host(environment: &Environment<'_>) -> Result<String, JoinError> {
    let list = HOSTS.iter().find_map(|variable| Some((*variable, environment.text(variable)?)));
    let missing = JoinError::Missing {
        variable: HOSTS[0].to_owned(),
        what: "the hosts of the step, the first of which has its first task",
    };
    let (variable, list) = list.ok_or(missing)?;
    first_of(&list).ok_or_else(|| {
        let list = list.escape_debug();
        JoinError::wrong(variable, format!("'{list}' is not allowed: hosts, as in n[01-04,7],m1"))
    })
}

/// Returns the first host of a list: `n01` of `n[01-04,7],m1`.
fn first_of(list: &str) -> Option<String> {
    let mut host = String::new();
    let mut rest = list;
    while let Some(end) = rest.find(['[', ',']) {
        host.push_str(&rest[..end]);
        if rest[end..].starts_with(',') {
            rest = "";
            break;
        }
        let (range, after) = rest[end + 1..].split_once(']')?;
        host.push_str(range.split(['-', ',']).next()?);
        rest = after;
    }
    host.push_str(rest);
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_of_a_list() {
        for (list, first) in [
            ("n01", Some("n01")),
            ("n01,n02", Some("n01")),
            ("n[01-04,7],m1", Some("n01")),
            ("n[7]", Some("n7")),
            ("rack[2,5]n[010-012].cluster,x", Some("rack2n010.cluster")),
            ("n[01", None),
            ("", None),
            (",", None),
        ] {
            assert_eq!(first_of(list).as_deref(), first, "{list}");
        }
    }
}
