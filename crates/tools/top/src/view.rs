//! What is shown, and what keys do.

use crate::closer;
use crate::grid::{self, Grid, TYPE_ORDERS, TypeOrder};
use crate::rates::Rates;
use actinium_monitor::live::{ActorDetails, ActorsNow, ActorsQuery, FamilyNow, Snapshot};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::VecDeque;

/// Looks whose throughput is drawn.
const HISTORY: usize = 600;
/// Actors on a page.
const PAGE: usize = 50;
/// Most characters of a text that is searched for.
const SEARCH: usize = 100;
/// The orders of the table of actors, by the names that a program knows.
const ACTOR_ORDERS: [&str; 5] = ["queued", "oldest", "youngest", "worker", "kind"];

/// The panes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    #[default]
    Overview,
    Types,
    Actors,
    Tree,
    Dead,
    Latency,
    Cpus,
    Program,
}

pub(crate) const PANES: [(Pane, &str); 8] = [
    (Pane::Overview, "overview"),
    (Pane::Types, "types"),
    (Pane::Actors, "actors"),
    (Pane::Tree, "tree"),
    (Pane::Dead, "dead letters"),
    (Pane::Latency, "latency"),
    (Pane::Cpus, "CPUs"),
    (Pane::Program, "program"),
];

/// What is to be asked beside a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Nothing is to be asked for now.
    pub(crate) is_paused: bool,
    pub(crate) actors: Option<ActorsQuery>,
    /// The family of this actor, or of none.
    pub(crate) family: Option<Option<u64>>,
    /// This actor.
    pub(crate) actor: Option<u64>,
}

/// What was answered; errors as texts.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) wish: Wish,
    pub(crate) seen: Result<Box<Snapshot>, String>,
    pub(crate) actors: Option<Result<ActorsNow, String>>,
    pub(crate) family: Option<Result<FamilyNow, String>>,
    pub(crate) actor: Option<Result<ActorDetails, String>>,
}

/// Everything that is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) pane: Pane,
    pub(crate) seen: Option<Snapshot>,
    pub(crate) rates: Rates,
    /// Messages a second, the latest last.
    pub(crate) history: VecDeque<u64>,
    /// Why the program did not answer last.
    pub(crate) error: Option<String>,
    pub(crate) is_paused: bool,
    pub(crate) shows_help: bool,
    /// The row that is marked.
    pub(crate) selected: usize,
    /// What is being typed.
    pub(crate) typing: Option<String>,
    type_order: usize,
    actor_order: usize,
    search: String,
    /// Where the pages of actors begin, from the second to the present one.
    pages: Vec<String>,
    actors: Option<Result<ActorsNow, String>>,
    /// From a family without parents to the present one.
    path: Vec<u64>,
    family: Option<Result<FamilyNow, String>>,
    /// The actor that is looked at closer, instead of the pane's table.
    chosen: Option<u64>,
    actor: Option<Result<ActorDetails, String>>,
}

impl View {
    /// What is to be asked for.
    pub(crate) fn wish(&self) -> Wish {
        let query = || ActorsQuery {
            sort: Some(ACTOR_ORDERS[self.actor_order].to_owned()),
            search: Some(self.search.clone()).filter(|text| !text.is_empty()),
            kind: None,
            after: self.pages.last().cloned(),
            take: Some(PAGE),
        };
        Wish {
            is_paused: self.is_paused,
            actors: (self.pane == Pane::Actors && self.chosen.is_none()).then(query),
            family: (self.pane == Pane::Tree && self.chosen.is_none())
                .then(|| self.path.last().copied()),
            actor: self.chosen,
        }
    }

