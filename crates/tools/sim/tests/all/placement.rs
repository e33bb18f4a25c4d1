//! Clusters that exchange actors.

use actinium_sim::placement::{Figures, GraphKind, Rules, Settings, place};

fn run(graph: GraphKind, nodes: u32) -> Figures {
    place(&Settings { nodes, rounds: 80, ..Settings::new(graph) }).unwrap()
}

#[test]
fn graphs_that_can_be_cut_are_cut_and_the_nodes_stay_even() {
    for (graph, after) in [(GraphKind::Communities, 0.2), (GraphKind::Ring, 0.3)] {
        let figures = run(graph, 8);
        assert!(figures.crossings_before > 0.8, "{graph:?}: {figures:?}");
        assert!(figures.crossings_after < after, "{graph:?}: {figures:?}");
        assert!(figures.load_min >= 75 && figures.load_max <= 125, "{graph:?}: {figures:?}");
        assert_eq!(figures.actors, 800);
        assert_eq!(figures, run(graph, 8), "one seed, one run");
    }
}

#[test]
fn what_changes_is_followed() {
    let settings = Settings { nodes: 8, change_every: 40, ..Settings::new(GraphKind::Changing) };
    let figures = place(&settings).unwrap();
    assert!(figures.crossings_before > 0.8 && figures.crossings_after < 0.4, "{figures:?}");
}

/// Rests of 4, 8, .. 256 rounds: in 200 rounds an actor moves six times at most, and once more for
/// a rest that was cut short because it stayed.
#[test]
fn an_adversary_moves_each_actor_a_few_times() {
    let figures = place(&Settings { nodes: 8, ..Settings::new(GraphKind::Adversarial) }).unwrap();
    assert!(figures.moves_of_one_max <= 7 && figures.moves > 800, "{figures:?}");
}

#[test]
fn a_single_node_has_nobody_to_exchange_with() {
    let figures = run(GraphKind::Communities, 1);
    assert_eq!((figures.moves, figures.crossings_before, figures.crossings_after), (0, 0.0, 0.0));
}

/// A node that has had its exchange of this round rests, and refuses those of others.
#[test]
fn what_refusals_cost_is_counted() {
    let with = |exchanges_max| {
        let rules = Rules { exchanges_max, ..Rules::default() };
        let settings = Settings { nodes: 8, rounds: 20, rules, ..Settings::new(GraphKind::Ring) };
        place(&settings).unwrap()
    };
    let (one, many) = (with(1), with(16));
    for figures in [&one, &many] {
        assert!(figures.offers >= figures.exchanges + figures.refused, "{figures:?}");
        let messages = figures.messages_per_move().unwrap() * figures.moves as f64;
        assert_eq!(messages.round() as u64, 2 * figures.offers);
    }
    let refused = |it: &Figures| it.refused as f64 / it.offers as f64;
    assert!(one.refused > 0 && refused(&one) > refused(&many), "{one:?} {many:?}");
    assert_eq!(run(GraphKind::Communities, 1).messages_per_move(), None);
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    let rules = Rules { moves_max: 0, ..Rules::default() };
    let settings = Settings { rules, ..Settings::new(GraphKind::Ring) };
    assert_eq!(place(&settings).unwrap_err().setting, "moves_max");
}
