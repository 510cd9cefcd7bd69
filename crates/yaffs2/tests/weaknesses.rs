//! What YAFFS loses after a power cut, as its sources do; and that [`Options::repaired`] keeps it.
//!
//! Each test makes a state durable, cuts the power at every operation of one action, and looks at what a mount
//! finds. `docs/models/yaffs2.md` has the table.

use boardlab_mtd::{
    BlockIndex, Error, Geometry, Mtd, PageIndex, PowerCut, RamMtd, ReadResult, TearOutcome,
};
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{FileSystem, Ino, Kind, NewInode, SetAttr};
use boardlab_yaffs2::format::tags1::Layout1;
use boardlab_yaffs2::{Options, TagsPlace, Yaffs};
use std::collections::BTreeSet;

/// More operations than any action here needs.
const OPERATIONS: u64 = 60;

type Fs = Yaffs<PowerCut<RamMtd>>;

struct Bench {
    fs: Fs,
    clock: Clock,
}

impl Bench {
    fn mount(flash: PowerCut<RamMtd>, options: &Options) -> Self {
        let mut clock = Clock::new();
        let fs = Yaffs::mount(&mut clock, flash, options.clone()).unwrap();
        Self { fs, clock }
    }

    fn file(&mut self, name: &str) -> Ino {
        let (root, new) = (self.fs.root(), NewInode::of(Kind::File, 0o644));
        self.fs.create(&mut self.clock, root, name.as_bytes(), &new).unwrap()
    }

    fn find(&mut self, name: &str) -> Ino {
        let root = self.fs.root();
        self.fs.lookup(&mut self.clock, root, name.as_bytes()).unwrap()
    }

    fn link(&mut self, name: &str, new: &str) {
        let (root, ino) = (self.fs.root(), self.find(name));
        self.fs.link(&mut self.clock, ino, root, new.as_bytes()).unwrap();
    }

    /// Writes bytes of one value, from the start of a page on.
    fn write(&mut self, ino: Ino, page: u64, length: usize, value: u8) {
        let content = vec![value; 4_096];
        self.fs.write_page(&mut self.clock, ino, page, &content, 0..length).unwrap();
    }

    fn sync(&mut self) {
        self.fs.sync(&mut self.clock).unwrap();
    }

    /// The names of the root directory, as often as they are there.
    fn names(&mut self) -> Vec<String> {
        let root = self.fs.root();
        let entries = self.fs.readdir(&mut self.clock, root).unwrap();
        let mut names: Vec<String> =
            entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect();
        names.sort();
        names
    }

    fn size(&mut self, name: &str) -> u64 {
        let ino = self.find(name);
        self.fs.getattr(&mut self.clock, ino).unwrap().size
    }
}

/// What a mount finds after cuts at all operations of an action.
fn found<T: Ord>(
    (flash, options): (RamMtd, &Options),
    prepare: &dyn Fn(&mut Bench),
    act: &dyn Fn(&mut Fs, &mut Clock),
    look: &dyn Fn(&mut Bench) -> T,
) -> BTreeSet<T> {
    let options = Options { hide_lost_and_found: true, ..options.clone() };
    let mut bench = Bench::mount(PowerCut::new(flash, Seed::new(1)), &options);
    prepare(&mut bench);
    bench.sync();
    let cut = |number| {
        let Bench { mut fs, mut clock } =
            Bench { fs: bench.fs.clone(), clock: bench.clock.clone() };
        let done = fs.device().operations();
        fs.device_mut().cut_at_operation(done + number, TearOutcome::NotBegun);
        act(&mut fs, &mut clock);
        let mut flash = fs.into_device();
        flash.power_on();
        look(&mut Bench::mount(flash, &options))
    };
    (0..OPERATIONS).map(cut).collect()
}

fn nand() -> RamMtd {
    RamMtd::nand(40, 8, Bytes::kib(2), Bytes::new(64))
}

fn as_the_sources() -> Options {
    Options::default()
}

fn repaired() -> Options {
    Options { repaired: true, ..Options::default() }
}

