//! Random operations on a nearly full volume, against a tree in memory, with remounts.
use crate::support::{check, checked, mount, nand, nor, small_nand};
use boardlab_sim::{Clock, Duration, Seed};
use boardlab_ubi::RamLebs;
use boardlab_ubi::lebs::Shape;
use boardlab_ubifs::{Options, Ubifs};
use boardlab_vfs::script::content;
use boardlab_vfs::{Action, Answer, Errno, FileSystem, Kind, MemoryFs, Mix, Mount, compare};
use std::collections::BTreeSet;

/// Operations of one run.
fn extent() -> u64 {
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    std::env::var("BOARDLAB_MODEL_OPS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(if full { 250_000 } else { 3_000 })
}

/// From which the operations of all runs follow.
fn seed() -> u64 {
    let given = std::env::var("BOARDLAB_MODEL_SEED").ok();
    given.and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

struct Pair {
    real: Option<Mount<Ubifs<RamLebs>>>,
    model: Mount<MemoryFs>,
    clock: Clock,
    options: Options,
    refused: u64,
}

impl Pair {
    fn new(shape: Shape, options: Options) -> Self {
        let mut clock = Clock::new();
        let real = mount(&mut clock, RamLebs::new(shape), options.clone());
        let (real, model) = (Some(Mount::new(real)), Mount::new(MemoryFs::new()));
        Self { real, model, clock, options, refused: 0 }
    }

    fn real(&mut self) -> (&mut Mount<Ubifs<RamLebs>>, &mut Clock) {
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
        if size != self.model.fstat(clock, fd).unwrap().size {
            self.model.ftruncate(clock, fd, size).unwrap();
        }
        self.model.close(clock, fd).unwrap();
    }

    fn remount(&mut self) {
        let mut real = self.real.take().unwrap();
        real.unmount(&mut self.clock).unwrap();
        let lebs = real.into_fs().into_lebs();
        let mut fs = mount(&mut self.clock, lebs, self.options.clone());
        check(&mut self.clock, &mut fs);
        self.real = Some(Mount::new(fs));
    }

    fn compare(&mut self) {
        let real = self.real.as_mut().unwrap();
        let difference = compare(real, &mut self.model, &mut self.clock).unwrap();
        assert_eq!(difference.map(|difference| difference.to_string()), None);
    }
}

/// Fills the volume with a file that stays, and then makes that 5 % shorter.
fn fill(pair: &mut Pair) {
    let path = || "/filler".to_owned();
    pair.apply(&Action::Create { path: path(), mode: 0o600 });
    let mut size = 0;
    while pair.refused == 0 {
        // Of the three kinds of content some cannot be compressed.
        let tag = (0..).find(|&tag| is_noise(tag + size)).unwrap() + size;
        pair.apply(&Action::Write { path: path(), offset: Some(size), length: 4096, tag });
        size += 4096;
    }
    pair.refused = 0;
    pair.apply(&Action::Truncate { path: path(), size: size * 95 / 100 / 4096 * 4096 });
}

fn is_noise(tag: u64) -> bool {
    let bytes = content(4096, tag);
    let distinct: BTreeSet<u8> = bytes.iter().copied().collect();
    distinct.len() > 200
}

fn run(name: &str, shape: Shape, filled: bool) {
    let mut pair = Pair::new(shape, checked());
    let mix = Mix { size: 120_000, write: 20_000, ..Mix::default() };
    if filled {
        fill(&mut pair);
    }
    let mut stream = Seed::new(seed()).stream(name);
    let count = extent();
    for number in 0..count {
        let action = mix.draw(&mut stream);
        pair.apply(&action);
        pair.clock.advance(Duration::from_millis(20));
        if number % 64 == 0 {
            let (real, clock) = pair.real();
            let until = clock.now() + Duration::from_secs(1);
            real.background(clock, Some(until)).unwrap();
            real.fs().check_tables().unwrap();
        }
        if number % 250 == 249 || number == count - 1 {
            pair.compare();
            pair.remount();
            pair.compare();
        }
    }
    if filled {
        assert!(pair.refused > count / 1_000, "never full: {} refused", pair.refused);
    }
}

#[test]
fn a_full_nand_is_as_a_tree_in_memory() {
    run("ubifs.nand", nand(60), true);
}

#[test]
fn a_full_nand_of_small_blocks_is_as_a_tree_in_memory() {
    run("ubifs.small", small_nand(300), true);
}

#[test]
fn a_full_nor_is_as_a_tree_in_memory() {
    run("ubifs.nor", nor(100), true);
}

#[test]
fn a_nand_with_space_is_as_a_tree_in_memory() {
    run("ubifs.space", nand(200), false);
}
