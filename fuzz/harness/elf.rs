//! An ELF file of unknown content: read, its symbols looked up, loaded and started on the board.

use boardlab_arm926::Limit;
use boardlab_realview::{Machine, Program, Settings};
use boardlab_sim::Bytes;

/// Instructions that the program may execute.
const INSTRUCTIONS: u64 = 2_000;

/// Everything that is done with a program.
pub(crate) fn run(input: &[u8]) {
    let Ok(program) = Program::parse(input) else { return };
    let contents: usize = program.segments.iter().map(|segment| segment.contents.len()).sum();
    assert!(contents <= input.len(), "{contents} bytes of segments in {} of file", input.len());
    let symbols = program.symbols.all();
    assert!(symbols.is_sorted_by_key(|symbol| symbol.address));
    for symbol in symbols.iter().take(64) {
        let found = program.symbols.address(&symbol.name).expect("every symbol has its name");
        assert!(found <= symbol.address, "{}", symbol.name);
        let _ = program.symbols.at(symbol.address);
        let _ = program.symbols.at(symbol.address.wrapping_add(symbol.size));
    }
    let settings = Settings { memory: Bytes::mib(1), ..Settings::default() };
    let mut machine = Machine::new(&settings).expect("the board has 1 MiB");
    if machine.load(&program).is_ok() {
        machine.run(Limit::instructions(INSTRUCTIONS));
    }
}
