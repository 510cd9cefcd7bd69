//! Work side by side whose outcome does not depend on who is done first.
//!
//! Layer: rank 10. Function: [`in_order`].

use rayon::prelude::*;

/// All results in the order of the work, or the first error in that order. Collecting into a `Result` would give
/// whichever error comes first in time.
pub(crate) fn in_order<T: Send, E: Send>(
    work: impl ParallelIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let all: Vec<Result<T, E>> = work.collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;
    use std::time::Duration;

    #[test]
    fn the_first_error_is_that_of_the_first_piece_of_work() {
        let waits = [30_u64, 0, 0, 0, 0, 0];
        let fail = |(number, wait): (usize, &u64)| {
            sleep(Duration::from_millis(*wait));
            Err::<(), usize>(number)
        };
        assert_eq!(in_order(waits.par_iter().enumerate().map(fail)), Err(0));
    }
}
