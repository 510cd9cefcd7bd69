//! A mount on this machine, and its end.
//!
//! Layer: rank 9. Function: [`mount`]; main types: [`Mounted`], [`MountError`].

use crate::server::Server;
use boardlab_vfs::FileSystem;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Mounted;
#[cfg(target_os = "linux")]
pub use linux::Mounted;

/// The device of FUSE.
pub const DEVICE: &str = "/dev/fuse";

/// Why there is no mount.
#[derive(Debug)]
#[non_exhaustive]
pub enum MountError {
    /// The operating system is not Linux.
    NotLinux,
    /// There is no such folder.
    NoFolder(io::Error),
    /// The place is no folder.
    NotAFolder,
    /// The folder is not empty: a mount would hide what is in it.
    NotEmpty,
    /// Linux has no FUSE here, as in most containers.
    NoDevice,
    /// The device of FUSE cannot be opened.
    Closed(io::Error),
    /// Only root may mount, and there is no `fusermount3` to do it.
    NoHelper,
    /// The operating system refuses.
    Refused(io::Error),
}

impl MountError {
    /// A hint what to try.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        const NONE_NEEDED: &str = "`boardlab image ls` and `boardlab image extract` need no mount";
        match self {
            Self::NotLinux => NONE_NEEDED,
            Self::NoFolder(_) | Self::NotAFolder => "make a new folder to mount on",
            Self::NotEmpty => "mount on an empty folder",
            Self::NoDevice => {
                "load the module with `modprobe fuse`, or start the container with `--device /dev/fuse \
                 --cap-add SYS_ADMIN`; `boardlab image ls` and `boardlab image extract` need neither"
            }
            Self::Closed(_) => {
                "run it as a user who may open /dev/fuse; `boardlab image ls` and `boardlab image extract` \
                 need no mount"
            }
            Self::NoHelper => {
                "install the package fuse3, or run it as root with CAP_SYS_ADMIN; `boardlab image ls` and \
                 `boardlab image extract` need neither"
            }
            Self::Refused(_) => NONE_NEEDED,
        }
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLinux => f.write_str("only Linux can mount an image"),
            Self::NoFolder(error) => write!(f, "the folder to mount on cannot be read: {error}"),
            Self::NotAFolder => f.write_str("the place to mount on is no folder"),
            Self::NotEmpty => f.write_str("the folder to mount on is not empty"),
            Self::NoDevice => write!(f, "FUSE is missing: there is no {DEVICE}"),
            Self::Closed(error) => write!(f, "{DEVICE} cannot be opened: {error}"),
            Self::NoHelper => {
                f.write_str("this user may not mount, and the program fusermount3 is missing")
            }
            Self::Refused(error) => write!(f, "the mount was refused: {error}"),
        }
    }
}

impl std::error::Error for MountError {}

/// How a filesystem is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Whether the permissions of the image hold, for every user of the machine. Without them the user who mounts
    /// may do everything, and nobody else has access. Only root may set it.
    pub permissions: bool,
}

/// Checks that `dir` is an empty folder, and returns its path without symbolic links.
///
/// # Errors
/// [`MountError::NoFolder`], [`MountError::NotAFolder`], [`MountError::NotEmpty`].
pub fn folder(dir: &Path) -> Result<PathBuf, MountError> {
    let path = dir.canonicalize().map_err(MountError::NoFolder)?;
    if !path.is_dir() {
        return Err(MountError::NotAFolder);
    }
    let mut entries = path.read_dir().map_err(MountError::NoFolder)?;
    if entries.next().is_some() { Err(MountError::NotEmpty) } else { Ok(path) }
}

/// Mounts what `server` serves on the empty folder `dir`. Without success the server comes back.
///
/// # Errors
/// [`MountError`].
pub fn mount<F: FileSystem + fmt::Debug + Send + 'static>(
    server: Server<F>,
    dir: &Path,
    settings: Settings,
) -> Result<Mounted<F>, (MountError, Box<Server<F>>)> {
    match folder(dir) {
        Ok(dir) => Mounted::begin(server, dir, settings),
        Err(error) => Err((error, Box::new(server))),
    }
}

/// Whether this machine could mount: the device is there and can be opened.
///
/// # Errors
/// [`MountError`].
pub fn probe() -> Result<(), MountError> {
    if cfg!(not(target_os = "linux")) {
        return Err(MountError::NotLinux);
    }
    match std::fs::File::options().read(true).write(true).open(DEVICE) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(MountError::Closed(error))
        }
        Err(_) => Err(MountError::NoDevice),
    }
}
