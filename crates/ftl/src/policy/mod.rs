//! Policies: they choose; the mechanism acts.
//!
//! Layer: small values and functions that the mechanism consults. In reading order: [`collection`],
//! victim selection; [`levelling`], wear levelling; [`streams`], the separation of hot from cold
//! data; [`admission`], admission to the SLC cache.

pub mod admission;
pub mod collection;
pub mod levelling;
pub mod streams;
