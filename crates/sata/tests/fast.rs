//! The FIS engine: rates equal to the arithmetic, shares that sum to the time, data that arrive.
use crate::pair::{Command, Device, Flow, Host, Kind, plain_wiring, prompt, random_wiring, skewed};
use boardlab_sata::arithmetic::{Direction, Link};
use boardlab_sata::fast::Engine;
use boardlab_sata::{Speed, Stop, Tick};
use boardlab_sim::Seed;

const ALL: u32 = 65_536;

/// Ticks from the host's first call to the end of its only command.
fn ticks(speed: Speed, latency: u32, command: Command) -> u64 {
    let (host, device) = prompt(&[command]);
    let mut engine = Engine::new(plain_wiring(speed, latency), host, device);
    assert_eq!(engine.run(Tick::NEVER), Stop::Idle);
    assert_eq!(engine.shares().total(), engine.now().0);
    engine.now().0
}

#[test]
fn rates_are_those_of_the_arithmetic() {
    for speed in Speed::ALL {
        for latency in [0, 1, 7, 12, 13, 50] {
            for (kind, direction) in
                [(Kind::Read, Direction::Read), (Kind::Write, Direction::Write)]
            {
                let link = Link::of(&plain_wiring(speed, latency));
                let ticks = ticks(speed, latency, Command { kind, sectors: ALL });
                let expected = link.command(direction, ALL.into()) * 256 / 254;
                // The signature comes first; ALIGNs in turnarounds wait for each other.
                assert!(
                    ticks.abs_diff(expected) * 500 < expected,
                    "{latency} {direction:?}: {ticks} {expected}"
                );
            }
        }
    }
}

#[test]
fn everything_arrives_and_every_tick_is_accounted_for() {
    for seed in 0..2_000 {
        let mut stream = Seed::new(seed).stream("fast");
        let wiring = random_wiring(&mut stream);
        let kinds = [Kind::Read, Kind::Write, Kind::PioIn, Kind::None];
        let commands: Vec<Command> = (0..1 + stream.below(5))
            .map(|_| Command {
                kind: kinds[usize::try_from(stream.below(4)).unwrap()],
                sectors: u32::try_from(1 + skewed(&mut stream, 9)).unwrap(),
            })
            .collect();
        let described = stream.chance(1, 2);
        let host = Host::new(&mut stream, described, &commands);
        let device = Device::new(&mut stream, described);
        let mut engine = Engine::new(wiring, host, device);
        assert_eq!(engine.run(Tick::NEVER), Stop::Idle, "seed {seed}");
        let shares = engine.shares();
        assert_eq!(shares.total(), engine.now().0, "seed {seed}");
        let (host, device) = engine.into_agents();
        assert!(host.commands.is_empty(), "seed {seed}");
        let moved = |direction: &[Kind]| -> u64 {
            commands
                .iter()
                .filter(|command| direction.contains(&command.kind))
                .map(|command| u64::from(command.sectors) * 128)
                .sum()
        };
        assert_eq!(host.common.received, moved(&[Kind::Read, Kind::PioIn]), "seed {seed}");
        assert_eq!(device.common.received, moved(&[Kind::Write]), "seed {seed}");
        assert_eq!(shares.payload, host.common.received + device.common.received);
    }
}

#[test]
fn a_slow_receiver_sets_the_rate() {
    for (dwords, ticks) in [(3, 4), (1, 2), (1, 9), (99, 100)] {
        let (mut host, device) = prompt(&[Command { kind: Kind::Read, sectors: 2_048 }]);
        host.common.drains = Flow::Even(dwords, ticks);
        let mut engine = Engine::new(plain_wiring(Speed::Gen2, 12), host, device);
        engine.run(Tick::NEVER);
        let (now, shares) = (engine.now().0, engine.shares());
        // 128 frames, each with a turnaround of some 80 dwords.
        let least = 2_048 * 128 * ticks / dwords;
        assert!(now >= least && now < least + 130 * 100, "{now} instead of {least}");
        let lost = least * 254 / 256 - 2_048 * 128;
        assert!(shares.hold.abs_diff(lost) < 128 * 20, "{shares:?}, not {lost}");
    }
}

