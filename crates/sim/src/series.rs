//! Points of a curve, in the order in which they were measured.

/// A curve of points `(x, y)`; the user knows the units.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    points: Vec<(f64, f64)>,
}

impl Series {
    /// An empty curve.
    #[must_use]
    pub const fn new() -> Self {
        Self { points: Vec::new() }
    }

    /// Adds a point.
    pub fn push(&mut self, x: f64, y: f64) {
        self.points.push((x, y));
    }

    /// The points in order.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// At most `limit` points, each the mean of a group of consecutive points of equal size (the last
    /// group may be smaller), so that a long run is drawn quickly.
    ///
    /// # Panics
    /// When `limit` is zero.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "group sizes are small")]
    pub fn binned(&self, limit: usize) -> Self {
        let group = self.points.len().div_ceil(limit).max(1);
        let mean = |points: &[(f64, f64)]| {
            let sum = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
            (sum.0 / points.len() as f64, sum.1 / points.len() as f64)
        };
        Self { points: self.points.chunks(group).map(mean).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binning_keeps_the_mean_and_the_limit() {
        let mut series = Series::new();
        (0..1_000).for_each(|i| series.push(f64::from(i), f64::from(i % 2)));
        let binned = series.binned(100);
        assert_eq!(binned.points().len(), 100);
        assert!(binned.points().iter().all(|point| (point.1 - 0.5).abs() < 1e-12));
        assert_eq!(series.binned(5_000).points().len(), 1_000);
    }
}
