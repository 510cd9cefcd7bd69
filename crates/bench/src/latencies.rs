//! What the operations of a step took.
//!
//! Layer: rank 10. Main type: [`StepRun`].

use boardlab_sim::{Bytes, Duration, Phase};

/// A step that was performed on a model.
#[derive(Debug, Clone)]
pub(crate) struct StepRun {
    pub(crate) name: String,
    pub(crate) operation: String,
    pub(crate) bytes: Bytes,
    pub(crate) latencies: Phase,
    /// From the first operation to the end of the last.
    pub(crate) elapsed: Duration,
}

impl StepRun {
    pub(crate) fn new(name: &str, operation: &str) -> Self {
        let (name, operation) = (name.to_owned(), operation.to_owned());
        let (bytes, elapsed) = (Bytes::ZERO, Duration::ZERO);
        Self { name, operation, bytes, latencies: Phase::new(), elapsed }
    }

    /// Counts an operation.
    pub(crate) fn record(&mut self, latency: Duration, bytes: Bytes) {
        self.latencies.record(latency);
        self.bytes += bytes;
    }

    /// Bytes a second; `None` where nothing was moved or no time passed.
    #[allow(clippy::cast_precision_loss, reason = "a rate to be shown")]
    pub(crate) fn rate(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0 && !self.bytes.is_zero()).then(|| self.bytes.get() as f64 / seconds)
    }

    /// Operations a second.
    #[allow(clippy::cast_precision_loss, reason = "a rate to be shown")]
    pub(crate) fn operations_per_s(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| self.latencies.count() as f64 / seconds)
    }
}
