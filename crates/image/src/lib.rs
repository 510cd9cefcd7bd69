//! Flash images in files.
