//! Random operations on a volume and on [`RamLebs`], with detaching and attaching in between.

use crate::devices::SubPages;
use boardlab_mtd::{FlashKind, Geometry, Mtd, RamMtd};
use boardlab_sim::{Bytes, Clock, Seed, Stream};
use boardlab_ubi::{FastmapMode, LebIndex, Lebs, NewVolume, Options, RamLebs, Ubi, Volume};

const LEBS: u32 = 24;

struct Model<M> {
    volume: Volume<M>,
    model: RamLebs,
    /// Where the next write to each LEB begins.
    ends: Vec<u32>,
    clock: Clock,
    stream: Stream,
    options: Options,
}

fn to_usize(value: u32) -> usize {
    usize::try_from(value).unwrap()
}

fn open<M: Mtd>(clock: &mut Clock, device: M, options: &Options) -> Volume<M> {
    let ubi = Ubi::attach(clock, device, options).unwrap();
    ubi.into_volume(clock, 0).unwrap()
}

impl<M: Mtd + Clone> Model<M> {
    fn new(device: M, options: Options, seed: u64) -> Self {
        let mut clock = Clock::new();
        let mut ubi = Ubi::attach(&mut clock, device, &options).unwrap();
        let size = Bytes::new(u64::from(LEBS) * u64::from(ubi.layout().leb_size));
        ubi.create_volume(&mut clock, &NewVolume::dynamic("model", size)).unwrap();
        let volume = ubi.into_volume(&mut clock, 0).unwrap();
        let model = RamLebs::new(volume.shape());
        let ends = vec![0; to_usize(LEBS)];
        Self { volume, model, ends, clock, stream: Seed::new(seed).stream("model"), options }
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.stream.below(u64::from(bound))).unwrap()
    }

    fn bytes(&mut self, units: u32) -> Vec<u8> {
        let mut data = vec![0; to_usize(units * self.model.shape().min_io)];
        self.stream.fill(&mut data);
        data
    }

    /// LEB 0 to 7 change rarely, so that wear levelling has something to do.
    fn leb(&mut self) -> LebIndex {
        let cold = self.below(40) == 0;
        LebIndex(if cold { self.below(8) } else { 8 + self.below(LEBS - 8) })
    }

    fn step(&mut self) {
        let leb = self.leb();
        let shape = self.model.shape();
        let units = shape.leb_size / shape.min_io;
        let end = self.ends[to_usize(leb.0)];
        match self.below(10) {
            0..=3 if end < units => {
                let count = 1 + self.below((units - end).min(9));
                let (data, offset) = (self.bytes(count), end * shape.min_io);
                self.volume.write(&mut self.clock, leb, offset, &data).unwrap();
                self.model.write(&mut self.clock, leb, offset, &data).unwrap();
                self.ends[to_usize(leb.0)] = end + count;
            }
            4 | 5 => {
                let count = 1 + self.below(units);
                let data = self.bytes(count);
                self.volume.change(&mut self.clock, leb, &data).unwrap();
                self.model.change(&mut self.clock, leb, &data).unwrap();
                self.ends[to_usize(leb.0)] = count;
            }
            6 => {
                self.volume.unmap(&mut self.clock, leb).unwrap();
                // A volume that was detached before the erase has the old content again.
                self.volume.ubi_mut().background(&mut self.clock).unwrap();
                while self.volume.background(&mut self.clock).unwrap() {}
                self.model.unmap(&mut self.clock, leb).unwrap();
                self.ends[to_usize(leb.0)] = 0;
            }
            7 if !self.model.is_mapped(leb).unwrap() => {
                self.volume.map(&mut self.clock, leb).unwrap();
                self.model.map(&mut self.clock, leb).unwrap();
            }
            8 => _ = self.volume.background(&mut self.clock).unwrap(),
            _ => {}
        }
        self.volume.ubi().check_tables().unwrap();
        self.compare(leb);
    }

    fn compare(&mut self, leb: LebIndex) {
        let mut ours = vec![0; to_usize(self.model.shape().leb_size)];
        let mut expected = ours.clone();
        self.volume.read(&mut self.clock, leb, 0, &mut ours).unwrap();
        self.model.read(&mut self.clock, leb, 0, &mut expected).unwrap();
        assert!(ours == expected, "LEB {leb} differs");
        // Not before the read: after an attach by fastmap it unmaps what was erased since.
        let mapped = self.model.is_mapped(leb);
        assert_eq!(self.volume.is_mapped(leb), mapped, "LEB {leb}");
    }

    /// Every second time after a detach, which writes a fastmap where there is one.
    fn attach_again(&mut self) {
        let detached = self.volume.ubi().clone().detach(&mut self.clock).unwrap();
        let cut_off = self.volume.ubi().device().clone();
        let device = if self.below(2) == 0 { detached } else { cut_off };
        self.volume = open(&mut self.clock, device, &self.options);
        self.volume.ubi().check_tables().unwrap();
        (0..LEBS).for_each(|leb| self.compare(LebIndex(leb)));
    }

    fn run(mut self, steps: u32) -> Volume<M> {
        for step in 0..steps {
            self.step();
            if step % 97 == 96 {
                self.attach_again();
            }
        }
        self.attach_again();
        self.volume
    }
}