fn yaffs1(repaired: bool) -> (RamMtd, Options) {
    let tags = TagsPlace::Yaffs1(Layout1::Around);
    let flash = RamMtd::nand(60, 32, Bytes::new(512), Bytes::new(16));
    (flash, Options { tags, repaired, ..Options::default() })
}

#[test]
fn a_removed_name_of_an_object_with_links_comes_twice() {
    let run = |options: Options| {
        let prepare = |bench: &mut Bench| {
            bench.file("first");
            bench.link("first", "second");
        };
        let act = |fs: &mut Fs, clock: &mut Clock| {
            let _ = fs.unlink(clock, fs.root(), b"first");
        };
        found((nand(), &options), &prepare, &act, &Bench::names)
    };
    let twice = vec!["second".to_owned(), "second".to_owned()];
    assert!(run(as_the_sources()).contains(&twice));
    let both = vec!["first".to_owned(), "second".to_owned()];
    assert_eq!(run(repaired()), BTreeSet::from([both, vec!["second".to_owned()]]));
}

#[test]
fn a_rename_over_an_object_with_links_loses_the_links() {
    let run = |options: Options| {
        let prepare = |bench: &mut Bench| {
            bench.file("target");
            bench.link("target", "other");
            let source = bench.file("source");
            bench.write(source, 0, 100, 1);
        };
        let act = |fs: &mut Fs, clock: &mut Clock| {
            let root = fs.root();
            let _ = fs.rename(clock, root, b"source", root, b"target");
        };
        found((nand(), &options), &prepare, &act, &|bench| {
            let names = bench.names();
            let other = names.iter().any(|name| name == "other");
            let root = bench.fs.root();
            (names, other && bench.fs.lookup(&mut bench.clock, root, b"other").is_ok())
        })
    };
    assert!(run(as_the_sources()).iter().any(|(_, other)| !other));
    assert!(run(repaired()).iter().all(|(_, other)| *other));
}

#[test]
fn a_size_that_was_only_set_is_forgotten_by_a_scan() {
    let run = |options: Options| {
        let options = Options { read_checkpoint: false, ..options };
        let prepare = |bench: &mut Bench| {
            let file = bench.file("file");
            let size = SetAttr { size: Some(50_000), ..SetAttr::default() };
            bench.fs.setattr(&mut bench.clock, file, &size).unwrap();
        };
        found((nand(), &options), &prepare, &|_, _| {}, &|bench| bench.size("file"))
    };
    assert_eq!(run(as_the_sources()), BTreeSet::from([0]));
    assert_eq!(run(repaired()), BTreeSet::from([50_000]));
}

#[test]
fn yaffs1_shows_sizes_between_those_of_a_truncation() {
    let run = |repairs| {
        let (flash, options) = yaffs1(repairs);
        let prepare = |bench: &mut Bench| {
            let file = bench.file("file");
            bench.write(file, 0, 600, 1);
            bench.write(file, 3, 4_096, 2);
        };
        let act = |fs: &mut Fs, clock: &mut Clock| {
            let root = fs.root();
            let size = SetAttr { size: Some(7_000), ..SetAttr::default() };
            let _ = fs.lookup(clock, root, b"file").and_then(|ino| fs.setattr(clock, ino, &size));
        };
        found((flash, &options), &prepare, &act, &|bench| bench.size("file"))
    };
    assert!(run(false).iter().any(|&size| size < 7_000));
    assert!(run(true).iter().all(|size| (7_000..=16_384).contains(size)));
}

