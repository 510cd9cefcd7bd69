//! Error correction codes, compression and checksums of flash storage.