#[test]
fn frames_in_closed_form_end_as_event_by_event() {
    for seed in 0..3_000 {
        let mut stream = Seed::new(seed).stream("closed");
        let wiring = random_wiring(&mut stream);
        let commands = [Kind::Read, Kind::Write].map(|kind| Command {
            kind,
            sectors: u32::try_from(1 + skewed(&mut stream, 9)).unwrap(),
        });
        let mut host = Host::new(&mut stream, true, &commands);
        let mut device = Device::new(&mut stream, true);
        // Gates that open about when HOLD is sent, heard, answered, and its answer comes.
        for common in [&mut host.common, &mut device.common] {
            let fifo = u64::from(wiring.host.hold_from.max(wiring.device.hold_from));
            common.supplies = Flow::Late(stream.below(8));
            common.drains = Flow::Late(fifo.saturating_sub(50) + stream.below(300));
        }
        let run = |by_events| {
            let mut engine = Engine::new(wiring, host.clone(), device.clone());
            engine.step_by_events(by_events);
            engine.run(Tick::NEVER);
            let (shares, now) = (engine.shares(), engine.now());
            let (host, device) = engine.into_agents();
            (
                host.common.log,
                device.common.log,
                shares,
                now,
                host.common.digest,
                device.common.digest,
            )
        };
        assert!(run(false) == run(true), "seed {seed}");
    }
}

#[test]
fn a_link_whose_host_has_nothing_to_send_is_idle_and_not_turning_around() {
    let commands = [Command { kind: Kind::Read, sectors: 16 }; 20];
    let run = |pause| {
        let (mut host, device) = prompt(&commands);
        host.common.wait(pause);
        let mut engine = Engine::new(plain_wiring(Speed::Gen3, 12), host, device);
        engine.run(Tick::NEVER);
        engine.shares()
    };
    let (prompt, idle) = (run(1), run(10_000));
    assert_eq!((idle.payload, idle.framing), (prompt.payload, prompt.framing));
    assert!(idle.overhead - prompt.overhead > 20 * 4_000, "{idle:?}");
    // Handshakes take as long as ever, but for the ALIGNs that they meet.
    assert!(idle.turnaround.abs_diff(prompt.turnaround) < 61 * 12, "{prompt:?} {idle:?}");
}

#[test]
fn a_frame_that_nobody_gives_up_hangs_and_costs_no_more_than_the_limit() {
    let (mut host, device) = prompt(&[Command { kind: Kind::Read, sectors: 16 }]);
    host.common.drains = Flow::Late(u64::MAX);
    let mut engine = Engine::new(plain_wiring(Speed::Gen2, 12), host, device);
    for limit in [1_000, 5_000_000] {
        assert_eq!(engine.run(Tick(limit)), Stop::Limit);
        assert_eq!(engine.now(), Tick(limit));
        assert_eq!(engine.shares().total(), limit);
    }
}

#[test]
fn a_run_stops_at_its_limit_and_goes_on_as_if_it_had_not() {
    let commands = [Command { kind: Kind::Write, sectors: 160 }; 3];
    let run = |step: u64| {
        let (mut host, device) = prompt(&commands);
        host.common.wait(3_000);
        let mut engine = Engine::new(plain_wiring(Speed::Gen2, 12), host, device);
        let mut limit = Tick(step);
        while engine.run(limit) == Stop::Limit {
            // A frame that has begun is brought to its end.
            assert!(engine.now() >= limit && engine.now().since(limit) < 2_500, "{limit}");
            limit = limit.after(step);
        }
        let shares = engine.shares();
        let (host, device) = engine.into_agents();
        (host.common.log, device.common.log, shares)
    };
    let whole = run(u64::MAX);
    for step in [1, 100, 3_333] {
        assert!(run(step) == whole, "{step}");
    }
}

#[test]
#[should_panic(expected = "HOLD must end below where it begins")]
fn a_fifo_whose_hold_never_ends_is_refused() {
    let mut wiring = plain_wiring(Speed::Gen1, 1);
    wiring.device.hold_to = wiring.device.hold_from;
    let (host, device) = prompt(&[]);
    let _engine = Engine::new(wiring, host, device);
}
