//! The operating system that comes with boardlab.
//!
//! Layer: rank 9. Constants: [`NAME`], [`KERNEL`]. Source: `os/`, of which `make -C os release` builds the file.

/// What names it where the path of a program is expected. A file of this name is `./built-in`.
pub const NAME: &str = "built-in";

/// The kernel with its RAM disk: an ELF file with symbols and without debugging information.
pub const KERNEL: &[u8] = include_bytes!("../../../os/kernel.elf");

/// The file name under which programs see it.
pub const FILE_NAME: &str = "kernel.elf";
