//! What the kernel's UBI and UBIFS ask of the chip, as it was counted, against what ours ask for the same workload.
//!
//! Programs agree within 3 percent, bytes read within 10, erases within 5; an attach reads exactly as much.

use crate::counts::{between, erases, near, recorded, worn};
use crate::stack::{
    Mounted, attach, compressor, formatted, make_volume, mount, settle_ubi, unmount,
};
use crate::wear::{self, Worn};
use crate::{assert_none, full};
use boardlab_checks::Repository;
use boardlab_checks::counts::{ALL, Case, Counts, Filesystem, Wear, Workload};
use boardlab_nand::Nand;
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::{NewVolume, Ubi};
use boardlab_ubifs::Options;
use boardlab_vfs::{FileSystem, Kind, StatFs};
use boardlab_workload::tree::{self, Event};

/// Our UBI and UBIFS on our chip, while they carry out a workload.
pub(crate) struct Run {
    clock: Clock,
    state: State,
    case: Case,
    before: boardlab_nand::Counts,
    /// What else measure.sh would print.
    said: Vec<String>,
    /// The erases of each block when the workload began.
    begun: Vec<u64>,
    wear: Vec<Wear>,
    /// UBI's erase counters at the same moments.
    counters: Vec<Wear>,
}

enum State {
    Detached(Box<Nand>),
    Attached(Box<Ubi<Nand>>),
    Mounted(Box<Mounted>),
    Between,
}

impl Run {
    pub(crate) fn new(case: Case) -> Self {
        let mut clock = Clock::default();
        let mut ubi = formatted(&mut clock, case.flash, case.mebibytes, true);
        if case.filesystem == Filesystem::Ubifs {
            // UBIFS is made by the first mount after the volume.
            make_volume(&mut clock, &mut ubi);
            let made = mount(&mut clock, ubi, Options::default());
            ubi = unmount(&mut clock, made);
        }
        settle_ubi(&mut clock, &mut ubi);
        let nand = ubi.detach(&mut clock).unwrap();
        let (before, begun) = (*nand.counts(), erases(&nand));
        let state = State::Detached(Box::new(nand));
        let (said, wear, counters) = (Vec::new(), Vec::new(), Vec::new());
        Self { clock, state, case, before, said, begun, wear, counters }
    }

    fn nand(&self) -> &Nand {
        match &self.state {
            State::Detached(nand) => nand,
            State::Attached(ubi) => ubi.device(),
            State::Mounted(mount) => mount.fs().lebs().ubi().device(),
            State::Between => unreachable!("a flash is somewhere"),
        }
    }

    fn now(&self) -> boardlab_nand::Counts {
        *self.nand().counts()
    }

    fn mounted(&mut self) -> (&mut Mounted, &mut Clock) {
        match &mut self.state {
            State::Mounted(mount) => (mount, &mut self.clock),
            _ => panic!("not mounted"),
        }
    }

    /// Waits for the threads of the kernel.
    fn settle(&mut self) {
        match &mut self.state {
            State::Attached(ubi) => settle_ubi(&mut self.clock, ubi),
            State::Mounted(mount) => while mount.fs_mut().background(&mut self.clock).unwrap() {},
            State::Detached(_) | State::Between => {}
        }
    }

    fn change(&mut self, read_only: bool, wanted: &str) {
        let clock = &mut self.clock;
        let state = std::mem::replace(&mut self.state, State::Between);
        self.state = match (state, wanted) {
            (State::Detached(nand), "attach") => {
                State::Attached(Box::new(attach(clock, *nand, self.case.flash, true)))
            }
            (State::Attached(ubi), "detach") => {
                State::Detached(Box::new(ubi.detach(clock).unwrap()))
            }
            (State::Attached(ubi), "mount") => {
                let compressor = Some(compressor(self.case.compression));
                let options = Options { read_only, compressor, ..Options::default() };
                State::Mounted(Box::new(mount(clock, *ubi, options)))
            }
            (State::Mounted(mount), "unmount") => State::Attached(Box::new(unmount(clock, *mount))),
            (_, wanted) => panic!("no {wanted} now"),
        };
    }

