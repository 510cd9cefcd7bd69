//! Policies: what is chosen, never how it is done.
//!
//! Layer: small values and functions that the mechanism asks. In reading order: [`collection`], which
//! block is emptied next; [`levelling`], which data are moved for the sake of wear; [`streams`], what
//! is written side by side; [`admission`], what goes into the cache.

pub mod admission;
pub mod collection;
pub mod levelling;
pub mod streams;
