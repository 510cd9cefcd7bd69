//! A write buffer against a plain concatenation.

use super::*;
use crate::format::u32_of;
use crate::layout::Layout;
use crate::options::Options;
use boardlab_sim::Seed;
use boardlab_ubi::{Error as LebError, RamLebs, Shape};

const LEB: LebIndex = LebIndex(9);

/// Writes to the flash: offset and length.
type Writes = Vec<(u32, usize)>;

/// A volume that notes its writes.
#[derive(Debug, Clone)]
struct Noting {
    inner: RamLebs,
    writes: Writes,
}

impl Lebs for Noting {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }
    fn read(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<(), LebError> {
        self.inner.read(clock, leb, offset, buffer)
    }
    fn write(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offset: u32,
        data: &[u8],
    ) -> Result<(), LebError> {
        self.writes.push((offset, data.len()));
        self.inner.write(clock, leb, offset, data)
    }
    fn change(&mut self, clock: &mut Clock, leb: LebIndex, data: &[u8]) -> Result<(), LebError> {
        self.inner.change(clock, leb, data)
    }
    fn unmap(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), LebError> {
        self.inner.unmap(clock, leb)
    }
    fn map(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), LebError> {
        self.inner.map(clock, leb)
    }
    fn is_mapped(&self, leb: LebIndex) -> Result<bool, LebError> {
        self.inner.is_mapped(leb)
    }
    fn sync(&mut self, clock: &mut Clock) -> Result<(), LebError> {
        self.inner.sync(clock)
    }
    fn background(&mut self, clock: &mut Clock) -> Result<bool, LebError> {
        self.inner.background(clock)
    }
}

/// The data head at an offset of a LEB, on flash that writes `min_io` to `max_write` bytes at once.
fn at(min_io: u32, max_write: u32, offs: u32) -> (Clock, Volume<Noting>) {
    let shape = Shape { leb_count: 40, leb_size: 16_384, leb_start: 0, min_io, max_write };
    let lebs = Noting { inner: RamLebs::new(shape), writes: Vec::new() };
    let layout = Layout { jhead_count: 3, ..Layout::early(&shape).unwrap() };
    let (mut clock, mut volume) = (Clock::new(), Volume::new(lebs, layout, Options::default()));
    volume.alloc_wbufs();
    volume.wbuf_seek(&mut clock, DATA_HEAD, LEB, offs).unwrap();
    (clock, volume)
}

impl Volume<Noting> {
    /// Adds a node without telling the LEB properties, which a test of the buffer does not have.
    fn put(&mut self, clock: &mut Clock, length: usize) {
        let node: Vec<u8> = (0..length).map(|at| u8::try_from(at % 200).unwrap()).collect();
        let aligned = u32_of(length).next_multiple_of(ALIGN);
        self.buffer_node(clock, DATA_HEAD, &node, aligned).unwrap();
    }

    fn state(&self) -> (u32, u32, u32) {
        let wbuf = &self.heads[DATA_HEAD].wbuf;
        (wbuf.offs, wbuf.used, wbuf.size)
    }
}

#[test]
fn nodes_are_collected_until_a_unit_is_full() {
    let (mut clock, mut volume) = at(512, 512, 0);
    volume.put(&mut clock, 100);
    assert_eq!((volume.state(), volume.lebs.writes.len()), ((0, 104, 512), 0));
    volume.put(&mut clock, 408);
    assert_eq!((volume.state(), volume.lebs.writes.clone()), ((512, 0, 512), vec![(0, 512)]));
    assert_eq!(volume.lebs.inner.content(LEB).unwrap()[100..104], [0xCE; 4]);
}

#[test]
fn a_large_node_fills_the_buffer_goes_past_it_and_leaves_its_rest() {
    let (mut clock, mut volume) = at(512, 512, 0);
    volume.put(&mut clock, 200);
    volume.put(&mut clock, 2_000);
    // 200 + 2,000 bytes: the first unit, two units directly, the last whole one through the buffer.
    assert_eq!(volume.lebs.writes, [(0, 512), (512, 1_024), (1_536, 512)]);
    assert_eq!(volume.state(), (2_048, 152, 512));
}

#[test]
fn a_node_that_ends_with_padding_at_a_unit_is_written_whole() {
    let (mut clock, mut volume) = at(512, 512, 0);
    volume.put(&mut clock, 1_021);
    assert_eq!(volume.lebs.writes, [(0, 512), (512, 512)]);
    assert_eq!(volume.state(), (1_024, 0, 512));
    assert_eq!(volume.lebs.inner.content(LEB).unwrap()[1_021..], [0xCE; 3]);
}

