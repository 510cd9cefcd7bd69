//! The choices of table 3.7 beside those of `nand-advise`, each for a product that has its criteria as limits.

use boardlab_document::source::{Kind, Source};
use boardlab_experiment::Action;
use boardlab_experiment::reference::Reference;
use boardlab_lab::registry;
use boardlab_result::{RunResult, Value};
use boardlab_sim::Seed;

/// The products, and their rows.
const PRODUCTS: [(&str, &str); 3] = [
    ("product-files", "many_files_and_rare_writes"),
    ("product-start", "instant_start_and_much_ram"),
    ("product-stream", "steady_throughput"),
];

fn advised(product: &str) -> RunResult {
    let set: [&str; 0] = [];
    let made = registry::perform(Action::Run, product, &set, Seed::new(1), &|_| ());
    made.unwrap_or_else(|failure| panic!("{product}: {failure}"))
}

#[test]
fn each_product_of_the_publication_gets_its_choice() {
    let text = include_str!("../../../reference/nandfs.toml");
    let print = Reference::read(&Source::new(Kind::Reference, "nandfs.toml", text));
    let print = print.unwrap_or_else(|error| panic!("{error}"));
    for (product, row) in PRODUCTS {
        let run = advised(product);
        let first = &run.table("advise").expect("a ranking").rows[0];
        let chosen = print.quote("table3.7", row, "system").expect("printed");
        assert!(
            first.id.starts_with(&format!("{chosen}/")),
            "{product}: {} for {chosen}",
            first.id
        );
        assert_eq!(first.cells["missed_count"].value, Value::Int(0), "{product}");
    }
}
