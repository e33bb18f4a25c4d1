//! One actor, looked at closer, as tables of text.

use crate::grid::{Grid, family, time};
use actinium_monitor::live::{ActorDetails, LastTurns};
use actinium_observe::number::count;

/// Its figures, messages and turns, and last those that it supervises.
pub(crate) fn actor(details: &ActorDetails) -> Vec<Grid> {
    let number = details.figures.actor;
    let last = &details.turns;
    let mut grids = vec![figures(details), messages(last), contents(last), turns(last)];
    let mut children = family(&details.children, Some(number));
    children.title = format!("It supervises {}", count(details.children.total));
    grids.push(children);
    // Without messages or children there is nothing to say of them.
    grids.retain(|it| !it.rows.is_empty() || it.title.starts_with(TURNS));
    grids
}

/// What the title of its turns begins with.
const TURNS: &str = "Its last turns";

fn figures(details: &ActorDetails) -> Grid {
    let (it, turns) = (&details.figures, &details.turns);
    let mut grid = Grid::new(format!("Actor {}", it.actor), [("what", false), ("value", false)]);
    let lost = format!("{} records were lost: turns may be missing", count(turns.lost));
    let rows = [
        ("type", Some(it.kind.clone())),
        ("name", it.name.clone()),
        ("worker", it.worker.map(|worker| worker.to_string())),
        ("messages wait", Some(count(it.queued))),
        ("supervised by", it.parent.map(|parent| parent.to_string())),
        ("bytes of a message", turns.message_bytes.map(count)),
        ("no turns", turns.note.clone()),
        ("turns", (turns.lost > 0).then_some(lost)),
    ];
    for (name, value) in rows {
        value.into_iter().for_each(|value| grid.row([name.to_owned(), value]));
    }
    grid
}

fn messages(turns: &LastTurns) -> Grid {
    let columns = [("message", false), ("handled", true), ("waited, mean", true)];
    let title = "Its messages since it is looked at, estimated from a sample";
    let mut grid = Grid::new(title, columns);
    for it in &turns.messages {
        grid.row([it.name.clone(), count(it.handled), time(it.wait_ns)]);
    }
    grid
}

fn contents(turns: &LastTurns) -> Grid {
    let title = "What the last messages of a sample contained";
    let mut grid = Grid::new(title, [("handled", true), ("message", false)]);
    for it in turns.contents.iter().rev() {
        grid.row([format!("{:.3} s", it.at_s), it.text.clone()]);
    }
    grid
}

fn turns(turns: &LastTurns) -> Grid {
    let mut took: Vec<u64> = turns.turns.iter().map(|it| it.took_ns).collect();
    took.sort_unstable();
    let title = match took.len() {
        0 => format!("{TURNS}: none since it is looked at"),
        all => format!("{TURNS}: half of these took at most {}", time(took[(all - 1) / 2])),
    };
    let columns = [("began", true), ("took", true), ("messages", true), ("worker", true)];
    let mut grid = Grid::new(title, columns);
    for it in turns.turns.iter().rev() {
        let began = format!("{:.3} s", it.begin_s);
        grid.row([began, time(it.took_ns), count(it.handled), it.worker.to_string()]);
    }
    grid
}
