//! JFFS2, the log-structured flash filesystem of Linux.
pub mod format;
