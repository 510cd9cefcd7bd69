//! What the comparisons of tables are written with.
//!
//! Layer: rank 5.

/// Ends a comparison with what is wrong unless a condition holds.
macro_rules! hold {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(boardlab_vfs::Contradiction(format!($($what)+)));
        }
    };
}
pub(crate) use hold;
