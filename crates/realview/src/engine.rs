//! The core's engines, compiled for the board.
//!
//! Layer: rank 4. Main type: [`EngineKind`]. The engines of `arm926` are generic over the bus; they are
//! instantiated here for [`Board`], once for all users of the board.

use boardlab_arm926::{Engine, Interpreter, Predecoded};

use crate::board::Board;

/// An engine of the core. Each gives the same results, to the last bit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// The reference interpreter: one instruction at a time.
    Interpreter,
    /// Blocks of predecoded instructions.
    #[default]
    Predecoded,
    /// Hot code compiled to machine code of the host.
    #[cfg(feature = "compiler")]
    Compiled,
}

impl EngineKind {
    /// A new engine of this kind.
    pub(crate) fn engine(self) -> Box<dyn Engine<Board> + Send> {
        match self {
            Self::Interpreter => Box::new(Interpreter),
            Self::Predecoded => Box::new(Predecoded::new()),
            #[cfg(feature = "compiler")]
            Self::Compiled => Box::new(boardlab_arm926::Compiled::new()),
        }
    }
}