#[test]
fn a_truncation_brings_older_data_back() {
    // The newest data of the file fill blocks of their own, which are erased before the header is written. Older data
    // lie between those of another file. A block with a summary is not erased before it is collected.
    let run = |options: Options| {
        let options = Options { read_checkpoint: false, summary: false, ..options };
        let prepare = |bench: &mut Bench| {
            let (file, other) = (bench.file("file"), bench.file("other"));
            for page in 0..12 {
                bench.write(file, page, 4_096, 1);
                bench.fs.fsync(&mut bench.clock, file).unwrap();
                bench.write(other, page, 4_096, 9);
                bench.fs.fsync(&mut bench.clock, other).unwrap();
            }
            for page in 0..12 {
                bench.write(file, page, 4_096, 2);
            }
            bench.fs.fsync(&mut bench.clock, file).unwrap();
        };
        let act = |fs: &mut Fs, clock: &mut Clock| {
            let root = fs.root();
            let size = SetAttr { size: Some(100), ..SetAttr::default() };
            let _ = fs.lookup(clock, root, b"file").and_then(|ino| fs.setattr(clock, ino, &size));
        };
        found((nand(), &options), &prepare, &act, &|bench| {
            let (size, ino) = (bench.size("file"), bench.find("file"));
            let mut content = vec![0; 4_096];
            let pages = (0..size.div_ceil(4_096)).map(|page| {
                bench.fs.read_page(&mut bench.clock, ino, page, &mut content).unwrap();
                content[0]
            });
            pages.collect::<BTreeSet<u8>>()
        })
    };
    assert!(run(as_the_sources()).iter().any(|values| values.contains(&1)));
    assert!(run(repaired()).iter().all(|values| !values.contains(&1)));
}

/// A flash on which the data of one page cannot be corrected, and its spare bytes can.
#[derive(Debug)]
struct Torn {
    flash: RamMtd,
    page: u32,
}

impl Mtd for Torn {
    fn geometry(&self) -> &Geometry {
        self.flash.geometry()
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        if offset / self.geometry().write_size == u64::from(self.page) {
            return Err(Error::Uncorrectable { offset });
        }
        self.flash.read(clock, offset, buffer)
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        self.flash.program(clock, offset, data)
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        self.flash.erase(clock, block)
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, oob: &mut [u8]) -> ReadResult {
        self.flash.read_oob(clock, page, oob)
    }

    fn program_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        self.flash.program_oob(clock, page, data, oob)
    }
}

/// The pages of a block of [`nand`] that are programmed.
fn programmed(flash: &mut RamMtd, block: u32) -> Vec<PageIndex> {
    let mut is_programmed = |page: &PageIndex| {
        let mut tags = [0; 28];
        flash.read_oob(&mut Clock::new(), *page, &mut tags).unwrap();
        tags != [0xFF; 28]
    };
    (block * 8..block * 8 + 8).map(PageIndex).filter(|page| is_programmed(page)).collect()
}

/// The flash after these changes, whose power failed behind them.
fn left(options: &Options, act: impl FnOnce(&mut Bench)) -> RamMtd {
    let options = Options { hide_lost_and_found: true, ..options.clone() };
    let mut bench = Bench::mount(PowerCut::new(nand(), Seed::new(1)), &options);
    act(&mut bench);
    bench.fs.into_device().into_inner()
}

#[test]
fn a_torn_chunk_with_right_tags_takes_the_place_of_an_older_one() {
    let run = |options: Options| {
        let options = Options { caches: 0, hide_lost_and_found: true, ..options };
        let mut flash = left(&options, |bench| {
            let file = bench.file("file");
            bench.write(file, 0, 2_048, 1);
            bench.sync();
            bench.write(file, 0, 2_048, 2);
        });
        let pages: Vec<_> = (0..40).flat_map(|block| programmed(&mut flash, block)).collect();
        let mut clock = Clock::new();
        let flash = Torn { flash, page: pages.last().unwrap().0 };
        let mut fs = Yaffs::mount(&mut clock, flash, options).unwrap();
        let root = fs.root();
        let file = fs.lookup(&mut clock, root, b"file").unwrap();
        let mut content = [0; 4_096];
        fs.read_page(&mut clock, file, 0, &mut content).ok().map(|_| content[0])
    };
    assert_eq!(run(as_the_sources()), None);
    assert_eq!(run(repaired()), Some(1));
}

