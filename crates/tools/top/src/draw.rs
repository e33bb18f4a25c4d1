//! Draws the view.

use crate::grid::{self, Grid, clean};
use crate::view::{PANES, Pane, View};
use actinium_observe::number::{duration, rate};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Block, Borders, Cell, Clear, Paragraph, Row, Sparkline, Table, TableState, Wrap,
};
use std::time::Duration;

/// Between two columns.
const GAP: usize = 2;
/// A column of text is not made narrower.
const NARROW: usize = 8;

const HELP: &str = "\
1 to 8, Tab   the panes          Up, Down, PgUp, PgDn, Home, End   rows
s, S          the next order, or the one before
/             search by name, type or number; Esc ends the search
n, p          the next page of actors, or the one before
Enter         looks closer at an actor: its last turns and messages; Esc goes back
Enter, d      in the tree: to an actor's children, Backspace goes back; looks closer at it
Space         hold on, and go on
q, Ctrl-C     the end";

fn heading() -> Style {
    Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD)
}

fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, view: &View) {
    let rows =
        [Constraint::Length(1), Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [top, tabs, body, bottom] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(Paragraph::new(about(view)), top);
    frame.render_widget(Paragraph::new(panes(view)), tabs);
    frame.render_widget(Paragraph::new(footer(view)), bottom);
    if let Some(remark) = view.remark() {
        let remark = Paragraph::new(clean(&remark)).wrap(Wrap { trim: true });
        frame.render_widget(remark, inside(body));
    } else if view.pane == Pane::Overview {
        overview(frame, view, body);
    } else {
        grids(frame, &view.grids(), view.selected, body);
    }
    if view.shows_help {
        help(frame);
    }
}

fn inside(area: Rect) -> Rect {
    Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }
}

/// The program, in one line; or why it does not answer.
fn about(view: &View) -> Line<'static> {
    let mut line = Line::default();
    if let Some(seen) = &view.seen {
        let about = &seen.about;
        let program =
            about.command.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path));
        let for_s = duration(Duration::try_from_secs_f64(seen.now.at_s).unwrap_or_default());
        line.push_span(Span::styled(format!(" {}", clean(program)), heading()));
        line.push_span(format!(
            "  process {} on {}, {} workers, policy {}, watched for {for_s}",
            about.pid,
            clean(&about.host),
            seen.now.workers.len(),
            clean(&about.policy),
        ));
        if seen.now.is_ending {
            line.push_span("  it is ending".to_owned());
        }
    }
    if let Some(error) = &view.error {
        let style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        line.push_span(Span::styled(format!("  NO ANSWER: {}", clean(error)), style));
    } else if view.is_paused {
        line.push_span(Span::styled("  HELD", heading()));
    }
    line
}

fn panes(view: &View) -> Line<'static> {
    let pane = |(at, (pane, name)): (usize, &(Pane, &str))| {
        let style = match *pane == view.pane {
            true => heading().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        [Span::styled(format!(" {} {name} ", at + 1), style), Span::raw(" ")]
    };
    Line::from(PANES.iter().enumerate().flat_map(pane).collect::<Vec<_>>())
}

fn footer(view: &View) -> Line<'static> {
    if let Some(text) = &view.typing {
        return Line::from(format!(" /{}_", clean(text)));
    }
    let keys = match view.pane {
        _ if view.has_chosen() => " Esc back  Enter child  ",
        Pane::Types => " s sort  / search  ",
        Pane::Actors => " Enter closer  s sort  / search  n p pages  ",
        Pane::Tree => " Enter children  Backspace back  d closer  ",
        _ => " ",
    };
    let mut line = Line::styled(format!("{keys}Tab panes  Space hold  ? help  q end"), faint());
    if !view.search().is_empty() {
        line.push_span(Span::styled(format!("  search: {}", clean(view.search())), heading()));
    }
    line
}

