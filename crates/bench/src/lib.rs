//! The steps of measurement plans, on models: the same operations at the same places in the same order as the
//! agent performs them on a board, so that both can be put side by side.
//!
//! Layer: rank 10. In reading order: [`steps`] (steps in scenarios,
//! and the plan of a scenario), [`latencies`] (what a step took), [`tables`], [`flash`] (a NAND behind
//! its driver), [`block`] (a device of constant latencies, such as null_blk or a throttled
//! drive of QEMU).
//!
//! Left out: contents. Every step writes what the plan says on the board; the models' times do not
//! depend on it, so here it is one byte.

pub mod block;
pub mod flash;

mod latencies;
mod steps;
mod tables;
