//! Power-cut safety of a block-mapped layer.
//!
//! Layer: beside [`super::merge`]; the policy is [`PowerSafety`]. Recovery takes the copy of a page
//! with the highest version. A trimmed page must have no valid copy, so older ones have to be
//! voided: the block into which a unit is merged carries a [`Label`] that voids older pages of the
//! unit elsewhere, and a flush merges every unit with trimmed pages. A unit without any page left
//! is merged into a padding page.
//!
//! ```text
//!   trim  --> unit is due --- flush, or the oldest shared log is erased ---> merged, with a label
//!   data at risk in shared cells --- flush, or as above ---> log padded, or its unit merged
//! ```
//!
//! A full log that becomes a data block by a switch merge has no room for a label and needs none:
//! it holds the newest copy of every page of its unit. Source: versions and completeness in the OOB
//! bytes as in the layers that [`crate::page_map::recovery`] names; how cards do it is not
//! published: assumed.

use super::policies::Logs;
use super::{LogBlocks, NONE};
use crate::error::Error;
use crate::medium::{CellMode, Label, Medium};
use crate::page_map::power::PowerSafety;

impl<M: Medium> LogBlocks<M> {
    /// The same layer, before its first use, with power-cut safety, so that its map can be rebuilt
    /// after a power cut: see [`super::recovery`].
    ///
    /// # Panics
    /// When the layer has been used.
    #[must_use]
    pub fn power_safe(mut self, safety: PowerSafety) -> Self {
        assert_eq!(
            self.flash.version.0 + u64::from(self.flash.mapped),
            0,
            "chosen before the first use"
        );
        self.safety = Some(safety);
        self
    }

    /// The power-cut safety.
    #[must_use]
    pub const fn power_safety(&self) -> Option<PowerSafety> {
        self.safety
    }

    /// The end of the pages that a merge programs for a unit with pages from `from` to `end`.
    pub(super) fn end_of_target(&self, from: u32, end: u32) -> u32 {
        let group = self.flash.geometry.stripe().program_pages();
        let full = end.next_multiple_of(group);
        // The label needs a page, unless all pages are there.
        let label =
            self.safety.is_some() && full == from && from < self.flash.geometry.pages_per_block();
        if label { full + group } else { full }
    }

    pub(super) fn label(&mut self, block: u32, unit: u32, pages: u32) {
        if self.safety.is_some() {
            self.flash.medium.label(block, Label { unit, version: self.flash.version, pages });
        }
    }

    /// Merges a unit that has no page.
    pub(super) fn merge_nothing(&mut self, unit: u32) -> Result<(), Error> {
        let mut target = NONE;
        if self.safety.is_some() {
            target = self.take_target()?;
            self.gather(unit, 0, target, None);
            self.replace_data_block(unit, target, None);
        }
        // Shared logs may hold older copies; the label must stay until they are erased.
        if target == NONE || !matches!(self.policies.logs, Logs::Shared { .. }) {
            self.replace_data_block(unit, NONE, None);
        }
        Ok(())
    }

    /// Makes all writes and trims durable.
    pub(super) fn make_durable(&mut self) {
        let Some(safety) = self.safety else { return };
        if self.gather_due().is_err() {
            // Happens only on a device that has just become read-only: trimmed data may reappear.
            return;
        }
        let padding = safety.padding(&self.flash.geometry);
        for at in 0..self.logs.len() {
            if self.mode_of[self.logs[at].block() as usize] == CellMode::Native {
                self.fill_up(at, padding);
            }
        }
    }

    fn gather_due(&mut self) -> Result<(), Error> {
        while let Some(&unit) = self.due.first() {
            self.merge(unit, false)?;
        }
        Ok(())
    }

    /// Prepares the erase of shared log `block`: the replacements of its pages, and the labels that
    /// void them, must be durable.
    pub(super) fn make_durable_before_erase(&mut self, block: u32) -> Result<(), Error> {
        let Some(safety) = self.safety else { return Ok(()) };
        self.gather_due()?;
        let padding = safety.padding(&self.flash.geometry);
        let at_risk = |log: &super::Log| !log.frontier.next().is_multiple_of(padding);
        let native = |layer: &Self, log: &super::Log| {
            layer.mode_of[log.block() as usize] == CellMode::Native && log.block() != block
        };
        let open = self.logs.iter().filter(|log| native(self, log) && at_risk(log));
        let units: Vec<u32> = open.map(|log| log.unit).filter(|&unit| unit != NONE).collect();
        units.into_iter().try_for_each(|unit| self.merge(unit, false))?;
        for at in 0..self.logs.len() {
            if self.logs[at].unit == NONE && native(self, &self.logs[at]) {
                self.fill_up(at, padding);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::policies::LogPolicies;
    use super::*;
    use crate::contents::Contents;
    use crate::geometry::Geometry;
    use crate::medium::Version;
    use crate::page_map::power::SharedCells;
    use crate::translation::{Extent, Translation};
    use boardlab_sim::{Bytes, Instant, Seed};

    #[test]
    fn what_is_at_risk_in_an_open_log_is_safe_before_an_older_log_is_erased() {
        let part = Geometry::new(24, 16, Bytes::kib(4), 200).unwrap();
        let base = LogPolicies::shared(2);
        let policies = LogPolicies { sequential: 0, merge_when_idle: true, ..base };
        let medium = Contents::new(&part).paired(3);
        let layer = LogBlocks::new(part, policies, medium, Seed::new(1)).unwrap();
        let safety = PowerSafety { bits: 3, shared: SharedCells::Padded };
        let mut layer = layer.power_safe(safety);
        let write = |layer: &mut LogBlocks<Contents>, page| {
            layer.write(Instant::ZERO, Extent::new(page, 1)).unwrap().version
        };
        // Page 5 is in the log that is full, and again at risk in the one that is open.
        let old = write(&mut layer, 5);
        for _ in 0..17 {
            write(&mut layer, 40);
        }
        layer.flush(Instant::ZERO);
        let new = write(&mut layer, 5);
        // The background comes to empty one log before the host is back.
        assert!(layer.background(&mut 0));
        layer.flash.medium.cut_after(0);
        write(&mut layer, 6);
        let mut remains = layer.into_remains().unwrap();
        remains.medium.restart();
        let mut layer = remains.recover(Seed::new(1)).unwrap();
        let mut found = [Version(0)];
        layer.read(Instant::ZERO, Extent::new(5, 1), &mut found).unwrap();
        assert!([old, new].contains(&found[0]), "{found:?}");
    }
}
