//! The macro for consistency checks of tables.
//!
//! Layer: rank 5.

/// Returns the contradiction from a consistency check unless a condition holds.
macro_rules! hold {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(boardlab_vfs::Contradiction(format!($($what)+)));
        }
    };
}
pub(crate) use hold;
