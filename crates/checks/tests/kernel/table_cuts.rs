//! Our side of [`volume_tables`](crate::volume_tables): changes of the volume table whose power fails, on our NAND.
//!
//! Main types: [`Kind`], a flash, [`Change`], one change of a prepared flash, and [`Cut`], where it is interrupted.

use crate::flash::{chip_of_blocks, dump, load};
use boardlab_checks::nandsim::{self, Flash};
use boardlab_mtd::{Error, Mtd, Outcome, Place, TearOutcome, Tracer};
use boardlab_nand::Nand;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_ubi::{AttachError, NewVolume, Options, Ubi, VolumeError, VolumeInfo};
use std::collections::BTreeSet;

/// A flash with UBI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) flash: Flash,
    pub(crate) blocks: usize,
    /// The options of `ubiattach` besides [`EXPECTED_BAD`].
    pub(crate) attach: &'static str,
}

const fn kind(name: &'static str, flash: Flash, blocks: usize, attach: &'static str) -> Kind {
    Kind { name, flash, blocks, attach }
}

const SMALL: Flash = Flash { id_bytes: "0x20,0x33", mebibytes: 16, ..nandsim::ALL[0] };

/// Three with sub-pages, one without.
pub(crate) const KINDS: [Kind; 4] = [
    kind("512", SMALL, 20, ""),
    kind("2048", nandsim::ALL[1], 16, ""),
    kind("2048n", nandsim::ALL[1], 16, "-O 2048"),
    kind("4096", nandsim::ALL[2], 16, ""),
];

/// Bad blocks to expect among 1,024: few, so that a flash of few blocks has them in reserve.
pub(crate) const EXPECTED_BAD: u32 = 1;

/// A change of the volume table; the first volume is dynamic, the second static.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Make,
    /// Two volumes exchange their names.
    Exchange,
    Grow,
    Shrink,
    /// Writes the whole volume of this number.
    Update(u32),
    /// Empties it.
    Empty(u32),
    /// A volume gets the name of another one, which thereby is removed.
    Replace,
    Remove(u32),
}

const STEPS: [Step; 9] = [
    Step::Make,
    Step::Exchange,
    Step::Grow,
    Step::Update(0),
    Step::Update(1),
    Step::Shrink,
    Step::Empty(1),
    Step::Replace,
    Step::Remove(0),
];

impl Kind {
    fn attach<M: Mtd>(
        &self,
        clock: &mut Clock,
        device: M,
        sub_page: Bytes,
    ) -> Result<Ubi<M>, AttachError> {
        let sub_page = u32::try_from(sub_page.get()).unwrap();
        let chip_blocks = self.flash.blocks_of(self.flash.mebibytes);
        let options = Options {
            sub_page: self.attach.is_empty().then_some(sub_page),
            chip_blocks: Some(u32::try_from(chip_blocks).unwrap()),
            beb_limit: EXPECTED_BAD,
            ..Options::default()
        };
        Ubi::attach(clock, device, &options)
    }

    fn attached(&self, clock: &mut Clock, nand: Nand) -> Ubi<Nand> {
        let sub_page = nand.subpage();
        self.attach(clock, nand, sub_page).unwrap()
    }

    /// A flash with a volume of either type.
    fn prepared(&self) -> Nand {
        let mut clock = Clock::default();
        let mut ubi = self.attached(&mut clock, chip_of_blocks(self.flash, self.blocks));
        let leb = u64::from(ubi.layout().leb_size);
        let dynamic = NewVolume::dynamic("data", Bytes::new(3 * leb));
        let fixed = NewVolume::fixed("fixed", Bytes::new(2 * leb));
        for new in [dynamic, fixed] {
            ubi.create_volume(&mut clock, &new).unwrap();
        }
        for id in 0..2 {
            Step::Update(id).perform(&mut clock, &mut ubi).unwrap();
        }
        settle(&mut clock, &mut ubi).unwrap();
        ubi.detach(&mut clock).unwrap()
    }

