//! `boardlab image mount`: the files of an image as a folder.
//!
//! Layer: rank 12.

use super::overlay::{Beside, apply_after_mount, image_at, path_beside};
use crate::args::Mount as Asked;
use crate::error::{Error, shown_path};
use crate::exit::Status;
use crate::terminal;
use boardlab_fuse::{Mounted, NoStore, Server, Settings, Store};
use boardlab_image::fs::ImageFileSystem;
use boardlab_image::overlay::State;
use boardlab_image::{Contents, Damage, Error as Problem, Hints, MountedImage, open};
use boardlab_result::prose::counted;
use boardlab_sim::{Bytes, Duration, Instant};
use boardlab_vfs::{Mount, Options, WallClock, WriteBack};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{self, SystemTime};

/// Bytes of pages in memory, besides those that the kernel has.
const CACHE: Bytes = Bytes::mib(32);
/// How long a change may stay in memory alone.
const EXPIRE: Duration = Duration::from_secs(5);
/// How often the end of the mount is looked for.
const POLL: time::Duration = time::Duration::from_millis(50);
/// Polls between two steps of background work.
const POLLS: u32 = 10;

/// A mounted filesystem of an image.
type Files = Box<dyn ImageFileSystem>;

/// Mounts an image until it is unmounted.
pub(super) fn perform(asked: &Asked) -> Result<Status, Error> {
    let refused = |problem| Error::Mount { path: asked.target.clone(), problem };
    // Told before a large image is read.
    let opened = Contents::open(&asked.file);
    opened.map_err(|problem| Error::Image { path: asked.file.clone(), problem })?;
    boardlab_fuse::mount::folder(&asked.target).map_err(refused)?;
    boardlab_fuse::mount::probe().map_err(refused)?;
    let hints = Hints::from(&asked.state);
    if asked.rw { writable(asked, &hints) } else { read_only(asked, &hints) }
}

fn read_only(asked: &Asked, hints: &Hints) -> Result<Status, Error> {
    let of_image = |problem| Error::Image { path: asked.file.clone(), problem };
    let image = image_at(&asked.file);
    let overlay = path_beside(&image.map_err(|problem| of_image(Problem::Unreadable { problem }))?);
    if overlay.symlink_metadata().is_ok() {
        let shown = shown_path(&overlay);
        terminal::tell(&format!("note: the changes in {shown} are not shown; --rw shows them"));
    }
    let contents = Contents::open(&asked.file).map_err(of_image)?;
    let mut image = open(&contents, hints).map_err(of_image)?;
    let whole = tell_damage(&mut image).map_err(of_image)?;
    let server = serve(image, Instant::ZERO, Box::new(NoStore), true);
    let good = run(asked, server)?;
    Ok(if good && whole { Status::Done } else { Status::Failed })
}

fn writable(asked: &Asked, hints: &Hints) -> Result<Status, Error> {
    let of_image = |problem| Error::Image { path: asked.file.clone(), problem };
    let mut beside = Beside::open(&asked.file)?;
    let contents = beside.contents();
    let whole = beside.mounted(hints).and_then(|mut image| tell_damage(&mut image));
    let whole = whole.map_err(of_image)?;
    let (wall, begun) = wall_clock();
    let hints = &Hints { write: Some(wall), ..hints.clone() };
    let mut image = beside.mounted(hints).map_err(of_image)?;
    if let Some(needed) = image.truncated {
        let what = format!(
            "the image is truncated: it has {} bytes of {}",
            contents.length().get(),
            needed.get()
        );
        return Err(of_image(Problem::Mount(what.into())));
    }
    let changed = beside.changed();
    let log = State::new(beside.begin(&image)?);
    tell_flash(&image, &contents, &beside, changed);
    image.fs.dump_mut().set_journal(Box::new(log.clone()));
    let server = serve(image, begun, Box::new(OverlayStore(log)), false);
    let good = run(asked, server)?;
    drop(beside);
    let applied = match (asked.apply, good) {
        (false, _) => Status::Done,
        (true, true) => apply_after_mount(&asked.file)?,
        (true, false) => {
            terminal::tell("nothing is applied: the changes are in the overlay");
            Status::Failed
        }
    };
    Ok(if good && whole { applied } else { Status::Failed })
}

/// The overlay below a mount.
#[derive(Debug)]
struct OverlayStore(State);

impl Store for OverlayStore {
    fn sync(&mut self) -> io::Result<()> {
        self.0.with(boardlab_image::overlay::Log::sync)
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }
}

/// The calendar time in whole seconds, and what has passed since.
fn wall_clock() -> (WallClock, Instant) {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let start = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    (WallClock { start }, Instant::from_nanos(since.subsec_nanos().into()))
}

