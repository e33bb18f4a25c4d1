//! The faults of a file: all of them, each with its place and with what would be right.

use std::fmt::{self, Display};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::position::{LineIndex, Position};

/// More faults than anybody reads: a file with more is not looked at further.
pub const FAULTS_MAX: usize = 1_000;

/// How bad a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The workload cannot be run.
    Error,
    /// The workload can be run, but may not be what its author meant.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// Where in it, unless it is the file itself.
    pub at: Option<Position>,
    /// How bad it is.
    pub severity: Severity,
    /// A description of what is wrong, and of what would be right.
    pub message: String,
}

/// `file:line:column: error: what is wrong`
impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(Position { line, column }) = self.at {
            write!(f, "{line}:{column}:")?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, " {severity}: {}", self.message)
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Fault", 5)?;
        fields.serialize_field("file", &self.file)?;
        fields.serialize_field("line", &self.at.map(|at| at.line))?;
        fields.serialize_field("column", &self.at.map(|at| at.column))?;
        fields.serialize_field("severity", &self.severity)?;
        fields.serialize_field("message", &self.message)?;
        fields.end()
    }
}

/// All that is wrong with a workload's files, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Faults {
    list: Vec<Fault>,
}

impl Faults {
    /// Makes a list of one fault, an error.
    #[must_use]
    pub fn one(file: &str, at: Option<Position>, message: String) -> Self {
        let severity = Severity::Error;
        Self { list: vec![Fault { file: file.to_owned(), at, severity, message }] }
    }

    /// Returns all faults.
    #[must_use]
    pub fn list(&self) -> &[Fault] {
        &self.list
    }

    /// Returns the faults that forbid running the workload.
    pub fn errors(&self) -> impl Iterator<Item = &Fault> {
        self.list.iter().filter(|fault| fault.severity == Severity::Error)
    }

    /// Returns the faults that do not forbid running the workload.
    pub fn warnings(&self) -> impl Iterator<Item = &Fault> {
        self.list.iter().filter(|fault| fault.severity == Severity::Warning)
    }

    /// Whether any of them forbids running the workload.
    #[must_use]
    pub fn are_fatal(&self) -> bool {
        self.errors().next().is_some()
    }

    pub(super) fn sorted(mut self) -> Self {
        self.list.sort_by(|a, b| (&a.file, a.at).cmp(&(&b.file, b.at)));
        self
    }

    pub(super) fn extend(&mut self, others: Self) {
        self.list.extend(others.list);
    }
}

/// One fault per line.
impl Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.iter().try_for_each(|fault| writeln!(f, "{fault}"))
    }
}

impl std::error::Error for Faults {}

/// Gathers the faults of one file.
#[derive(Debug)]
pub(super) struct Reporter<'t> {
    file: &'t str,
    lines: LineIndex<'t>,
    faults: Faults,
}

impl<'t> Reporter<'t> {
    /// For a file of this name and text.
    pub(super) fn new(file: &'t str, text: &'t str) -> Self {
        Self { file, lines: LineIndex::new(text), faults: Faults::default() }
    }

    /// Where a byte stands.
    pub(super) fn position(&self, byte: usize) -> Position {
        self.lines.position(byte)
    }

    /// Notes what forbids running the workload.
    pub(super) fn error(&mut self, byte: usize, message: impl Into<String>) {
        let at = self.position(byte);
        self.error_at(at, message);
    }

    /// Notes what forbids running the workload.
    pub(super) fn error_at(&mut self, at: Position, message: impl Into<String>) {
        self.note(at, Severity::Error, message.into());
    }

    /// Notes what may not be what was meant.
    pub(super) fn warning(&mut self, byte: usize, message: impl Into<String>) {
        let at = self.position(byte);
        self.warning_at(at, message);
    }

    /// Notes what may not be what was meant.
    pub(super) fn warning_at(&mut self, at: Position, message: impl Into<String>) {
        self.note(at, Severity::Warning, message.into());
    }

    /// Whether so much is wrong that looking further helps nobody.
    pub(super) fn is_full(&self) -> bool {
        self.faults.list.len() >= FAULTS_MAX
    }

    /// Whether anything forbids running the workload.
    pub(super) fn is_fatal(&self) -> bool {
        self.faults.are_fatal()
    }

    pub(super) fn finish(self) -> Faults {
        self.faults.sorted()
    }

    fn note(&mut self, at: Position, severity: Severity, message: String) {
        let message = match self.faults.list.len() + 1 {
            FAULTS_MAX => format!("{message}; this is number {FAULTS_MAX}: no more are listed"),
            number if number > FAULTS_MAX => return,
            _ => message,
        };
        let file = self.file.to_owned();
        self.faults.list.push(Fault { file, at: Some(at), severity, message });
    }
}

/// `; did you mean 'x'?` if one of the known names is near.
pub(super) fn suggestion<'k>(wrong: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(wrong, known).map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// The known name that is nearest, if any is near.
pub(super) fn nearest<'k>(
    wrong: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    /// The longest name, in bytes, for which a similar one is looked for: the comparison takes time
    /// in proportion to both lengths.
    const LENGTH_MAX: usize = 256;
    if wrong.len() > LENGTH_MAX {
        return None;
    }
    let folded = wrong.to_lowercase();
    let near = known
        .into_iter()
        .filter(|name| name.len() <= LENGTH_MAX)
        .map(|name| (strsim::osa_distance(&folded, &name.to_lowercase()), name))
        .filter(|&(distance, name)| {
            3 * distance <= name.chars().count().max(folded.chars().count())
        })
        .min_by_key(|&(distance, _)| distance);
    near.map(|(_, name)| name)
}

/// A value as it is quoted in a message: in one line, and not longer than anybody reads.
pub(super) fn quoted(text: &str) -> String {
    const LENGTH_MAX: usize = 60;
    let short: String = text.chars().take(LENGTH_MAX).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(LENGTH_MAX).is_some() { "…" } else { "" };
    format!("'{}{more}'", short.replace("\\'", "'").replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_a_line_that_editors_can_jump_to() {
        let mut reporter = Reporter::new("a.toml", "one\ntwo");
        reporter.warning(5, "odd");
        reporter.error(0, "wrong");
        let faults = reporter.finish();
        assert!(faults.are_fatal());
        assert_eq!(faults.to_string(), "a.toml:1:1: error: wrong\na.toml:2:2: warning: odd\n");
        let one = Faults::one("b", None, "not there".to_owned());
        assert_eq!(one.to_string(), "b: error: not there\n");
    }

    #[test]
    fn no_more_faults_than_anybody_reads() {
        let mut reporter = Reporter::new("a", "");
        (0..2 * FAULTS_MAX).for_each(|_| reporter.error(0, "wrong"));
        assert!(reporter.is_full());
        let faults = reporter.finish();
        assert_eq!(faults.list().len(), FAULTS_MAX);
        assert!(faults.list()[FAULTS_MAX - 1].message.contains("no more are listed"));
    }

    #[test]
    fn near_names_are_suggested() {
        let known = ["ThreadSafeBetweenModules", "ThreadUnsafe"];
        assert_eq!(suggestion("threadunsave", known), "; did you mean 'ThreadUnsafe'?");
        assert_eq!(suggestion("entirely different", known), "");
        assert_eq!(suggestion(&"x".repeat(1 << 20), known), "");
    }

    #[test]
    fn quotes_are_one_short_line() {
        assert_eq!(quoted("it's\n"), "'it's\\n'");
        assert!(quoted(&"x".repeat(1_000)).chars().count() < 70);
    }
}
