//! `--draw`: the graph as a text or a picture, instead of a run.

use crate::{Failure, output};
use actinium_events::drawing::Drawing;
use actinium_observe::file::NewFile;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The flag.
#[derive(Clone, Debug, clap::Args)]
pub struct DrawArgs {
    /// Draw the graph, and end: dot (for Graphviz), mermaid (for Markdown) or svg go to stdout; a
    /// file's name ends in .dot, .gv, .mmd or .svg
    #[arg(long, value_name = "dot|mermaid|svg|FILE", help_heading = "Instead of running", value_parser = parse)]
    pub draw: Option<Draw>,
}

/// How a graph is drawn, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    format: Format,
    /// `None`: to stdout.
    file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Dot,
    Mermaid,
    Svg,
}

impl Draw {
    /// Writes the drawing.
    ///
    /// # Errors
    /// If the file or stdout can not be written.
    pub fn write(&self, drawing: &Drawing) -> Result<(), Failure> {
        let text = match self.format {
            Format::Dot => drawing.dot(),
            Format::Mermaid => drawing.mermaid(),
            Format::Svg => drawing.svg(),
        };
        let Some(path) = &self.file else { return output::print(text) };
        let asked = |error| Failure::Asked(format!("--draw: {error}"));
        let mut file = NewFile::create(path).map_err(asked)?;
        let written = file.write_all(text.as_bytes());
        let failed = |error: actinium_observe::file::WriteError| Failure::Failed(error.to_string());
        written.map_err(|cause| failed(file.error(cause)))?;
        file.finish().map_err(failed)
    }
}

fn parse(text: &str) -> Result<Draw, String> {
    let of = |name: &str| match name {
        "dot" | "gv" => Some(Format::Dot),
        "mermaid" | "mmd" => Some(Format::Mermaid),
        "svg" => Some(Format::Svg),
        _ => None,
    };
    if let (Some(format), false) = (of(text), matches!(text, "gv" | "mmd")) {
        return Ok(Draw { format, file: None });
    }
    let ending = Path::new(text).extension().and_then(OsStr::to_str).and_then(of);
    ending.map(|format| Draw { format, file: Some(text.into()) }).ok_or_else(|| {
        format!("'{text}' is not allowed: dot, mermaid, svg, or a file whose name ends in .dot, .gv, .mmd or .svg")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_goes_to_stdout_and_a_file_has_that_of_its_name() {
        let file = |format, name: &str| Ok(Draw { format, file: Some(name.into()) });
        assert_eq!(parse("mermaid"), Ok(Draw { format: Format::Mermaid, file: None }));
        assert_eq!(parse("a/graph.svg"), file(Format::Svg, "a/graph.svg"));
        assert_eq!(parse("x.gv"), file(Format::Dot, "x.gv"));
        assert_eq!(parse("x.mmd"), file(Format::Mermaid, "x.mmd"));
        for wrong in ["", "png", "graph.png", "gv", "svg/"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