/// Tells how much of an image is damaged; returns whether nothing is.
fn tell_damage(image: &mut MountedImage) -> Result<bool, Problem> {
    let damage = Damage::of(image)?;
    if let Some(text) = &damage.audit.foreign {
        terminal::tell(&format!("note: {text}"));
    }
    if damage.corrected_bits > 0 {
        let bits = counted(damage.corrected_bits, "bit error");
        terminal::tell(&format!("note: {bits} corrected while the image was read"));
    }
    let whole = damage.is_whole();
    if !whole {
        let files = counted(damage.audit.inode_damage.len(), "file");
        let names = if damage.may_miss_names() { ", and names may be missing" } else { "" };
        terminal::tell(&format!(
            "warning: damage in {files}{names}: `boardlab image ls` says which and how"
        ));
    }
    Ok(whole)
}

/// Tells where the changes go, and how much room the flash has.
fn tell_flash(image: &MountedImage, contents: &Contents, beside: &Beside, changed: Option<usize>) {
    let dump = image.fs.dump();
    let shape = dump.shape();
    let blocks = boardlab_image::overlay::blocks(dump);
    let in_file = (contents.length() - image.at).div_ceil(shape.raw_block());
    let path = shown_path(&beside.path);
    terminal::tell(&match changed {
        Some(changed) => {
            format!("changes go to {path}, which has {} already", counted(changed, "changed block"))
        }
        None => format!("changes go to {path}; the image stays as it is"),
    });
    let more = u64::from(blocks).saturating_sub(in_file);
    let beyond = match more {
        0 => "the filesystem can grow within them".to_owned(),
        more => format!("{more} of them beyond the end of the file"),
    };
    let blocks = counted(blocks, "erase block");
    terminal::tell(&format!("the flash has {blocks} of {}; {beyond}", shape.block));
    if dump.spare().is_some_and(|spare| !spare.corrects()) {
        terminal::tell(
            "warning: the ECC of this flash is not known: pages that are written have none in their spare bytes",
        );
    }
}

fn serve(
    image: MountedImage,
    begun: Instant,
    store: Box<dyn Store>,
    read_only: bool,
) -> Server<Files> {
    let MountedImage { fs, mut clock, .. } = image;
    if clock.now() < begun {
        clock.advance_to(begun);
    }
    let since = time::Instant::now();
    let now = move || {
        let passed = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        begun.saturating_add(Duration::from_nanos(passed))
    };
    let write_back = WriteBack {
        background: Bytes::new(CACHE.get() / 4),
        expire: EXPIRE,
        interval: Duration::from_secs(1),
    };
    let options = Options { write_back, ..Options::with_cache(CACHE) };
    let mount = Mount::with_host(fs, boardlab_vfs::Host::free(), options);
    Server::new(mount, clock, Box::new(now), store, read_only)
}

/// Serves until the end, and ends the mount. Returns whether all was shown and written.
fn run(asked: &Asked, server: Server<Files>) -> Result<bool, Error> {
    let refused = |problem| Error::Mount { path: asked.target.clone(), problem };
    let stop = stop_signals();
    let settings = Settings { permissions: is_root() };
    let mounted = boardlab_fuse::mount(server, &asked.target, settings);
    let mounted = mounted.map_err(|(problem, _)| refused(problem))?;
    let dir = shown_path(&asked.target);
    terminal::tell(&format!("mounted at {dir}; unmount with `umount {dir}` or Ctrl-C"));
    let broken = wait(&mounted, &stop, &dir);
    let left_out = mounted.with(|server| server.left_out());
    let finished = mounted.with(Server::finish);
    if let Err(why) = &finished {
        terminal::tell(&format!("error: not everything could be written: {why}"));
    }
    if !broken && let Err(error) = mounted.wait() {
        terminal::tell(&format!("error: the connection to the kernel broke: {error}"));
        return Ok(false);
    }
    Ok(finished.is_ok() && left_out == 0)
}

/// Waits for the end of the mount. Returns whether somebody still uses what was detached.
fn wait(mounted: &Mounted<Files>, stop: &AtomicBool, dir: &str) -> bool {
    let (mut polls, mut told, mut tried) = (0_u32, false, false);
    while !mounted.is_over() {
        if stop.swap(false, Ordering::Relaxed) {
            match mounted.unmount(tried) {
                Ok(()) if tried => return true,
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                    terminal::tell(&format!(
                        "{dir} is in use; close what uses it, or press Ctrl-C again to detach it at once"
                    ));
                    tried = true;
                }
                Err(error) => {
                    terminal::tell(&format!("error: {dir} cannot be unmounted: {error}"));
                    tried = true;
                }
            }
        }
        polls += 1;
        if polls.is_multiple_of(POLLS) {
            let (notes, failure) = mounted.with(|server| {
                server.tick();
                (server.take_notes(), server.failure())
            });
            notes.iter().for_each(|note| terminal::tell(&format!("warning: {note}")));
            if let (Some(failure), false) = (failure, told) {
                told = true;
                terminal::tell(&format!(
                    "error: the overlay cannot be written: {failure}; nothing is written any more"
                ));
            }
        }
        sleep(POLL);
    }
    for note in mounted.with(Server::take_notes) {
        terminal::tell(&format!("warning: {note}"));
    }
    false
}

/// Whether a signal asked for the end.
fn stop_signals() -> Arc<AtomicBool> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Without it the signal ends the process as a kill does.
        signal_hook::flag::register(signal, Arc::clone(&stop)).ok();
    }
    stop
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}
