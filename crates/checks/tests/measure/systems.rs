//! Whole systems of x86-64, ARM and MIPS with Debian's kernels: the agent does the same on flashes and disks in memory.
//! And on x86-64, what a signal sets back, and the power that fails while the results come over a serial line.

use crate::full;
use crate::killed::{flat, read as told_of};
use boardlab_checks::guest::{Architecture, Guest, Share};
use boardlab_checks::repository::Repository;
use boardlab_measure::reading::{EndKind, Reading, State, read};
use boardlab_sim::Seed;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// `mtd0` is a NAND flash, `ram0` and `ram1` are disks, `nullb0` forgets what is written.
const DEVICES: &str = "modprobe nandsim id_bytes=0x20,0x33 parts=128 2>/dev/null
modprobe brd rd_nr=2 rd_size=8192; modprobe null_blk gb=1; modprobe ext4
";

/// A step of every kind that these devices have.
const PLAN: &str = "boardlab-plan 1
scenario memory
endurance /dev/mtd0 100000
step flash-info mtd.info device=/dev/mtd0
step flash-erase mtd.erase device=/dev/mtd0
step flash-program mtd.program device=/dev/mtd0 length=262144 size=4096
step flash-read mtd.read device=/dev/mtd0 length=262144 size=4096 verify=1
step flash-blocks mtd.read device=/dev/mtd0 length=262144 size=16384
step flash-random mtd.read device=/dev/mtd0 length=262144 size=4096 order=random count=50 verify=1 each=1
step flash-oob-write mtd.write_oob device=/dev/mtd0 offset=262144 count=20
step flash-oob-read mtd.read_oob device=/dev/mtd0 offset=262144 count=20
step flash-wrong mtd.read device=/dev/mtd0 length=16384 size=4096 seed=2 verify=1
step disk-write block.write device=/dev/ram0 size=65536
step disk-read block.read device=/dev/ram0 size=65536 verify=1
step disk-reverse block.read device=/dev/ram0 size=65536 order=reverse verify=1
step disk-random block.write device=/dev/ram0 size=4096 order=random count=200 depth=4 engine=threads seed=5
step disk-aio block.read device=/dev/ram0 size=4096 order=random count=200 depth=8 engine=aio
step disk-flush block.flush device=/dev/ram0 size=512 count=10
step disk-cached block.write device=/dev/ram0 size=512 count=50 direct=0 sync=end data=ff
step null-write block.write device=/dev/nullb0 length=1048576 size=4096 sync=each
step null-read block.read device=/dev/nullb0 length=1048576 size=4096
step crc cpu.crc size=65536 count=5
step mount fs.mount device=/dev/ram1 path=/mnt type=ext4 options=rw
step create fs.create path=/mnt count=10 size=5000
step list fs.list path=/mnt
step read fs.read path=/mnt count=10 size=5000
step bench fs.tiobench path=/mnt phase=sequential_write threads=2 length=65536
step cold fs.drop_caches
step remove fs.remove path=/mnt count=10
step unmount fs.unmount path=/mnt
";

/// A NOR flash, which the kernel of ARM has none of in memory.
const NOR_PLAN: &str = "boardlab-plan 1
step info mtd.info device=/dev/mtd0
step erase mtd.erase device=/dev/mtd0
step program mtd.program device=/dev/mtd0 size=65536
step program-bytes mtd.program device=/dev/mtd0 size=1 count=100 data=zero
step read mtd.read device=/dev/mtd0 offset=65536 size=65536 verify=1
";

/// A program of the share does not start on MIPS: its kernel takes the numbers of the host's errors for its own.
const JOB: &str = "cp /h/agent /tmp/agent; mke2fs /dev/ram1 >/dev/null 2>&1
/tmp/agent --destroy /dev/mtd0 --destroy /dev/ram0 --destroy /dev/nullb0 --destroy-data /dev/ram1 --destroy /mnt \
 --out /tmp/out /h/plan 2>/tmp/err || [ $? = 1 ] || { cat /tmp/err; exit 1; }
cp /tmp/out /h/memory.jsonl; rmmod nandsim
if modprobe mtdram total_size=1024 erase_size=64 2>/dev/null; then
  /tmp/agent --destroy /dev/mtd0 --out /tmp/nor /h/nor-plan 2>/tmp/err || { cat /tmp/err; exit 1; }
  cp /tmp/nor /h/nor.jsonl; rmmod mtdram
fi
";

/// How the agent of a guest is built: that of x86-64 with the sanitizers of addresses and undefined behaviour.
const SANITIZED: &str = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all";

/// Runs a program with the libraries of the host, which are beside it.
const WITH_LIBRARIES: &str = "#!/bin/sh
ASAN_OPTIONS=detect_leaks=0:exitcode=99 UBSAN_OPTIONS=exitcode=99 \
exec /h/lib/ld-linux-x86-64.so.2 --library-path /h/lib /h/program \"$@\"
";

