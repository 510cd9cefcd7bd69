//! Random operations on a mount above [`MemoryFs`], against a map from paths to contents.
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_vfs::script::content;
use boardlab_vfs::{
    Action, Answer, Caching, Errno, Error, Host, Kind, MemoryFs, Mix, Mount, Options, compare,
    survey,
};
use std::collections::BTreeMap;

/// How many operations a run has, and how many runs there are.
fn extent() -> (u64, u64) {
    if std::env::var_os("BOARDLAB_FULL").is_some() { (100_000, 20) } else { (20_000, 3) }
}

/// What is at a path: the model knows no inodes but the number that links share.
#[derive(Debug, Clone, PartialEq)]
struct Thing {
    number: usize,
    kind: Kind,
}

/// What links share.
#[derive(Debug, Clone, Default)]
struct Shared {
    bytes: Vec<u8>,
    mode: u32,
    id: u32,
    xattrs: BTreeMap<String, Vec<u8>>,
}

/// The model: full paths in one map, without caches, pages and tricks.
struct Model {
    names: BTreeMap<String, Thing>,
    shared: Vec<Shared>,
}

type Outcome = Result<Answer, Errno>;

fn parent(path: &str) -> &str {
    path.rsplit_once('/').unwrap().0
}

impl Model {
    fn new() -> Self {
        let mut model = Self { names: BTreeMap::new(), shared: Vec::new() };
        model.add("", Kind::Directory, 0o755);
        model
    }

    fn add(&mut self, path: &str, kind: Kind, mode: u32) -> &mut Shared {
        self.names.insert(path.to_owned(), Thing { number: self.shared.len(), kind });
        self.shared.push(Shared { mode, ..Shared::default() });
        self.shared.last_mut().unwrap()
    }

    /// The path without symbolic links on the way; one at the end is followed if so asked.
    fn canonical(&self, path: &str, follow: bool, links: &mut u32) -> Result<String, Errno> {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let mut here = String::new();
        for (index, name) in names.iter().enumerate() {
            if self.names[&here].kind != Kind::Directory {
                return Err(Errno::NotDir);
            }
            here = format!("{here}/{name}");
            let thing = self.names.get(&here).ok_or(Errno::NoEnt)?;
            if thing.kind == Kind::Symlink && (follow || index + 1 < names.len()) {
                *links += 1;
                if *links > 40 {
                    return Err(Errno::Loop);
                }
                let target = String::from_utf8(self.shared[thing.number].bytes.clone()).unwrap();
                here = self.canonical(&target, true, links)?;
            }
        }
        Ok(here)
    }

    fn resolve(&self, path: &str, follow: bool) -> Result<String, Errno> {
        self.canonical(path, follow, &mut 0)
    }

    /// The number of the inode.
    fn number(&self, path: &str, follow: bool) -> Result<usize, Errno> {
        Ok(self.names[&self.resolve(path, follow)?].number)
    }

    /// Where a last component lies, whether it is there or not.
    fn place(&self, path: &str, special: Errno) -> Result<String, Errno> {
        if path == "/" {
            return Err(special);
        }
        let dir = self.resolve(parent(path), true)?;
        if self.names[&dir].kind != Kind::Directory {
            return Err(Errno::NotDir);
        }
        Ok(format!("{dir}/{}", path.rsplit_once('/').unwrap().1))
    }

    fn free(&self, path: &str) -> Result<String, Errno> {
        let place = self.place(path, Errno::Exist)?;
        if self.names.contains_key(&place) { Err(Errno::Exist) } else { Ok(place) }
    }

    fn existing(&self, path: &str, special: Errno) -> Result<(String, Thing), Errno> {
        let place = self.place(path, special)?;
        let thing = self.names.get(&place).ok_or(Errno::NoEnt)?.clone();
        Ok((place, thing))
    }

    fn children(&self, path: &str) -> usize {
        let prefix = format!("{path}/");
        self.names.keys().filter(|name| name.starts_with(&prefix)).count()
    }

