//! Why pages are not written in another form.
//!
//! Layer: rank 7. Main type: [`PagesProblem`].

use std::fmt;

/// Why pages are not written in another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PagesProblem {
    /// Nothing shows what the pages of the file are.
    Unknown,
    /// There is no code by which they could be corrected.
    NoCode,
}

impl PagesProblem {
    pub(super) fn help(self) -> String {
        let help = match self {
            Self::Unknown => "name them by --from-page and --from-oob",
            Self::NoCode => {
                "name the layout by --from-spare and --from-ecc; `boardlab image info` says what fits"
            }
        };
        help.into()
    }
}

impl fmt::Display for PagesProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "nothing shows the pages and the spare bytes of the file",
            Self::NoCode => "no code is known by which the pages could be corrected",
        })
    }
}
