//! A filesystem that only this test knows, in an image.

#[path = "../../../workload/tests/toy/mod.rs"]
mod toy;

use super::BOARD;
use boardlab_image::audit::Audit;
use boardlab_image::create::write_data;
use boardlab_image::fs::{ALL, DetectedFileSystem, Detector, FileSystemType, ImageFileSystem};
use boardlab_image::{
    Confidence, Contents, Damage, Detection, Dump, Error, Hints, Kind, Limits, MountedImage, Shape,
    Spare, identify_types, open_types, tables,
};
use boardlab_mtd::RamMtd;
use boardlab_result::{Cell, Row, RunResult, Table, Value};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{FileSystem, NewInode, PAGE_SIZE};
use std::ops::Range;
use toy::{MAGIC, Toy};

const TOY: FileSystemType = FileSystemType {
    name: "toy",
    search: || Box::new(Heads(Vec::new())),
    create: None,
    create_dump: None,
};
const SHAPE: Shape = Shape::nand(Bytes::new(512), Bytes::ZERO, Bytes::kib(4));

fn types() -> Vec<FileSystemType> {
    [ALL, &[TOY]].concat()
}

/// Where in the file pages begin with the number of a head.
#[derive(Debug)]
struct Heads(Vec<Bytes>);

impl Detector for Heads {
    fn magics(&self) -> &'static [&'static [u8]] {
        const { &[&MAGIC.to_le_bytes()] }
    }

    fn look(&mut self, at: Bytes, _head: &[u8]) {
        if at.is_multiple_of(SHAPE.page) {
            self.0.push(at);
        }
    }

    fn has_enough(&self) -> bool {
        self.0.len() == 2
    }

    fn look_at_end(&mut self, at: Bytes, head: &[u8]) {
        self.look(at, head);
    }

    fn conclude(
        self: Box<Self>,
        _: &Contents,
        _: &[Detection],
    ) -> Option<(Detection, Box<dyn DetectedFileSystem>)> {
        let first = *self.0.first()?;
        let kind = Kind::FileSystem(TOY.name);
        let found =
            Detection::new(kind, Bytes::ZERO, Confidence::Likely).because(first, "first head");
        Some((found, self))
    }
}

impl DetectedFileSystem for Heads {
    fn of_changed(&self, _: &Contents) -> Box<dyn DetectedFileSystem> {
        Box::new(Self(self.0.clone()))
    }

    fn shape(&self) -> Shape {
        SHAPE
    }

    fn spare(&self, _: &Contents) -> Option<Spare> {
        None
    }

    fn tell(&self, run: &mut RunResult, _: &Contents, _: &Hints, audit: Option<&Audit>) {
        let heads = audit.map_or(self.0.len() as u64, |audit| audit.nodes);
        let mut table = Table::new("filesystem", "Filesystem").column("head_count", "heads");
        table.rows.push(Row::new("toy", "").cell("head_count", Cell::int(heads)));
        run.tables.push(table);
    }

    fn mount(&self, contents: &Contents, _: &Hints) -> Result<MountedImage, Error> {
        let (mut clock, dump) = (Clock::new(), Dump::new(contents.clone(), SHAPE)?);
        let fs = Toy::mount(&mut clock, dump).map_err(|problem| Error::Mount(problem.into()))?;
        Ok(MountedImage { fs: Box::new(fs), clock, at: Bytes::ZERO, truncated: None })
    }
}

impl ImageFileSystem for Toy<Dump> {
    fn dump(&self) -> &Dump {
        self.flash()
    }

    fn dump_mut(&mut self) -> &mut Dump {
        self.flash_mut()
    }

    fn audit(&mut self, _: &mut Clock) -> Result<Audit, Error> {
        Ok(Audit { nodes: 2, ..Audit::default() })
    }

    fn inodes_in(&self, _: Range<Bytes>) -> Vec<u32> {
        Vec::new()
    }
}

/// A file of a flash on which the toy wrote two copies.
fn created() -> Contents {
    let (mut clock, mut file) = (Clock::new(), Vec::new());
    let flash = RamMtd::nand(16, 8, SHAPE.page, Bytes::new(16));
    let mut fs = Toy::mount(&mut clock, flash).unwrap();
    let root = fs.root();
    let dir = NewInode::of(boardlab_vfs::Kind::Directory, 0o755);
    let etc = fs.create(&mut clock, root, b"etc", &dir).unwrap();
    fs.sync(&mut clock).unwrap();
    let regular = NewInode::of(boardlab_vfs::Kind::File, 0o644);
    let motd = fs.create(&mut clock, etc, b"motd", &regular).unwrap();
    let mut page = vec![0; PAGE_SIZE];
    page[..8].copy_from_slice(b"welcome\n");
    fs.write_page(&mut clock, motd, 0, &page, 0..8).unwrap();
    fs.sync(&mut clock).unwrap();
    let written = write_data(&mut fs.into_flash(), &mut clock, &mut file).unwrap();
    assert_eq!((written.length, written.bad_blocks), (SHAPE.block * 16, 0));
    Contents::of(file)
}

#[test]
fn a_further_filesystem_is_told_listed_and_created() {
    let (types, contents) = (types(), created());
    let identity = identify_types(&contents, &types);
    let mut image = open_types(&contents, &Hints::default(), &types).unwrap();
    let damage = Damage::of(&mut image);
    let info = tables::info("x", &contents, &identity, &Hints::default(), Some(&damage));
    let cell = |table, row, column| {
        info.run.table(table).and_then(|table| table.cell(row, column)).unwrap().value.clone()
    };
    assert!(info.whole && info.run.warnings.is_empty(), "{info:?}");
    assert_eq!(cell("contents", "1", "kind"), Value::Text("toy filesystem".into()));
    assert_eq!(cell("flash", "flash", "block_count"), Value::Int(16));
    assert_eq!(cell("filesystem", "toy", "head_count"), Value::Int(2));
    let MountedImage { fs, clock, .. } = &mut image;
    let damage = damage.as_ref().unwrap();
    let told = tables::listing("x", fs, clock, b"/", damage, Limits::default()).unwrap();
    let size = told.run.table("files").unwrap().cell("/etc/motd", "size_bytes").unwrap();
    assert_eq!((told.whole, &size.value), (true, &Value::Int(8)));
}

#[test]
fn the_other_filesystems_of_the_list_stay_what_they_are() {
    let board = Contents::of(std::fs::read(BOARD).unwrap());
    assert_eq!(identify_types(&board, &types()).found, identify_types(&board, ALL).found);
    assert!(open_types(&board, &Hints::default(), &types()).is_ok());
    let erased = Contents::of(vec![0xFF; 9_000]);
    let refused = open_types(&erased, &Hints::default(), &types()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "found erased flash instead of JFFS2 or UBIFS or YAFFS2 or LogFS or toy"
    );
}
