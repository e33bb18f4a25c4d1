//! Protocols as drawings.

use crate::{Move, Protocol, Said};
use std::fmt::Write;

/// Draws the protocol as Mermaid's state diagram.
#[must_use]
pub fn mermaid(protocol: &Protocol) -> String {
    let mut text = format!(
        "---\ntitle: {}, version {}\n---\nstateDiagram-v2\n",
        protocol.name, protocol.version
    );
    let mut line = |line: String| writeln!(text, "    {line}").expect("a String takes all");
    if let Some(first) = protocol.states.first() {
        line(format!("[*] --> {}", first.name));
    }
    for state in &protocol.states {
        if let Some(within) = state.within_ms {
            line(format!("{} : {} (within {})", state.name, state.name, time(within)));
        }
        for one in &state.moves {
            let to = one.to.as_ref().map_or("[*]".to_owned(), ToString::to_string);
            line(format!("{} --> {to} : {}", state.name, label(protocol, one, "<br/>")));
        }
    }
    text
}

/// For Graphviz.
#[must_use]
pub fn dot(protocol: &Protocol) -> String {
    let mut text = format!("digraph {} {{\n", protocol.name);
    let mut line = |line: String| writeln!(text, "    {line}").expect("a String takes all");
    line(format!("label=\"{}, version {}\";", protocol.name, protocol.version));
    line("node [shape=box, style=rounded];".to_owned());
    line("begin [shape=point];".to_owned());
    let ends = protocol.states.iter().flat_map(|state| &state.moves).any(|one| one.to.is_none());
    if ends {
        line("end [shape=doublecircle, label=\"\", width=0.15];".to_owned());
    }
    if let Some(first) = protocol.states.first() {
        line(format!("begin -> \"{}\";", first.name));
    }
    for state in &protocol.states {
        let within = state.within_ms.map(|within| format!("\\nwithin {}", time(within)));
        line(format!("\"{0}\" [label=\"{0}{1}\"];", state.name, within.unwrap_or_default()));
        for one in &state.moves {
            let to = one.to.as_ref().map_or("end".to_owned(), |to| format!("\"{to}\""));
            let label = label(protocol, one, "\\n").replace('"', "\\\"");
            line(format!("\"{}\" -> {to} [label=\"{label}\"];", state.name));
        }
    }
    text + "}\n"
}

/// Makes the label of a move: the party and the message. The response stands on a line of its own.
fn label(protocol: &Protocol, one: &Move, line: &str) -> String {
    let said = |from: usize, said: &Said| format!("{}: {}", protocol.parties[from], said.name);
    let response = one.response.as_ref().map(|it| format!("{line}{}", said(1 - one.from, it)));
    said(one.from, &one.message) + &response.unwrap_or_default()
}

fn time(ms: u64) -> String {
    match ms % 1_000 {
        0 => format!("{} s", ms / 1_000),
        _ => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_protocol_is_drawn() {
        let text = "protocol Shop, version 2, between buyer and seller;
            state Idle { buyer request Place(u8) -> seller Placed -> Idle; buyer signal Bye -> end; buyer signal Watch -> On; }
            state On within 1500ms { seller stream Tick(f64); buyer signal Stop -> Idle; }";
        let protocol = crate::parse::protocol(text.parse().expect("tokens")).expect("it is fine");
        assert_eq!(
            super::mermaid(&protocol),
            "---\ntitle: Shop, version 2\n---\nstateDiagram-v2\n    [*] --> Idle\n    \
             Idle --> Idle : buyer: Place<br/>seller: Placed\n    Idle --> [*] : buyer: Bye\n    \
             Idle --> On : buyer: Watch\n    On : On (within 1500 ms)\n    On --> On : seller: Tick\n    \
             On --> Idle : buyer: Stop\n"
        );
        let dot = super::dot(&protocol);
        for part in [
            "digraph Shop {",
            "begin -> \"Idle\";",
            "\"Idle\" -> \"Idle\" [label=\"buyer: Place\\nseller: Placed\"];",
            "\"Idle\" -> end [label=\"buyer: Bye\"];",
            "\"On\" [label=\"On\\nwithin 1500 ms\"];",
        ] {
            assert!(dot.contains(part), "{part} in {dot}");
        }
    }
}
