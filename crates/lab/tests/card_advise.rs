//! The order of `card-advise` on real parts, what changes it, and what is refused.

use crate::runs::{number, ran, words};
use boardlab_experiment::Action;
use boardlab_lab::registry;
use boardlab_result::RunResult;
use boardlab_sim::Seed;
use std::fs;
use std::path::Path;
use std::sync::Once;

/// The path of a file that [`write_cards`] writes.
macro_rules! card {
    ($name:literal) => {
        concat!(env!("CARGO_TARGET_TMPDIR"), "/card-advise/", $name, ".toml")
    };
}
pub(crate) use card;

/// A product without limits on a small card, alone.
pub(crate) const PRODUCT: &str = card!("product");

/// The files of small cards, and of a product. `~` gives a value an origin.
const FILES: [(&str, &str); 5] = [
    (
        card!("small"),
        r#"extends = "kioxia-16gb"
capacity ~ "64 MiB"
over_provisioning ~ "40 %"
[flash]
pages_per_block ~ 32
[endurance]
rated ~ 50
pe_cycles ~ [40, 50]
"#,
    ),
    // Ten times as many erases, and programs that take twice as long.
    (
        card!("durable"),
        r#"extends = "small.toml"
[endurance]
rated ~ 500
pe_cycles ~ [400, 500]
[flash.times]
program ~ "2 ms"
"#,
    ),
    (
        card!("mapped"),
        r#"extends = "small.toml"
[mapping]
kind ~ "blocks"
open_units ~ 2
"#,
    ),
    (
        card!("tiny"),
        r#"extends = "small.toml"
capacity ~ "32 MiB"
over_provisioning ~ "60 %"
"#,
    ),
    (
        PRODUCT,
        r#"title = "Small"
experiment = "card-advise"
part = "small.toml"
board = "raspberry-pi-4"
compare = "none"
[product]
level ~ "60 %"
writes ~ "1 MB/day"
write ~ "4 KiB"
places ~ "random"
unused ~ "stale"
reads_a_day ~ "0 B"
powered ~ "24 h"
shelf ~ "0 h"
[fio]
job = """
[a]
filename=/dev/mmcblk0
direct=1
rw=randwrite
bs=4k
size=32M
io_size=64M
"""
[life]
cards = 2
horizon = "36525 days"
method = "auto"
"#,
    ),
];

/// Writes them, once.
pub(crate) fn write_cards() {
    static WRITTEN: Once = Once::new();
    WRITTEN.call_once(|| {
        fs::create_dir_all(Path::new(PRODUCT).parent().unwrap()).unwrap();
        for (path, text) in FILES {
            let line = |line: &str| match line.split_once(" ~ ") {
                Some((key, value)) => {
                    format!(
                        "{key} = {{ value = {value}, origin = \"assumed\", source = \"a test\" }}\n"
                    )
                }
                None => format!("{line}\n"),
            };
            fs::write(path, text.lines().map(line).collect::<String>()).unwrap();
        }
    });
}

fn advised(set: &[&str]) -> RunResult {
    write_cards();
    ran(PRODUCT, set)
}

fn order(run: &RunResult) -> Vec<&str> {
    run.table("card-advise").unwrap().rows.iter().map(|row| row.id.as_str()).collect()
}

fn refusal(scenario: &str, set: &[&str]) -> String {
    write_cards();
    let made = registry::perform(Action::Advise, scenario, set, Seed::new(1), &|_| ());
    made.map(|_| ()).unwrap_err().to_string()
}

/// The cache of the eMMC makes it quick, and it outlives the card.
#[test]
fn real_parts_come_in_a_known_order() {
    let job = "fio.job=[a]\nfilename=/dev/x\ndirect=1\nrw=randwrite\nbs=4k\nsize=4G\nio_size=64M\n";
    let [emmc, card] = ["sandisk-inand-7232-16gb", "kioxia-16gb"];
    let both = format!("compare={card}, {emmc}");
    let run = ran("card-advise", &["life.horizon=7 years", job, &both]);
    assert_eq!(order(&run), [emmc, card]);
    let life = |row| number(&run, "card-advise", row, "life_years");
    assert!((5.0..6.5).contains(&life(emmc)) && (1.5..3.0).contains(&life(card)));
    assert_eq!(words(&run, "card-advise", emmc, "missed"), "");
    assert_eq!(words(&run, "card-advise", card, "missed"), "life");
}

#[test]
fn a_limit_puts_another_card_first() {
    let both = concat!("compare=", card!("durable"));
    assert_eq!(order(&advised(&[both, "product.life=20 years"])), ["durable", "small"]);
    assert_eq!(order(&advised(&[both, "product.throughput=1700 kB/s"])), ["small", "durable"]);
    assert_eq!(order(&advised(&[both, "product.latency=2 ms"])), ["small", "durable"]);
    // Equal by their limits: the one that lives longest.
    assert_eq!(order(&advised(&[both, "product.room=32 MiB"])), ["durable", "small"]);
    assert_eq!(order(&advised(&[both])), ["durable", "small"]);
}

