//! A board with a small program, as `boardlab os run` runs it.

use super::bench::without_inputs;
use super::tree::Tree;
use boardlab_computer::{Console, Order, Plan, Session, TerminalInput, Until, board};
use boardlab_document::error::Error;
use boardlab_parts::catalog;
use boardlab_sim::Seed;
use serde_json::{Value as Json, json};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

#[path = "../../../realview/tests/guest/mod.rs"]
mod guests;

/// What benches of boards call their scenario.
pub(crate) const BOARDS: &str = "os run";
/// It.
pub(crate) const SCENARIO: &str = "board = \"realview-eb\"\n";
/// Far more than the program needs.
const INSTRUCTIONS: u64 = 1_000_000;

/// The program, built once; nothing where the compiler is absent, which is told.
pub(crate) fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| guests::build("settings.c", &[])).as_deref()
}

/// Reads the board of `tree`.
pub(crate) fn check(tree: &Tree, set: &[String]) -> Result<(), Error> {
    let read = catalog::compose_source(&tree.source(), set)?.read(|top| {
        let computer = top.section("board", board::read);
        top.finish()?;
        computer
    });
    read.map(drop)
}

/// All that comes out of the program on the board of `tree`, and what it prints.
pub(crate) fn outcome(tree: &Tree) -> Json {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("keys-{}-{count}.toml", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, tree.text_of("board")).unwrap();
    let order = Order {
        program: program().unwrap().into(),
        set: vec![format!("board={}", path.display())],
        ..Order::default()
    };
    let session = Session::open(&order);
    std::fs::remove_file(path).unwrap();
    let mut session = match session {
        Ok(session) => session,
        Err(failure) => return Json::String(format!("{failure:?}")),
    };
    let plan = Plan { until: Some(Until::Instructions(INSTRUCTIONS)), ..Plan::default() };
    let mut printed = Print::default();
    let ran = session.run(&plan, &mut printed, Seed::new(1)).unwrap();
    json!({ "result": without_inputs(ran.result), "printed": printed.0 })
}

/// Keeps what the guest prints, and types nothing.
#[derive(Default)]
struct Print(Vec<u8>);

impl Console for Print {
    fn print(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend(bytes);
        Ok(())
    }

    fn typed(&mut self, _wait: bool) -> io::Result<TerminalInput> {
        Ok(TerminalInput::Ended)
    }
}
