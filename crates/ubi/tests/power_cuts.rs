//! The power is cut at every operation that changes the flash, with every torn outcome, and once more
//! while the flash is attached again.

use boardlab_mtd::{Mtd, PowerCut, RamMtd, TearOutcome};
use boardlab_sim::{Bytes, Clock, Seed, Stream};
use boardlab_ubi::{
    AttachError, Error, FastmapMode, LebIndex, Lebs, Mistake, NewVolume, Options, Ubi, Volume,
    VolumeError,
};

const LEBS: u32 = 6;

fn options() -> Options {
    Options { wl_threshold: 2, ..Options::default() }
}

fn nand() -> RamMtd {
    RamMtd::nand(20, 4, Bytes::new(512), Bytes::new(16))
}

fn nor() -> RamMtd {
    RamMtd::nor(16, Bytes::kib(2))
}

/// What a LEB may contain up to its first byte that is erased in all of them.
type Contents = Vec<Vec<u8>>;

/// What must be found after a cut: for each LEB one of these.
#[derive(Clone)]
struct Expected {
    lebs: Vec<Contents>,
    /// The names that the second volume may have; `None` for no such volume.
    second: Vec<Option<&'static str>>,
}

/// An operation and what it leaves.
#[derive(Debug, Clone)]
enum Step {
    Change(u32, Vec<u8>),
    /// Appends to a LEB.
    Write(u32, Vec<u8>),
    Unmap(u32),
    Make(&'static str),
    Rename(&'static str),
    Remove,
    Background,
}

impl Step {
    fn name(&self) -> String {
        match self {
            Self::Change(leb, _) => format!("change of {leb}"),
            Self::Write(leb, _) => format!("write to {leb}"),
            other => format!("{other:?}"),
        }
    }
}

fn to_usize(value: u32) -> usize {
    usize::try_from(value).unwrap()
}

fn steps(unit: usize, stream: &mut Stream) -> Vec<Step> {
    let mut data = |units: usize| {
        let mut data = vec![0; unit * units];
        stream.fill(&mut data);
        data
    };
    let mut steps = vec![Step::Make("first name"), Step::Background];
    for round in 0..8 {
        steps.push(Step::Change(round % 3, data(2)));
        steps.extend([Step::Background, Step::Background]);
    }
    for leb in 3..LEBS {
        steps.extend([Step::Write(leb, data(1)), Step::Write(leb, data(1)), Step::Background]);
    }
    steps.extend([Step::Rename("other name"), Step::Background, Step::Unmap(3)]);
    for round in 0..40 {
        steps.extend([Step::Change(round % 2, data(1)), Step::Background, Step::Background]);
    }
    steps.extend([Step::Remove, Step::Background, Step::Write(3, data(1)), Step::Unmap(4)]);
    steps
}

impl Expected {
    fn new() -> Self {
        Self { lebs: vec![vec![vec![]]; to_usize(LEBS)], second: vec![None] }
    }

    /// What may be found while `step` is done.
    fn during(&self, step: &Step) -> Self {
        let mut during = self.clone();
        match step {
            Step::Change(leb, data) => during.lebs[to_usize(*leb)].push(data.clone()),
            // What was written before stays; what is being written may be anything.
            Step::Write(leb, _) => during.lebs[to_usize(*leb)].push(vec![]),
            Step::Unmap(leb) => during.lebs[to_usize(*leb)].push(vec![]),
            Step::Make(name) | Step::Rename(name) => during.second.push(Some(name)),
            Step::Remove => during.second.push(None),
            Step::Background => {}
        }
        during
    }

    /// What is found after `step`.
    fn after(&self, step: &Step) -> Self {
        let mut after = self.clone();
        match step {
            Step::Change(leb, data) => after.lebs[to_usize(*leb)] = vec![data.clone()],
            Step::Write(leb, data) => {
                let old = after.lebs[to_usize(*leb)].iter();
                after.lebs[to_usize(*leb)] = old.map(|old| [&old[..], data].concat()).collect();
            }
            // Until the block is erased the old content may be back.
            Step::Unmap(leb) => after.lebs[to_usize(*leb)].push(vec![]),
            Step::Make(name) | Step::Rename(name) => after.second = vec![Some(name)],
            Step::Remove => after.second = vec![None],
            Step::Background => {}
        }
        after
    }
}

fn perform<M: Mtd>(
    volume: &mut Volume<M>,
    clock: &mut Clock,
    step: &Step,
    unit: u32,
) -> Result<(), Error> {
    let plain = |error| match error {
        VolumeError::Operation(error) => error,
        other => panic!("{other}"),
    };
    let size = Bytes::new(u64::from(volume.shape().leb_size));
    match step {
        Step::Change(leb, data) => volume.change(clock, LebIndex(*leb), data),
        Step::Write(leb, data) => {
            let leb = LebIndex(*leb);
            let mut content = vec![0; to_usize(volume.shape().leb_size)];
            volume.read(clock, leb, 0, &mut content)?;
            let end = content.iter().rposition(|&byte| byte != 0xFF).map_or(0, |last| last + 1);
            let offset = u32::try_from(end).unwrap().next_multiple_of(unit);
            volume.write(clock, leb, offset, data)
        }
        Step::Unmap(leb) => volume.unmap(clock, LebIndex(*leb)),
        Step::Make(name) => {
            let new = NewVolume { id: Some(1), ..NewVolume::dynamic(name, size) };
            volume.ubi_mut().create_volume(clock, &new).map(|_| ()).map_err(plain)
        }
        Step::Rename(name) => volume.ubi_mut().rename_volumes(clock, &[(1, name)]).map_err(plain),
        Step::Remove => volume.ubi_mut().remove_volume(clock, 1).map_err(plain),
        Step::Background => volume.background(clock).map(|_| ()),
    }
}

/// Whether what is on the flash is what must be there.
fn verify<M: Mtd>(
    device: M,
    options: &Options,
    expected: &Expected,
    during: &Step,
) -> Result<Ubi<M>, String> {
    let mut clock = Clock::new();
    let attached = Ubi::attach(&mut clock, device, options).map_err(|error| error.to_string())?;
    attached.check_tables().map_err(|error| error.to_string())?;
    let second = attached.volumes().into_iter().find(|volume| volume.id == 1);
    let name = second.map(|volume| volume.name);
    if !expected.second.iter().any(|known| known.map(str::to_owned) == name) {
        return Err(format!("the second volume is {name:?}"));
    }
    let mut volume = attached.into_volume(&mut clock, 0).map_err(|error| error.to_string())?;
    for (leb, contents) in (0..).zip(&expected.lebs) {
        let mut found = vec![0; to_usize(volume.shape().leb_size)];
        volume.read(&mut clock, LebIndex(leb), 0, &mut found).map_err(|error| error.to_string())?;
        // A change of a LEB that is not mapped has nothing to fall back to.
        let written = match during {
            Step::Write(at, _) => *at == leb,
            Step::Change(at, _) => *at == leb && contents[0].is_empty(),
            _ => false,
        };
        let fits = |content: &Vec<u8>| {
            let rest = &found[content.len()..];
            found.starts_with(content) && (written || rest.iter().all(|&byte| byte == 0xFF))
        };
        if !contents.iter().any(fits) {
            return Err(format!("LEB {leb} has other data"));
        }
    }
    Ok(volume.into_ubi())
}

struct Run {
    flash: RamMtd,
    options: Options,
    steps: Vec<Step>,
    unit: u32,
}

impl Run {
    fn new(flash: RamMtd, options: Options, seed: u64) -> Self {
        let mut clock = Clock::new();
        let unit = flash.geometry().write_size.to_usize().max(64);
        let mut ubi = Ubi::attach(&mut clock, flash, &options).unwrap();
        let size = Bytes::new(u64::from(LEBS * ubi.layout().leb_size));
        ubi.create_volume(&mut clock, &NewVolume::dynamic("data", size)).unwrap();
        while ubi.background(&mut clock).unwrap() {}
        let steps = steps(unit, &mut Seed::new(seed).stream("cuts"));
        Self { flash: ubi.into_device(), options, steps, unit: u32::try_from(unit).unwrap() }
    }

    /// Runs until the cut at operation `number`. Returns the flash and what must be on it; nothing
    /// when all steps were done before.
    fn cut(&self, number: u64, torn: TearOutcome) -> Option<(RamMtd, Expected, Step)> {
        let mut clock = Clock::new();
        let mut device = PowerCut::new(self.flash.clone(), Seed::new(number * 7 + 1));
        device.cut_at_operation(number, torn);
        let ubi = Ubi::attach(&mut clock, device, &self.options).unwrap();
        let mut volume = ubi.into_volume(&mut clock, 0).unwrap();
        let mut expected = Expected::new();
        for step in &self.steps {
            match perform(&mut volume, &mut clock, step, self.unit) {
                Ok(()) => expected = expected.after(step),
                Err(Error::Flash(boardlab_mtd::Error::PowerCut { .. })) => {
                    let flash = volume.into_ubi().into_device().into_inner();
                    return Some((flash, expected.during(step), step.clone()));
                }
                Err(error) => panic!("{step:?}: {error}"),
            }
            volume.ubi().check_tables().unwrap();
        }
        None
    }

    fn explore(&self) -> Result<u64, String> {
        self.explore_every(1)
    }

    /// Cuts at every operation, or at every few, with every outcome; counts the cuts, and says what went wrong first.
    fn explore_every(&self, stride: usize) -> Result<u64, String> {
        let mut cuts = 0;
        for torn in TearOutcome::PLAIN {
            for number in (0..).step_by(stride) {
                let Some((flash, expected, step)) = self.cut(number, torn) else { break };
                let place = |problem| format!("{torn:?} at {number}, {}: {problem}", step.name());
                self.recover(&flash, &expected, &step, number).map_err(place)?;
                cuts += 1;
            }
        }
        Ok(cuts)
    }

    /// Attaches after a cut, cuts the power again during the work that follows, attaches again, does
    /// all work, and attaches once more.
    fn recover(
        &self,
        flash: &RamMtd,
        expected: &Expected,
        step: &Step,
        number: u64,
    ) -> Result<(), String> {
        let device = PowerCut::new(flash.clone(), Seed::new(number));
        let mut ubi = verify(device, &self.options, expected, step)?;
        let mut clock = Clock::new();
        let done = ubi.device().operations();
        ubi.device_mut().cut_at_operation(done + number % 5, TearOutcome::Partial);
        let interrupted = loop {
            match ubi.background(&mut clock) {
                Ok(true) => {}
                Ok(false) | Err(_) => break ubi.into_device().into_inner(),
            }
        };
        let mut ubi = verify(interrupted, &self.options, expected, step)?;
        while ubi.background(&mut clock).map_err(|error| error.to_string())? {
            ubi.check_tables().map_err(|error| error.to_string())?;
        }
        verify(ubi.into_device(), &self.options, expected, step).map(|_| ())
    }
}

/// The LEBs that the whole run moves.
fn moves(run: &Run) -> u64 {
    let mut clock = Clock::new();
    let ubi = Ubi::attach(&mut clock, run.flash.clone(), &run.options).unwrap();
    let mut volume = ubi.into_volume(&mut clock, 0).unwrap();
    for step in &run.steps {
        perform(&mut volume, &mut clock, step, run.unit).unwrap();
    }
    volume.ubi().counts().moved
}

#[test]
fn every_leb_is_old_or_new_after_a_cut_on_nand() {
    let run = Run::new(nand(), options(), 1);
    let cuts = run.explore().unwrap();
    assert!(cuts > 300 && moves(&run) > 2, "{cuts} cuts, {} moves", moves(&run));
}

#[test]
fn every_leb_is_old_or_new_after_a_cut_on_nor() {
    let run = Run::new(nor(), options(), 1);
    let cuts = run.explore().unwrap();
    assert!(cuts > 300 && moves(&run) > 2, "{cuts} cuts, {} moves", moves(&run));
}

/// Some of these attaches are by fastmap, some by a scan.
#[test]
fn every_leb_is_old_or_new_after_a_cut_with_fastmaps() {
    let flash = RamMtd::nand(72, 4, Bytes::new(1_024), Bytes::new(16));
    let options = Options { fastmap: FastmapMode::Convert, ..options() };
    let run = Run::new(flash, options, 1);
    let cuts = run.explore_every(7).unwrap();
    assert!(cuts > 100, "{cuts}");
}

/// Formats a flash until a cut. Returns the flash; nothing when it was formatted before.
fn format_until(flash: RamMtd, number: u64, torn: TearOutcome) -> Option<RamMtd> {
    let mut device = PowerCut::new(flash, Seed::new(number));
    device.cut_at_operation(number, torn);
    let attached = Ubi::attach(&mut Clock::new(), &mut device, &options()).is_ok();
    (!attached).then(|| device.into_inner())
}

/// Once the first block has an EC header the flash is not empty, and until the first copy of the table
/// is written Linux refuses it.
#[test]
fn formatting_an_empty_flash_can_be_interrupted_anywhere() {
    for (flash, torn) in [nand(), nor()]
        .into_iter()
        .flat_map(|flash| TearOutcome::PLAIN.map(|torn| (flash.clone(), torn)))
    {
        let cuts = (0..).map_while(|number| format_until(flash.clone(), number, torn));
        for flash in cuts {
            let mut clock = Clock::new();
            match Ubi::attach(&mut clock, flash, &options()) {
                Ok(mut ubi) => {
                    while ubi.background(&mut clock).unwrap() {}
                    assert!(ubi.volumes().is_empty());
                }
                Err(AttachError::NoTable | AttachError::Table(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
}

/// The marker is written first and removed last: until then the volume has neither old nor new data.
#[test]
fn an_interrupted_update_leaves_a_volume_that_can_only_be_updated() {
    let run = Run::new(nand(), options(), 1);
    let (mut unusable, mut complete) = (0, 0);
    for number in 0.. {
        let mut clock = Clock::new();
        let mut device = PowerCut::new(run.flash.clone(), Seed::new(number));
        device.cut_at_operation(number, TearOutcome::Partial);
        let mut ubi = Ubi::attach(&mut clock, device, &run.options).unwrap();
        if ubi.update_volume(&mut clock, 0, &[9; 1_024]).is_ok() {
            break;
        }
        let flash = ubi.into_device().into_inner();
        let mut ubi = Ubi::attach(&mut clock, flash, &run.options).unwrap();
        let updating = ubi.volumes()[0].updating;
        let mut found = [0; 1_024];
        let mut volume = ubi.volume(&mut clock, 0).unwrap();
        let read = volume.read(&mut clock, LebIndex(0), 0, &mut found);
        assert_eq!(read.err(), updating.then_some(Error::Unusable), "{number}");
        if updating {
            unusable += 1;
        } else {
            complete += u32::from(found == [9; 1_024]);
        }
        ubi.update_volume(&mut clock, 0, &[8; 1_024]).unwrap();
        let mut volume = ubi.volume(&mut clock, 0).unwrap();
        volume.read(&mut clock, LebIndex(0), 0, &mut found).unwrap();
        assert_eq!(found, [8; 1_024]);
    }
    assert!(unusable > 7 && complete > 0, "{unusable} unusable, {complete} complete");
}

#[test]
fn each_mistake_in_the_recovery_is_found() {
    for mistake in Mistake::ALL {
        let found = Run::new(nand(), Options { mistake: Some(mistake), ..options() }, 1).explore();
        assert!(found.is_err(), "{mistake:?} was not found");
    }
}
