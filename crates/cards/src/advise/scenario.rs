//! The scenario of an advice: the cards, the board, and the product with its limits.
//!
//! Layer: rank 10. Main types: [`Scenario`], [`Product`]; function: [`read`].

use crate::fio::scenario::{self as fio, Jobs};
use crate::life::scenario::{A_DAY, BLOCK, DAY, LARGEST, LEAST};
use crate::life::scenario::{Days, Life, Pattern, Places, days, whole_blocks};
use crate::others::{NamedCard, others, short};
use boardlab_document::quantity::Ratio;
use boardlab_document::{Read, Section, section};
use boardlab_parts::card::board::{self, Host};
use boardlab_parts::card::{part, unused};
use boardlab_parts::managed::unused::by_choice;
use boardlab_result::prose::real;
use boardlab_sim::{Bytes, Duration, Rate};

/// The least that is written in a day.
const LITTLE: Bytes = Bytes::kib(1);
/// Keys of products with filesystems on bare flash.
const OF_FILESYSTEMS: [&str; 6] = ["boot", "ram", "mainline", "power_cuts", "file", "data"];
/// The name of a card that is written in place.
const NAMELESS: &str = "part";

/// A scenario, checked.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// The cards, that of the scenario first.
    pub cards: Vec<NamedCard>,
    /// The host with their slot.
    pub host: Host,
    /// What the card is for.
    pub product: Product,
    /// The jobs.
    pub jobs: Jobs,
    /// How lives are computed.
    pub life: Life,
}

section! {
    /// A product: what it stores and writes, and its limits. A limit that is left out is none.
    #[derive(Debug, Clone)]
    pub(crate) struct Product(section, horizon: Duration) {
        /// The share of the scenario's card that holds data; other cards hold as many bytes.
        pub level: Ratio => within(LEAST, Ratio::WHOLE),
        /// What is written a day.
        pub writes: Rate,
        /// Bytes of one writing.
        pub write: Bytes => within(BLOCK, LARGEST),
        /// Where it goes.
        pub places: Places => one_of(PLACES),
        /// The conditions of its days.
        pub days: Days = days(&section),
        /// How long the card has to last.
        pub life: Option<Duration>,
        /// The least capacity.
        pub room: Option<Bytes>,
        /// The least rate of the writes of the slowest job.
        pub throughput: Option<Rate>,
        /// The longest that 99 % of its writes may take.
        pub latency: Option<Duration>,
    }
    check(writes, write, life) {
        if life.is_some_and(|least| least > horizon) {
            let expected = "at most life.horizon";
            let help = "lives are simulated up to there: set life.horizon to a longer time";
            return Err(section.refuse("life", "is longer than any life", expected, help));
        }
        whole_blocks(&section, "write", *write)?;
        let a_day = writes.bytes_per_second() * DAY.as_secs_f64();
        if !(real(LITTLE)..=real(A_DAY)).contains(&a_day) {
            let problem = "is more than 864 TB a day, or less than 1 KiB";
            return Err(section.refuse("writes", problem, "a rate like \"2 GB/day\"", "other units: MB/s, GB/h"));
        }
    }
}

const PLACES: [(&str, Places); 2] =
    [("sequential", Places::Sequential), ("random", Places::Random)];

impl Product {
    /// Bytes that are written a day.
    pub(super) fn a_day(&self) -> f64 {
        self.writes.bytes_per_second() * DAY.as_secs_f64()
    }
}

impl Scenario {
    /// Bytes of data that every card holds.
    pub(super) fn data(&self) -> Bytes {
        self.product.level.of(self.cards[0].part.face.capacity)
    }

    /// Bytes of a card that are written before the jobs: its data, and what was written once and never given up.
    pub(super) fn filled(&self, capacity: Bytes) -> Bytes {
        if self.product.days.stale { capacity } else { self.data() }
    }

    /// The writes of the product on a card of this capacity, which holds the data.
    pub(super) fn pattern(&self, capacity: Bytes) -> Pattern {
        let share = u128::from(self.data().get()) * 1_000_000 / u128::from(capacity.get().max(1));
        let used = Ratio::from_millionths(u64::try_from(share).unwrap_or(u64::MAX));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let bytes_a_day = Bytes::new(self.product.a_day() as u64);
        let Product { places, write: request, .. } = self.product;
        let trim = Ratio::default();
        Pattern { bytes_a_day, places, request, used: used.max(LEAST), trim }
    }
}

/// Reads a whole scenario, its part and board mounted in place of their names.
pub(super) fn read(section: &Section<'_>) -> Read<Scenario> {
    let title = section.required::<String>("title");
    let experiment = section.required::<String>("experiment");
    let part = section.section("part", part::read);
    let host = section.section("board", board::read);
    let life = section.section("life", Life::read);
    let horizon = life.as_ref().map_or(Duration::MAX, |life| life.horizon);
    let product = section.section("product", |product| {
        without_filesystem(&product)?;
        Product::read(product, horizon)
    });
    let jobs = section.section("fio", |section| fio::jobs(&section));
    let compare = section.required::<String>("compare");
    section.finish()?;
    title.and(experiment)?;
    let (part, host, product, life) = (part?, host?, product?, life?);
    unused::described(section, "part")?;
    unused::around(section, &part)?;
    by_choice(section, "part", &part.managed, &|_| false)?;
    let name = section.file_of("part").map_or_else(|| NAMELESS.into(), short);
    let mut cards = vec![NamedCard { name, part }];
    for other in compared(section, &compare?, &host)? {
        if cards.iter().all(|card| card.name != other.name) {
            cards.push(other);
        }
    }
    unasked(section, &cards)?;
    Ok(Scenario { cards, host, product, jobs: jobs?, life })
}

/// Refuses what the product asks of a filesystem on bare flash.
fn without_filesystem(section: &Section<'_>) -> Read<()> {
    let Some(key) = section.keys().find(|key| OF_FILESYSTEMS.contains(key)) else { return Ok(()) };
    section.leave_rest();
    let problem =
        "is about a filesystem, and none is compared on a card, whose controller hides the flash";
    let expected = "limits on life, room, throughput and latency";
    Err(section.refuse(key, problem, expected, "leave it out, or name a part of bare flash"))
}

/// The cards that are ranked beside that of the scenario.
fn compared(section: &Section<'_>, names: &str, host: &Host) -> Read<Vec<NamedCard>> {
    others(names, section.folder_of("compare"), host).map_err(|error| {
        let message = error.message();
        let problem = format!("names a card that cannot be read: {}", message.title);
        let expected = "cards of `boardlab list parts sd emmc`, paths of part files, all or none";
        section.refuse("compare", &problem, expected, &message.help)
    })
}

/// Refuses values of `--set` on which nothing depends that is computed of these cards.
fn unasked(section: &Section<'_>, cards: &[NamedCard]) -> Read<()> {
    let read = ["part.allocation_unit", "part.controller.erased"];
    let help = "`boardlab run card-fio` shows what a host reads of a card";
    section.idle_each(read, "here: only a host that reads it would see it", help)?;
    if cards.iter().all(|card| card.part.managed.reads.is_none()) {
        let keys = ["reads_a_day", "powered", "shelf"].map(|key| format!("product.{key}"));
        let help = "no data of them fade; give a card [reads]";
        section.idle_each(keys, "on cards without part.reads", help)?;
    }
    Ok(())
}