/// Builds the agent into a share, as `agent`; the compiler that lacks, otherwise.
fn share(architecture: Architecture) -> Result<Share, &'static str> {
    let (compiler, flags) = match architecture {
        Architecture::Amd64 => ("gcc", SANITIZED),
        Architecture::Armhf => ("arm-linux-gnueabihf-gcc", "-O2 -static"),
        Architecture::Mipsel => ("mipsel-linux-gnu-gcc", "-O2 -static"),
    };
    if Command::new(compiler).arg("--version").output().is_err() {
        return Err(compiler);
    }
    let share = Share::new();
    let build = share.path().join("build");
    let mut make = Command::new("make");
    make.args(["-s", "-j2", "-C"]).arg(Repository::here().root().join("agent"));
    make.arg(format!("CC={compiler}")).arg(format!("CFLAGS={flags}"));
    assert!(make.arg(format!("BUILD={}", build.display())).status().unwrap().success());
    let built = build.join("boardlab-agent");
    if architecture == Architecture::Amd64 {
        copy_libraries(&built, &share.path().join("lib"));
        fs::rename(built, share.path().join("program")).unwrap();
        share.write("agent", WITH_LIBRARIES);
        let readable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(share.path().join("agent"), readable).unwrap();
    } else {
        fs::rename(built, share.path().join("agent")).unwrap();
    }
    share.write("plan", PLAN);
    share.write("nor-plan", NOR_PLAN);
    Ok(share)
}

/// The libraries that a program is linked with, and what loads them.
fn copy_libraries(program: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    let listed = Command::new("ldd").arg(program).output().unwrap().stdout;
    for word in String::from_utf8(listed).unwrap().split_whitespace() {
        if let Some(name) = Path::new(word).file_name().filter(|_| word.starts_with('/')) {
            fs::copy(word, to.join(name)).unwrap();
        }
    }
}

/// A guest with the agent; `None`, which is said, where something lacks.
fn guest(architecture: Architecture) -> Option<(&'static Guest, Share)> {
    let guest = Guest::of(architecture)?;
    match share(architecture) {
        Ok(share) => Some((guest, share)),
        Err(compiler) => {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "skipped: needs {compiler}");
            None
        }
    }
}

fn reading(share: &Share, name: &str) -> Option<Reading> {
    let bytes = share.read(name)?;
    let mut readings = read(&bytes[..]).unwrap();
    assert_eq!(readings.len(), 1, "{name}");
    Some(readings.remove(0))
}

/// What is the same of a step in every system.
type Figures = (String, State, [u64; 3], BTreeMap<String, String>);

/// What no two systems share: `values` that are times, and the kernel's choices of `block.info`.
fn figures(reading: &Reading) -> Vec<Figures> {
    let steps = reading.steps.iter().map(|step| {
        let values = step.values.iter().filter(|(name, _)| !name.ends_with("_ns"));
        let values = values.map(|(name, value)| (name.clone(), format!("{value:?}"))).collect();
        let classes = step.latencies.iter().flat_map(|all| all.histogram.classes());
        let latencies = classes.map(|class| class.1).sum();
        let counts = [step.operations, step.bytes, latencies];
        (step.name.clone(), step.state.clone(), counts, values)
    });
    steps.collect()
}

/// Boots a system and does the plans in it; the figures of both.
fn measured(architecture: Architecture) -> Option<[Vec<Figures>; 2]> {
    let (guest, share) = guest(architecture)?;
    guest.run(&share, &[DEVICES, JOB].concat());
    let memory = reading(&share, "memory.jsonl").unwrap();
    assert!(memory.damage.is_empty() && memory.foreign == 0, "{memory:?}");
    assert_eq!(memory.steps.len(), PLAN.matches("\nstep ").count());
    let nor = reading(&share, "nor.jsonl").map(|nor| figures(&nor)).unwrap_or_default();
    Some([figures(&memory), nor])
}

#[test]
fn arm_and_mips_measure_the_same_as_x86() {
    let Some([memory, nor]) = measured(Architecture::Amd64) else { return };
    // What is compared is worth it: all but the wrong seed was done, and every step counted.
    for (name, state, counts, _) in memory.iter().chain(&nor) {
        assert_eq!(*state == State::Done, name != "flash-wrong", "{name}: {state:?}");
        let is_info = name.ends_with("info") || name.ends_with("mount");
        assert!(is_info || counts[0] > 0, "{name}: {counts:?}");
    }
    assert_eq!(nor.len(), 5);
    for architecture in [Architecture::Armhf, Architecture::Mipsel] {
        let Some([other_memory, other_nor]) = measured(architecture) else { return };
        assert_eq!(other_memory, memory, "{architecture:?}");
        let expected = if architecture == Architecture::Armhf { &[][..] } else { &nor[..] };
        assert_eq!(other_nor, expected, "{architecture:?}");
    }
}

/// What the agent changes beyond data: a write cache, a mount, a folder.
const CHANGES: &str = "boardlab-plan 1
step off block.cache device=/dev/vda mode=off
step mount fs.mount device=/dev/ram1 path=/mnt type=ext4 options=rw
step create fs.create path=/mnt count=3
step wait cpu.sleep count=1000 time_ns=100000000
step remove fs.remove path=/mnt count=3
";