#[test]
fn a_buffer_that_begins_within_a_unit_ends_at_its_end() {
    let (mut clock, mut volume) = at(512, 4_096, 1_536);
    assert_eq!(volume.state(), (1_536, 0, 2_560));
    // Larger than the buffer, which is empty: so its bytes are written without it.
    volume.put(&mut clock, 2_600);
    assert_eq!(volume.lebs.writes, [(1_536, 2_560)]);
    assert_eq!(volume.state(), (4_096, 40, 4_096));
}

#[test]
fn the_last_buffer_of_a_leb_ends_with_the_leb() {
    let (mut clock, mut volume) = at(512, 4_096, 16_384 - 1_024);
    assert_eq!(volume.state(), (15_360, 0, 1_024));
    volume.put(&mut clock, 1_024);
    assert_eq!(
        (volume.state(), volume.lebs.writes.clone()),
        ((16_384, 0, 0), vec![(15_360, 1_024)])
    );
}

#[test]
fn what_is_written_is_every_node_padded_to_eight_bytes() {
    let mut random = Seed::new(20).stream("wbuf");
    for (min_io, max_write) in [(8, 8), (8, 64), (512, 512), (512, 2_048), (2_048, 2_048)] {
        for _ in 0..50 {
            let units = random.below(u64::from(8_192 / min_io));
            let start = u32::try_from(units).unwrap() * min_io;
            let (mut clock, mut volume) = at(min_io, max_write, start);
            let mut expected = vec![0xFF; usize_of(start)];
            loop {
                let length = usize::try_from(1 + random.below(3_000)).unwrap();
                let padded = length.next_multiple_of(8);
                if expected.len() + padded > 16_384 {
                    break;
                }
                volume.put(&mut clock, length);
                expected.extend((0..length).map(|at| u8::try_from(at % 200).unwrap()));
                expected.resize(expected.len() + padded - length, 0xCE);
                let (offs, used, size) = volume.state();
                assert_eq!(usize_of(offs + used), expected.len());
                let aligned = (offs + size).is_multiple_of(max_write) || offs + size == 16_384;
                assert!(aligned && size <= max_write);
            }
            let wbuf = &volume.heads[DATA_HEAD].wbuf;
            let mut found = volume.lebs.inner.content(LEB).unwrap_or_default().to_vec();
            found.resize(found.len().max(usize_of(start)), 0xFF);
            found.extend(&wbuf.buffer[..usize_of(wbuf.used)]);
            assert!(found == expected, "{min_io}, {max_write}, {start}");
        }
    }
}

#[test]
fn an_inode_is_noted_as_long_as_its_nodes_are_in_the_buffer() {
    let (mut clock, mut volume) = at(512, 512, 0);
    volume.wbuf_add_inode(DATA_HEAD, 5);
    assert!(volume.heads[DATA_HEAD].wbuf.inodes.is_empty(), "the buffer is empty");
    volume.put(&mut clock, 100);
    volume.wbuf_add_inode(DATA_HEAD, 5);
    assert_eq!(volume.heads[DATA_HEAD].wbuf.inodes, [5]);
    volume.put(&mut clock, 1_000);
    assert!(volume.heads[DATA_HEAD].wbuf.inodes.is_empty());
}

#[test]
fn a_full_leb_is_refused_and_an_error_ends_all_writes() {
    let (mut clock, mut volume) = at(512, 512, 15_872);
    let result = volume.wbuf_write(&mut clock, DATA_HEAD, &[1; 520]);
    assert_eq!(result, Err(Errno::NoSpc.into()));
    volume.mode.failed = true;
    let result = volume.wbuf_write(&mut clock, DATA_HEAD, &[1; 16]);
    assert_eq!(result, Err(Errno::RoFs.into()));
}

