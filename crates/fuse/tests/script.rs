//! Random requests, answered as the operations on paths answer them.

use boardlab_fuse::{NoStore, Rename, Server};
use boardlab_sim::{Clock, Instant, Seed};
use boardlab_vfs::script::content;
use boardlab_vfs::{
    Action, Answer, Errno, FileSystem, Kind, MemoryFs, Mix, Mount, NewInode, SetAttr, Timestamp,
    survey,
};

type Outcome = Result<Answer, Errno>;

pub(crate) fn server<F: FileSystem>(fs: F) -> Server<F> {
    let now = || Instant::ZERO;
    Server::new(Mount::new(fs), Clock::new(), Box::new(now), Box::new(NoStore), false)
}

/// The node of a directory and the name in it, as a kernel finds them: link by link.
struct Walker<'a, F> {
    server: &'a mut Server<F>,
    links: u32,
}

impl<F: FileSystem> Walker<'_, F> {
    /// The nodes from the root down to that of `path`.
    fn trail(&mut self, path: &[u8], follow: bool) -> Result<Vec<u64>, Errno> {
        let mut trail = vec![1];
        let mut rest: Vec<Vec<u8>> = Vec::new();
        push(&mut rest, path);
        while let Some(name) = rest.pop() {
            let here = *trail.last().unwrap();
            let found = self.server.lookup(here, &name)?;
            let is_link = found.attributes.kind == Kind::Symlink;
            if is_link && (follow || !rest.is_empty()) {
                self.links += 1;
                if self.links > 40 {
                    return Err(Errno::Loop);
                }
                let target = self.server.readlink(found.node)?;
                assert!(target.starts_with(b"/"), "the script has only such links");
                trail.truncate(1);
                push(&mut rest, &target);
            } else {
                trail.push(found.node);
            }
        }
        Ok(trail)
    }

    fn node(&mut self, path: &str, follow: bool) -> Result<u64, Errno> {
        Ok(*self.trail(path.as_bytes(), follow)?.last().unwrap())
    }

    /// The directory of the last name; `special` is the error for the root.
    fn place<'p>(&mut self, path: &'p str, special: Errno) -> Result<(u64, &'p [u8]), Errno> {
        let (dir, name) = path.rsplit_once('/').unwrap();
        if name.is_empty() {
            return Err(special);
        }
        let node = self.node(dir, true)?;
        if self.server.getattr(node)?.kind != Kind::Directory {
            return Err(Errno::NotDir);
        }
        Ok((node, name.as_bytes()))
    }

    fn create(&mut self, path: &str, new: &NewInode<'_>) -> Result<(), Errno> {
        let (dir, name) = self.place(path, Errno::Exist)?;
        self.server.create(dir, name, new).map(drop)
    }

    fn set(&mut self, path: &str, follow: bool, change: SetAttr) -> Result<(), Errno> {
        let node = self.node(path, follow)?;
        self.server.setattr(node, &change).map(drop)
    }

    fn perform(&mut self, action: &Action) -> Outcome {
        let none = SetAttr::default;
        match action {
            Action::Create { path, mode } => {
                let (dir, name) = self.place(path, Errno::Exist)?;
                let new = NewInode::of(Kind::File, *mode);
                let (_, handle) = self.server.create_open(dir, name, &new, false)?;
                self.server.release(handle)?;
            }
            Action::Mkdir { path } => self.create(path, &NewInode::of(Kind::Directory, 0o755))?,
            Action::Symlink { target, path } => {
                let link = NewInode::of(Kind::Symlink, 0o777);
                self.create(path, &NewInode { target: target.as_bytes(), ..link })?;
            }
            Action::Mknod { path, kind } => self.create(path, &NewInode::of(*kind, 0o600))?,
            Action::Link { existing, path } => {
                let node = self.node(existing, false)?;
                let (dir, name) = self.place(path, Errno::Exist)?;
                self.server.link(node, dir, name)?;
            }
            Action::Unlink { path } => {
                let (dir, name) = self.place(path, Errno::IsDir)?;
                self.server.unlink(dir, name)?;
            }
            Action::Rmdir { path } => {
                let (dir, name) = self.place(path, Errno::Busy)?;
                self.server.rmdir(dir, name)?;
            }
            Action::Rename { from, to } => {
                let from = self.place(from, Errno::Busy)?;
                let to = self.place(to, Errno::Busy)?;
                self.server.rename(Rename { from, to, keeps: false })?;
            }
            Action::Truncate { path, size } => {
                self.set(path, true, SetAttr { size: Some(*size), ..none() })?;
            }
            Action::Chmod { path, mode } => {
                self.set(path, true, SetAttr { mode: Some(*mode), ..none() })?;
            }
            Action::Chown { path, id } => {
                self.set(path, false, SetAttr { uid: Some(*id), gid: Some(*id), ..none() })?;
                let time = Some(Timestamp::seconds(i64::from(*id)));
                self.set(path, false, SetAttr { accessed: time, modified: time, ..none() })?;
            }
            Action::Xattr { path, name, value } => {
                let node = self.node(path, false)?;
                let value = value.map(|(length, tag)| content(length, tag));
                self.server.setxattr(node, name.as_bytes(), value.as_deref(), None)?;
            }
            Action::Sync => self.server.sync()?,
            // As a kernel does that needs memory.
            Action::DropCaches => (2..80).for_each(|node| self.server.forget(node)),
            Action::List { path } => {
                return self.list(path);
            }
            Action::Write { path, .. } | Action::Read { path, .. } | Action::Fsync { path } => {
                let node = self.node(path, true)?;
                let handle = self.server.open(node, true, false)?;
                let answer = self.opened(action, node, handle);
                self.server.release(handle)?;
                return answer;
            }
        }
        Ok(Answer::Done)
    }

    fn list(&mut self, path: &str) -> Outcome {
        let node = self.node(path, true)?;
        let handle = self.server.opendir(node)?;
        let items = self.server.readdir(handle, 0)?;
        let mut names: Vec<_> = items.iter().map(|item| item.name.clone()).collect();
        names.sort_unstable();
        self.server.release(handle)?;
        Ok(Answer::Names(names))
    }

    fn opened(&mut self, action: &Action, node: u64, handle: u64) -> Outcome {
        match action {
            Action::Write { offset, length, tag, .. } => {
                let end = self.server.getattr(node)?.size;
                let data = content(*length, *tag);
                self.server.write(handle, offset.unwrap_or(end), &data).map(Answer::Written)
            }
            Action::Read { offset, length, .. } => {
                self.server.read(handle, *offset, *length).map(Answer::Bytes)
            }
            _ => self.server.fsync(handle).map(|()| Answer::Done),
        }
    }
}