    /// Links of the inode numbered `number`.
    fn links(&self, number: usize) -> usize {
        let (path, thing) = self.names.iter().find(|(_, thing)| thing.number == number).unwrap();
        if thing.kind != Kind::Directory {
            return self.names.values().filter(|thing| thing.number == number).count();
        }
        let below = |(name, thing): &(&String, &Thing)| {
            !name.is_empty() && parent(name) == path && thing.kind == Kind::Directory
        };
        2 + self.names.iter().filter(below).count()
    }

    fn bytes(&mut self, path: &str) -> Result<&mut Vec<u8>, Errno> {
        let thing = self.names[&self.resolve(path, true)?].clone();
        match thing.kind {
            Kind::File => Ok(&mut self.shared[thing.number].bytes),
            Kind::Directory => Err(Errno::IsDir),
            _ => Err(Errno::Inval),
        }
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let is_dir = |thing: &Thing| thing.kind == Kind::Directory;
        let (from, to) = (self.place(from, Errno::Busy)?, self.place(to, Errno::Busy)?);
        let source = self.names.get(&from).ok_or(Errno::NoEnt)?.clone();
        match self.names.get(&to) {
            Some(target) if *target == source => return Ok(()),
            _ if to.starts_with(&format!("{from}/")) => return Err(Errno::Inval),
            Some(_) if from.starts_with(&format!("{to}/")) => return Err(Errno::NotEmpty),
            Some(target) if is_dir(target) && !is_dir(&source) => return Err(Errno::IsDir),
            Some(target) if !is_dir(target) && is_dir(&source) => return Err(Errno::NotDir),
            Some(target) if is_dir(target) && self.children(&to) > 0 => {
                return Err(Errno::NotEmpty);
            }
            _ => {}
        }
        let prefix = format!("{from}/");
        let moved = |name: &&String| **name == from || name.starts_with(&prefix);
        for name in self.names.keys().filter(moved).cloned().collect::<Vec<_>>() {
            let thing = self.names.remove(&name).unwrap();
            self.names.insert(format!("{to}{}", &name[from.len()..]), thing);
        }
        Ok(())
    }

