//! The examples as tests.

#[path = "../../examples/dimuon.rs"]
mod dimuon;

#[test]
fn dimuon_finds_what_a_plain_loop_finds() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut texts = Vec::new();
    for ending in ["jsonl", "arrow", "parquet"] {
        let built = (ending != "arrow" || cfg!(feature = "arrow"))
            && (ending != "parquet" || cfg!(feature = "parquet"));
        if built {
            texts.push(dimuon::run(folder, 5_000, ending).expect("it runs"));
        }
    }
    let pairs = std::fs::read_to_string(folder.join("pairs.jsonl")).expect("the pairs");
    assert!(pairs.lines().count() > 1_000 && pairs.contains("\"mass\":"), "{}", texts[0]);
    assert!(folder.join("dimuon.html").exists());
    assert!(texts.iter().all(|text| text == &texts[0]), "every format gives the same");
}