#[test]
fn a_node_is_read_from_flash_and_buffer_together() {
    use crate::format::data::Data;
    use crate::format::key::Key;
    use crate::format::{Group, Header, NodeType, seal};
    let (mut clock, mut volume) = at(512, 512, 0);
    volume.add_bud(crate::log::Bud { leb: LEB, start: 0, jhead: DATA_HEAD });
    volume.put(&mut clock, 400);
    let content = [7; 800];
    let data =
        Data { key: Key::data(64, 0), size: 800, compr_type: 0, compr_size: 0, data: &content };
    let mut node = data.emit();
    Header::fill(&mut node, 1, Group::None);
    seal(&mut node);
    let length = u32_of(node.len());
    volume.buffer_node(&mut clock, DATA_HEAD, &node, length).unwrap();
    let read = |volume: &mut Volume<Noting>, clock: &mut Clock, kind, len| {
        volume.read_node_wbuf(clock, kind, LEB, 400, len)
    };
    assert_eq!(volume.state().0, 1_024, "it begins on flash and ends in the buffer");
    assert_eq!(read(&mut volume, &mut clock, NodeType::Data, length).unwrap(), node);
    assert!(read(&mut volume, &mut clock, NodeType::Inode, length).is_err());
    assert!(read(&mut volume, &mut clock, NodeType::Data, length - 8).is_err());
    assert!(read(&mut volume, &mut clock, NodeType::Data, length + 8).is_err());
    assert!(read(&mut volume, &mut clock, NodeType::Data, u32::MAX).is_err());
    let on_flash = volume.read_node(&mut clock, NodeType::Data, LEB, 400, length);
    assert!(on_flash.is_err(), "its end is not there yet");
}

/// A default filesystem with a bud for each of the heads.
fn with_buds() -> (Clock, Volume<RamLebs>) {
    let (mut clock, mut volume) = crate::test_volume::default_fs();
    volume.lpt_init(&mut clock, true, true).unwrap();
    volume.log.tail = volume.log.head;
    volume.log.head_offs = 512;
    for head in [GC_HEAD, BASE_HEAD, DATA_HEAD] {
        let leb = LebIndex(60 + u32_of(head));
        volume.add_bud_to_log(&mut clock, head, leb, 0).unwrap().unwrap();
        volume.wbuf_seek(&mut clock, head, leb, 0).unwrap();
    }
    (clock, volume)
}

#[test]
fn the_properties_of_the_leb_follow_the_write_buffer() {
    let (mut clock, mut volume) = with_buds();
    let leb = LebIndex(60 + u32_of(DATA_HEAD));
    volume.wbuf_write(&mut clock, DATA_HEAD, &[1; 100]).unwrap();
    let lp = volume.read_one_lp(&mut clock, leb).unwrap();
    assert_eq!((lp.free, lp.dirty), (15_872 - 104, 0));
    volume.wbuf_sync(&mut clock, DATA_HEAD).unwrap();
    let lp = volume.read_one_lp(&mut clock, leb).unwrap();
    assert_eq!((lp.free, lp.dirty), (15_872 - 512, 408), "the padding is dirty");
    let content = volume.lebs.content(leb).unwrap();
    assert_eq!((content.len(), &content[100..104]), (512, &[0xCE; 4][..]));
    volume.wbuf_sync(&mut clock, DATA_HEAD).unwrap();
    assert_eq!(volume.lebs.content(leb).unwrap().len(), 512, "there was nothing to write");
}

#[test]
fn a_buffer_is_written_by_a_timer_five_seconds_after_the_last_node() {
    let (mut clock, mut volume) = with_buds();
    let second = Duration::from_millis(1_000);
    for head in [GC_HEAD, BASE_HEAD, DATA_HEAD] {
        volume.wbuf_write(&mut clock, head, &[1; 64]).unwrap();
    }
    clock.advance(second * 4);
    volume.wbuf_write(&mut clock, DATA_HEAD, &[2; 64]).unwrap();
    assert_eq!(volume.bg_wbufs_sync(&mut clock), Ok(false));
    clock.advance(second);
    assert_eq!(volume.bg_wbufs_sync(&mut clock), Ok(true));
    let used = |volume: &Volume<RamLebs>| [0, 1, 2].map(|head: usize| volume.heads[head].wbuf.used);
    assert_eq!(used(&volume), [64, 0, 128], "that of garbage collection has no timer");
    clock.advance(second * 4);
    assert_eq!(volume.bg_wbufs_sync(&mut clock), Ok(true));
    assert_eq!(volume.bg_wbufs_sync(&mut clock), Ok(false));
    assert_eq!(used(&volume), [64, 0, 0]);
}

#[test]
fn the_buffers_with_nodes_of_an_inode_are_written_for_it() {
    let (mut clock, mut volume) = with_buds();
    for (head, ino) in [(GC_HEAD, 70), (BASE_HEAD, 70), (DATA_HEAD, 71)] {
        volume.wbuf_write(&mut clock, head, &[1; 64]).unwrap();
        volume.wbuf_add_inode(head, ino);
    }
    volume.sync_wbufs_by_inode(&mut clock, 70).unwrap();
    let used = [0, 1, 2].map(|head: usize| volume.heads[head].wbuf.used);
    assert_eq!(used, [64, 0, 64], "garbage collection has copies of what is on flash");
}
