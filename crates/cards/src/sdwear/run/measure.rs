//! The figures of a card: wear, rates of iterations, samples of rewrites.
//!
//! Layer: rank 10, plain data and its arithmetic. Main types: [`WearFigures`], [`Sample`], [`Rates`].
//! The Gini coefficient of erase counts is 0 if all blocks are equally worn, and approaches 1 if one
//! has all erases.

use boardlab_ftl::Wear;
use boardlab_result::prose::float;
use boardlab_sim::Duration;

/// The distribution of wear over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct WearFigures {
    /// Erases of the least worn block.
    pub least: u32,
    /// Mean erases.
    pub mean: f64,
    /// Erases of the most worn block.
    pub most: u32,
    /// The endurance that the most worn block has used, in ordinary cycles: less than its erases in SLC
    /// mode.
    pub used: u32,
    /// Standard deviation over mean.
    pub variation: f64,
    /// Gini coefficient.
    pub gini: f64,
}

impl WearFigures {
    /// The figures of all blocks.
    pub(crate) fn of(wear: &Wear) -> Self {
        let mut erases = wear.erases.clone();
        erases.sort_unstable();
        let summary = wear.summary();
        let blocks = float(summary.blocks.max(1));
        let total = float(summary.total);
        let mean = total / blocks;
        if summary.total == 0 {
            return Self::default();
        }
        let variance = (float(summary.squares) / blocks - mean * mean).max(0.0);
        let ranked: f64 =
            erases.iter().zip(1_u64..).map(|(&count, rank)| f64::from(count) * float(rank)).sum();
        Self {
            least: summary.least,
            mean,
            most: summary.most,
            used: wear.worn.iter().copied().max().unwrap_or(0),
            variation: variance.sqrt() / mean,
            gini: 2.0 * ranked / (blocks * total) - (blocks + 1.0) / blocks,
        }
    }

    /// The most worn block over the mean.
    pub(crate) fn most_over_mean(&self) -> f64 {
        if self.mean > 0.0 { f64::from(self.most) / self.mean } else { 0.0 }
    }
}

/// Least, mean and greatest of some rates, in bytes a second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Rates {
    /// The least.
    pub least: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub most: f64,
}

impl Rates {
    /// The figures of `rates`; zeros if there are none.
    pub(crate) fn of(rates: &[f64]) -> Self {
        if rates.is_empty() {
            return Self::default();
        }
        Self {
            least: rates.iter().copied().fold(f64::MAX, f64::min),
            mean: rates.iter().sum::<f64>() / float(rates.len()),
            most: rates.iter().copied().fold(f64::MIN, f64::max),
        }
    }
}

/// One write of the host, and the work of the card during it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The bytes written.
    pub bytes: u64,
    /// Its time.
    pub span: Duration,
    /// The cause of its time: work of the translation layer, or the kind of cells that took the data.
    pub cause: &'static str,
    /// Pages programmed besides the host's data.
    pub moved: u32,
    /// Blocks erased.
    pub erases: u32,
}

impl Sample {
    /// Bytes a second.
    pub(crate) fn rate(&self) -> f64 {
        float(self.bytes) / self.span.as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(erases: &[u32]) -> WearFigures {
        WearFigures::of(&Wear {
            erases: erases.to_vec(),
            worn: erases.to_vec(),
            slc_blocks: 0,
            retired: 0,
            factory_bad: 0,
            spare_blocks: 0,
            read_only: false,
            unreadable: 0,
        })
    }

    #[test]
    fn the_spread_of_wear_is_told_in_four_ways() {
        let equal = figures(&[7; 10]);
        assert_eq!((equal.least, equal.most, equal.variation), (7, 7, 0.0));
        assert!(equal.gini.abs() < 1e-12 && (equal.most_over_mean() - 1.0).abs() < 1e-12);
        let one = figures(&[0, 0, 0, 8]);
        assert!((one.mean - 2.0).abs() < 1e-12);
        // Of n blocks one that bears everything has a coefficient of (n - 1) / n.
        assert!((one.gini - 0.75).abs() < 1e-12);
        assert!((one.variation - 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(figures(&[0, 0]), WearFigures::default());
    }

    #[test]
    fn a_rate_is_bytes_over_time() {
        let sample = Sample {
            bytes: 4 << 20,
            span: Duration::from_millis(500),
            cause: "host",
            moved: 0,
            erases: 0,
        };
        assert!((sample.rate() - 8_388_608.0).abs() < 1e-6);
        let rates = Rates::of(&[1.0, 2.0, 6.0]);
        assert!((rates.least, rates.mean, rates.most) == (1.0, 3.0, 6.0));
    }
}