#[test]
fn a_card_that_cannot_be_ranked_does_not_stop_the_others() {
    let cards = concat!("compare=", card!("mapped"), ",", card!("durable"), ", ", card!("tiny"));
    let run = advised(&[cards]);
    assert_eq!(order(&run), ["durable", "small"]);
    // As the card of the scenario too.
    let mapped = concat!("part=", card!("mapped"));
    assert_eq!(order(&advised(&[mapped, concat!("compare=", card!("durable"))])), ["durable"]);
    let text = refusal(PRODUCT, &[mapped]);
    assert!(
        text.contains("mapped: it maps whole blocks") && text.contains("compare=all"),
        "{text}"
    );
    let alone =
        refusal(PRODUCT, &["fio.job=[a]\nfilename=/x\ndirect=1\nrw=write\nbs=1M\nsize=1G\n"]);
    assert!(alone.contains("small: ") && alone.contains("help"), "{alone}");
}

/// The data are those of the scenario's card, in bytes; a stale card is full for its jobs.
#[test]
fn other_cards_hold_the_same_bytes_and_jobs_run_on_a_card_that_is_as_full() {
    let life = |run: &RunResult, row| number(run, "card-advise", row, "life_years");
    let both = concat!("compare=", card!("durable"));
    let trimmed = advised(&[both, "product.unused=trimmed"]);
    let half = advised(&[
        both,
        "product.unused=trimmed",
        "part.capacity=32 MiB",
        "part.over_provisioning=80 %",
    ]);
    assert!(life(&half, "durable") > life(&trimmed, "durable"));
    let stale = advised(&[]);
    let rate = |run: &RunResult| number(run, "card-advise", "small", "rate_bytes_per_s");
    assert!(rate(&stale) < rate(&trimmed));
}

#[test]
fn the_card_of_the_scenario_is_ranked_once() {
    let run = advised(&[concat!(
        "compare=",
        card!("small"),
        ",",
        card!("durable"),
        ",",
        card!("durable")
    )]);
    assert_eq!(order(&run), ["durable", "small"]);
}

/// Of several jobs the one that does worst counts.
#[test]
fn the_slowest_job_is_held_against_the_limits() {
    let job = "[a]\nfilename=/dev/x\ndirect=1\nrw=randwrite\nbs=4k\nsize=32M\nio_size=16M\n";
    let two = format!(
        "fio.job={job}[b]\nstonewall\nfilename=/dev/x\ndirect=1\nrw=write\nbs=1M\nsize=16M\n[c]\nstonewall\nfilename=/dev/x\ndirect=1\nrw=read\nbs=1M\nsize=16M\n"
    );
    let (one, two) = (advised(&[&format!("fio.job={job}")]), advised(&[&two]));
    let of = |run: &RunResult, column| number(run, "card-advise", "small", column);
    // The small writes move the fewest bytes a second, and the large ones take longest.
    let rates = [&one, &two].map(|run| of(run, "rate_bytes_per_s"));
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{rates:?}");
    assert!(of(&two, "latency_ns") > 10.0 * of(&one, "latency_ns"));
}

#[test]
fn what_is_wrong_is_refused_before_the_run() {
    let nand = "part=k9f1g08u0a";
    for (set, told) in [
        (&["compare=kioxia-16"][..], &["`compare`", "unknown part `kioxia-16`", "kioxia-16gb"][..]),
        (&["compare=k9f1g08u0a"], &["`compare`", "names a card that cannot be read"]),
        (&["compare=nowhere.toml"], &["`compare`", "nowhere.toml"]),
        (&[nand], &["is of kind nand", "boardlab list parts"]),
        (&["product.write=4000 B"], &["`product.write`", "no whole number of blocks"]),
        (&["product.writes=1 B/day"], &["`product.writes`", "less than 1 KiB"]),
        (&["product.writes=20 GB/s"], &["`product.writes`", "more than 864 TB a day"]),
        (&["product.level=0 %"], &["`product.level`"]),
        (&["product.places=zipf"], &["`product.places`", "random"]),
        (&["product.life=101 years"], &["`product.life`", "life.horizon"]),
        (&["product.boot=1 s"], &["product.boot"]),
        (&["product.shelf=1 h"], &["`product.shelf`", "no effect", "[reads]"]),
        (&["part.erase_time.units=2"], &["part.erase_time.units", "no effect"]),
        (&["board.cpu.clock=1 GHz"], &["board.cpu.clock", "no effect"]),
        (&["part.slc_cache.blocks=2"], &["part.slc_cache.blocks", "no effect"]),
        (&["fio.job=[a]\nfilename=/x\ndirect=1\nrw=read\nsize=1M\n"], &["writes nothing"]),
        (&["fio.job=[a]\nfilename=/x\nrw=write\nsize=1M\n"], &["page cache", "direct=1"]),
        (&["fio.file=nowhere.fio"], &["`fio.file`", "cannot be read"]),
    ] {
        let text = refusal("card-advise", set);
        assert!(told.iter().all(|word| text.contains(word)), "{set:?}: {text}");
    }
}

#[test]
fn the_same_seed_gives_the_same_advice() {
    let set = [concat!("compare=", card!("durable")), "product.life=1 year"];
    assert_eq!(advised(&set), advised(&set));
}
