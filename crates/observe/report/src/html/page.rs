//! The page itself: a header with figures and settings, then sections.

use std::fmt::{Display, Write};
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Chart;
use super::escape::json;
use actinium_drawing::escaped;
use actinium_observe::file::{NewFile, WriteError};

/// The colours of a page as variables of CSS, for light and dark screens.
pub const COLOURS: &str = include_str!("colours.css");
const STYLE: &str = include_str!("page.css");
/// One function, so that nothing of it is visible to others.
const SCRIPT: &str = concat!(
    "(() => {\n'use strict';\n",
    include_str!("script/base.js"),
    include_str!("script/axes.js"),
    include_str!("script/charts.js"),
    include_str!("script/page.js"),
    "})();\n"
);

/// Nothing may be loaded from anywhere: the browser itself would refuse.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// A number that one looks for first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the number.
    pub label: String,
    /// The number, with its unit.
    pub value: String,
    /// A note that says what to compare the number with.
    pub note: String,
}

impl Figure {
    /// A number without a note.
    #[must_use]
    pub fn new(label: impl Into<String>, value: impl Display) -> Self {
        Figure { label: label.into(), value: value.to_string(), note: String::new() }
    }

    /// Sets the note, which says what to compare the number with.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// A part of the page with a heading.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// An explanation of the charts: their contents, and how to read them.
    pub text: String,
    /// The charts, from the top.
    pub charts: Vec<Chart>,
}

impl Section {
    /// A section without charts.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Section { title: title.into(), ..Section::default() }
    }

    /// Sets the explanation of the charts: their contents, and how to read them.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Adds a chart.
    #[must_use]
    pub fn chart(mut self, chart: impl Into<Chart>) -> Self {
        self.charts.push(chart.into());
        self
    }
}

/// A report as one HTML file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Page {
    /// The heading, and the window's title.
    pub title: String,
    /// A sentence that sums up the run.
    pub summary: String,
    /// The command line that repeats the run.
    pub command: String,
    /// The numbers that one looks for first.
    pub figures: Vec<Figure>,
    /// The settings of the run: name and value.
    pub settings: Vec<(String, String)>,
    /// The sections, from the top.
    pub sections: Vec<Section>,
}

