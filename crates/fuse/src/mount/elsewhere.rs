//! No mount: this is not Linux.
//!
//! Layer: rank 9.

use super::{MountError, Settings};
use crate::server::Server;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A mount, of which there is none here.
#[derive(Debug)]
pub struct Mounted<F> {
    never: std::convert::Infallible,
    of: PhantomData<F>,
}

impl<F> Mounted<F> {
    pub(super) fn begin(
        server: Server<F>,
        _dir: PathBuf,
        _settings: Settings,
    ) -> Result<Self, (MountError, Box<Server<F>>)> {
        Err((MountError::NotLinux, Box::new(server)))
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        match self.never {}
    }

    /// Whether it was unmounted.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self.never {}
    }

    /// Calls the server.
    pub fn with<T>(&self, _call: impl FnOnce(&mut Server<F>) -> T) -> T {
        match self.never {}
    }

    /// Unmounts.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn unmount(&self, _detach: bool) -> io::Result<()> {
        match self.never {}
    }

    /// Waits for the end of the mount.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn wait(self) -> io::Result<()> {
        match self.never {}
    }
}
