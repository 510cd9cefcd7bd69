//! Keys that change no output of a bench, in some of its contexts or in all, and why that is right. One that begins to
//! change something where it is tried first fails the test.

/// Keys that may be taken without effect.
#[derive(Debug)]
pub(crate) struct Exception {
    /// What the names of the benches begin with.
    pub(crate) bench: &'static str,
    /// Keys, or sections with a dot behind them; `*` stands for one name, `a|b` for either.
    pub(crate) keys: &'static [&'static str],
    /// Why nothing changes.
    pub(crate) why: &'static str,
}

impl Exception {
    /// Whether the key at `path` of the bench `name` is one of these.
    pub(crate) fn is_about(&self, name: &str, path: &str) -> bool {
        self.keys.iter().any(|key| self.names(name, key, path))
    }

    /// Whether `key` names the key at `path` of the bench `name`.
    pub(crate) fn names(&self, name: &str, key: &str, path: &str) -> bool {
        name.starts_with(self.bench) && covers(key, path)
    }
}

/// Keys that have to change something in one context, and may be without effect in the others.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    /// The bench.
    pub(crate) bench: &'static str,
    /// The keys.
    pub(crate) keys: &'static [&'static str],
    /// The context in which they matter.
    pub(crate) context: &'static str,
}

/// Whether the pattern `key` is about `path`.
pub(crate) fn covers(key: &str, path: &str) -> bool {
    let mut names = path.split('.');
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if part.is_empty() && parts.peek().is_none() {
            return true;
        }
        if !names.next().is_some_and(|name| part == "*" || part.split('|').any(|one| one == name)) {
            return false;
        }
    }
    names.next().is_none()
}

/// Those of all benches.
pub(crate) const EVERYWHERE: &[Exception] = &[Exception {
    bench: "",
    keys: &["experiment", "title", "board.title"],
    why: "the name of the experiment, and what `boardlab list` shows",
}];
