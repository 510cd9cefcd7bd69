//! `screenshot PAGE.html OUT.png [--width N] [--dark] [--print]`: a picture of a whole page.
//!
//! Layer: inside `checks`; for those who look at a report after a change. Widths below 600 are
//! taken as a phone's. Source: [`boardlab_checks::browser`]. Left out: formats other than PNG.

use boardlab_checks::browser::{Browser, Error, Look};
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// Why there is no picture. Shown by its words when `main` returns it.
enum Failure {
    Usage(String),
    Browser(Error),
    Write(PathBuf, std::io::Error),
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(found) => write!(
                f,
                "{found}\nusage: screenshot PAGE.html OUT.png [--width N] [--dark] [--print]"
            ),
            Self::Browser(error) => write!(f, "{error}"),
            Self::Write(path, error) => write!(f, "write {}: {error}", path.display()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Browser(error)
    }
}

/// What the command line asks for.
struct Order {
    page: PathBuf,
    picture: PathBuf,
    look: Look,
}

fn main() -> Result<(), Failure> {
    let order = order(std::env::args().skip(1))?;
    let mut browser = Browser::launch()?;
    browser.look(order.look)?;
    browser.open(&order.page)?;
    let ready = "document.querySelector('figure[data-chart]') === null \
                 || document.documentElement.dataset.ready === 'yes'";
    browser.wait_until(ready)?;
    let picture = browser.screenshot()?;
    fs::write(&order.picture, picture).map_err(|error| Failure::Write(order.picture, error))
}

fn order(mut arguments: impl Iterator<Item = String>) -> Result<Order, Failure> {
    let mut paths = Vec::new();
    let mut look = Look::DESKTOP;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--dark" => look.dark = true,
            "--print" => look.print = true,
            "--width" => {
                let number = arguments.next().and_then(|text| text.parse().ok());
                look.width = number.ok_or_else(|| Failure::Usage("--width: no number".into()))?;
            }
            option if option.starts_with("--") => {
                return Err(Failure::Usage(format!("unknown option {option}")));
            }
            path => paths.push(PathBuf::from(path)),
        }
    }
    if look.width < 600 {
        look = Look { width: look.width, dark: look.dark, print: look.print, ..Look::PHONE };
    }
    let [page, picture] = <[PathBuf; 2]>::try_from(paths)
        .map_err(|paths| Failure::Usage(format!("{} files, expected 2", paths.len())))?;
    Ok(Order { page, picture, look })
}
