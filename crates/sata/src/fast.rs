//! The FIS engine: the times of the dword engine, from one step a FIS.
