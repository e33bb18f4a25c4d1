#[allow(unused_imports)] // What is a test is left out here.
use actinium_actor::testing::TestSystem;

#[actinium_actor::test]
async fn waits(sys: &mut TestSystem) {}

#[actinium_actor::test]
fn alone() {}

#[actinium_actor::test(seeds = 0)]
fn never(sys: &mut TestSystem) {}

#[actinium_actor::test(times = 3)]
fn often(sys: &mut TestSystem) {}

fn main() {}