fn push(rest: &mut Vec<Vec<u8>>, path: &[u8]) {
    let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
    rest.extend(names.rev().map(<[u8]>::to_vec));
}

#[test]
fn requests_are_answered_as_operations_on_paths() {
    let mix = Mix::default();
    let mut refused = 0;
    for seed in 0..20 {
        let mut stream = Seed::new(seed).stream("fuse.script");
        let (mut plain, mut clock) = (Mount::new(MemoryFs::new()), Clock::new());
        let mut server = server(MemoryFs::new());
        for step in 0..1_000 {
            let action = mix.draw(&mut stream);
            let expected = action.apply(&mut plain, &mut clock).map_err(|it| it.errno().unwrap());
            let found = Walker { server: &mut server, links: 0 }.perform(&action);
            assert_eq!(found, expected, "seed {seed}, step {step}: {action:?}");
            refused += usize::from(found.is_err());
        }
        server.finish().unwrap();
        let expected = survey(&mut plain, &mut clock).unwrap();
        let mut served = server.into_mount();
        let found = survey(&mut served, &mut clock).unwrap();
        assert!(expected.len() > 5, "the script makes something");
        assert_eq!(found, expected, "seed {seed}");
    }
    assert!((1_000..15_000).contains(&refused), "{refused} of 20,000 refused");
}