    /// All changes, each of the flash that the one before left.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut before = self.prepared();
        STEPS
            .map(|step| {
                let change = Change::new(*self, step, before.clone());
                before = change.after.clone();
                change
            })
            .into()
    }

    /// What ours says about a flash.
    pub(crate) fn look(&self, dump: &[u8]) -> Look {
        let mut clock = Clock::default();
        let mut nand = chip_of_blocks(self.flash, self.blocks);
        load(&mut nand, dump);
        let sub_page = nand.subpage();
        let traced = Tracer::new(nand, usize::MAX);
        match self.attach(&mut clock, traced, sub_page) {
            Ok(ubi) => Look::new(*self, &ubi),
            Err(error) => Look { shown: format!("{error}\n"), ..Look::default() },
        }
    }
}

fn settle(clock: &mut Clock, ubi: &mut Ubi<Nand>) -> Result<(), VolumeError> {
    while ubi.background(clock)? {}
    Ok(())
}

impl Step {
    fn perform(self, clock: &mut Clock, ubi: &mut Ubi<Nand>) -> Result<(), VolumeError> {
        let leb_size = ubi.layout().leb_size;
        match self {
            Self::Make => {
                let size = Bytes::new(2 * u64::from(leb_size));
                ubi.create_volume(clock, &NewVolume::dynamic("third", size)).map(|_| ())
            }
            Self::Exchange => ubi.rename_volumes(clock, &[(0, "fixed"), (1, "data")]),
            Self::Grow => ubi.resize_volume(clock, 0, 5),
            Self::Shrink => ubi.resize_volume(clock, 0, 1),
            Self::Update(id) => ubi.update_volume(clock, id, &data(leb_size)),
            Self::Empty(id) => ubi.update_volume(clock, id, &[]),
            Self::Replace => ubi.rename_volumes(clock, &[(2, "data")]),
            Self::Remove(id) => ubi.remove_volume(clock, id),
        }
    }
}

/// Data of one LEB and a little more. What ends in 0xFF is not written to a dynamic volume.
fn data(leb_size: u32) -> Vec<u8> {
    let mut data = vec![0xFF; usize::try_from(leb_size).unwrap()];
    data[..100].fill(0x5A);
    data.extend([0xA5; 100]);
    data
}

/// A change of a flash.
pub(crate) struct Change {
    kind: Kind,
    step: Step,
    before: Nand,
    after: Nand,
    /// Programs and erases of the chip, with those of the background work that follows.
    operations: u64,
    /// What the table holds at first, meanwhile and at last: lines of number, name, type, LEBs, and whether an update
    /// is being done.
    tables: Vec<String>,
}

impl Change {
    fn new(kind: Kind, step: Step, before: Nand) -> Self {
        let mut clock = Clock::default();
        let mut ubi = kind.attached(&mut clock, before.clone());
        let mut volumes = ubi.volumes();
        let mut tables = vec![table(&volumes)];
        if let Step::Update(id) | Step::Empty(id) = step {
            volumes
                .iter_mut()
                .filter(|volume| volume.id == id)
                .for_each(|volume| volume.updating = true);
            tables.push(table(&volumes));
        }
        let start = ubi.device().port.operations();
        step.perform(&mut clock, &mut ubi).unwrap();
        settle(&mut clock, &mut ubi).unwrap();
        tables.push(table(&ubi.volumes()));
        let operations = ubi.device().port.operations() - start;
        let after = ubi.detach(&mut clock).unwrap();
        Self { kind, step, before, after, operations, tables }
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    /// Every cut in it. What is left of a complete operation is what is left before the next.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = Cut<'_>> {
        let torn = [TearOutcome::NotBegun, TearOutcome::Partial, TearOutcome::Weak];
        let cuts = move |number| torn.map(|torn| Cut { change: self, at: Some((number, torn)) });
        (0..self.operations).flat_map(cuts)
    }

    /// No cut.
    pub(crate) const fn whole(&self) -> Cut<'_> {
        Cut { change: self, at: None }
    }
}

/// Where a change is interrupted.
#[derive(Clone, Copy)]
pub(crate) struct Cut<'a> {
    change: &'a Change,
    /// The program or erase, and its outcome; `None` for after all.
    at: Option<(u64, TearOutcome)>,
}