    fn apply(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Create { path, mode } => {
                let place = self.free(path)?;
                self.add(&place, Kind::File, *mode);
            }
            Action::Mkdir { path } => {
                let place = self.free(path)?;
                self.add(&place, Kind::Directory, 0o755);
            }
            Action::Mknod { path, kind } => {
                let place = self.free(path)?;
                self.add(&place, *kind, 0o600);
            }
            Action::Symlink { target, path } => {
                let place = self.free(path)?;
                self.add(&place, Kind::Symlink, 0o777).bytes = target.clone().into_bytes();
            }
            Action::Link { existing, path } => {
                let thing = self.names[&self.resolve(existing, false)?].clone();
                let place = self.free(path)?;
                if thing.kind == Kind::Directory {
                    return Err(Errno::Perm);
                }
                self.names.insert(place, thing);
            }
            Action::Unlink { path } => {
                let (place, thing) = self.existing(path, Errno::IsDir)?;
                if thing.kind == Kind::Directory {
                    return Err(Errno::IsDir);
                }
                self.names.remove(&place);
            }
            Action::Rmdir { path } => {
                let (place, thing) = self.existing(path, Errno::Busy)?;
                if thing.kind != Kind::Directory {
                    return Err(Errno::NotDir);
                }
                if self.children(&place) > 0 {
                    return Err(Errno::NotEmpty);
                }
                self.names.remove(&place);
            }
            Action::Rename { from, to } => self.rename(from, to)?,
            _ => return self.apply_to_inode(action),
        }
        Ok(Answer::Done)
    }

    fn apply_to_inode(&mut self, action: &Action) -> Outcome {
        match action {
            Action::Write { path, offset, length, tag } => {
                let bytes = self.bytes(path)?;
                let start = offset.map_or(bytes.len(), |offset| usize::try_from(offset).unwrap());
                bytes.resize(bytes.len().max(start + length), 0);
                bytes[start..start + length].copy_from_slice(&content(*length, *tag));
                return Ok(Answer::Written(*length));
            }
            Action::Truncate { path, size } => {
                self.bytes(path)?.resize(usize::try_from(*size).unwrap(), 0);
            }
            Action::Read { path, offset, length } => {
                let bytes = self.bytes(path)?;
                let from = bytes.len().min(usize::try_from(*offset).unwrap());
                let to = bytes.len().min(from + length);
                return Ok(Answer::Bytes(bytes[from..to].to_vec()));
            }
            Action::List { path } => {
                let path = self.resolve(path, true)?;
                if self.names[&path].kind != Kind::Directory {
                    return Err(Errno::NotDir);
                }
                let inside =
                    self.names.keys().filter(|name| !name.is_empty() && parent(name) == path);
                let last = |name: &String| name.rsplit_once('/').unwrap().1.as_bytes().to_vec();
                return Ok(Answer::Names(inside.map(last).collect()));
            }
            Action::Chmod { path, mode } => {
                let number = self.number(path, true)?;
                self.shared[number].mode = *mode;
            }
            Action::Chown { path, id } => {
                let thing = self.names[&self.resolve(path, false)?].clone();
                let shared = &mut self.shared[thing.number];
                shared.id = *id;
                if thing.kind != Kind::Directory {
                    shared.mode &= !0o4000;
                }
            }
            Action::Xattr { path, name, value } => {
                let thing = self.names[&self.resolve(path, false)?].clone();
                let user = matches!(thing.kind, Kind::File | Kind::Directory);
                if !user && name.starts_with("user.") {
                    return Err(Errno::Perm);
                }
                let xattrs = &mut self.shared[thing.number].xattrs;
                match value {
                    Some((length, tag)) => xattrs.insert(name.clone(), content(*length, *tag)),
                    None => Some(xattrs.remove(name).ok_or(Errno::NoData)?),
                };
            }
            Action::Fsync { path } => {
                self.resolve(path, true)?;
            }
            _ => {}
        }
        Ok(Answer::Done)
    }

    /// Compares all that the model knows with the whole of the mount.
    fn check(&mut self, mount: &mut Mount<MemoryFs>, clock: &mut Clock) {
        let found = survey(mount, clock).unwrap();
        let paths =
            |name: &String| if name.is_empty() { b"/".to_vec() } else { name.clone().into_bytes() };
        let expected: Vec<_> = self.names.keys().map(paths).collect();
        assert_eq!(found.iter().map(|found| found.path.clone()).collect::<Vec<_>>(), expected);
        for (found, (name, thing)) in found.iter().zip(&self.names) {
            let (shared, told) = (&self.shared[thing.number], &found.attributes);
            assert_eq!(
                (told.kind, told.mode, told.uid, told.gid),
                (thing.kind, shared.mode, shared.id, shared.id),
                "{name}"
            );
            assert_eq!(usize::try_from(told.links).unwrap(), self.links(thing.number), "{name}");
            let xattrs = shared.xattrs.iter();
            let xattrs = xattrs.map(|(name, value)| (name.clone().into_bytes(), value.clone()));
            assert_eq!(found.xattrs, xattrs.collect(), "{name}");
            match thing.kind {
                Kind::Symlink => assert_eq!(found.target, shared.bytes, "{name}"),
                Kind::File => {
                    let fd = mount.open(clock, name).unwrap();
                    let mut bytes = vec![0; shared.bytes.len() + 1];
                    let count = mount.read(clock, fd, 0, &mut bytes).unwrap();
                    mount.close(clock, fd).unwrap();
                    assert!(bytes[..count] == shared.bytes, "{name}");
                }
                _ => {}
            }
        }
    }
}

/// Some links lead nowhere or in a circle; the mount says so in the same way.
fn errno(answer: Result<Answer, Error>) -> Outcome {
    answer.map_err(|error| error.errno().unwrap())
}

