//! Runs a job of the oracle.

use super::flash::{Torn, Traced};
use super::glue::Glue;
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Duration};
use boardlab_vfs::{FileSystem, Mount, WallClock};
use boardlab_workload::tree::{self, manifest::manifest};
use boardlab_yaffs2::format::ByteOrder;
use boardlab_yaffs2::{Options, TagsPlace, Yaffs};
use std::fmt::Write;

/// The time at which all jobs begin, in seconds since 1970.
const START: i64 = 1_000_000_000;

/// A part and how YAFFS is mounted on it.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) blocks: u32,
    pub(super) pages: u32,
    pub(super) page: u64,
    /// Spare bytes that the driver leaves to YAFFS.
    pub(super) free: u64,
    pub(super) options: Options,
}

/// A run of a job.
pub(super) struct Run {
    options: Options,
    clock: Clock,
    /// The flash, while nothing is mounted.
    flash: Option<Traced>,
    fs: Option<Yaffs<Traced>>,
    /// What the oracle prints too: counts, refusals, trees.
    pub(super) told: String,
}

fn crc(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

impl Run {
    pub(super) fn new(setting: &Setting) -> Self {
        let Setting { blocks, pages, page, free, options } = setting;
        let ram = RamMtd::nand(*blocks, *pages, Bytes::new(*page), Bytes::new(*free));
        let options = Options { wall: WallClock { start: START }, ..options.clone() };
        let flash = Traced::new(ram, options.tags, options.byte_order);
        Self { options, clock: Clock::new(), flash: Some(flash), fs: None, told: String::new() }
    }

    /// Performs the lines of a job, until the power fails in one.
    pub(super) fn perform(&mut self, job: &str) {
        for (number, line) in job.lines().enumerate() {
            if !self.line(number + 1, line) {
                let _ = writeln!(self.told, "cut");
                let fs = self.fs.take().expect("the power fails while it is mounted");
                let flash = fs.into_device();
                flash.power_on();
                self.flash = Some(flash);
                return;
            }
        }
    }

    fn fs(&mut self) -> &mut Yaffs<Traced> {
        self.fs.as_mut().expect("the job mounts it")
    }

    fn flash(&self) -> Traced {
        match (&self.flash, &self.fs) {
            (Some(flash), _) => flash.clone(),
            (None, Some(fs)) => fs.device().clone(),
            (None, None) => panic!("the flash is somewhere"),
        }
    }

    /// Performs a line. Returns whether there is still power.
    fn line(&mut self, number: usize, line: &str) -> bool {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["clock", seconds] => self.wait_until(seconds.parse().unwrap()),
            ["mount"] => self.mount(),
            ["unmount"] => return self.unmount(),
            ["remount"] => {
                if !self.unmount() {
                    return false;
                }
                self.mount();
            }
            ["note", name] => self.note(name),
            ["manifest"] => self.manifest(),
            ["bg-tick"] => {
                let Self { fs, clock, .. } = self;
                return fs.as_mut().expect("mounted").background(clock).is_ok();
            }
            ["cut", at, torn] => {
                let torn = match torn {
                    "none" => Torn::NotBegun,
                    "torn" => Torn::Half,
                    "whole" => Torn::Whole,
                    other => panic!("line {number}: a cut of kind {other}"),
                };
                self.flash().cut(at.parse().unwrap(), torn);
            }
            _ => return self.operation(number, line),
        }
        true
    }

    fn operation(&mut self, number: usize, line: &str) -> bool {
        for (_, parsed) in tree::parse(line).unwrap_or_else(|error| panic!("{number}: {error}")) {
            let Self { fs, clock, told, .. } = self;
            let mut glue = Glue { fs: fs.as_mut().expect("the job mounts it"), clock };
            match glue.perform(&parsed.operation) {
                Ok(()) => {}
                Err(error) => match error.errno() {
                    Some(errno) if parsed.may_fail => {
                        let _ = writeln!(told, "failed {number} {}", errno.symbol());
                    }
                    Some(errno) => panic!("line {number}: {line}: {errno}"),
                    None => return false,
                },
            }
        }
        true
    }

    fn wait_until(&mut self, seconds: i64) {
        let now = WallClock { start: START }.at(self.clock.now()).seconds;
        let wait = u64::try_from(seconds - now).expect("jobs do not go back in time");
        self.clock.advance(Duration::from_secs(wait));
    }

    fn mount(&mut self) {
        let flash = self.flash.take().expect("it is not mounted");
        let mounted = Yaffs::mount(&mut self.clock, flash, self.options.clone());
        self.fs = Some(mounted.unwrap_or_else(|error| panic!("{error}")));
    }

    fn unmount(&mut self) -> bool {
        let Self { fs, clock, .. } = self;
        if fs.as_mut().expect("the job mounts it").unmount(clock).is_err() {
            return false;
        }
        self.fs().check_tables().unwrap();
        self.flash = self.fs.take().map(Yaffs::into_device);
        true
    }

    fn note(&mut self, name: &str) {
        let work = self.flash().note(name);
        let _ = writeln!(
            self.told,
            "{name} {} {} {} {}",
            work.page_reads, work.oob_reads, work.programs, work.erases
        );
    }

    /// The tree, without a trace.
    fn manifest(&mut self) {
        let fs = self.fs.as_ref().expect("the job mounts it").clone();
        let tree = self
            .flash()
            .unwatched(|| manifest(&mut Mount::new(fs), &mut self.clock.clone()).unwrap());
        let _ = writeln!(self.told, "manifest {} {}", tree.lines().count(), crc(tree.as_bytes()));
        self.keep("manifest", tree.as_bytes());
    }

    /// What is on the flash at the end, and how it came there.
    pub(super) fn finish(mut self) -> String {
        let flash = self.flash();
        let (trace, dump) = (flash.trace(), flash.dump());
        let _ = writeln!(self.told, "trace {} {}", trace.lines().count(), crc(trace.as_bytes()));
        // A machine of the other byte order leaves some fields in its own.
        if self.options.byte_order == ByteOrder::Little {
            let _ = writeln!(self.told, "image {} {}", dump.len(), crc(&dump));
        }
        self.keep("trace", trace.as_bytes());
        self.keep("image", &dump);
        self.told
    }

    /// Keeps a file to look at when the sums differ.
    fn keep(&self, name: &str, bytes: &[u8]) {
        if let Some(folder) = std::env::var_os("BOARDLAB_YAFFS_KEEP") {
            let kind = match self.options.tags {
                TagsPlace::Oob { .. } => "oob",
                TagsPlace::InBand => "inband",
                TagsPlace::Yaffs1(_) => "yaffs1",
            };
            std::fs::write(std::path::Path::new(&folder).join(format!("{kind}.{name}")), bytes)
                .unwrap();
        }
    }
}
