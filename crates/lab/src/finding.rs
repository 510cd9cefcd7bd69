//! Findings of experiments, each of which a test must have met under altered settings.
//!
//! Layer: rank 10. Functions: [`find`], [`on_print`].

use boardlab_result::RunResult;

/// Adds a finding that may be made of any run, and returns its index. Each call of this function has to be met by
/// a case of the tests in `sentences`, with settings other than the published ones.
#[cfg_attr(test, track_caller)]
pub(crate) fn find(run: &mut RunResult, finding: impl Into<String>) -> usize {
    let finding = finding.into();
    #[cfg(test)]
    crate::sentences::met(&finding);
    run.find(finding)
}

/// Adds a finding about the print, as there is one only of the published scenario, and returns its index.
#[cfg_attr(test, track_caller)]
pub(crate) fn on_print(run: &mut RunResult, finding: impl Into<String>) -> usize {
    let finding = finding.into();
    #[cfg(test)]
    crate::sentences::met(&finding);
    run.find(finding)
}
