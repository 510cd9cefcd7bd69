//! The exploration of power cuts, tried on a toy: a log of operations that is replayed at mount.
//!
//! The toy keeps its operations beside the flash, which holds one record for each: its number and a
//! check sum. It is right in one build and wrong in one way in each of the others; the exploration must
//! pass the first and find the others.

use boardlab_mtd::{Mtd, RamMtd, TearOutcome};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{
    Caching, Contradiction, Error, FileSystem, Ino, Kind, MemoryFs, NewInode, SetAttr, pass_on,
};
use boardlab_workload::powercut::{
    Bench, Failure, ForkingFlash, Loss, Matrix, MountFailure, Plan, Sampling, explore,
};
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex};

/// How the toy is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Build {
    Right,
    /// Records stay in memory until there are four, whatever a sync asks for.
    SyncDoesNothing,
    /// A record is believed without its check sum.
    NoCheckSum,
    /// A torn record ends the mount.
    StopsAtTorn,
    /// A write is first recorded as one of another page.
    WritesElsewhereFirst,
    /// After a mount the next record goes over the last one.
    OverwritesTheLast,
    /// A mount shows one operation more than there are records, and makes no record of it.
    ShowsWhatItDoesNotKeep,
    /// A mount that meets a torn record leaves tables in memory that do not fit together.
    ConfusedByTorn,
}

#[derive(Debug, Clone)]
enum Op {
    Create { dir: Ino, name: Vec<u8>, kind: Kind, owner: (u32, u32, u32), target: Vec<u8> },
    Link(Ino, Ino, Vec<u8>),
    Unlink(Ino, Vec<u8>),
    RemoveDir(Ino, Vec<u8>),
    Rename((Ino, Vec<u8>), (Ino, Vec<u8>)),
    Set(Ino, SetAttr),
    Write { ino: Ino, page: u64, content: Vec<u8>, changed: Range<usize> },
    Xattr(Ino, Vec<u8>, Option<Vec<u8>>),
    Forget(Ino),
}

impl Op {
    fn apply(&self, fs: &mut MemoryFs) -> Result<Ino, Error> {
        let clock = &mut Clock::new();
        let done = match self {
            Self::Create { dir, name, kind, owner: (mode, uid, gid), target } => {
                let new = NewInode { kind: *kind, mode: *mode, uid: *uid, gid: *gid, target };
                return fs.create(clock, *dir, name, &new);
            }
            Self::Link(ino, dir, name) => fs.link(clock, *ino, *dir, name),
            Self::Unlink(dir, name) => fs.unlink(clock, *dir, name),
            Self::RemoveDir(dir, name) => fs.rmdir(clock, *dir, name),
            Self::Rename(from, to) => fs.rename(clock, from.0, &from.1, to.0, &to.1),
            Self::Set(ino, change) => fs.setattr(clock, *ino, change),
            Self::Write { ino, page, content, changed } => {
                fs.write_page(clock, *ino, *page, content, changed.clone())
            }
            Self::Xattr(ino, name, value) => fs.setxattr(clock, *ino, name, value.as_deref()),
            Self::Forget(ino) => fs.evict_inode(clock, *ino),
        };
        done.map(|()| fs.root())
    }
}

const RECORD: u64 = 16;

