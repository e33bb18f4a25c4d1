//! The notation of thread kinds, in our files and on the command line.

use std::num::NonZeroU32;

use crate::fault::{quoted, suggestion};
use crate::model::Threads;

/// The list of thread kinds, for messages.
pub const KINDS: &str = "concurrent, serial, exclusive(RESOURCE), stream, limited(N)";

/// The thread kind that a text stands for; `resource` finds a resource's index by its name.
///
/// # Errors
/// If there is no such kind: what there is.
pub fn parse(text: &str, resource: impl FnOnce(&str) -> usize) -> Result<Threads, String> {
    let (name, argument) = match text.trim().strip_suffix(')').and_then(|text| text.split_once('('))
    {
        Some((name, argument)) => (name.trim_end(), Some(argument.trim())),
        None => (text.trim(), None),
    };
    match (name, argument) {
        ("concurrent", None) => Ok(Threads::Concurrent),
        ("serial", None) => Ok(Threads::Serial),
        ("stream", None) => Ok(Threads::Stream),
        ("exclusive", Some(name)) if is_name(name) => {
            Ok(Threads::Exclusive { resource: resource(name) })
        }
        ("exclusive", _) => {
            Err(format!("{} lacks its resource: write exclusive(RESOURCE)", quoted(text)))
        }
        ("limited", argument) => match argument.map(str::parse::<NonZeroU32>) {
            Some(Ok(limit)) => Ok(Threads::Limited(limit)),
            _ => Err(format!(
                "{} lacks how many events at a time: write limited(N), N from 1",
                quoted(text)
            )),
        },
        _ => {
            let near = suggestion(name, ["concurrent", "serial", "exclusive", "stream", "limited"]);
            Err(format!("{} is no thread kind{near}; there are: {KINDS}", quoted(text)))
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c.is_control() || c == '(' || c == ')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read() {
        let parsed = |text| parse(text, |name| name.len());
        assert_eq!(parsed("concurrent"), Ok(Threads::Concurrent));
        assert_eq!(parsed(" serial "), Ok(Threads::Serial));
        assert_eq!(parsed("stream"), Ok(Threads::Stream));
        assert_eq!(parsed("exclusive(disk)"), Ok(Threads::Exclusive { resource: 4 }));
        assert_eq!(parsed("limited(3)"), Ok(Threads::Limited(NonZeroU32::new(3).expect("not 0"))));
    }

    #[test]
    fn what_is_none_is_explained() {
        for (text, expected) in [
            ("seriel", "did you mean 'serial'?"),
            ("exclusive", "write exclusive(RESOURCE)"),
            ("exclusive()", "write exclusive(RESOURCE)"),
            ("limited(0)", "N from 1"),
            ("limited", "N from 1"),
            ("", "there are: concurrent"),
        ] {
            let error = parse(text, |_| 0).expect_err(text);
            assert!(error.contains(expected), "{error}");
        }
    }
}
