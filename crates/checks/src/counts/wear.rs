//! A workload that wears a flash, and how often each of its blocks was erased.
//!
//! Layer: beside all others. Main type: [`Wear`]. Function: [`rewritten`]. The deciles are those of the
//! report that nandsim prints with `rptwear` (Linux 6.1, `ns_update_wear`).

use super::line;

/// Bytes of a file at rest.
const REST: u64 = 65_536;
/// Bytes of the file that is written over and over.
const HOT: u64 = 262_144;

/// So many files at rest, then one file that is written anew so many times, with an fsync and a pause of so
/// many milliseconds each time. In the pause UBI's thread erases what it has to.
pub(super) fn rewritten(rest: u64, times: u64, pause: u64) -> String {
    let mut text = String::new();
    for file in 0..rest {
        line(&mut text, format_args!("file r{file:03} 0644"));
        line(&mut text, format_args!("write r{file:03} 0 {REST} random {file} 32768"));
    }
    text += "sync\n@count fill\n@wear fill\nfile hot 0644\n";
    for time in 0..times {
        let seed = rest + time;
        line(&mut text, format_args!("write hot 0 {HOT} random {seed} 32768\nfsync hot"));
        if pause > 0 {
            line(&mut text, format_args!("pause {pause}"));
        }
    }
    text + "@count rewrite\n@wear rewrite\n"
}

/// How often each block was erased since a workload began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wear {
    /// The name of the moment.
    pub moment: String,
    /// The erases of each block, in the order of the flash.
    pub erases: Vec<u64>,
}

impl Wear {
    /// Reads a line `wear MOMENT ERASES,...` of a record.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        Self::parse_as("wear ", line)
    }

    /// Reads a line `counters MOMENT ERASES,...` of a record: the erase counters of UBI.
    #[must_use]
    pub fn parse_counters(line: &str) -> Option<Self> {
        Self::parse_as("counters ", line)
    }

    fn parse_as(key: &str, line: &str) -> Option<Self> {
        let (moment, erases) = line.strip_prefix(key)?.split_once(' ')?;
        let erases = erases.split(',').map(|count| count.parse().ok()).collect::<Option<_>>()?;
        Some(Self { moment: moment.to_owned(), erases })
    }

    /// How often each block was erased since an earlier moment.
    ///
    /// # Panics
    /// When the flashes have different numbers of blocks, or the moment was not an earlier one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        assert_eq!(self.erases.len(), earlier.erases.len(), "blocks of the flashes");
        let erases = self.erases.iter().zip(&earlier.erases).map(|(now, before)| now - before);
        Self { moment: self.moment.clone(), erases: erases.collect() }
    }

    /// The blocks of several runs as those of one flash.
    #[must_use]
    pub fn pooled(runs: &[Self]) -> Self {
        let moment = runs.first().map_or_else(String::new, |run| run.moment.clone());
        Self { moment, erases: runs.iter().flat_map(|run| run.erases.clone()).collect() }
    }

    /// The erases of all blocks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.erases.iter().sum()
    }

    /// The erases of the least worn block.
    #[must_use]
    pub fn least(&self) -> u64 {
        self.erases.iter().copied().min().unwrap_or(0)
    }

    /// The erases of the most worn block.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.erases.iter().copied().max().unwrap_or(0)
    }

    /// Erases of a block on average.
    #[must_use]
    pub fn mean(&self) -> f64 {
        real(self.total()) / self.blocks()
    }

    /// The standard deviation of the erases of a block.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.erases.iter().map(|&erases| (real(erases) - mean).powi(2));
        (squares.sum::<f64>() / self.blocks()).sqrt()
    }

    /// How many blocks were erased less than half as often as the average: those that mostly hold data at
    /// rest.
    #[must_use]
    pub fn rested(&self) -> u64 {
        let rested = |erases: &&u64| real(**erases) < self.mean() / 2.0;
        u64::try_from(self.erases.iter().filter(rested).count()).expect("usize fits u64")
    }

    /// How many blocks are in each tenth of the range from no erase to [`Self::most`].
    #[must_use]
    pub fn deciles(&self) -> [u64; 10] {
        let most = self.most();
        let upper: [u64; 10] = std::array::from_fn(|decile| {
            let share = u64::try_from(decile).expect("one of ten") + 1;
            (most * share + 5) / 10
        });
        let mut deciles = [0; 10];
        for &erases in &self.erases {
            let decile = upper.iter().position(|&upper| erases <= upper);
            deciles[decile.expect("the last tenth ends with the most worn block")] += 1;
        }
        deciles
    }

    /// How far two distributions are apart: the mean difference between blocks of the same rank, in erases.
    ///
    /// # Panics
    /// When the flashes have different numbers of blocks.
    #[must_use]
    pub fn distance(&self, other: &Self) -> f64 {
        assert_eq!(self.erases.len(), other.erases.len(), "blocks of the flashes");
        let (ours, theirs) = (self.sorted(), other.sorted());
        let apart = ours.iter().zip(&theirs).map(|(one, other)| one.abs_diff(*other));
        real(apart.sum()) / self.blocks()
    }

    fn sorted(&self) -> Vec<u64> {
        let mut erases = self.erases.clone();
        erases.sort_unstable();
        erases
    }

    fn blocks(&self) -> f64 {
        real(u64::try_from(self.erases.len()).expect("usize fits u64"))
    }
}

/// A count as a real number; all are far below the 2^32 up to which that is exact here.
fn real(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("a count of erases"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_wear_is_read_and_another_line_is_not() {
        let wear = Wear::parse("wear rewrite 0,0,12,20").unwrap();
        assert_eq!((wear.moment.as_str(), wear.total()), ("rewrite", 32));
        assert_eq!((wear.least(), wear.most(), wear.rested()), (0, 20, 2));
        assert!((wear.mean() - 8.0).abs() < 1e-9);
        assert!((wear.deviation() - 72_f64.sqrt()).abs() < 1e-9);
        assert_eq!(Wear::parse("wear rewrite 0,x"), None);
        assert_eq!(Wear::parse("counters rewrite 0,0,12,20"), None);
        assert_eq!(Wear::parse_counters("counters rewrite 0,0,12,20"), Some(wear));
        assert_eq!(Wear::parse("mount page_reads=7"), None);
    }

    #[test]
    fn deciles_are_those_of_nandsims_report() {
        let wear = Wear::parse("wear w 0,2,3,9,10,20").unwrap();
        assert_eq!(wear.deciles(), [2, 1, 0, 0, 2, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn runs_are_pooled_and_moments_are_subtracted() {
        let (first, then) =
            (Wear::parse("wear a 0,1").unwrap(), Wear::parse("wear b 3,5").unwrap());
        assert_eq!(then.since(&first).erases, [3, 4]);
        assert_eq!(Wear::pooled(&[first, then]).erases, [0, 1, 3, 5]);
    }

    #[test]
    fn the_distance_does_not_depend_on_the_order_of_the_blocks() {
        let wear = |text: &str| Wear::parse(text).unwrap();
        assert!(wear("wear w 1,2,3,10").distance(&wear("wear w 10,3,2,1")) < 1e-9);
        assert!((wear("wear w 1,2,3,10").distance(&wear("wear w 0,2,3,13")) - 1.0).abs() < 1e-9);
    }
}
