//! The host: sequencers in firmware and in hardware, patterns, verification.
