//! A graph as a picture.

use crate::drawing::{Drawing, Edge, Node, Role};
use crate::escape::escaped;
use crate::layout::{LETTERS_MAX, Layout, Place, layout};
use std::fmt::Write;

/// Colours are those of the page that the picture is part of; alone it has its own.
const STYLE: &str = "\
.gd{background:var(--card,#fff);color:var(--ink,#1b1f24);font:12px/1.3 system-ui,sans-serif}\
.gd .b{fill:var(--shade,#f3f4f5);stroke:var(--faint,#8a929c)}\
.gd .source{fill:var(--h1,#bcd5ea)}.gd .filter{stroke:var(--c3,#a23f8f)}\
.gd .analyzer{stroke:var(--c2,#14805e)}.gd .output{stroke:var(--c0,#2563a8)}\
.gd .many{stroke-dasharray:5 3}.gd text{fill:var(--ink,#1b1f24);text-anchor:middle;font-size:12px}\
.gd .d{fill:var(--soft,#59616b);font-size:10.5px}\
.gd .e{fill:none;stroke:var(--faint,#8a929c);opacity:.75}.gd .o{stroke-dasharray:4 4}\
.gd .h{fill:var(--faint,#8a929c)}.gd .m{stroke:var(--c1,#c4560c);stroke-width:2.5;opacity:1}\
.gd .hm{fill:var(--c1,#c4560c)}.gd .n{text-anchor:start;fill:var(--soft,#59616b)}";
/// Between the picture and what is said below it.
const LINE: f64 = 20.0;

/// With a line below it, if `note` is not empty.
pub(crate) fn picture(drawing: &Drawing, note: &str) -> String {
    let layout = layout(drawing);
    let legend = legend(drawing);
    let lines: Vec<&str> =
        [legend.as_str(), note].into_iter().filter(|it| !it.is_empty()).collect();
    let longest = lines.iter().map(|it| it.chars().count()).max().unwrap_or(0);
    let width = layout.width.max(longest as f64 * 6.0 + 28.0).ceil();
    let height = (layout.height + lines.len() as f64 * LINE).ceil();
    let title = escaped(&drawing.title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gd\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"Graph of modules: {title}\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" style=\"fill:var(--card,#fff)\"/>\n"
    );
    // What is marked lies on top.
    let mut edges: Vec<(Edge, &Vec<(f64, f64)>)> = drawing.drawn().zip(&layout.ways).collect();
    edges.sort_by_key(|(edge, _)| edge.marked);
    for (edge, way) in edges {
        draw_edge(&mut svg, edge, way, &layout);
    }
    for (node, place) in drawing.nodes.iter().zip(&layout.places) {
        draw_node(&mut svg, node, *place);
    }
    for (nth, line) in lines.iter().enumerate() {
        let y = layout.height + nth as f64 * LINE + 8.0;
        let _ = writeln!(svg, "<text class=\"n\" x=\"14\" y=\"{y:.0}\">{}</text>", escaped(line));
    }
    svg + "</svg>\n"
}

/// What shapes and lines mean, as far as they are there.
fn legend(drawing: &Drawing) -> String {
    let mut parts = Vec::new();
    let has = |role| drawing.nodes.iter().any(|it| it.role == role);
    for (role, what) in [
        (Role::Source, "filled: source"),
        (Role::Producer, "box: producer"),
        (Role::Filter, "hexagon: filter"),
        (Role::Analyzer, "rounded: analyzer"),
        (Role::Output, "slanted: output"),
    ] {
        parts.extend(has(role).then_some(what));
    }
    let has_order = drawing.edges.iter().any(|it| it.is_order);
    parts.extend(has_order.then_some("dashed arrow: next on a path"));
    parts.extend(drawing.is_marked().then_some("thick: critical path"));
    parts.join(" · ")
}