fn levelling() -> Options {
    Options { wl_threshold: 4, ..Options::default() }
}

#[test]
fn a_volume_on_nand_behaves_as_one_in_memory() {
    let options = Options { sub_page: Some(256), ..levelling() };
    for seed in 0..3 {
        let volume = Model::new(SubPages::new(40, 8, 512, 256), options.clone(), seed).run(800);
        assert!(volume.ubi().counts().max_ec > 4);
    }
    for seed in 0..3 {
        let whole_pages = RamMtd::nand(40, 8, Bytes::new(512), Bytes::new(16)).program_once();
        let volume = Model::new(whole_pages, levelling(), seed).run(800);
        assert_eq!(volume.shape().leb_size, 6 * 512);
    }
}

#[test]
fn a_volume_with_a_fastmap_behaves_as_one_in_memory() {
    for fastmap in [FastmapMode::Convert, FastmapMode::Existing, FastmapMode::Disabled] {
        let options = Options { fastmap, ..levelling() };
        let nand = RamMtd::nand(100, 8, Bytes::new(1_024), Bytes::new(16));
        let volume = Model::new(nand, options, 4).run(1_500);
        assert_eq!(volume.ubi().has_fastmap(), fastmap == FastmapMode::Convert);
    }
}

#[test]
fn a_volume_on_nor_behaves_as_one_in_memory() {
    for seed in 0..3 {
        let volume = Model::new(RamMtd::nor(32, Bytes::kib(4)), levelling(), seed).run(800);
        assert_eq!((volume.shape().min_io, volume.shape().leb_size), (1, 4_096 - 128));
    }
    let geometry = Geometry {
        write_size: Bytes::new(8),
        write_buffer: Bytes::new(64),
        ..Geometry::uniform(FlashKind::Nor, 32, Bytes::kib(4))
    };
    let volume = Model::new(RamMtd::new(geometry), levelling(), 9).run(800);
    assert_eq!((volume.shape().min_io, volume.shape().max_write), (8, 64));
}

#[test]
fn erase_counters_stay_close_while_some_data_never_change() {
    let mut clock = Clock::new();
    let options = Options { wl_threshold: 8, ..Options::default() };
    let flash = RamMtd::nand(32, 8, Bytes::new(512), Bytes::new(16));
    let mut ubi = Ubi::attach(&mut clock, flash, &options).unwrap();
    let size = Bytes::new(20 * u64::from(ubi.layout().leb_size));
    ubi.create_volume(&mut clock, &NewVolume::dynamic("cold", size)).unwrap();
    let mut volume = ubi.into_volume(&mut clock, 0).unwrap();
    for leb in 0..16 {
        volume.change(&mut clock, LebIndex(leb), &[3; 512]).unwrap();
    }
    for round in 0..3_000 {
        volume.change(&mut clock, LebIndex(16 + round % 4), &[4; 512]).unwrap();
        while volume.background(&mut clock).unwrap() {}
    }
    let ecs = volume.ubi().erase_counters();
    let (least, most) = (ecs.iter().flatten().min().unwrap(), ecs.iter().flatten().max().unwrap());
    // Without moves the cold blocks would have been erased once or twice and others 200 times.
    assert!(*least > 50 && most - least <= 3 * 8, "{least} to {most}");
    volume.ubi().check_tables().unwrap();
}