fn overview(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let Some(seen) = &view.seen else { return };
    let figures = grid::figures(&view.rates, seen);
    let columns = usize::from(area.width / 26).clamp(1, 4);
    let lines = figures.len().div_ceil(columns) as u16;
    let rows = [Constraint::Length(lines), Constraint::Length(6), Constraint::Min(3)];
    let [top, chart, rest] = Layout::vertical(rows).areas(area);
    let figure = |(name, value): &(&str, String)| {
        vec![
            Span::styled(format!("{name:>13} "), faint()),
            Span::styled(format!("{value:<12}"), heading()),
        ]
    };
    let lines = figures
        .chunks(columns)
        .map(|row| Line::from(row.iter().flat_map(figure).collect::<Vec<_>>()));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), top);

    let most = view.history.iter().copied().max().unwrap_or(0);
    let block = Block::new().borders(Borders::TOP).title(Span::styled(
        format!(" Messages a second, up to {} ", rate(most as f64)),
        heading(),
    ));
    let wide = usize::from(chart.width);
    let shown: Vec<u64> = view.history.iter().copied().rev().take(wide).rev().collect();
    let spark = Sparkline::default().block(block).data(shown).max(most.max(1));
    frame.render_widget(spark.style(Style::new().fg(Color::Blue)), chart);
    grids(frame, &view.grids(), view.selected, rest);
}

/// Draws tables one below the other. The marked row is seen.
fn grids(frame: &mut Frame<'_>, grids: &[Grid], selected: usize, area: Rect) {
    let Some(last) = grids.len().checked_sub(1) else { return };
    // Where the marked row is, and so what is left out above.
    let (mut before, mut at) = (0, 0);
    while at < last && before + grids[at].rows.len() <= selected {
        before += grids[at].rows.len();
        at += 1;
    }
    // What is above the marked table is seen as far as both have room.
    let height = |grid: &Grid| grid.rows.len().min(usize::from(area.height)) as u16 + 3;
    let mut first = at;
    let mut used = height(&grids[at]);
    while first > 0 && used + height(&grids[first - 1]) <= area.height {
        first -= 1;
        used += height(&grids[first]);
    }
    let mut left = area;
    for (number, grid) in grids.iter().enumerate().skip(first) {
        if left.height < 3 {
            return;
        }
        let high = if number == last { left.height } else { height(grid).min(left.height) };
        let marked = (number == at).then(|| selected - before);
        table(frame, grid, marked, Rect { height: high, ..left });
        left = Rect { y: left.y + high, height: left.height - high, ..left };
    }
}