fn draw_node(svg: &mut String, node: &Node, place: Place) {
    let Place { x, y, width, height } = place;
    let (left, top, right, bottom) =
        (x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0);
    let many = if node.members.is_empty() { "" } else { " many" };
    let class = format!("b {}{many}{}", node.role.name(), if node.marked { " m" } else { "" });
    let _ = write!(svg, "<g><title>{}</title>", escaped(&tip(node)));
    let corners = |slant: f64| match node.role {
        Role::Filter => {
            let (l, r) = (left + slant, right - slant);
            format!(
                "{left:.1},{y:.1} {l:.1},{top:.1} {r:.1},{top:.1} {right:.1},{y:.1} {r:.1},{bottom:.1} {l:.1},{bottom:.1}"
            )
        }
        _ => {
            let (l, r) = (left + slant, right - slant);
            format!("{l:.1},{top:.1} {right:.1},{top:.1} {r:.1},{bottom:.1} {left:.1},{bottom:.1}")
        }
    };
    let _ = match node.role {
        Role::Filter | Role::Output => {
            write!(svg, "<polygon class=\"{class}\" points=\"{}\"/>", corners(9.0))
        }
        role => {
            let round = match role {
                Role::Analyzer => height / 2.0,
                Role::Source => 8.0,
                _ => 3.0,
            };
            write!(
                svg,
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round:.1}\"/>"
            )
        }
    };
    let shown = shortened(&node.label);
    let base = if node.detail.is_empty() { y + 4.0 } else { y - 2.5 };
    let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{base:.1}\">{}</text>", escaped(&shown));
    if !node.detail.is_empty() {
        let (base, detail) = (y + 12.0, escaped(&node.detail));
        let _ = write!(svg, "<text class=\"d\" x=\"{x:.1}\" y=\"{base:.1}\">{detail}</text>");
    }
    svg.push_str("</g>\n");
}

/// What a pointer over the box shows: all of its name, and all that it stands for.
fn tip(node: &Node) -> String {
    let mut tip = format!("{} ({}", node.label, node.role.name());
    if !node.detail.is_empty() {
        let _ = write!(tip, ", {}", node.detail);
    }
    tip.push(')');
    if !node.members.is_empty() {
        let _ = write!(tip, ": {}", node.members.join(", "));
    }
    tip
}

/// The first letters of a long name, and a sign that it goes on: the tooltip has it all.
fn shortened(label: &str) -> String {
    match label.chars().count() > LETTERS_MAX {
        true => label.chars().take(LETTERS_MAX - 1).chain(['…']).collect(),
        false => label.to_owned(),
    }
}

/// A curve that leaves and arrives along the direction of the layers.
fn draw_edge(svg: &mut String, edge: Edge, way: &[(f64, f64)], layout: &Layout) {
    let (Some(&first), Some(&last)) = (way.first(), way.last()) else { return };
    let half = |node: usize| {
        let place = layout.places[node];
        if layout.is_across { place.width / 2.0 } else { place.height / 2.0 }
    };
    let shift = |(x, y): (f64, f64), by: f64| match layout.is_across {
        true => (x + by, y),
        false => (x, y + by),
    };
    let between = |(x, y): (f64, f64)| if layout.is_across { x } else { y };
    if between(first) == between(last) {
        return draw_beside(svg, edge, (first, last), layout);
    }
    // The head of the arrow is seven long.
    let mut points = way.to_vec();
    let end = points.len() - 1;
    points[0] = shift(first, half(edge.from));
    points[end] = shift(last, -half(edge.to) - 7.0);
    let mut path = format!("M{:.1},{:.1}", points[0].0, points[0].1);
    for pair in points.windows(2) {
        let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
        let _ = match layout.is_across {
            true => {
                let middle = f64::midpoint(ax, bx);
                write!(path, "C{middle:.1},{ay:.1} {middle:.1},{by:.1} {bx:.1},{by:.1}")
            }
            false => {
                let middle = f64::midpoint(ay, by);
                write!(path, "C{ax:.1},{middle:.1} {bx:.1},{middle:.1} {bx:.1},{by:.1}")
            }
        };
    }
    let order = if edge.is_order { " o" } else { "" };
    let marked = if edge.marked { " m" } else { "" };
    let _ = writeln!(svg, "<path class=\"e{order}{marked}\" d=\"{path}\"/>");
    let (x, y) = points[end];
    let head = match layout.is_across {
        true => format!("{x:.1},{:.1} {:.1},{y:.1} {x:.1},{:.1}", y - 3.5, x + 7.0, y + 3.5),
        false => format!("{:.1},{y:.1} {x:.1},{:.1} {:.1},{y:.1}", x - 3.5, y + 7.0, x + 3.5),
    };
    let class = if edge.marked { "hm" } else { "h" };
    let _ = writeln!(svg, "<polygon class=\"{class}\" points=\"{head}\"/>");
}

