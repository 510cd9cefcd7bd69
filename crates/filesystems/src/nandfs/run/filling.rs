//! A flash that is filled with files: mount and ls at chosen levels, and how much it holds.
//!
//! Layer: rank 10. Main types: [`Filling`], what is asked for, and [`Filled`], what comes of it. One pass serves all
//! levels: the mounted filesystem is forked at each, and the fork is unmounted, mounted again and listed. So what is
//! measured at a level does not depend on the other levels.
//!
//! `ls` lists every directory and reads every inode, as `ls -lR` does, so it waits for whatever the mount left to do
//! for any of them.

use super::measure::{Capacity, Mounting, TimedWork};
use super::stand::{Cached, Files, Stand, unmount, used};
use crate::nandfs::flash::{Counts, Flash};
use boardlab_document::quantity::Ratio;
use boardlab_experiment::Cause;
use boardlab_sim::{Bytes, Clock};
use boardlab_workload::tree;

/// How a flash is filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filling {
    pub(crate) files: Files,
    /// The levels at which mount and ls are measured, ascending. Without any it is filled until there is no space left.
    pub(crate) levels: Vec<Ratio>,
    /// Whether it is filled on behind the last level, until there is no space left.
    pub(crate) until_full: bool,
}

impl Filling {
    /// The level at which it ends.
    pub(crate) fn highest(&self) -> Ratio {
        let last = self.levels.last().copied().unwrap_or_default();
        if self.until_full { Ratio::WHOLE } else { last }
    }
}

/// Fillings with different files.
#[derive(Debug, Default)]
pub(super) struct Fillings(pub(super) Vec<Filling>);

impl Fillings {
    /// Asks for mount and ls at `level`.
    pub(super) fn at(&mut self, files: Files, level: Ratio) {
        let levels = &mut self.with(files).levels;
        if let Err(place) = levels.binary_search(&level) {
            levels.insert(place, level);
        }
    }

    /// Asks how much of `files` a flash holds.
    pub(super) fn until_full(&mut self, files: Files) {
        self.with(files).until_full = true;
    }

    fn with(&mut self, files: Files) -> &mut Filling {
        let known = self.0.iter().position(|filling| filling.files == files);
        let place = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push(Filling { files, levels: Vec::new(), until_full: false });
        }
        &mut self.0[place]
    }
}

/// What was measured while a flash was filled.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Filled {
    /// Mount and ls, by level.
    pub(crate) mountings: Vec<Mounting>,
    /// What the full flash holds, if it was filled to the end.
    pub(crate) capacity: Option<Capacity>,
}

