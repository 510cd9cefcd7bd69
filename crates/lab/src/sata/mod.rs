//! The SATA experiment.
//!
//! Layer: rank 8. In reading order: [`console`], the serial menu of its host.

pub mod console;
