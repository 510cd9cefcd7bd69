//! UBIFS on UBI under power cuts: every operation on the flash, every outcome, and cuts in the
//! recovery; and UBIFS with mistakes, each of which must be found.

use crate::powercut_plans::{self, plan, runs};
use boardlab_mtd::{RamMtd, Tear};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{NewVolume, Ubi, Volume};
use boardlab_ubifs::{Mistake, Options, Ubifs};
use boardlab_vfs::{
    Attributes, Caching, Contradiction, Entry, Error, FileSystem, Ino, NewInode, PageWrite,
    SetAttr, StatFs,
};
use boardlab_workload::powercut::{
    Bench, ForkingFlash, Matrix, MountFailure, Plan, Sampling, explore,
};
use std::ops::Range;

/// UBIFS without a page cache: every page is reserved and written at once, and inodes are written when
/// they are made durable.
struct Through<F> {
    fs: F,
    dirty: Vec<Ino>,
}

impl<F: FileSystem> Through<F> {
    /// Calls the filesystem until it needs no write-back: no page is dirty.
    fn ask<T>(
        &mut self,
        clock: &mut Clock,
        mut call: impl FnMut(&mut F, &mut Clock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        loop {
            let answer = call(&mut self.fs, clock);
            self.dirty.extend(self.fs.take_dirtied());
            match answer {
                Err(Error::NeedsWriteBack { .. }) => self.write_inodes(clock)?,
                answer => return answer,
            }
        }
    }

    fn write_inodes(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for ino in std::mem::take(&mut self.dirty) {
            self.fs.write_inode(clock, ino)?;
        }
        Ok(())
    }
}

impl<F: FileSystem> FileSystem for Through<F> {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }

    fn root(&self) -> Ino {
        self.fs.root()
    }

    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        self.ask(clock, |fs, clock| fs.lookup(clock, dir, name))
    }

    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        self.ask(clock, |fs, clock| fs.getattr(clock, ino))
    }

    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        let size = self.fs.getattr(clock, ino)?.size;
        if let Some(shorter) = change.size.filter(|&new| new < size) {
            self.ask(clock, |fs, clock| fs.begin_truncation(clock, ino, shorter))?;
        }
        self.ask(clock, |fs, clock| fs.setattr(clock, ino, change))
    }

    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        self.ask(clock, |fs, clock| fs.create(clock, dir, name, new))
    }

    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.link(clock, ino, dir, name))
    }

    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.unlink(clock, dir, name))
    }

    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.rmdir(clock, dir, name))
    }

    fn rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.rename(clock, old_dir, old_name, new_dir, new_name))
    }

    fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        self.ask(clock, |fs, clock| fs.readdir(clock, dir))
    }

    fn readlink(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        self.ask(clock, |fs, clock| fs.readlink(clock, ino))
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.fs.read_page(clock, ino, page, buffer)
    }

    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        let before = self.fs.getattr(clock, ino)?.size;
        let end = page * 4_096 + u64::try_from(changed.end).unwrap();
        let write = PageWrite {
            page,
            size_before: before,
            size_after: before.max(end),
            uptodate: true,
            dirty: false,
            whole: changed == (0..4_096),
        };
        self.ask(clock, |fs, clock| fs.begin_write(clock, ino))?;
        let mut old = vec![0; 4_096];
        self.fs.read_page_to_change(clock, ino, page, &mut old)?;
        self.ask(clock, |fs, clock| fs.reserve_page(clock, ino, &write))?;
        self.fs.page_dirtied(clock, ino, &write);
        self.ask(clock, |fs, clock| fs.write_page(clock, ino, page, content, changed.clone()))
    }

    fn getxattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        self.ask(clock, |fs, clock| fs.getxattr(clock, ino, name))
    }

    fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.setxattr(clock, ino, name, value))
    }

    fn listxattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        self.ask(clock, |fs, clock| fs.listxattr(clock, ino))
    }

    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.fs.write_inode(clock, ino)?;
        self.ask(clock, |fs, clock| fs.fsync(clock, ino))
    }

    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.write_inodes(clock)?;
        self.ask(clock, FileSystem::sync)
    }

    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.dirty.retain(|&other| other != ino);
        self.ask(clock, |fs, clock| fs.evict_inode(clock, ino))
    }

    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        self.ask(clock, FileSystem::background)
    }

    fn statfs(&mut self, clock: &mut Clock) -> Result<StatFs, Error> {
        self.ask(clock, FileSystem::statfs)
    }

    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.write_inodes(clock)?;
        self.ask(clock, FileSystem::unmount)
    }

    fn check_tables(&self) -> Result<(), Contradiction> {
        self.fs.check_tables()
    }
}

/// UBIFS on UBI on forks of one device.
struct OnFlash<M> {
    flash: M,
    lebs: u32,
    options: Options,
}

impl<M: Tear + Send + Sync + 'static> Bench for OnFlash<M> {
    type Flash = M;

    fn flash(&self) -> M {
        self.flash.clone()
    }

    fn mount(
        &self,
        clock: &mut Clock,
        flash: ForkingFlash<M>,
    ) -> Result<Box<dyn FileSystem>, MountFailure> {
        let mut ubi = Ubi::attach(clock, flash, &boardlab_ubi::Options::default())?;
        if ubi.volumes().is_empty() {
            let size = Bytes::new(u64::from(self.lebs) * u64::from(ubi.layout().leb_size));
            ubi.create_volume(clock, &NewVolume::dynamic("root", size))?;
        }
        let volume: Volume<ForkingFlash<M>> = ubi.into_volume(clock, 0)?;
        let fs = Ubifs::mount(clock, volume, self.options.clone())?;
        Ok(Box::new(Through { fs, dirty: Vec::new() }))
    }
}

fn nand() -> RamMtd {
    RamMtd::nand(80, 64, Bytes::new(512), Bytes::new(16))
}

fn nor() -> RamMtd {
    RamMtd::nor(60, Bytes::kib(32))
}

fn explored<M: Tear + Send + Sync + 'static>(
    flash: M,
    plan: &Plan,
    mistake: Option<Mistake>,
) -> Matrix {
    let bench = OnFlash { flash, lebs: 50, options: Options { mistake, ..Options::default() } };
    explore(&bench, plan, &|_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn assert_nothing_lost(matrix: &Matrix, plan: &Plan) {
    powercut_plans::assert_nothing_lost(matrix, plan);
    assert!(matrix.second_cuts() > 20, "{matrix:?}");
}

#[test]
fn nothing_is_lost_at_any_cut_on_nand() {
    for plan in runs(800, plan) {
        assert_nothing_lost(&explored(nand(), &plan, None), &plan);
    }
}

#[test]
fn nothing_is_lost_at_any_cut_on_nor() {
    for plan in runs(800, plan) {
        assert_nothing_lost(&explored(nor(), &plan, None), &plan);
    }
}

fn assert_found(mistake: Mistake) {
    let plan = Plan { first: Sampling { exhaustive: 0, one_in: 4 }, ..plan(7, 2_500) };
    let matrix = explored(nand(), &plan, Some(mistake));
    assert!(matrix.failed() > 0, "{mistake:?} was not found in {} cuts", matrix.cuts());
}

#[test]
fn a_replay_in_the_wrong_order_is_found() {
    assert_found(Mistake::ReplaysInWrongOrder);
}

#[test]
fn torn_groups_that_are_replayed_are_found() {
    assert_found(Mistake::ReplaysTornGroups);
}

#[test]
fn sizes_that_are_not_corrected_are_found() {
    assert_found(Mistake::KeepsSizes);
}