fn run(caching: Caching, seed: u64, operations: u64) {
    let options = Options { readahead: 8, ..Options::with_cache(Bytes::kib(256)) };
    let fs = MemoryFs::new().with_caching(caching);
    let (mut mount, mut clock) = (Mount::with_host(fs, Host::free(), options), Clock::new());
    let (mut model, mut stream) = (Model::new(), Seed::new(seed).stream("vfs.tests.model"));
    let mix = Mix::default();
    let mut done = 0;
    for number in 0..operations {
        let action = mix.draw(&mut stream);
        let (expected, answer) =
            (model.apply(&action), errno(action.apply(&mut mount, &mut clock)));
        assert_eq!(expected, answer, "{caching:?}, seed {seed}, operation {number}: {action:?}");
        done += u64::from(answer.is_ok());
        clock.advance(Duration::from_millis(300));
        if number % 1_000 == 999 {
            model.check(&mut mount, &mut clock);
        }
        if number % 5_000 == 4_999 {
            mount.unmount(&mut clock).unwrap();
            mount = Mount::with_host(mount.into_fs(), Host::free(), options);
            model.check(&mut mount, &mut clock);
        }
    }
    assert!(done * 4 > operations, "only {done} of {operations} operations succeeded");
}

#[test]
fn a_mount_does_what_a_map_of_paths_does() {
    let (operations, runs) = extent();
    for seed in 0..runs {
        run(Caching::WriteThrough, seed, operations);
    }
}

#[test]
fn write_back_changes_when_pages_are_written_and_nothing_else() {
    let (operations, runs) = extent();
    for seed in 100..100 + runs {
        run(Caching::WriteBack, seed, operations);
    }
}

#[test]
fn two_mounts_that_were_given_the_same_are_equal_and_a_byte_shows() {
    let mut clock = Clock::new();
    let mut stream = Seed::new(9).stream("vfs.tests.compare");
    let (mut one, mut other) = (Mount::new(MemoryFs::new()), Mount::new(MemoryFs::new()));
    for _ in 0..2_000 {
        let action = Mix::default().draw(&mut stream);
        assert_eq!(
            errno(action.apply(&mut one, &mut clock)),
            errno(action.apply(&mut other, &mut clock))
        );
    }
    assert_eq!(compare(&mut one, &mut other, &mut clock).unwrap(), None);
    let write = Action::Write { path: "/one".to_owned(), offset: Some(5_000), length: 1, tag: 1 };
    let create = Action::Create { path: "/one".to_owned(), mode: 0o644 };
    for (mount, tag) in [(&mut one, 1), (&mut other, 2)] {
        create.apply(mount, &mut clock).unwrap();
        let Action::Write { path, offset, length, .. } = write.clone() else { unreachable!() };
        Action::Write { path, offset, length, tag }.apply(mount, &mut clock).unwrap();
    }
    let difference = compare(&mut one, &mut other, &mut clock).unwrap().unwrap();
    assert_eq!(difference.to_string(), "/one: different bytes at offset 5000");
}

#[test]
fn a_difference_in_attributes_is_told_by_name_and_length() {
    let mut clock = Clock::new();
    let (mut one, mut other) = (Mount::new(MemoryFs::new()), Mount::new(MemoryFs::new()));
    let long = format!("user.{}", "x".repeat(250));
    one.setxattr(&mut clock, "/", "user.both", b"same").unwrap();
    other.setxattr(&mut clock, "/", "user.both", b"same").unwrap();
    assert_eq!(compare(&mut one, &mut other, &mut clock).unwrap(), None);
    one.setxattr(&mut clock, "/", "user.colour", b"blue").unwrap();
    other.setxattr(&mut clock, "/", "user.colour", b"grey").unwrap();
    other.setxattr(&mut clock, "/", &long, &[7; 1_500]).unwrap();
    let difference = compare(&mut one, &mut other, &mut clock).unwrap().unwrap();
    let told = "/: different xattrs: user.colour (4 bytes and 4 bytes), \
                user.xxxxxxxxxxxxxxxxxxx... (none and 1500 bytes)";
    assert_eq!(difference.to_string(), told);
}
