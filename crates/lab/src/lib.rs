//! The experiments on NOR flash, drives and computers, and the list of all there are.
//!
//! Layer: rank 11, on top of all models. In reading order:
//!
//! - [`nor`]: the NOR experiment; [`sata`]: the SATA experiment; [`fcse`]: the context-switch experiment. Those on
//!   cards are in `boardlab_cards`, that on filesystems is in `boardlab_filesystems`.
//! - [`registry`]: the list of them, and what the command line calls.
//! - [`guide`]: what keys, terms, verdicts and tables mean.
//!
//! Nothing here prints.

pub mod fcse;
pub mod guide;
pub mod nor;
pub mod registry;
pub mod sata;