    /// One line that begins with `@`, as `oracles/counts/measure.sh` does it; counts if it ends an interval.
    fn line(&mut self, line: &str) -> Option<Counts> {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["@mount-read-only"] => self.change(true, "mount"),
            ["@mount" | "@unmount" | "@attach" | "@detach"] => self.change(false, &line[1..]),
            ["@make", name, kind, bytes] => self.make(name, kind, bytes.parse().unwrap()),
            ["@list"] => {
                let (mount, clock) = self.mounted();
                list(mount, clock, b"/");
            }
            ["@read"] => {
                let (mount, clock) = self.mounted();
                tree::manifest(mount, clock).unwrap();
            }
            ["@drop"] => {
                let (mount, clock) = self.mounted();
                mount.sync(clock).unwrap();
                mount.drop_caches(clock).unwrap();
            }
            ["@state", name] => {
                self.settle();
                let (mount, clock) = self.mounted();
                let StatFs { blocks, free, available, .. } = mount.statfs(clock).unwrap();
                let state = format!("blocks={blocks} free={free} available={available}");
                self.said.push(format!("state {name} {state}"));
            }
            ["@stored", name] => {
                let (mount, clock) = self.mounted();
                let (files, bytes) = stored(mount, clock, b"/");
                self.said.push(format!("stored {name} files={files} bytes={bytes}"));
            }
            ["@wear", moment] => {
                self.settle();
                self.wear.push(worn(moment.to_owned(), &self.begun, self.nand()));
                let (mount, _) = self.mounted();
                let counters = mount.fs().lebs().ubi().erase_counters();
                let erases = counters.iter().map(|counter| counter.unwrap().into()).collect();
                self.counters.push(Wear { moment: moment.to_owned(), erases });
            }
            ["@count", interval] => {
                self.settle();
                let (now, before) = (self.now(), self.before);
                self.before = now;
                return Some(between(interval.to_owned(), before, now));
            }
            _ => panic!("no such line: {line}"),
        }
        None
    }

    fn make(&mut self, name: &str, kind: &str, bytes: u64) {
        let State::Attached(ubi) = &mut self.state else { panic!("not attached") };
        let size = Bytes::new(bytes);
        let new = match kind {
            "static" => NewVolume::fixed(name, size),
            _ => NewVolume::dynamic(name, size),
        };
        ubi.create_volume(&mut self.clock, &new).unwrap();
    }

    /// Carries operations out, and notes which of those that may fail do.
    fn carry_out(&mut self, operations: &str) {
        let lines = tree::parse(operations).unwrap();
        if lines.is_empty() {
            return;
        }
        let mut said = Vec::new();
        let mut hear = |event| match event {
            Event::Failed { line, errno } => said.push(format!("failed {line} {}", errno.symbol())),
            Event::Said(_) => {}
        };
        let (mount, clock) = self.mounted();
        tree::run(mount, clock, &lines, &mut hear).unwrap();
        self.said.extend(said);
    }

    fn workload(&mut self, text: &str) -> Vec<Counts> {
        let mut operations = String::new();
        let mut counts = Vec::new();
        for line in text.lines() {
            if !line.starts_with('@') {
                operations += line;
                operations.push('\n');
                continue;
            }
            self.carry_out(&std::mem::take(&mut operations));
            counts.extend(self.line(line));
        }
        counts
    }

    /// Carries a wearing workload out.
    pub(crate) fn wear(mut self, text: &str) -> Worn {
        let counts = self.workload(text);
        Worn { counts, wear: self.wear, counters: self.counters }
    }

    /// Carries a workload out; what measure.sh would print besides counts.
    pub(crate) fn said(mut self, text: &str) -> Vec<String> {
        self.workload(text);
        self.said
    }
}

/// The files below a folder, and their bytes.
fn stored(mount: &mut Mounted, clock: &mut Clock, folder: &[u8]) -> (u64, u64) {
    let entries = mount.readdir(clock, folder).unwrap();
    let below = entries.into_iter().map(|entry| {
        let path = [folder, b"/", &entry.name].concat();
        let attributes = mount.lstat(clock, &path).unwrap();
        match attributes.kind {
            Kind::Directory => stored(mount, clock, &path),
            Kind::File => (1, attributes.size),
            _ => (0, 0),
        }
    });
    below.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// What `ls -lR` asks for: not the extended attributes, for which UBIFS looks in its index.
fn list(mount: &mut Mounted, clock: &mut Clock, folder: &[u8]) {
    let entries = mount.readdir(clock, folder).unwrap();
    let names = entries.into_iter().map(|entry| [folder, b"/", &entry.name].concat());
    let folders = names.filter(|path| mount.lstat(clock, path).unwrap().kind == Kind::Directory);
    for path in folders.collect::<Vec<_>>() {
        list(mount, clock, &path);
    }
}

pub(crate) fn compare(case: &Case, kernel: &Counts, ours: &Counts) -> Option<String> {
    assert_eq!(kernel.interval, ours.interval);
    let page = u64::try_from(case.flash.page).unwrap();
    let attach = kernel.interval.starts_with("attach");
    let equal = if attach {
        // Our driver asks for the status of a program or an erase once.
        (kernel.page_reads, kernel.bytes_out) == (ours.page_reads, ours.bytes_out)
    } else {
        let status = 2 * (kernel.page_programs + kernel.block_erases);
        // Where a commit in the background began decides where a few nodes of the index are.
        near(kernel.bytes_out, ours.bytes_out, 10, (4 * page).max(4_096) + status)
    };
    let programs = near(kernel.page_programs, ours.page_programs, 3, 4);
    let erases = near(kernel.block_erases, ours.block_erases, 5, 2);
    (!(equal && programs && erases))
        .then(|| format!("{}:\n  kernel {kernel:?}\n    ours {ours:?}", case.name))
}

#[test]
fn our_ubi_and_ubifs_ask_the_chip_for_as_much_as_the_kernels() {
    let repository = Repository::here();
    let only = std::env::var("BOARDLAB_COUNTS").unwrap_or_default();
    let mut differences = Vec::new();
    let counted = |case: &Case| {
        let noted =
            matches!(case.workload, Workload::Space | Workload::Full(_)) || wear::is_about(case);
        case.filesystem != Filesystem::Jffs2 && !noted
    };
    for case in ALL.into_iter().filter(counted) {
        if !full() && case.mebibytes > 16 || !case.name.contains(&only) {
            continue;
        }
        let text = case.text();
        let kernel: Vec<_> =
            recorded(&repository, &case).lines().filter_map(Counts::parse).collect();
        let started = std::time::Instant::now();
        let ours = Run::new(case).workload(&text);
        eprintln!("{} {:?}", case.name, started.elapsed());
        assert_eq!(kernel.len(), ours.len(), "{}: intervals", case.name);
        differences.extend(kernel.iter().zip(&ours).filter_map(|(k, o)| compare(&case, k, o)));
    }
    assert_none(&differences);
}
