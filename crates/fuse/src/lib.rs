//! A filesystem of boardlab, mounted on this machine by FUSE.
//!
//! Layer: rank 9; faces the operating system. In reading order:
//!
//! - [`server`]: [`Server`], which answers requests by inode, as the kernel makes them; a plain type, which a test
//!   can call without a kernel.
//! - Not public, `kernel`: the requests of the kernel, handed to a server.
//! - [`mount`](mod@mount): [`mount()`] and [`Mounted`], a mount and its end; why it cannot be.
//!
//! Images are untrusted, and the kernel is not to be trusted with them: names that no file can have, sizes beyond
//! those of Linux, and directories within themselves are answered by errors. Devices and set-user-ID have no effect
//! in the mount.
//!
//! Only Linux has it. What is left out: access by other users than the one who mounts, locks beyond those of one
//! kernel, `O_TMPFILE`, for which fuser has no request, and holes told by `SEEK_HOLE`.

#[cfg(target_os = "linux")]
mod kernel;
pub mod mount;
pub mod server;

pub use mount::{MountError, Mounted, Settings, mount};
pub use server::{Found, Item, NoStore, Rename, Server, Store};