#[test]
fn a_torn_first_chunk_leaves_no_sequence_numbers() {
    let run = |options: Options| {
        let mut flash = left(&options, |bench| {
            bench.file("before");
            bench.sync();
        });
        // Tags with the last number there is, and a wrong code.
        let spare = [[0xFE, 0xFE, 0xFF, 0xEF].as_slice(), &[0; 12], &[0xA5; 12]].concat();
        flash.program_oob(&mut Clock::new(), PageIndex(9 * 8), &[0; 2_048], &spare).unwrap();
        let options = Options { hide_lost_and_found: true, write_checkpoint: false, ..options };
        let mut flash = PowerCut::new(flash, Seed::new(1));
        for name in ["one", "two", "three"] {
            let mut bench = Bench::mount(flash, &options);
            bench.file(name);
            bench.sync();
            flash = bench.fs.into_device();
        }
        Bench::mount(flash, &options).names()
    };
    assert_eq!(run(repaired()), ["before", "one", "three", "two"]);
    assert!(run(as_the_sources()).len() < 4);
}

#[test]
fn an_erase_that_was_broken_off_spoils_what_is_written_later() {
    let run = |options: Options| {
        let mut flash = left(&options, |bench| {
            bench.file("file");
            bench.sync();
        });
        // The first chunk of each erased block is so, and another one is not.
        for block in 0..40 {
            if programmed(&mut flash, block).is_empty() {
                let page = PageIndex(block * 8 + 3);
                flash.program_oob(&mut Clock::new(), page, &[0x5A; 2_048], &[0xFF; 28]).unwrap();
            }
        }
        let options = Options {
            hide_lost_and_found: true,
            read_checkpoint: false,
            summary: false,
            ..options
        };
        let mut bench = Bench::mount(PowerCut::new(flash, Seed::new(1)), &options);
        let file = bench.find("file");
        for page in 0..8 {
            bench.write(file, page, 4_096, 0xFF);
        }
        bench.sync();
        let mut content = vec![0; 4_096];
        (0..8).all(|page| {
            bench.fs.read_page(&mut bench.clock, file, page, &mut content).unwrap();
            content.iter().all(|&byte| byte == 0xFF)
        })
    };
    assert!(!run(as_the_sources()));
    assert!(run(repaired()));
}

#[test]
fn a_chunk_that_passes_the_cache_is_there_without_what_was_written_before() {
    let run = |options: Options| {
        let options = Options { bypass_aligned: true, read_checkpoint: false, ..options };
        let prepare = |bench: &mut Bench| {
            let file = bench.file("file");
            bench.write(file, 0, 1_000, 7);
        };
        let act = |fs: &mut Fs, clock: &mut Clock| {
            let root = fs.root();
            let content = vec![9; 4_096];
            let file = fs.lookup(clock, root, b"file").unwrap();
            let _ = fs.write_page(clock, file, 0, &content, 1_000..1_500);
            let _ = fs.write_page(clock, file, 1, &content, 0..4_096);
            let _ = fs.fsync(clock, file);
        };
        found((nand(), &options), &prepare, &act, &|bench| {
            let (size, ino) = (bench.size("file"), bench.find("file"));
            let mut content = vec![0; 4_096];
            bench.fs.read_page(&mut bench.clock, ino, 0, &mut content).unwrap();
            (size > 4_096, content[1_200])
        })
    };
    assert!(run(as_the_sources()).contains(&(true, 0)));
    assert!(!run(repaired()).contains(&(true, 0)));
}

#[test]
fn a_time_that_is_set_before_a_file_is_closed_is_that_of_the_close() {
    let modified = |options: &Options| {
        let mut bench = Bench::mount(PowerCut::new(nand(), Seed::new(1)), options);
        let ino = bench.file("f");
        // Less than a chunk stays in the cache.
        bench.write(ino, 0, 100, 7);
        let change = SetAttr {
            modified: Some(boardlab_vfs::Timestamp::seconds(1_000)),
            ..SetAttr::default()
        };
        bench.fs.setattr(&mut bench.clock, ino, &change).unwrap();
        bench.fs.closed(&mut bench.clock, ino).unwrap();
        bench.fs.getattr(&mut bench.clock, ino).unwrap().modified.seconds
    };
    assert_eq!((modified(&as_the_sources()), modified(&repaired())), (0, 1_000));
}
