//! The dword engine: frames, their ticks, hand-over of the link.

#![allow(clippy::unwrap_used, reason = "the helpers of a test panic like the test")]

mod link_rig;

use boardlab_sata::link::{Engine, Item};
use boardlab_sata::wire::Primitive;
use boardlab_sata::{Outcome, Tick};
use link_rig::{Event, Talker, command, finish, wiring};

#[test]
fn a_fis_takes_three_round_trips() {
    for (there, back) in [(0, 0), (3, 5), (13, 12)] {
        let mut engine =
            Engine::new(wiring(there, back, 64), Talker::new().fis(0, command()), Talker::new());
        engine.record();
        finish(&mut engine, 10_000);
        let trip = u64::from(there + back);
        // Asked at tick 0. X_RDY, R_RDY, then SOF, five dwords, CRC and EOF.
        let sof = 1 + trip + 2;
        let eof = sof + 7;
        assert_eq!(engine.device().log, [(Tick(eof + u64::from(there)), Event::Fis(command()))]);
        // R_OK a tick later.
        let answered = eof + trip + 1;
        assert_eq!(engine.host().log, [(Tick(answered), Event::Sent(Outcome::Accepted))]);
        // SYNC both ways: with it the link is free again.
        assert_eq!(engine.now(), Tick(answered + 1 + trip + 1 + 1));
        let host: Vec<_> = engine.trace().host.iter().map(|run| (run.from.0, run.item)).collect();
        use Primitive::{Eof, Sof, Sync, Wtrm, XRdy};
        assert_eq!(
            host,
            [
                (0, Item::Primitive(Sync)),
                (1, Item::Primitive(XRdy)),
                (sof, Item::Primitive(Sof)),
                (sof + 1, Item::Fis(command())),
                (sof + 6, Item::Crc),
                (eof, Item::Primitive(Eof)),
                (eof + 1, Item::Primitive(Wtrm)),
                (answered + 1, Item::Primitive(Sync)),
            ]
        );
    }
}