fn record(number: usize) -> [u8; 16] {
    let number = u64::try_from(number).unwrap();
    let sum = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5555;
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

struct Toy {
    build: Build,
    flash: ForkingFlash<RamMtd>,
    ops: Arc<Mutex<Vec<Op>>>,
    memory: MemoryFs,
    end: u64,
    waiting: Vec<[u8; 16]>,
    /// Whether the mount met a torn record.
    torn: bool,
}

impl Toy {
    fn mount(
        clock: &mut Clock,
        mut flash: ForkingFlash<RamMtd>,
        (build, ops): (Build, Arc<Mutex<Vec<Op>>>),
    ) -> Result<Self, MountFailure> {
        let (mut memory, mut end, mut last, mut torn) = (MemoryFs::new(), 0, None, false);
        let mut bytes = [0; 16];
        while end + RECORD <= flash.geometry().size().get() {
            flash.read(clock, Bytes::new(end), &mut bytes)?;
            if bytes == [0xFF; 16] {
                break;
            }
            end += RECORD;
            let number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            let known = {
                let ops = ops.lock().unwrap();
                // Whatever is torn in a number without a sum, it is believed.
                let believed = if build == Build::NoCheckSum { number % ops.len() } else { number };
                ops.get(believed).cloned()
            };
            if build != Build::NoCheckSum && bytes != record(number) {
                if build == Build::StopsAtTorn {
                    return Err("a torn record".into());
                }
                torn = true;
                continue;
            }
            let Some(op) = known else { continue };
            last = Some(number);
            let _ = op.apply(&mut memory);
        }
        if build == Build::ShowsWhatItDoesNotKeep
            && let Some(op) = last.and_then(|last| ops.lock().unwrap().get(last + 1).cloned())
        {
            let _ = op.apply(&mut memory);
        }
        if build == Build::OverwritesTheLast && end > 0 {
            end -= RECORD;
        }
        Ok(Self { build, flash, ops, memory, end, waiting: Vec::new(), torn })
    }

    fn act(&mut self, clock: &mut Clock, op: Op) -> Result<Ino, Error> {
        if let (Build::WritesElsewhereFirst, Op::Write { ino, page, content, changed }) =
            (self.build, &op)
        {
            let (ino, page, content) = (*ino, page ^ 1, content.clone());
            self.put(clock, Op::Write { ino, page, content, changed: changed.clone() })?;
        }
        let done = op.apply(&mut self.memory)?;
        self.put(clock, op)?;
        Ok(done)
    }

    fn put(&mut self, clock: &mut Clock, op: Op) -> Result<(), Error> {
        let mut ops = self.ops.lock().unwrap();
        self.waiting.push(record(ops.len()));
        ops.push(op);
        if self.build == Build::SyncDoesNothing && self.waiting.len() < 4 {
            return Ok(());
        }
        for bytes in self.waiting.drain(..) {
            self.flash.program(clock, Bytes::new(self.end), &bytes).map_err(Error::damaged)?;
            self.end += RECORD;
        }
        Ok(())
    }
}

macro_rules! memory {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.memory.$call($($argument),*) };
}

impl FileSystem for Toy {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }
    fn setattr(&mut self, clock: &mut Clock, ino: Ino, to: &SetAttr) -> Result<(), Error> {
        self.act(clock, Op::Set(ino, *to)).map(|_| ())
    }
    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        let (owner, target) = ((new.mode, new.uid, new.gid), new.target.to_vec());
        self.act(clock, Op::Create { dir, name: name.to_vec(), kind: new.kind, owner, target })
    }
    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.act(clock, Op::Link(ino, dir, name.to_vec())).map(|_| ())
    }
    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.act(clock, Op::Unlink(dir, name.to_vec())).map(|_| ())
    }
    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.act(clock, Op::RemoveDir(dir, name.to_vec())).map(|_| ())
    }
    fn rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Result<(), Error> {
        let op = Op::Rename((old_dir, old_name.to_vec()), (new_dir, new_name.to_vec()));
        self.act(clock, op).map(|_| ())
    }
    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        self.act(clock, Op::Write { ino, page, content: content.to_vec(), changed }).map(|_| ())
    }
    fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        let op = Op::Xattr(ino, name.to_vec(), value.map(<[u8]>::to_vec));
        self.act(clock, op).map(|_| ())
    }
    fn fsync(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<(), Error> {
        Ok(())
    }
    fn sync(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        Ok(())
    }
    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.act(clock, Op::Forget(ino)).map(|_| ())
    }
    fn background(&mut self, _clock: &mut Clock) -> Result<bool, Error> {
        Ok(false)
    }
    fn unmount(&mut self, _clock: &mut Clock) -> Result<(), Error> {
        Ok(())
    }
    fn check_tables(&self) -> Result<(), Contradiction> {
        if self.torn && self.build == Build::ConfusedByTorn {
            return Err(Contradiction("two records and one number".into()));
        }
        Ok(())
    }

    pass_on! { memory:
        root lookup getattr readdir readlink read_page getxattr listxattr statfs
    }
}