fn table(frame: &mut Frame<'_>, grid: &Grid, marked: Option<usize>, area: Rect) {
    let widths = fit(grid, usize::from(area.width));
    let cell = |at: usize, text: &str| {
        let (is_right, width) = (grid.columns[at].1, widths[at]);
        let text = shortened(text, width, at);
        let text = if is_right { format!("{text:>width$}") } else { text };
        Cell::new(text)
    };
    let row = |cells: &Vec<String>| {
        Row::new(
            cells
                .iter()
                .take(widths.len())
                .enumerate()
                .map(|(at, text)| cell(at, text))
                .collect::<Vec<_>>(),
        )
    };
    let names: Vec<_> = grid.columns.iter().map(|it| it.0.clone()).collect();
    let block = Block::new()
        .borders(Borders::TOP)
        .title(Span::styled(format!(" {} ", grid.title), heading()));
    let table = Table::new(grid.rows.iter().map(row), widths.iter().map(|&it| it as u16))
        .header(row(&names).style(faint()))
        .column_spacing(GAP as u16)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .block(block);
    let marked = marked.filter(|_| !grid.rows.is_empty());
    let mut state = TableState::new().with_selected(marked.map(|it| it.min(grid.rows.len() - 1)));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The widths of columns in so many characters: the widest text gives way.
fn fit(grid: &Grid, wide: usize) -> Vec<usize> {
    let mut widths = grid.widths();
    let gaps = GAP * widths.len().saturating_sub(1);
    loop {
        let over = (widths.iter().sum::<usize>() + gaps).saturating_sub(wide);
        let texts = (0..widths.len()).filter(|&at| !grid.columns[at].1 && widths[at] > NARROW);
        let Some(widest) = texts.max_by_key(|&at| widths[at]).filter(|_| over > 0) else {
            return widths;
        };
        widths[widest] -= over.min((widths[widest] - NARROW).min(1 + over / 2).max(1));
    }
}

/// A text that is too long loses its beginning: the end of a type's name says more. What is no
/// name, loses its end.
fn shortened(text: &str, width: usize, at: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    if at > 1 && !text.contains("::") {
        return text.chars().take(width.saturating_sub(1)).chain(['…']).collect();
    }
    let rest = text.chars().skip(length - width.saturating_sub(1));
    std::iter::once('…').chain(rest).collect()
}

fn help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let (wide, high) = (78.min(area.width), 9.min(area.height));
    let place =
        Rect { x: (area.width - wide) / 2, y: (area.height - high) / 2, width: wide, height: high };
    let block = Block::bordered().title(Span::styled(" Keys ", heading()));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP).block(block), place);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::tests::seen;
    use crate::view::Answer;
    use crate::view::tests::{answer, press};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// What a terminal of this size shows.
    fn shown(view: &View, (wide, high): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(wide, high)).expect("a terminal");
        terminal.draw(|frame| draw(frame, view)).expect("it draws");
        let buffer = terminal.backend().buffer().clone();
        let lines = buffer.content.chunks(usize::from(wide));
        let lines = lines.map(|line| line.iter().map(|cell| cell.symbol()).collect::<String>());
        lines.map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    fn looked_twice() -> View {
        let mut view = View::default();
        answer(&mut view, 1.0, 1_000);
        answer(&mut view, 3.0, 5_000);
        view
    }

    #[test]
    fn the_overview_has_figures_and_workers() {
        let text = shown(&looked_twice(), (110, 30));
        for part in [
            "shop  process 17",
            "policy affine",
            "2.20 k/s",
            "CPUs busy 1.50",
            "Workers",
            "2.00 k/s",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(text.contains('█'), "{text}");
    }

    #[test]
    fn each_pane_is_drawn_in_any_size() {
        let mut view = looked_twice();
        for (pane, part) in "12345678".chars().zip([
            "Messages a second",
            "Types of actors, by time",
            "Actors, by waiting messages: 1 to 2 of 120",
            "Actors that supervise others: 2",
            "Dead letters: 50 in all",
            "1.02 µs",
            "CPUs that the process was seen on",
            "shows nothing of its own",
        ]) {
            press(&mut view, &pane.to_string());
            answer(&mut view, 3.0, 5_000);
            let text = shown(&view, (110, 30));
            assert!(text.contains(part), "{part} is not in\n{text}");
            press(&mut view, "jjjjG?");
            for size in [(1, 1), (20, 5), (40, 12), (250, 90)] {
                shown(&view, size);
            }
            press(&mut view, "?");
        }
    }

    #[test]
    fn an_actor_has_its_turns_messages_and_children() {
        let mut view = looked_twice();
        press(&mut view, "3");
        answer(&mut view, 3.0, 5_000);
        press(&mut view, "\n");
        answer(&mut view, 4.0, 6_000);
        let text = shown(&view, (110, 40));
        for part in [
            "Actor 7",
            "bytes of a message",
            "half of these took at most 2.00 µs",
            "1.750 s",
            "4.00 µs",
            "Refund",
            "Pay { cents: 350 }",
            "It supervises 1",
            "Esc back",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut view = View::default();
        assert!(shown(&view, (80, 10)).contains("Waiting for the program"));
        press(&mut view, "3");
        let no = |what: &str| Some(Err(what.to_owned()));
        let seen = Ok(Box::new(seen(1.0, 1)));
        view.take(Answer {
            wish: view.wish(),
            seen,
            actors: no("sort"),
            family: None,
            actor: None,
        });
        assert!(shown(&view, (80, 10)).contains("sort"));
        let seen = Err("it\u{1b}[2J is gone".to_owned());
        view.take(Answer { wish: view.wish(), seen, actors: None, family: None, actor: None });
        assert!(shown(&view, (160, 10)).contains("NO ANSWER: it [2J is gone"));
    }

    #[test]
    fn long_names_give_way_to_numbers() {
        let mut view = looked_twice();
        press(&mut view, "2");
        let mut long = seen(5.0, 9_000);
        let kind = format!("shop::{}::Till", "departments::".repeat(20));
        long.now.walk.types[0].kind = kind.clone().into();
        long.now.turns[0].kind = kind;
        let (wish, seen) = (view.wish(), Ok(Box::new(long)));
        view.take(Answer { wish, seen, actors: None, family: None, actor: None });
        let text = shown(&view, (120, 12));
        assert!(
            text.contains("…") && text.contains("::Till  ") && text.contains("restarts"),
            "{text}"
        );
    }
}
