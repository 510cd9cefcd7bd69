//! placeholder
use crate::registry::{Failure, Request};
use boardlab_result::RunResult;
pub(crate) fn run(_request: &Request<'_>) -> Result<RunResult, Failure> {
    Err(Failure::NotBuilt { name: "nor-write".into(), action: "run" })
}
pub(crate) fn tune(_request: &Request<'_>) -> Result<RunResult, Failure> {
    Err(Failure::NotBuilt { name: "nor-write".into(), action: "tune" })
}