struct ToyBench {
    build: Build,
    ops: Arc<Mutex<Vec<Op>>>,
}

impl Bench for ToyBench {
    type Flash = RamMtd;

    fn flash(&self) -> RamMtd {
        RamMtd::nor(64, Bytes::kib(4))
    }

    fn mount(
        &self,
        clock: &mut Clock,
        flash: ForkingFlash<RamMtd>,
    ) -> Result<Box<dyn FileSystem>, MountFailure> {
        Ok(Box::new(Toy::mount(clock, flash, (self.build, Arc::clone(&self.ops)))?))
    }
}

fn explored(build: Build) -> Matrix {
    let bench = ToyBench { build, ops: Arc::default() };
    let plan = Plan {
        seed: Seed::new(3),
        operations: 400,
        first: Sampling { exhaustive: 300, one_in: 2 },
        second_one_in: 10,
        second: Sampling { exhaustive: 10, one_in: 0 },
        life_one_in: 20,
        brownout_one_in: 0,
        live_bytes: 200_000,
    };
    explore(&bench, &plan, &|_| ControlFlow::Continue(())).unwrap()
}

fn losses(matrix: &Matrix) -> Vec<&Loss> {
    assert!(matrix.failed() > 0, "nothing was found");
    matrix.failures.iter().map(|failure| &failure.loss).collect()
}

#[test]
fn a_log_that_is_right_loses_nothing_at_any_cut() {
    let matrix = explored(Build::Right);
    assert_eq!(matrix.failures, []);
    assert_eq!(matrix.failed(), 0);
    assert!((1_000..1_200).contains(&matrix.cuts()), "{} cuts", matrix.cuts());
    assert!(matrix.second_cuts() > 500, "{} second cuts", matrix.second_cuts());
}

#[test]
fn a_sync_that_does_nothing_is_found_by_what_is_lost() {
    let matrix = explored(Build::SyncDoesNothing);
    let lost = |loss: &&Loss| matches!(loss, Loss::NameLost(_) | Loss::Fails { what: "use", .. });
    assert!(losses(&matrix).iter().any(lost), "{:?}", matrix.failures);
}

#[test]
fn a_record_that_is_believed_without_its_sum_is_found_by_foreign_facts() {
    let matrix = explored(Build::NoCheckSum);
    losses(&matrix);
    // What the first cut tore may show only after the second: the list of operations has grown then.
    let torn = |failure: &Failure| {
        let second = failure.second.map(|second| second.torn);
        failure.at.torn == TearOutcome::Partial || second == Some(TearOutcome::Partial)
    };
    assert!(matrix.failures.iter().all(torn), "{:?}", matrix.failures);
}

#[test]
fn a_mount_that_stops_at_a_torn_record_is_found() {
    let matrix = explored(Build::StopsAtTorn);
    assert!(losses(&matrix).iter().all(|loss| matches!(loss, Loss::DoesNotMount(_))));
}

#[test]
fn data_that_pass_through_another_page_are_foreign() {
    let matrix = explored(Build::WritesElsewhereFirst);
    let foreign =
        |loss: &&Loss| matches!(loss, Loss::ContentForeign { .. } | Loss::SizeForeign { .. });
    assert!(losses(&matrix).iter().any(foreign), "{:?}", matrix.failures);
}

#[test]
fn a_recovery_that_spoils_what_was_there_is_found_by_using_the_filesystem_on() {
    losses(&explored(Build::OverwritesTheLast));
}

#[test]
fn what_a_mount_shows_and_the_next_one_does_not_is_found() {
    losses(&explored(Build::ShowsWhatItDoesNotKeep));
}

#[test]
fn tables_in_memory_that_do_not_fit_together_are_found() {
    let matrix = explored(Build::ConfusedByTorn);
    assert!(losses(&matrix).iter().all(|loss| matches!(loss, Loss::Tables(_))));
}

#[test]
fn the_run_goes_on_from_its_own_cuts() {
    let lives = explored(Build::Right).lives;
    assert!((10..40).contains(&lives), "{lives} lives");
}

#[test]
fn the_same_seed_finds_the_same() {
    assert_eq!(explored(Build::Right), explored(Build::Right));
}