impl Stand<'_> {
    /// Fills a flash, and measures what `filling` asks for.
    pub(crate) fn fill(
        &self,
        filling: &Filling,
        flash: Flash,
        clock: &mut Clock,
    ) -> Result<Filled, Cause> {
        let Filling { files, levels, until_full } = filling;
        let size = flash.size();
        let mut mount = self.mount(flash, clock, self.fill_cache())?;
        let (mut count, mut stored, mut mountings) = (0, Bytes::ZERO, Vec::new());
        // One statfs a file, however many levels there are.
        let mut share = if levels.is_empty() { Ratio::default() } else { used(&mut mount, clock)? };
        for &level in levels {
            while share < level {
                stored += Bytes::new(self.write_file(&mut mount, clock, count, files)?);
                count += 1;
                share = used(&mut mount, clock)?;
            }
            let at = (level, files, count);
            if !until_full && level == filling.highest() {
                mountings.push(self.mounting(at, mount, clock.clone())?);
                return Ok(Filled { mountings, capacity: None });
            }
            mountings.push(self.mounting(at, mount.clone(), clock.clone())?);
        }
        while let Some(written) = self.try_file(&mut mount, clock, count, files)? {
            stored += Bytes::new(written);
            count += 1;
        }
        let reserved = mount.fs().reserved();
        Ok(Filled { mountings, capacity: Some(Capacity { flash: size, stored, reserved }) })
    }

    /// Unmounts a filesystem, mounts it again with an empty page cache, and lists it.
    fn mounting(
        &self,
        (level, Files { size, data }, files): (Ratio, &Files, u64),
        filled: Cached,
        mut clock: Clock,
    ) -> Result<Mounting, Cause> {
        let flash = unmount(filled, &mut clock)?;
        let mut clock = Clock::new();
        let begun = (clock.now(), Counts::of(&flash));
        let cache = self.page_cache();
        let (mut mount, attach) = self.mount_with_attach(flash, &mut clock, cache)?;
        let mounted = (clock.now(), Counts::of(mount.fs().flash()));
        let structures = mount.fs().structures();
        tree::list(&mut mount, &mut clock)?;
        let listed = (clock.now(), Counts::of(mount.fs().flash()));
        Ok(Mounting {
            level,
            file: size.mean(),
            data: data.to_string(),
            files,
            attach,
            mount: TimedWork::between(begun, mounted),
            ls: TimedWork::between(mounted, listed),
            mounted: structures,
            listed: mount.fs().structures(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nandfs::fs;
    use crate::nandfs::run::filesystem::{Lab, timed};
    use crate::nandfs::run::stand::Sizes;
    use crate::nandfs::scenario::{Scenario, chosen};
    use boardlab_parts::catalog;
    use boardlab_sim::Seed;
    use boardlab_workload::data::Data;

    const fn percent(percent: u64) -> Ratio {
        Ratio::from_millionths(10_000 * percent)
    }

    fn files(kib: u64, data: Data) -> Files {
        Files { size: Sizes::Each(Bytes::kib(kib)), data }
    }

    #[test]
    fn what_is_asked_for_of_the_same_files_is_one_filling() {
        let mut all = Fillings::default();
        all.at(files(8, Data::Text), percent(75));
        all.until_full(files(8, Data::Random));
        for level in [50, 75, 50, 10] {
            all.at(files(8, Data::Random), percent(level));
        }
        let (text, random) = (files(8, Data::Text), files(8, Data::Random));
        let levels = [10, 50, 75].map(percent).to_vec();
        let expected = [
            Filling { files: text, levels: vec![percent(75)], until_full: false },
            Filling { files: random, levels, until_full: true },
        ];
        assert_eq!(all.0, expected);
        assert_eq!(expected.map(|one| one.highest()), [percent(75), Ratio::WHOLE]);
    }

    /// The fork that is unmounted at a level leaves no trace in what goes on, for each filesystem.
    #[test]
    fn no_level_depends_on_another_one() {
        let small = ["part.geometry.blocks=96", "tiobench.size=1 MiB"];
        let document = catalog::compose("nand-filesystems", &small).expect("built in");
        let read = document.read(|section| Scenario::read(section, fs::ALL));
        let scenario = read.expect("right").value;
        let all: Vec<_> = chosen(&scenario.systems, &scenario.measured).collect();
        assert_eq!(all.len(), fs::ALL.len());
        for (name, system) in all {
            let lab = Lab::new(&scenario, &**system, (Seed::new(1), scenario.board.port));
            let fresh = lab.fresh().unwrap_or_else(|error| panic!("{name}: {error}"));
            let fill = |levels: &[u64], until_full| {
                let levels = levels.iter().copied().map(percent).collect();
                let filling = Filling { files: files(24, Data::Random), levels, until_full };
                let filled = timed(&fresh, |flash, clock| lab.fill(&filling, flash, clock));
                filled.unwrap_or_else(|error| panic!("{name}: {error}")).0
            };
            let whole = fill(&[0, 30, 60], true);
            for (at, level) in [0, 30, 60].into_iter().enumerate() {
                let alone = fill(&[level], false);
                assert_eq!(alone.mountings[..], whole.mountings[at..=at], "{name} at {level} %");
                assert_eq!(alone.capacity, None);
            }
            let files = whole.mountings.iter().map(|one| one.files).collect::<Vec<_>>();
            assert!(files[0] == 0 && files[1] > 0 && files[1] < files[2], "{name}: {files:?}");
            let capacity = whole.capacity.expect("filled to the end");
            assert_eq!(Some(capacity), fill(&[60], true).capacity, "{name}");
        }
    }
}
