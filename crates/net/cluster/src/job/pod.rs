//! The pod of a Kubernetes StatefulSet that this process runs in.

use super::environment::Environment;
use super::join::JoinSettings;
use super::join_error::JoinError;

/// Is set in each pod.
const IS_POD: &str = "KUBERNETES_SERVICE_HOST";
/// Is the name of the pod.
pub(super) const NAME: &str = "HOSTNAME";

/// A pod of a StatefulSet: the set's name, and the pod's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    set: String,
    number: u32,
}

/// Returns the pod that this process runs in, if it runs in one.
///
/// # Errors
/// If it is no pod of a StatefulSet.
pub(super) fn pod(environment: &Environment<'_>) -> Result<Option<Pod>, JoinError> {
    if environment.text(IS_POD).is_none() {
        return Ok(None);
    }
    let name = environment.text(NAME).unwrap_or_default();
    let (set, number) = name.rsplit_once('-').unwrap_or_default();
    let number = number.parse().map_err(|_| {
        let problem = "is not allowed: NAME-N, as a StatefulSet names its pods, or else \
                       ACTINIUM_NODE has to say which node this is";
        JoinError::wrong(NAME, format!("'{}' {problem}", name.escape_debug()))
    })?;
    Ok(Some(Pod { set: set.to_owned(), number }))
}

impl Pod {
    /// Adds what is not given to the settings: each pod listens at the same port, and connects to
    /// the first one, by the service that has the name of the set.
    pub(super) fn complete(self, given: JoinSettings, port: u32) -> JoinSettings {
        let protocol = given.protocol();
        let Pod { set, number } = self;
        let connect = given.connect.clone();
        let connect = connect.unwrap_or_else(|| format!("{protocol}/{set}-0.{set}:{port}"));
        JoinSettings {
            node: Some(number),
            listen: given.listen.clone().or_else(|| Some(format!("{protocol}/0.0.0.0:{port}"))),
            connect: (number > 0).then_some(connect),
            ..given
        }
    }
}
