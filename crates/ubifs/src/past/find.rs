//! Finds the commits: every right master node in the two master LEBs.
//!
//! Layer: rank 5. The newest master node is the last one of both LEBs; those before it are older. When a
//! LEB is full, all of its nodes go at once.

use super::Commit;
use crate::format::journal::CommitStart;
use crate::format::master::{Master, SIZE};
use crate::format::{Header, NodeType, check_checksum, u32_of, usize_of};
use crate::layout::{LOG_LEB, MASTER_LEB, MASTER_LEBS};
use crate::{Error, LebIndex, Lebs, Volume};
use boardlab_sim::Clock;
use std::collections::BTreeMap;

/// A master node: its LEB, its offset there, its sequence number, and what it says.
type Found = (LebIndex, u32, u64, Master);

impl<L: Lebs> Volume<L> {
    /// All commits that are named by a master node, in their order. Those with the same number are one,
    /// unless their indexes are at different places.
    pub(super) fn find_commits(&mut self, clock: &mut Clock) -> Result<Vec<Commit>, Error> {
        let mut found: Vec<Found> = Vec::new();
        for leb in MASTER_LEB.0..MASTER_LEB.0 + MASTER_LEBS {
            self.find_masters(clock, LebIndex(leb), &mut found)?;
        }
        found.sort_by_key(|&(leb, _, sqnum, _)| (sqnum, leb));
        let mut commits: BTreeMap<(u64, LebIndex, u32), Commit> = BTreeMap::new();
        for (leb, offs, sqnum, master) in found {
            let key = (master.cmt_no, master.root_lnum, master.root_offs);
            let commit = commits.entry(key).or_insert_with(|| Commit {
                number: master.cmt_no,
                places: Vec::new(),
                master: master.clone(),
                leaves_below: sqnum,
                index_below: sqnum,
            });
            commit.places.push((leb, offs, sqnum));
            commit.master = master;
        }
        let mut commits: Vec<Commit> = commits.into_values().collect();
        for commit in &mut commits {
            let start = self.commit_start(clock, commit)?.unwrap_or(u64::MAX);
            commit.leaves_below = commit.leaves_below.min(start);
        }
        commits.sort_by_key(|commit| commit.places.last().map(|place| place.2));
        Ok(commits)
    }

    fn find_masters(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        found: &mut Vec<Found>,
    ) -> Result<(), Error> {
        let mut bytes = vec![0; usize_of(self.layout.leb_size)];
        self.leb_read_unchecked(clock, leb, 0, &mut bytes)?;
        let step = usize_of(self.layout.mst_node_alsz);
        for start in (0..bytes.len().saturating_sub(SIZE - 1)).step_by(step) {
            let node = &bytes[start..start + SIZE];
            let Ok(header) = Header::parse(node) else { continue };
            if header.node_type != NodeType::Master || check_checksum(node, &header).is_err() {
                continue;
            }
            if let Ok(master) = Master::parse(node) {
                found.push((leb, u32_of(start), header.sqnum, master));
            }
        }
        Ok(())
    }

    /// The sequence number of the node that began a commit, if the log still has it: leaf nodes that
    /// were written while the commit ran belong to the next one.
    fn commit_start(&mut self, clock: &mut Clock, commit: &Commit) -> Result<Option<u64>, Error> {
        let leb = commit.master.log_lnum;
        if !(LOG_LEB..=self.layout.log_last).contains(&leb) {
            return Ok(None);
        }
        let mut bytes = [0; 32];
        self.leb_read_unchecked(clock, leb, 0, &mut bytes)?;
        let Ok(header) = Header::parse(&bytes) else { return Ok(None) };
        let right =
            header.node_type == NodeType::CommitStart && check_checksum(&bytes, &header).is_ok();
        let start = CommitStart::parse(&bytes).ok();
        let is_its = right && start.is_some_and(|start| start.cmt_no == commit.number);
        Ok(is_its.then_some(header.sqnum))
    }
}
