//! Figures are data: for a page of health, or a file.

use actinium::testing::TestSystem;
use actinium::{Actor, Context};
use serde_json::{Value, to_value};

struct Counts;

impl Actor for Counts {
    type Msg = u32;

    fn handle(&mut self, _: u32, _: &mut Context<'_, Self>) {}
}

#[test]
fn figures_become_json_by_the_names_of_their_fields() {
    let mut sys = TestSystem::seeded(1);
    let counts = sys.spawn(Counts);
    counts.tell(1);
    counts.tell(2);
    sys.run_until_idle();
    let stats = to_value(sys.stats()).expect("JSON");
    assert_eq!(stats["workers"][0]["handled"], 2);
    assert_eq!(stats["external"]["sent"], 2);
    assert_eq!(
        (&stats["actors"], &stats["scale_events"]),
        (&Value::from(1), &Value::Array(vec![]))
    );
    let audit = to_value(sys.audit()).expect("JSON");
    assert_eq!((&audit["sent"], &audit["events"]["begun"]), (&Value::from(2), &Value::from(0)));
}
