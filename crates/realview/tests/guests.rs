//! The support code of guest programs gives the same console output and exit code here and on QEMU.
use crate::guest;

use boardlab_arm926::Limit;
use boardlab_realview::{Machine, Outcome, Program, Settings};

fn here(elf: &[u8]) -> (Outcome, String) {
    let mut machine = Machine::new(&Settings::default()).unwrap();
    machine.load(&Program::parse(elf).unwrap()).unwrap();
    let outcome = machine.run(Limit::instructions(100_000_000));
    (outcome, String::from_utf8(machine.take_console()).unwrap())
}

#[test]
fn hello_and_the_mix_say_the_same_here_and_on_qemu() {
    for (name, flags, text) in
        [("hello.c", &[][..], "hello\naborts: 1\n"), ("mix.c", &["-DROUNDS=1"][..], "")]
    {
        let Some(elf) = guest::build(name, flags) else { return };
        let (outcome, console) = here(&std::fs::read(&elf).unwrap());
        assert!(matches!(outcome, Outcome::Exit { code: 0, .. }), "{outcome}: {name}: {console}");
        assert!(console.contains(text), "{name}: {console}");
        let Some(output) = guest::qemu(&elf, &[]) else { return };
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(&console), "{name}: {output:?}");
    }
}