    /// Takes what was answered.
    pub(crate) fn take(&mut self, answer: Answer) {
        let is_wanted = answer.wish == self.wish();
        if is_wanted {
            self.actors = answer.actors.or(self.actors.take());
            self.family = answer.family.or(self.family.take());
            self.actor = answer.actor.or(self.actor.take());
        }
        match answer.seen {
            Ok(seen) => {
                self.error = None;
                if self.seen.as_ref().is_some_and(|it| it.about.life != seen.about.life) {
                    // The program was started anew.
                    self.history.clear();
                }
                self.rates = self.rates.since(self.seen.as_ref(), &seen);
                if self.rates.over_s.is_some() {
                    self.history.push_back(self.rates.handled_by_all() as u64);
                }
                while self.history.len() > HISTORY {
                    self.history.pop_front();
                }
                self.seen = Some(*seen);
            }
            Err(why) => self.error = Some(why),
        }
    }

    /// Does what a key says; false: to end.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return !matches!(key.code, KeyCode::Char('c' | 'd'));
        }
        if let Some(text) = self.typing.take() {
            self.typed(text, key.code);
            return true;
        }
        if self.shows_help {
            self.shows_help = false;
            return true;
        }
        match key.code {
            KeyCode::Char('q') => return false,
            KeyCode::Char('?' | 'h') => self.shows_help = true,
            KeyCode::Char(' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('/') => self.typing = Some(self.search.clone()),
            KeyCode::Esc | KeyCode::Backspace if self.chosen.is_some() => self.choose(None),
            KeyCode::Esc => self.search_for(String::new()),
            KeyCode::Char('s') => self.sort(1),
            KeyCode::Char('S') => self.sort(-1),
            KeyCode::Tab | KeyCode::Right => self.turn_pane(1),
            KeyCode::BackTab | KeyCode::Left => self.turn_pane(-1),
            KeyCode::Char(digit @ '1'..='8') => {
                self.show(PANES[digit as usize - '1' as usize].0);
            }
            other => self.moved(other),
        }
        true
    }

    /// Keys that move within a pane.
    fn moved(&mut self, key: KeyCode) {
        match key {
            KeyCode::Down | KeyCode::Char('j') => self.selected = self.selected.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::PageDown => self.selected = self.selected.saturating_add(20),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(20),
            KeyCode::Home | KeyCode::Char('g') => self.selected = 0,
            KeyCode::End | KeyCode::Char('G') => self.selected = usize::MAX,
            KeyCode::Char('n') => self.next_page(),
            KeyCode::Char('p') => {
                self.pages.pop();
                self.selected = 0;
            }
            KeyCode::Enter => self.enter(),
            KeyCode::Char('d') => self.choose_marked(),
            KeyCode::Backspace => {
                self.path.pop();
                (self.family, self.selected) = (None, 0);
            }
            _ => {}
        }
        let rows = self.grids().iter().map(|it| it.rows.len()).sum::<usize>();
        self.selected = self.selected.min(rows.saturating_sub(1));
    }

    fn typed(&mut self, mut text: String, key: KeyCode) {
        match key {
            KeyCode::Enter => return self.search_for(text),
            KeyCode::Esc => return,
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char(letter) if text.chars().count() < SEARCH => text.push(letter),
            _ => {}
        }
        self.typing = Some(text);
    }

    fn search_for(&mut self, text: String) {
        (self.search, self.selected) = (text, 0);
        self.pages.clear();
        self.choose(None);
    }

    fn show(&mut self, pane: Pane) {
        self.pane = pane;
        self.choose(None);
    }

    fn turn_pane(&mut self, by: isize) {
        let at = PANES.iter().position(|it| it.0 == self.pane).unwrap_or(0);
        self.show(PANES[turned(at, by, PANES.len())].0);
    }

    fn sort(&mut self, by: isize) {
        self.choose(None);
        match self.pane {
            Pane::Types => self.type_order = turned(self.type_order, by, TYPE_ORDERS.len()),
            Pane::Actors => {
                self.actor_order = turned(self.actor_order, by, ACTOR_ORDERS.len());
                self.pages.clear();
            }
            _ => return,
        }
        self.selected = 0;
    }

    fn next_page(&mut self) {
        if let Some(Ok(page)) = &self.actors
            && let Some(next) = page.next.clone()
            && self.pane == Pane::Actors
            && self.chosen.is_none()
        {
            // Until the page has come, this one is shown: once more and it would be left out.
            if self.pages.last() != Some(&next) {
                self.pages.push(next);
            }
            self.selected = 0;
        }
    }

    /// Looks closer at this actor, or at none.
    fn choose(&mut self, actor: Option<u64>) {
        (self.chosen, self.actor, self.selected) = (actor, None, 0);
    }

    /// Looks closer at the marked actor, if an actor is marked.
    fn choose_marked(&mut self) {
        let marked = match (self.chosen, self.pane) {
            (Some(_), _) => self.marked_child(),
            (None, Pane::Actors) => {
                let page = self.actors.as_ref().and_then(|it| it.as_ref().ok());
                page.and_then(|it| it.actors.get(self.selected)).map(|it| it.actor)
            }
            (None, Pane::Tree) => {
                let family = self.family.as_ref().and_then(|it| it.as_ref().ok());
                family.and_then(|it| it.members.get(self.selected)).map(|it| it.0.actor)
            }
            _ => None,
        };
        if marked.is_some() {
            self.choose(marked);
        }
    }

    /// The marked child of the actor that is looked at: children are the last table.
    fn marked_child(&self) -> Option<u64> {
        let details = self.actor.as_ref()?.as_ref().ok()?;
        let grids = self.grids();
        let above: usize = grids.iter().rev().skip(1).map(|it| it.rows.len()).sum();
        let child = details.children.members.get(self.selected.checked_sub(above)?)?;
        Some(child.0.actor)
    }

    /// Goes to the children of the marked actor in the tree; elsewhere, looks closer at it.
    fn enter(&mut self) {
        if self.pane != Pane::Tree || self.chosen.is_some() {
            return self.choose_marked();
        }
        let Some(Ok(family)) = &self.family else { return };
        if let Some((actor, children)) = family.members.get(self.selected)
            && *children > 0
        {
            self.path.push(actor.actor);
            (self.family, self.selected) = (None, 0);
        }
    }

    fn type_order(&self) -> TypeOrder {
        TYPE_ORDERS[self.type_order]
    }

    /// The tables of the present pane.
    pub(crate) fn grids(&self) -> Vec<Grid> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let rates = &self.rates;
        if self.chosen.is_some() {
            let details = self.actor.as_ref().and_then(|it| it.as_ref().ok());
            return details.map(closer::actor).unwrap_or_default();
        }
        match self.pane {
            Pane::Overview => vec![grid::workers(rates, seen)],
            Pane::Types => vec![grid::types(rates, self.type_order(), &self.search)],
            Pane::Actors => self.actors_grid().into_iter().collect(),
            Pane::Tree => {
                let family = self.family.as_ref().and_then(|it| it.as_ref().ok());
                family.map(|it| grid::family(it, self.path.last().copied())).into_iter().collect()
            }
            Pane::Dead => vec![grid::dead_letters(rates, seen), grid::fullest(seen)],
            Pane::Latency => vec![grid::latencies(seen)],
            Pane::Cpus => {
                let all = [grid::cpus(rates, seen), grid::threads(rates, seen)];
                all.into_iter().chain([grid::exchanges(seen)]).collect()
            }
            Pane::Program => grid::sections(seen),
        }
    }

    fn actors_grid(&self) -> Option<Grid> {
        let page = self.actors.as_ref()?.as_ref().ok()?;
        let order = match ACTOR_ORDERS[self.actor_order] {
            "queued" => "waiting messages",
            "kind" => "type",
            other => other,
        };
        let total = actinium_observe::number::count(page.total);
        let (first, rows) = (self.pages.len() * PAGE + 1, page.actors.len());
        let title = match rows {
            0 => format!("Actors, by {order}: none of {total} here"),
            _ => format!("Actors, by {order}: {first} to {} of {total}", first + rows - 1),
        };
        Some(grid::actors(page, title))
    }

    /// What is said instead of tables.
    pub(crate) fn remark(&self) -> Option<String> {
        let answered = match self.pane {
            _ if self.chosen.is_some() => self.actor.as_ref().map(|it| it.as_ref().err()),
            Pane::Actors => self.actors.as_ref().map(|it| it.as_ref().err()),
            Pane::Tree => self.family.as_ref().map(|it| it.as_ref().err()),
            Pane::Program if self.seen.as_ref().is_some_and(|it| it.now.sections.is_empty()) => {
                return Some("The program shows nothing of its own.".to_owned());
            }
            _ => Some(None),
        };
        match (answered, &self.seen) {
            (_, None) => Some("Waiting for the program.".to_owned()),
            (None, _) => Some("Waiting for the answer.".to_owned()),
            (Some(error), _) => error.cloned(),
        }
    }

    /// Whether an actor is looked at closer.
    pub(crate) fn has_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    pub(crate) fn search(&self) -> &str {
        &self.search
    }
}

