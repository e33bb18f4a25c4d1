//! Several traces as one: of the nodes of a cluster, or of the systems of a program.

use super::json::BEGIN;
use super::writer::is_perfetto;
use actinium_observe::file::{NewFile, WriteError};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Puts traces together in one file, which Perfetto shows below each other on one axis of time. All
/// have the same format. Each was written by [`Trace::start_with`] with a number of its own.
///
/// The times of each are those of its host's clock, to which [`TraceOptions::clock`] was added.
/// Files in Perfetto's own format can be put together by `cat`, too: this is what happens here.
///
/// ```
/// use actinium_actor::System;
/// use actinium_monitor::{Trace, TraceOptions, merge_traces};
///
/// # let folder = tempfile::tempdir()?;
/// let path = |name| folder.path().join(name);
/// for node in 0..2 {
///     let system = System::builder().workers(1).build()?;
///     let part = path(["0.pftrace", "1.pftrace"][node as usize]);
///     Trace::start_with(&system, part, &TraceOptions::new().node(node))?.finish()?;
/// }
/// merge_traces(&[path("0.pftrace"), path("1.pftrace")], &path("run.pftrace"))?;
/// assert!(path("run.pftrace").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Trace::start_with`]: crate::Trace::start_with
/// [`TraceOptions::clock`]: crate::TraceOptions::clock
///
/// # Errors
/// If a part can not be read, or is no trace; or if the file can not be written.
pub fn merge_traces(parts: &[PathBuf], path: &Path) -> Result<(), WriteError> {
    let mut out = BufWriter::new(NewFile::create(path)?);
    let merged = if is_perfetto(path) {
        parts.iter().try_for_each(|part| of_part(part, append(part, &mut out)))
    } else {
        merge_json(parts, &mut out)
    };
    let merged = merged.and_then(|()| out.flush());
    let (file, _) = out.into_parts();
    match merged {
        Ok(()) => file.finish(),
        Err(cause) => Err(file.error(cause)),
    }
}

/// An error that says in which part it was.
fn of_part<T>(part: &Path, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", part.display())))
}

fn append(part: &Path, out: &mut impl Write) -> io::Result<()> {
    io::copy(&mut File::open(part)?, out).map(drop)
}

/// The first line of a trace in JSON.
fn about(part: &Path) -> io::Result<(BufReader<File>, Value)> {
    let mut lines = BufReader::new(File::open(part)?);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let first: Option<Value> = serde_json::from_str(&format!("{line}]}}")).ok();
    let about = first.map(|mut first| first["otherData"].take());
    let about = about.filter(|about| about[BEGIN].is_u64());
    about.map(|about| (lines, about)).ok_or_else(no_trace)
}

fn no_trace() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is no trace, or was cut off")
}

fn merge_json(parts: &[PathBuf], out: &mut impl Write) -> io::Result<()> {
    let opened = parts.iter().map(|part| of_part(part, about(part)));
    let opened: Vec<_> = opened.collect::<io::Result<_>>()?;
    let begin = |about: &Value| about[BEGIN].as_u64().unwrap_or_default();
    let first_ns = opened.iter().map(|(_, about)| begin(about)).min().unwrap_or_default();
    let abouts: Vec<&Value> = opened.iter().map(|(_, about)| about).collect();
    let all = json!({ BEGIN: first_ns, "parts": abouts });
    writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{all},\"traceEvents\":[")?;
    let (mut is_first, mut lost) = (true, 0);
    for (part, (lines, about)) in parts.iter().zip(opened) {
        let later_us = (begin(&about) - first_ns) as f64 * 1e-3;
        let mut is_whole = false;
        for line in lines.lines() {
            let line = of_part(part, line)?;
            if let Some(end) = line.strip_prefix("],\"metadata\":") {
                let end: Option<Value> =
                    end.strip_suffix('}').and_then(|it| serde_json::from_str(it).ok());
                lost += end.and_then(|end| end["records lost"].as_u64()).unwrap_or_default();
                is_whole = true;
                break;
            }
            let event = serde_json::from_str(line.strip_suffix(',').unwrap_or(&line));
            let mut event: Value = of_part(part, event.map_err(|_| no_trace()))?;
            if let Some(ts) = event["ts"].as_f64() {
                event["ts"] = json!(ts + later_us);
            }
            if !std::mem::take(&mut is_first) {
                out.write_all(b",\n")?;
            }
            serde_json::to_writer(&mut *out, &event)?;
        }
        if !is_whole {
            return of_part(part, Err(no_trace()));
        }
    }
    writeln!(out, "\n],\"metadata\":{{\"records lost\":{lost}}}}}")
}