/// Ends the agent by a signal in the step that waits. `before`, `during` and `after` are the state of the machine.
const SIGNALS: &str = r#"modprobe virtio_blk; modprobe brd rd_nr=2 rd_size=8192; modprobe ext4; mke2fs /dev/ram1 >/dev/null 2>&1
state() { cat /sys/block/vda/cache_type; grep -c ' /mnt ' /proc/mounts || true; [ ! -e /mnt/boardlab-agent ] || echo folder; }
for signal in TERM INT HUP KILL; do
  state >/h/$signal.before
  /h/agent --destroy /dev/vda --destroy-data /dev/ram1 --destroy /mnt --out /tmp/$signal /h/changes 2>/tmp/err & pid=$!
  until grep -q '"begin":"wait"' /tmp/$signal 2>/dev/null || ! kill -0 $pid; do sleep 0.05; done
  state >/h/$signal.during; kill -$signal $pid; wait $pid && status=0 || status=$?
  echo $status >/h/$signal.status; state >/h/$signal.after; cp /tmp/$signal /h/$signal.jsonl
done
"#;

const DISK: [&str; 2] =
    ["-drive", "if=virtio,format=raw,file.driver=null-co,file.size=16M,cache=writeback"];

#[test]
fn signals_set_back_what_the_plan_changed_and_kill_does_not() {
    let Some((guest, share)) = guest(Architecture::Amd64) else { return };
    share.write("changes", CHANGES);
    guest.run_with(&share, SIGNALS, &DISK);
    for signal in ["TERM", "INT", "HUP", "KILL"] {
        let state = |when: &str| share.text_of(&format!("{signal}.{when}"));
        assert_eq!(state("before"), "write back\n0\n", "{signal}");
        assert_eq!(state("during"), "write through\n1\nfolder\n", "{signal}");
        let reading = reading(&share, &format!("{signal}.jsonl")).unwrap();
        if signal == "KILL" {
            assert_eq!(state("after"), state("during"));
            assert_eq!((state("status").as_str(), reading.end), ("137\n", None));
            assert_eq!(reading.unfinished.as_deref(), Some("wait"));
            continue;
        }
        assert_eq!((state("after").as_str(), state("status").as_str()), ("write back\n0\n", "1\n"));
        let end = reading.end.unwrap();
        let told: Vec<_> = end.restored.iter().map(|one| (one.what.as_str(), &one.error)).collect();
        assert_eq!((end.kind, end.steps, end.done), (EndKind::Interrupted, 5, 3), "{signal}");
        assert_eq!(told.len(), 3, "{told:?}");
        for (what, error) in &told {
            let is_known = ["/dev/vda", "/mnt"].iter().any(|part| what.contains(part));
            assert!(error.is_none() && is_known, "{told:?}");
        }
    }
}

/// Steps that go on until their limit: a second, or on a busy host long enough for the power to fail within them.
const LONG: [&str; 9] = [
    "mtd.erase device=/dev/mtd0",
    "mtd.program device=/dev/mtd0",
    "mtd.read device=/dev/mtd0 order=random",
    "mtd.read_oob device=/dev/mtd0",
    "block.write device=/dev/ram0 size=4096 order=random",
    "block.write device=/dev/ram0 size=4096 depth=4 engine=threads sync=each",
    "block.read device=/dev/ram0 size=4096 depth=8 engine=aio",
    "block.flush device=/dev/ram0",
    "block.write device=/dev/nullb0 size=65536",
];

#[test]
fn the_power_fails_within_a_step_and_the_console_tells_which() {
    let Some((guest, share)) = guest(Architecture::Amd64) else { return };
    let plan = |cut: usize| {
        let step = |(index, step): (usize, &&str)| {
            let limit = if index == cut { 60_000 } else { 1_000 };
            format!("step s{index} {step} count=100000000 limit_ms={limit}\n")
        };
        let steps: String = LONG.iter().enumerate().map(step).collect();
        format!("boardlab-plan 1\n{steps}")
    };
    let job = format!(
        "{DEVICES}/h/agent --max-cycles 1000000000 --destroy /dev/mtd0 --destroy /dev/ram0 --destroy /dev/nullb0 \
         /h/long 2>/tmp/err || cat /tmp/err\n"
    );
    let mut stream = Seed::new(17).stream("steps");
    let drawn = usize::try_from(stream.below(3)).unwrap();
    for index in if full() { (0..LONG.len()).collect() } else { vec![drawn] } {
        share.write("long", plan(index));
        let console = guest.cut_at(&share, &job, &format!("{{\"begin\":\"s{index}\""));
        let (status, told) = told_of(share.path(), &console);
        let flat = flat(&told);
        assert_eq!(status, Some(1), "{told}");
        let expected = format!("is partial: it broke off in step `s{index}`, after {index} step");
        assert!(
            flat.contains(&expected),
            "s{index}: {told}\n{}",
            String::from_utf8_lossy(&console)
        );
    }
}
