//! Processes that are run to their end, or given up.

use std::io::Read;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// After this time a process is given up.
pub(crate) type Limit = Duration;

/// Runs a command whose stdout is piped, and takes what it writes there.
pub(crate) fn output(mut command: Command, limit: Limit) -> Result<String, String> {
    let mut child = command.spawn().map_err(|error| {
        format!("can not start {}: {error}", command.get_program().to_string_lossy())
    })?;
    let pipe = child.stdout.take().ok_or("the process has no stdout")?;
    read(pipe, &mut child, limit)
}

/// All that a child writes until it ends. It is given up when its time is over.
fn read(
    mut pipe: impl Read + Send + 'static,
    child: &mut Child,
    limit: Limit,
) -> Result<String, String> {
    let (sender, receiver) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        let result = pipe.read_to_string(&mut text).map(|_| text);
        // Nobody listens any more if the time is over.
        let _ = sender.send(result);
    });
    let Ok(text) = receiver.recv_timeout(limit) else {
        // It may have ended at just this moment.
        let _ = child.kill();
        let _ = child.wait();
        let _ = reader.join();
        return Err(format!("given up after {} s", limit.as_secs()));
    };
    let status = child.wait().map_err(|error| format!("lost the process: {error}"))?;
    if !status.success() {
        return Err(format!("the process failed: {status}"));
    }
    text.map_err(|error| format!("can not read what the process writes: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str, limit: Limit) -> Result<String, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        output(command, limit)
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts processes")]
    fn a_process_is_read_to_its_end() {
        let limit = Duration::from_secs(60);
        assert_eq!(shell("echo 1; echo 2", limit), Ok("1\n2\n".to_owned()));
        let error = shell("echo 1; exit 3", limit).expect_err("it fails");
        assert!(error.contains("exit status: 3"), "{error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts processes")]
    fn a_process_that_hangs_is_given_up() {
        let error = shell("exec sleep 600", Duration::from_millis(1)).expect_err("it hangs");
        assert!(error.contains("given up"), "{error}");
    }
}
