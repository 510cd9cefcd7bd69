//! The SSD: command layer, buffer, translation layer.