impl Cut<'_> {
    pub(crate) const fn kind(&self) -> Kind {
        self.change.kind
    }

    pub(crate) fn name(&self) -> String {
        let Change { kind, step, .. } = self.change;
        let at = self.at.map(|(number, torn)| format!("-{number}-{}", torn.name()));
        let step = format!("{step:?}").replace(['(', ')'], "");
        format!("{}-{step}{}", kind.name, at.unwrap_or_default())
    }

    /// What is left on the flash.
    pub(crate) fn dump(&self) -> Vec<u8> {
        let Change { kind, step, before, after, .. } = self.change;
        let Some((number, torn)) = self.at else { return dump(&mut after.clone()) };
        let mut clock = Clock::default();
        let mut ubi = kind.attached(&mut clock, before.clone());
        let port = &mut ubi.device_mut().port;
        port.die_mut().set_torn_stream(Seed::new(number).stream("volume tables"));
        port.cut_at_operation(port.operations() + number, torn);
        let cut = step.perform(&mut clock, &mut ubi).and_then(|()| settle(&mut clock, &mut ubi));
        assert!(cut.is_err(), "{}", self.name());
        let mut nand = ubi.into_device();
        nand.power_on(&mut clock).unwrap();
        dump(&mut nand)
    }

    /// What is wrong with the volumes that the kernel found: their table is not one of those that the change writes, or
    /// not of the copy that is written first, or data are missing. `restored` says that the second copy was restored.
    pub(crate) fn wrong_table(&self, found: &[&str], restored: bool) -> Option<String> {
        let tables = &self.change.tables;
        let first_five =
            |line: &&str| line.splitn(6, ' ').take(5).collect::<Vec<_>>().join(" ") + "\n";
        let unmarked = |line: &&&str| line.split(' ').skip(4).take(2).eq(["0", "1"]);
        if let Some(volume) = found.iter().find(unmarked) {
            return Some(format!("data are missing without the marker of an update: {volume}"));
        }
        let found: String = found.iter().map(first_five).collect();
        // An update ends with the table it began with.
        let written = tables[1..].contains(&found);
        match self.at {
            _ if !written && tables[0] != found => {
                Some(format!("a table of neither before nor after:\n{found}"))
            }
            _ if !written && restored => Some("the second copy was written first".into()),
            None if restored => Some("the copies differ at the end".into()),
            None if tables.last() != Some(&found) => {
                Some("the change is not there at the end".into())
            }
            _ => None,
        }
    }
}

fn table(volumes: &[VolumeInfo]) -> String {
    volumes.iter().map(|volume| entry(volume) + "\n").collect()
}

fn entry(volume: &VolumeInfo) -> String {
    let VolumeInfo { id, name, kind, reserved_lebs, updating, .. } = volume;
    format!("{id} {name} {kind} {reserved_lebs} {}", u8::from(*updating))
}

/// What ours says about a flash after its attach.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// A line for the device and one for each volume.
    pub(crate) shown: String,
    /// Blocks kept because they have data and no header.
    pub(crate) corrupted: u32,
    /// Volumes with missing data.
    pub(crate) damaged: usize,
    /// The blocks where bits were corrected.
    pub(crate) flipped: BTreeSet<u64>,
    /// The blocks where they could not be corrected.
    pub(crate) unreadable: BTreeSet<u64>,
}

impl Look {
    fn new(kind: Kind, ubi: &Ubi<Tracer<Nand>>) -> Self {
        let (counts, volumes) = (ubi.counts(), ubi.volumes());
        let mut shown = format!("device {} {}\n", counts.available, counts.bad_reserve);
        for volume in &volumes {
            shown += &format!(
                "{} {} {}\n",
                entry(volume),
                u8::from(volume.corrupted),
                volume.size.get()
            );
        }
        let damaged = volumes.iter().filter(|volume| volume.corrupted).count();
        let corrupted = counts.corrupted;
        let mut look = Self { shown, corrupted, damaged, ..Self::default() };
        for event in ubi.device().events() {
            let Place::Offset(at) = event.operation.place else { continue };
            let peb = at.get() / u64::try_from(kind.flash.block()).unwrap();
            match &event.outcome {
                Outcome::Read(health) if health.corrected > 0 => look.flipped.insert(peb),
                Outcome::Failed(Error::Uncorrectable { .. }) => look.unreadable.insert(peb),
                _ => continue,
            };
        }
        look
    }
}
