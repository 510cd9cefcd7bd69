//! YAFFS by its public interface.