fn turned(at: usize, by: isize, of: usize) -> usize {
    (at + of).wrapping_add_signed(by) % of
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::rates::tests::seen;
    use actinium_monitor::live::{ActorNow, ContentsNow, LastTurns, MessagesNow, TurnNow};

    pub(crate) fn press(view: &mut View, keys: &str) {
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '<' => KeyCode::Backspace,
                '^' => KeyCode::Esc,
                other => KeyCode::Char(other),
            };
            assert!(view.key(KeyEvent::from(code)), "{key:?}");
        }
    }

    fn actor(actor: u64) -> ActorNow {
        ActorNow { actor, kind: "shop::Till".to_owned(), queued: 3, ..ActorNow::default() }
    }

    fn details(number: u64) -> ActorDetails {
        let turn = |begin_s, took_ns| TurnNow { begin_s, took_ns, worker: 1, handled: 64 };
        let messages =
            |name: &str, handled| MessagesNow { name: name.to_owned(), handled, wait_ns: 5_000 };
        ActorDetails {
            figures: actor(number),
            children: FamilyNow { total: 1, members: vec![(actor(number + 100), 0)] },
            turns: LastTurns {
                turns: vec![turn(1.5, 2_000), turn(1.75, 4_000)],
                messages: vec![messages("Pay", 900), messages("Refund", 12)],
                contents: vec![ContentsNow { at_s: 1.25, text: "Pay { cents: 350 }".to_owned() }],
                message_bytes: Some(24),
                ..LastTurns::default()
            },
        }
    }

    /// What a program answers to what the view asks for.
    pub(crate) fn answer(view: &mut View, at_s: f64, handled: u64) {
        let wish = view.wish();
        let actors = ActorsNow {
            total: 120,
            actors: vec![actor(7), actor(8)],
            next: Some(format!("after {:?}", wish.actors.as_ref().and_then(|it| it.after.clone()))),
        };
        let family = FamilyNow { total: 2, members: vec![(actor(7), 0), (actor(8), 4)] };
        view.take(Answer {
            actors: wish.actors.as_ref().map(|_| Ok(actors)),
            family: wish.family.map(|_| Ok(family)),
            actor: wish.actor.map(|number| Ok(details(number))),
            seen: Ok(Box::new(seen(at_s, handled))),
            wish,
        });
    }

    #[test]
    fn keys_choose_order_search_and_page_of_actors() {
        let mut view = View::default();
        assert_eq!(view.wish(), Wish::default());
        press(&mut view, "3");
        answer(&mut view, 1.0, 10);
        let query = |view: &View| view.wish().actors.expect("actors");
        assert_eq!(query(&view).sort.as_deref(), Some("queued"));
        press(&mut view, "s");
        assert_eq!(query(&view).sort.as_deref(), Some("oldest"));
        press(&mut view, "SS");
        assert_eq!(query(&view).sort.as_deref(), Some("kind"));
        press(&mut view, "n");
        let second = query(&view).after.expect("the second page");
        press(&mut view, "n");
        assert_eq!(query(&view).after.as_ref(), Some(&second), "it has not come yet");
        answer(&mut view, 2.0, 20);
        press(&mut view, "n");
        assert_ne!(query(&view).after.as_ref(), Some(&second));
        assert!(view.grids()[0].title.contains("101 to 102 of 120"), "{}", view.grids()[0].title);
        press(&mut view, "p");
        assert_eq!(query(&view).after.as_ref(), Some(&second));
        press(&mut view, "/ts<ill\n");
        assert_eq!((query(&view).search.as_deref(), query(&view).after), (Some("till"), None));
        press(&mut view, "/more^");
        assert_eq!(view.search(), "till", "given up");
        press(&mut view, "^");
        assert_eq!(query(&view).search, None);
    }

    #[test]
    fn the_tree_is_walked() {
        let mut view = View::default();
        press(&mut view, "4");
        assert_eq!(view.wish().family, Some(None));
        answer(&mut view, 1.0, 10);
        press(&mut view, "\n");
        assert_eq!(view.wish().family, Some(None), "it has no children");
        press(&mut view, "j\n");
        assert_eq!(view.wish().family, Some(Some(8)));
        answer(&mut view, 2.0, 20);
        assert!(view.grids()[0].title.contains("actor 8"));
        press(&mut view, "<");
        assert_eq!(view.wish().family, Some(None));
    }

    #[test]
    fn an_actor_is_looked_at_closer() {
        let mut view = View::default();
        press(&mut view, "3");
        answer(&mut view, 1.0, 10);
        press(&mut view, "j\n");
        let wish = view.wish();
        assert_eq!((wish.actor, wish.actors), (Some(8), None));
        assert_eq!(view.remark().as_deref(), Some("Waiting for the answer."));
        answer(&mut view, 2.0, 20);
        let titles: Vec<_> = view.grids().into_iter().map(|it| it.title).collect();
        assert!(titles[0].contains("Actor 8") && titles.len() == 5, "{titles:?}");
        // Its only child is the last row.
        press(&mut view, "G\n");
        assert_eq!(view.wish().actor, Some(108));
        press(&mut view, "^");
        assert_eq!((view.wish().actor, view.wish().actors.is_some()), (None, true));
        // In the tree, Enter goes to the children.
        press(&mut view, "4");
        answer(&mut view, 3.0, 30);
        press(&mut view, "jd");
        assert_eq!(view.wish().actor, Some(8));
        press(&mut view, "<d");
        assert_eq!(view.wish().actor, Some(7));
        press(&mut view, "2");
        assert_eq!(view.wish().actor, None);
    }

    #[test]
    fn a_program_that_is_gone_or_started_anew_is_told() {
        let mut view = View::default();
        answer(&mut view, 1.0, 10);
        answer(&mut view, 2.0, 110);
        assert_eq!(view.history, [110]);
        let gone = Answer {
            wish: view.wish(),
            seen: Err("gone".into()),
            actors: None,
            family: None,
            actor: None,
        };
        view.take(gone);
        assert_eq!((view.error.as_deref(), view.history.len()), (Some("gone"), 1));
        let mut anew = seen(1.0, 5);
        anew.about.life = 2;
        let anew = Answer {
            wish: view.wish(),
            seen: Ok(Box::new(anew)),
            actors: None,
            family: None,
            actor: None,
        };
        view.take(anew);
        assert!(view.error.is_none() && view.history.is_empty());
    }

    #[test]
    fn keys_end_pause_and_turn() {
        let mut view = View::default();
        press(&mut view, "\t\t");
        assert_eq!(view.pane, Pane::Actors);
        assert!(view.key(KeyEvent::from(KeyCode::BackTab)) && view.pane == Pane::Types);
        press(&mut view, " ");
        assert!(view.wish().is_paused);
        press(&mut view, "?q");
        assert!(!view.shows_help, "any key ends the help");
        assert!(!view.key(KeyEvent::from(KeyCode::Char('q'))));
        assert!(!view.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        press(&mut view, "/q");
        assert_eq!(view.typing.as_deref(), Some("q"));
    }
}
