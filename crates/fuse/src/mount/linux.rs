//! A mount of Linux.
//!
//! Layer: rank 9. Main type: [`Mounted`].

use super::{MountError, Settings, probe};
use crate::kernel::Requests;
use crate::server::Server;
use boardlab_vfs::FileSystem;
use fuser::{Config, MountOption, Session, SessionACL};
use rustix::mount::UnmountFlags;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// A mount. It ends when it is unmounted, by this value or by anybody.
#[derive(Debug)]
pub struct Mounted<F> {
    server: Arc<Mutex<Server<F>>>,
    session: JoinHandle<io::Result<()>>,
    dir: PathBuf,
}

impl<F: FileSystem + fmt::Debug + Send + 'static> Mounted<F> {
    pub(super) fn begin(
        server: Server<F>,
        dir: PathBuf,
        settings: Settings,
    ) -> Result<Self, (MountError, Box<Server<F>>)> {
        if let Err(error) = probe() {
            return Err((error, Box::new(server)));
        }
        let options = config(server.is_read_only(), settings);
        let server = Arc::new(Mutex::new(server));
        let begun = Session::new(Requests::of(&server), &dir, &options);
        let begun = begun.map_err(refusal).and_then(|session| {
            let run = move || session.run();
            Builder::new().name("mount".into()).spawn(run).map_err(MountError::Refused)
        });
        match begun {
            Ok(session) => Ok(Self { server, session, dir }),
            Err(error) => {
                let server = Arc::into_inner(server).expect("nobody serves without a session");
                let server = server.into_inner().unwrap_or_else(PoisonError::into_inner);
                Err((error, Box::new(server)))
            }
        }
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it was unmounted.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.session.is_finished()
    }

    /// Calls the server, between two requests.
    pub fn with<T>(&self, call: impl FnOnce(&mut Server<F>) -> T) -> T {
        call(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Unmounts. With `detach`, the folder is free at once, and the mount ends with its last user.
    ///
    /// # Errors
    /// EBUSY while somebody uses it, and others of the operating system.
    pub fn unmount(&self, detach: bool) -> io::Result<()> {
        let flags = if detach { UnmountFlags::DETACH } else { UnmountFlags::empty() };
        match rustix::mount::unmount(&self.dir, flags) {
            // Somebody has unmounted it in the meantime.
            Err(rustix::io::Errno::INVAL) => Ok(()),
            Err(rustix::io::Errno::PERM) => helped(&self.dir, detach),
            unmounted => Ok(unmounted?),
        }
    }

    /// Waits for the end of the mount.
    ///
    /// # Errors
    /// Those of the connection to the kernel.
    pub fn wait(self) -> io::Result<()> {
        let broken = || io::Error::other("the thread that served the kernel has failed");
        self.session.join().map_err(|_| broken())?
    }
}

fn config(read_only: bool, settings: Settings) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("boardlab".into()),
        MountOption::Subtype("boardlab".into()),
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoAtime,
        if read_only { MountOption::RO } else { MountOption::RW },
    ];
    config.acl = SessionACL::Owner;
    if settings.permissions {
        config.mount_options.push(MountOption::DefaultPermissions);
        config.acl = SessionACL::All;
    }
    config
}

/// Why fuser could not mount.
fn refusal(error: io::Error) -> MountError {
    // The helper is started when mount(2) says EPERM. A folder of PATH that is closed says EACCES.
    let not_started =
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
    if not_started && !has_helper() { MountError::NoHelper } else { MountError::Refused(error) }
}

/// Whether a program is there that mounts for other users than root.
fn has_helper() -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    folders.extend(["/bin".into(), "/sbin".into()]);
    let helpers = ["fusermount3", "fusermount"];
    folders.iter().any(|folder| helpers.iter().any(|helper| folder.join(helper).exists()))
}

/// Unmounts by the helper, which may do so for other users than root.
fn helped(dir: &Path, detach: bool) -> io::Result<()> {
    let mut helper = Command::new("fusermount3");
    helper.arg("-u");
    if detach {
        helper.arg("-z");
    }
    let output = helper.arg("--").arg(dir).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
