//! The HTML that all charts share.

use std::fmt::Write;

use actinium_drawing::escaped;

/// The frame around every component: a figure with its title and note.
pub(super) fn figure(html: &mut String, id: &str, class: &str, title: &str, note: &str) {
    let _ = write!(
        html,
        "<figure class=\"chart {class}\" id=\"{id}\" aria-labelledby=\"{id}-title\">\
         <figcaption><h3 id=\"{id}-title\">{}</h3>",
        escaped(title)
    );
    if !note.is_empty() {
        let _ = write!(html, "<p class=\"note\">{}</p>", escaped(note));
    }
    html.push_str("</figcaption>\n");
}

/// Where the script draws, and a word for those who have none.
pub(super) fn plot(html: &mut String, id: &str) {
    let _ = writeln!(
        html,
        "<div class=\"plot\" id=\"{id}-plot\"><noscript>The chart needs JavaScript; its values are in the table.</noscript></div>"
    );
}

/// A chart's values as a table, closed until somebody wants them: the alternative for those who
/// cannot see the chart.
pub(super) fn values(
    html: &mut String,
    caption: &str,
    headings: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) {
    html.push_str("<details class=\"values\"><summary>Values</summary>");
    if !caption.is_empty() {
        let _ = write!(html, "<p class=\"note\">{}</p>", escaped(caption));
    }
    html.push_str("<div class=\"scroll\"><table><thead><tr>");
    for (at, heading) in headings.iter().enumerate() {
        let class = if at == 0 { "" } else { " class=\"number\"" };
        let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escaped(heading));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            let _ = match at {
                0 => write!(html, "<th scope=\"row\">{}</th>", escaped(cell)),
                _ => write!(html, "<td class=\"number\">{}</td>", escaped(cell)),
            };
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div></details>\n");
}

/// The setters that every component has.
macro_rules! described {
    ($type:ty) => {
        impl $type {
            /// A sentence below the title: what one sees, how it was measured.
            #[must_use]
            pub fn note(mut self, note: impl Into<String>) -> Self {
                self.note = note.into();
                self
            }
        }
    };
}
pub(super) use described;
