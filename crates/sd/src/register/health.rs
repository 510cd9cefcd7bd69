//! The health report of a card: the answer to CMD56.
//!
//! Layer: registers. Main types: [`Health`], the health as the model knows it; [`HealthFormat`],
//! the manufacturer's format. CMD56 is the specification's general command; each manufacturer
//! defines the meaning of the 512 bytes.
//!
//! Source: the layouts that sdmon (Ognian Tschakalov) reads, by byte number: industrial cards of
//! Apacer and Kingston (argument 0x21 after a write with 0x10), of SanDisk and Western Digital
//! (argument 1, signature `DS`). Left out: Micron's, Swissbit's and Longsys' layouts.

/// The health of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Health {
    /// Erases of all managed blocks.
    pub total_erases: u64,
    /// Blocks in use.
    pub blocks: u32,
    /// Erases of the least worn block.
    pub least: u32,
    /// Erases of the most worn block.
    pub most: u32,
    /// The P/E cycles that a block is rated for.
    pub rated: u32,
    /// Factory bad blocks.
    pub factory_bad: u32,
    /// Grown bad blocks.
    pub grown_bad: u32,
    /// Blocks that may still replace a bad one.
    pub spare: u32,
    /// Power-ups.
    pub power_ups: u32,
    /// Unannounced power losses.
    pub power_losses: u32,
    /// Blocks refreshed because their data aged.
    pub refreshes: u32,
}

impl Health {
    /// The initially good blocks, to which all erases belong.
    fn once_good(&self) -> u64 {
        (u64::from(self.blocks) + u64::from(self.grown_bad)).max(1)
    }

    /// Mean erases of a block, rounded down.
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.total_erases / self.once_good()
    }

    /// The life used in hundredths of a percent, at most 10,000; zero without a rating.
    #[must_use]
    pub fn used(&self) -> u16 {
        if self.rated == 0 {
            return 0;
        }
        let rated = u128::from(self.rated) * u128::from(self.once_good());
        let used = u128::from(self.total_erases) * 10_000 / rated;
        u16::try_from(used.min(10_000)).unwrap_or(10_000)
    }
}

/// The manufacturer's format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HealthFormat {
    /// Apacer, Kingston: counts of erases and of blocks.
    Apacer,
    /// SanDisk, Western Digital: percent used, and little more.
    SanDisk,
}

impl HealthFormat {
    /// The argument of the reading CMD56.
    #[must_use]
    pub const fn argument(self) -> u32 {
        match self {
            Self::Apacer => 0x21,
            Self::SanDisk => 0x01,
        }
    }

    /// The 512 bytes. Counts that do not fit into their field stop at its largest value.
    #[must_use]
    pub fn bytes(self, health: &Health) -> [u8; 512] {
        match self {
            Self::Apacer => apacer(health),
            Self::SanDisk => san_disk(health),
        }
    }
}

fn short(value: u32) -> [u8; 2] {
    u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes()
}

fn apacer(health: &Health) -> [u8; 512] {
    let mut bytes = [0; 512];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(16, &short(health.spare));
    // Bad blocks are counted in a byte for each of up to 32 dies; here all are on the first ones.
    let per_die = |count: u32| {
        (0..32)
            .map(move |die| u8::try_from(count.saturating_sub(die * 255).min(255)).unwrap_or(255))
    };
    put(32, &per_die(health.factory_bad).collect::<Vec<_>>());
    put(184, &per_die(health.grown_bad).collect::<Vec<_>>());
    let all =
        u64::from(health.blocks) + u64::from(health.factory_bad) + u64::from(health.grown_bad);
    let good = u64::from(health.blocks) * 10_000 / all.max(1);
    put(64, &short(u32::try_from(good).unwrap_or(10_000)));
    put(80, &u32::try_from(health.total_erases).unwrap_or(u32::MAX).to_be_bytes());
    put(96, &(10_000 - health.used()).to_be_bytes());
    // The mean, least and most: low halves together, high halves together.
    let mean = u32::try_from(health.mean()).unwrap_or(u32::MAX);
    for (index, count) in [mean, health.least, health.most].into_iter().enumerate() {
        let [high, middle, low, lowest] = count.to_be_bytes();
        put(98 + 2 * index, &[low, lowest]);
        put(104 + 2 * index, &[high, middle]);
    }
    put(112, &health.power_ups.to_be_bytes());
    put(128, &short(health.power_losses));
    put(160, &short(health.refreshes));
    bytes
}

fn san_disk(health: &Health) -> [u8; 512] {
    let mut bytes = [0; 512];
    bytes[..8].copy_from_slice(b"DS200101");
    // 1 stands for up to 0.99 %, 100 for up to 99.99 %; beyond, the card may turn read-only.
    bytes[8] = u8::try_from(health.used() / 100 + 1).unwrap_or(101);
    bytes[11] = 0x1F;
    bytes[14] = 5;
    let [_, high, middle, low] = health.power_ups.min(0xFF_FFFF).to_be_bytes();
    bytes[24..27].copy_from_slice(&[high, middle, low]);
    bytes[49..81].fill(b' ');
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Health, HealthFormat};

    /// An industrial card of 32 GB as its owner reported it: mean 13,590, least 3, most 13,665.
    const CARD: Health = Health {
        total_erases: 13_590 * 1_016,
        blocks: 1_016,
        least: 3,
        most: 13_665,
        rated: 30_000,
        factory_bad: 77,
        grown_bad: 0,
        spare: 45,
        power_ups: 55,
        power_losses: 2,
        refreshes: 0,
    };

    fn word(bytes: &[u8; 512], high: usize, low: usize) -> u32 {
        u32::from_be_bytes([bytes[high], bytes[high + 1], bytes[low], bytes[low + 1]])
    }

    #[test]
    fn erase_counts_stand_where_sdmon_reads_them() {
        let bytes = HealthFormat::Apacer.bytes(&CARD);
        let counts = [word(&bytes, 104, 98), word(&bytes, 106, 100), word(&bytes, 108, 102)];
        assert_eq!(counts, [13_590, 3, 13_665]);
        assert_eq!(u16::from_be_bytes([bytes[16], bytes[17]]), 45);
        assert_eq!(bytes[32..64].iter().map(|&b| u32::from(b)).sum::<u32>(), 77);
        assert_eq!(u16::from_be_bytes([bytes[96], bytes[97]]), 5_470, "54.70 % are left");
    }

    #[test]
    fn percent_used_begins_at_one_and_stops_beyond_a_hundred() {
        let used = |total_erases| HealthFormat::SanDisk.bytes(&Health { total_erases, ..CARD })[8];
        let life = 30_000 * 1_016;
        assert_eq!([0, life / 100 - 1, life / 100, life - 1].map(used), [1, 1, 2, 100]);
        assert_eq!([life, life * 5, u64::MAX].map(used), [101, 101, 101]);
    }

    #[test]
    fn a_card_beyond_its_life_has_none_left_and_not_less() {
        let worn = Health { total_erases: u64::MAX, ..CARD };
        let bytes = HealthFormat::Apacer.bytes(&worn);
        assert_eq!(bytes[96..98], [0, 0]);
    }
}
