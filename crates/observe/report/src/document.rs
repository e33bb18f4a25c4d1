//! Documents: figures that a program has written as JSON, with the version of their data.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a document can not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// There is none.
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It is something else, or it was cut off.
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it was to be.
        what: &'static str,
        /// What is wrong, with line and column.
        cause: serde_json::Error,
    },
    /// A later release has written it.
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its data.
        version: u64,
        /// The latest version that this release reads.
        known: u32,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io { path, cause } => write!(f, "can not read {}: {cause}", path.display()),
            ReadError::Malformed { path, what, cause } => {
                write!(f, "{} is no {what}, or was cut off: {cause}", path.display())
            }
            ReadError::Newer { path, version, known } => write!(
                f,
                "{} has data of version {version}, and this release reads up to {known}: use the \
                 release that has written it, or a later one",
                path.display()
            ),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io { cause, .. } => Some(cause),
            ReadError::Malformed { cause, .. } => Some(cause),
            ReadError::Newer { .. } => None,
        }
    }
}

/// The text of a document, and where it is from.
///
/// ```
/// use actinium_report::Document;
///
/// #[derive(serde::Deserialize)]
/// struct Recording {
///     samples: Vec<u64>,
/// }
///
/// let text = br#"{ "schema_version": 2, "samples": [3, 4] }"#;
/// let document = Document::of(text, "run.json".as_ref(), "recording");
/// let recording: Recording = document.up_to(2)?.data()?;
/// assert_eq!(recording.samples, [3, 4]);
///
/// let newer = document.up_to(1).unwrap_err();
/// assert!(newer.to_string().starts_with("run.json has data of version 2"));
/// # Ok::<(), actinium_report::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Document<'a> {
    text: Cow<'a, [u8]>,
    from: PathBuf,
    what: &'static str,
}

impl<'a> Document<'a> {
    /// Reads a file. `what` names in errors what it is to be: "recording".
    ///
    /// # Errors
    /// If it can not be read.
    pub fn read(path: &Path, what: &'static str) -> Result<Self, ReadError> {
        let from = path.to_owned();
        match std::fs::read(path) {
            Ok(text) => Ok(Document { text: text.into(), from, what }),
            Err(cause) => Err(ReadError::Io { path: from, cause }),
        }
    }

    /// One that was read already; `from` says in errors where it is from.
    #[must_use]
    pub fn of(text: &'a [u8], from: &Path, what: &'static str) -> Self {
        Document { text: text.into(), from: from.to_owned(), what }
    }

    /// Checks that its data (`schema_version`) are of this version at most.
    ///
    /// # Errors
    /// If they are of a later version, or of none.
    pub fn up_to(&self, known: u32) -> Result<&Self, ReadError> {
        /// What can be read of a document of any version.
        #[derive(Deserialize)]
        struct Version {
            schema_version: u64,
        }
        let Version { schema_version: version } = self.data()?;
        if version > u64::from(known) {
            return Err(ReadError::Newer { path: self.from.clone(), version, known });
        }
        Ok(self)
    }

    /// Its data.
    ///
    /// # Errors
    /// If it has others, or was cut off.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, ReadError> {
        serde_json::from_slice(&self.text).map_err(|cause| self.malformed(cause))
    }

    /// The error that it is something else.
    #[must_use]
    pub fn malformed(&self, cause: serde_json::Error) -> ReadError {
        ReadError::Malformed { path: self.from.clone(), what: self.what, cause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_with_the_place() {
        let of = |text: &'static str| {
            let document = Document::of(text.as_bytes(), "run.json".as_ref(), "recording");
            document.up_to(1).and_then(|it| it.data::<serde_json::Value>())
        };
        let error = |text| of(text).expect_err(text).to_string();
        assert!(of("{ \"schema_version\": 1 }").is_ok());
        let newer = "run.json has data of version 7, and this release reads up to 1: use ";
        assert!(error("{ \"schema_version\": 7, \"more\": [] }").starts_with(newer));
        for (text, place) in
            [("{ \"schema_version\": 1,\n", "line 2"), ("[", "line 1"), ("", "line 1")]
        {
            let error = error(text);
            assert!(error.starts_with("run.json is no recording, or was cut off: "), "{error}");
            assert!(error.contains(place), "{error}");
        }
        let none = Document::read("no/run.json".as_ref(), "recording").expect_err("no folder");
        assert!(none.to_string().starts_with("can not read no/run.json: "), "{none}");
    }
}