impl Page {
    /// A page without content.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Page { title: title.into(), ..Page::default() }
    }

    /// Sets the sentence that sums up the run.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    /// Sets the command line that repeats the run.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = command.into();
        self
    }

    /// Adds a number to the header.
    #[must_use]
    pub fn figure(mut self, figure: Figure) -> Self {
        self.figures.push(figure);
        self
    }

    /// Adds a setting that the run was made with.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Display) -> Self {
        self.settings.push((name.into(), value.to_string()));
        self
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// The page's text.
    #[must_use]
    pub fn html(&self) -> String {
        let mut body = String::new();
        self.header(&mut body);
        let (mut data, mut charts) = (Vec::new(), 0);
        for (number, section) in (1..).zip(&self.sections) {
            let _ = write!(
                body,
                "<section id=\"s{number}\" aria-labelledby=\"s{number}-title\">\n<h2 id=\"s{number}-title\">{}</h2>\n",
                escaped(&section.title)
            );
            if !section.text.is_empty() {
                let _ = writeln!(body, "<p class=\"lead\">{}</p>", escaped(&section.text));
            }
            body.push_str("<div class=\"charts\">\n");
            for chart in &section.charts {
                charts += 1;
                let id = format!("c{charts}");
                if let Some(serde_json::Value::Object(mut drawn)) = chart.render(&id, &mut body) {
                    drawn.insert("id".into(), id.into());
                    data.push(drawn);
                }
            }
            body.push_str("</div>\n</section>\n");
        }
        let (title, data) = (escaped(&self.title), json(&data));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>\n{COLOURS}{STYLE}</style>\n</head>\n<body>\n{body}</main>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }

    /// Writes the page. The file is there in full or, after an error, as it was before.
    ///
    /// ```
    /// use actinium_report::html::Page;
    ///
    /// let error = Page::new("empty").write("no/such/folder/report.html".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("no/such/folder/report.html"));
    /// ```
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        let mut file = NewFile::create(path)?;
        file.write_all(self.html().as_bytes()).map_err(|cause| file.error(cause))?;
        file.finish()
    }

    fn header(&self, html: &mut String) {
        let _ = writeln!(html, "<header>\n<h1>{}</h1>", escaped(&self.title));
        if !self.summary.is_empty() {
            let _ = writeln!(html, "<p class=\"lead\">{}</p>", escaped(&self.summary));
        }
        if !self.command.is_empty() {
            let _ = writeln!(
                html,
                "<pre class=\"command\"><code>{}</code></pre>",
                escaped(&self.command)
            );
        }
        html.push_str("</header>\n");
        // A page of one part needs no way to find it.
        if self.sections.len() > 1 {
            html.push_str("<nav aria-label=\"Sections\"><ul>");
            for (number, section) in (1..).zip(&self.sections) {
                let _ =
                    write!(html, "<li><a href=\"#s{number}\">{}</a></li>", escaped(&section.title));
            }
            html.push_str("</ul></nav>\n");
        }
        html.push_str("<main>\n");
        if !self.figures.is_empty() {
            html.push_str("<dl class=\"figures\">");
            for figure in &self.figures {
                let _ = write!(
                    html,
                    "<div><dt>{}</dt><dd><strong>{}</strong>",
                    escaped(&figure.label),
                    escaped(&figure.value)
                );
                if !figure.note.is_empty() {
                    let _ = write!(html, "<small>{}</small>", escaped(&figure.note));
                }
                html.push_str("</dd></div>");
            }
            html.push_str("</dl>\n");
        }
        if !self.settings.is_empty() {
            html.push_str("<details class=\"settings\"><summary>Settings</summary><dl>");
            for (name, value) in &self.settings {
                let _ = write!(
                    html,
                    "<div><dt>{}</dt><dd>{}</dd></div>",
                    escaped(name),
                    escaped(value)
                );
            }
            html.push_str("</dl></details>\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{Bar, Bars, LineChart, Unit};

    #[test]
    fn the_page_loads_nothing_and_shows_its_figures_without_a_script() {
        let page = Page::new("Title").figure(Figure::new("Rate", "168 /s").note("of 170"));
        let html = page.html();
        assert!(html.starts_with("<!doctype html>"));
        let scriptless = &html[..html.find("<script").expect("a script")];
        assert!(scriptless.contains("<strong>168 /s</strong><small>of 170</small>"));
        // The one address is the name of SVG, which nobody loads; the one `url()` is a fragment of
        // the page.
        let html = html.replace("http://www.w3.org/2000/svg", "").replace("url(#", "");
        for outside in ["http:", "https:", "src=", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }

    #[test]
    fn every_text_is_escaped() {
        let evil = "</script><script>alert('\"&')</script>\u{2028}\0";
        let page = Page::new(evil)
            .summary(evil)
            .command(evil)
            .figure(Figure::new(evil, evil).note(evil))
            .setting(evil, evil)
            .section(
                Section::new(evil)
                    .text(evil)
                    .chart(
                        LineChart::new(evil, Unit::Other(evil.into())).note(evil).mark(evil, 1.0),
                    )
                    .chart(Bars::new(evil, Unit::Count, vec![Bar::new(evil, 1.0).detail(evil)])),
            );
        let html = page.html();
        // It stands in the embedded JSON too, where it cannot end the script.
        assert!(!html.contains("<script>alert"), "a text came through as it was");
        assert_eq!(html.matches("</script>").count(), 2);
    }

    #[test]
    fn charts_are_numbered_through_all_sections() {
        let section = || Section::new("s").chart(LineChart::default()).chart(Bars::default());
        let html = Page::new("t").section(section()).section(section()).html();
        for id in ["c1", "c2", "c3", "c4"] {
            assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
        assert!(html.contains("<nav"));
    }
}
