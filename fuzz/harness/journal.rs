//! The journal of a sweep of unknown content: read, and what is believed of it compared with its lines.

use boardlab_sweep::read_journal;

/// Everything that is believed of a journal.
pub(crate) fn run(input: &[u8]) {
    let lines = input.split(|&byte| byte == b'\n').count();
    let Some(believed) = read_journal(input) else { return };
    assert!(believed.done.is_sorted() && believed.done.len() < lines, "{believed:?}");
    assert!(believed.done.iter().all(|&point| point < believed.points), "{believed:?}");
    assert!(believed.done.len() + believed.damaged <= lines, "{believed:?}");
}
