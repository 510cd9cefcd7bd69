//! Random operations on a nearly full flash, against a tree in memory, with remounts: the same for all
//! filesystems. `BOARDLAB_MODEL_OPS` gives the operations of a run, `BOARDLAB_MODEL_SEED` the seed.

mod jffs2;
mod logfs;
mod ubifs;
mod yaffs;

use boardlab_sim::{Clock, Duration, Seed};
use boardlab_vfs::script::content;
use boardlab_vfs::{Action, Answer, Errno, FileSystem, Kind, MemoryFs, Mix, Mount, compare};
use std::collections::BTreeSet;

/// Bytes of a page of content.
const PAGE: u64 = 4_096;

/// Operations of one run, `short` unless everything is to be run.
fn extent(short: u64) -> u64 {
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    std::env::var("BOARDLAB_MODEL_OPS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(if full { 250_000 } else { short })
}

/// From which the operations of all runs follow.
fn seed() -> u64 {
    let given = std::env::var("BOARDLAB_MODEL_SEED").ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// A filesystem, and what must be in it.
struct Pair<F> {
    real: Option<Mount<F>>,
    model: Mount<MemoryFs>,
    clock: Clock,
    /// Actions for which there was no space.
    refused: u64,
}

impl<F: FileSystem> Pair<F> {
    fn new(mount: impl FnOnce(&mut Clock) -> F) -> Self {
        let mut clock = Clock::new();
        let real = Some(Mount::new(mount(&mut clock)));
        Self { real, model: Mount::new(MemoryFs::new()), clock, refused: 0 }
    }

    fn real(&mut self) -> (&mut Mount<F>, &mut Clock) {
        (self.real.as_mut().unwrap(), &mut self.clock)
    }

    /// Does an action on both; what the flash has no space for is taken back from the model.
    fn apply(&mut self, action: &Action) {
        let real = self.real.as_mut().unwrap();
        let answer = action.apply(real, &mut self.clock);
        match (&answer, action) {
            (Err(error), _) if error.errno() == Some(Errno::NoSpc) => {
                self.refused += 1;
                self.follow(action, 0);
            }
            // A filesystem without attributes.
            (Err(error), Action::Xattr { .. }) if error.errno() == Some(Errno::OpNotSupp) => {}
            (Ok(Answer::Written(count)), Action::Write { length, .. }) if count < length => {
                self.refused += 1;
                self.follow(action, *count);
            }
            _ => {
                let expected = action.apply(&mut self.model, &mut self.clock);
                let short = |answer: &Result<Answer, _>| {
                    format!("{answer:?}").chars().take(200).collect::<String>()
                };
                let (found, wanted) = (short(&answer), short(&expected));
                assert!(answer == expected, "{action:?}: {found} instead of {wanted}");
            }
        }
    }

    /// Does on the model as much of an action as there was space for.
    fn follow(&mut self, action: &Action, count: usize) {
        let (real, clock) = (self.real.as_mut().unwrap(), &mut self.clock);
        if let Action::Chown { path, .. } = action {
            // The owner may have been changed, and the times not.
            let Ok(stat) = real.lstat(clock, path) else { return };
            self.model.chown(clock, path, stat.uid, stat.gid).unwrap();
            if stat.kind != Kind::Symlink {
                self.model.chmod(clock, path, stat.mode).unwrap();
            }
        }
        let Action::Write { path, offset, length, tag } = action else { return };
        let Ok(size) = real.stat(clock, path).map(|stat| stat.size) else { return };
        let fd = self.model.open(clock, path).unwrap();
        let end = self.model.fstat(clock, fd).unwrap().size;
        let data = &content(*length, *tag)[..count];
        self.model.write(clock, fd, offset.unwrap_or(end), data).unwrap();
        // A hole before the data may have been written where the data were not.
        if size != self.model.fstat(clock, fd).unwrap().size {
            self.model.ftruncate(clock, fd, size).unwrap();
        }
        self.model.close(clock, fd).unwrap();
    }

    /// Writes a page that no compressor makes smaller to the file that fills the flash.
    fn write_filler(&mut self, offset: u64) {
        // Of the three kinds of content some cannot be compressed.
        let tag = (0..).find(|&tag| is_noise(tag + offset)).unwrap() + offset;
        let path = "/filler".to_owned();
        self.apply(&Action::Write { path, offset: Some(offset), length: 4_096, tag });
    }

    /// Fills the flash with a file that stays, and then makes that 5 % shorter.
    fn fill(&mut self) {
        let path = || "/filler".to_owned();
        self.apply(&Action::Create { path: path(), mode: 0o600 });
        let mut size = 0;
        while self.refused == 0 {
            self.write_filler(size);
            size += PAGE;
        }
        self.refused = 0;
        self.apply(&Action::Truncate { path: path(), size: size * 95 / 100 / PAGE * PAGE });
    }

    fn compare(&mut self) {
        let real = self.real.as_mut().unwrap();
        let difference = compare(real, &mut self.model, &mut self.clock).unwrap();
        assert_eq!(difference.map(|difference| difference.to_string()), None);
    }

    /// Carries out random actions, with background work, comparisons and remounts between them.
    fn run(&mut self, name: &str, count: u64, remount: impl Fn(F, &mut Clock) -> F) {
        let mix = Mix { size: 120_000, write: 20_000, ..Mix::default() };
        let mut stream = Seed::new(seed()).stream(name);
        for number in 0..count {
            let action = mix.draw(&mut stream);
            self.apply(&action);
            self.clock.advance(Duration::from_millis(20));
            if number % 64 == 0 {
                let (real, clock) = self.real();
                let until = clock.now() + Duration::from_secs(1);
                real.background(clock, Some(until)).unwrap();
                real.fs().check_tables().unwrap();
            }
            if number % 250 == 249 || number == count - 1 {
                self.compare();
                let mut real = self.real.take().unwrap();
                real.unmount(&mut self.clock).unwrap();
                self.real = Some(Mount::new(remount(real.into_fs(), &mut self.clock)));
                self.compare();
            }
        }
    }

    fn assert_was_full(&self, count: u64) {
        assert!(self.refused > count / 1_000, "never full: {} refused", self.refused);
    }
}

fn is_noise(tag: u64) -> bool {
    let bytes = content(4_096, tag);
    let distinct: BTreeSet<u8> = bytes.iter().copied().collect();
    distinct.len() > 200
}