/// An edge between two boxes of one level: a line from side to side.
fn draw_beside(
    svg: &mut String,
    edge: Edge,
    (from, to): ((f64, f64), (f64, f64)),
    layout: &Layout,
) {
    let half = |node: usize| {
        let place = layout.places[node];
        if layout.is_across { place.height / 2.0 } else { place.width / 2.0 }
    };
    let along = |(x, y): (f64, f64)| if layout.is_across { y } else { x };
    let sign = if along(from) < along(to) { 1.0 } else { -1.0 };
    // The two directions lie beside each other.
    let aside = sign * 4.0;
    let point = |(x, y): (f64, f64), by: f64| match layout.is_across {
        true => (x + aside, y + by),
        false => (x + by, y + aside),
    };
    let (ax, ay) = point(from, sign * half(edge.from));
    let (bx, by) = point(to, -sign * (half(edge.to) + 7.0));
    let order = if edge.is_order { " o" } else { "" };
    let marked = if edge.marked { " m" } else { "" };
    let _ =
        writeln!(svg, "<path class=\"e{order}{marked}\" d=\"M{ax:.1},{ay:.1}L{bx:.1},{by:.1}\"/>");
    let tip = sign * 7.0;
    let head = match layout.is_across {
        true => format!("{:.1},{by:.1} {bx:.1},{:.1} {:.1},{by:.1}", bx - 3.5, by + tip, bx + 3.5),
        false => format!("{bx:.1},{:.1} {:.1},{by:.1} {bx:.1},{:.1}", by - 3.5, bx + tip, by + 3.5),
    };
    let class = if edge.marked { "hm" } else { "h" };
    let _ = writeln!(svg, "<polygon class=\"{class}\" points=\"{head}\"/>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_and_not_read() {
        let evil = "</text><script>alert('1')</script>\"&\0";
        let mut drawing = Drawing::new(evil);
        let a = drawing.node(Node::new(evil, Role::Source).detail(evil));
        let b = drawing.node(Node { members: vec![evil.into()], ..Node::new("b", Role::Filter) });
        drawing.edge(Edge::new(a, b));
        let svg = drawing.svg();
        assert!(!svg.contains("<script") && !svg.contains('\0'), "{svg}");
        assert_eq!(svg.matches("<title>").count(), 2);
        assert!(svg.contains("&lt;script&gt;"));
    }

    #[test]
    fn a_long_name_is_whole_in_the_tooltip_and_the_way_is_marked() {
        let long = "x".repeat(60);
        let mut drawing = Drawing::new("t");
        let a = drawing.node(Node::new(&*long, Role::Producer));
        let b = drawing.node(Node::new("b", Role::Output));
        drawing.edge(Edge::new(a, b));
        let plain = drawing.svg();
        assert!(
            plain.contains(&format!("<title>{long} (producer)")) && plain.contains("x…</text>")
        );
        assert!(!plain.contains("critical path") && !plain.contains("class=\"e m\""));
        drawing.mark(&[long.as_str(), "b"]);
        let marked = drawing.svg();
        assert!(marked.contains("thick: critical path") && marked.contains("class=\"e m\""));
    }

    #[test]
    fn nothing_is_a_picture_too() {
        assert!(Drawing::default().svg().ends_with("</svg>\n"));
    }
}
