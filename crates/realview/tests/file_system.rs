//! The operating system's file system on the memory card: its layout, its tests on the host, and power cuts.
use crate::kernel;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::kernel::Shell;
use boardlab_arm926::{Cycles, Limit};
use boardlab_block::{
    BlockDevice, Completion, Error, Extent, Fault, FaultInjector, Geometry, Payload, RamBlock,
    Request, Rule,
};
use boardlab_realview::{Card, Medium, Outcome, Settings};
use boardlab_sim::{Bytes, Clock, Instant, Seed, Trigger};

const BLOCK: usize = 512;
const CARD: usize = 512 << 10;
const ON_CARD: &str = "disk=card";

/// Shell commands; each is one operation of the file system, except `echo`, which is several.
const COMMANDS: [&str; 8] =
    ["mkdir d", "echo hi > f", "ln f d/g", "rm f", "mkdir d/e", "rm d/g", "rm d/e", "rm d"];

struct Write {
    block: usize,
    data: Vec<u8>,
}

/// A block device in memory that records all writes in order.
struct Recorder {
    inner: RamBlock,
    writes: Arc<Mutex<Vec<Write>>>,
}

impl BlockDevice for Recorder {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn submit(&mut self, at: Instant, request: Request<'_>) -> Result<Completion, Error> {
        if let Request::Write { extent, data: Payload::Bytes(bytes), .. } = &request {
            let first = usize::try_from(extent.first.0).unwrap();
            self.writes.lock().unwrap().extend(
                bytes
                    .chunks(BLOCK)
                    .enumerate()
                    .map(|(index, data)| Write { block: first + index, data: data.to_vec() }),
            );
        }
        self.inner.submit(at, request)
    }
}

fn run(program: &Path, arguments: &[&Path]) -> (bool, String) {
    let output = Command::new(program).args(arguments).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The image that `mkfs` makes of these files with these options.
fn mkfs(folder: &Path, name: &str, options: &[&str], files: &[PathBuf]) -> Vec<u8> {
    let image = folder.join(format!("{name}.img"));
    let mut command = Command::new(folder.join("mkfs"));
    let output = command.args(options).arg(&image).args(files).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let bytes = std::fs::read(&image).unwrap();
    std::fs::remove_file(image).unwrap();
    bytes
}

/// A card with the programs that the tests need.
fn card_image(folder: &Path, name: &str) -> Vec<u8> {
    let programs = ["echo", "halt", "init", "ln", "ls", "mkdir", "rm", "sh", "stressfs", "fuzz"];
    let files: Vec<PathBuf> = programs.iter().map(|name| folder.join("user").join(name)).collect();
    let mut bytes = mkfs(folder, name, &["-s", "400", "-i", "60"], &files);
    bytes.resize(CARD, 0);
    bytes
}

fn recorder(image: &[u8]) -> (Recorder, Arc<Mutex<Vec<Write>>>) {
    let mut inner = RamBlock::new(Geometry::of_size(Bytes::of(image)));
    let extent = inner.geometry().whole();
    inner.write(&mut Clock::new(), extent, image).unwrap();
    let writes = Arc::new(Mutex::new(Vec::new()));
    (Recorder { inner, writes: Arc::clone(&writes) }, writes)
}

fn recorded(image: &[u8]) -> (Card, Arc<Mutex<Vec<Write>>>) {
    let (recorder, writes) = recorder(image);
    (Card::new(Medium::Device(Box::new(recorder)), false).unwrap(), writes)
}

/// Boots the kernel on a card with these contents; returns its listing and the card's contents
/// afterwards.
fn start_and_list(folder: &Path, image: &[u8]) -> (String, Vec<u8>) {
    let card = Card::new(Medium::image(image).unwrap(), false).unwrap();
    let (mut shell, _) = Shell::start(folder, ON_CARD, Some(card));
    let list = shell.command("ls") + &shell.command("ls d");
    let mut after = vec![0; CARD];
    shell.machine.processor().bus.card().unwrap().contents(0, &mut after).unwrap();
    (list, after)
}

/// Fails unless `fsck` accepts the image; if `clean`, it must print no notes either.
fn check(folder: &Path, name: &str, image: &[u8], clean: bool) {
    let path = folder.join(format!("{name}.img"));
    std::fs::write(&path, image).unwrap();
    let (good, said) = run(&folder.join("fsck"), &[&path]);
    assert!(good, "{name}: {said}");
    assert!(!clean || said.contains(" 0 errors, 0 notes"), "{name}: {said}");
    std::fs::remove_file(&path).unwrap();
}

fn full() -> bool {
    std::env::var_os("BOARDLAB_FULL").is_some()
}

/// Calls the function for each number below `end`.
fn in_two_threads(end: usize, body: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed))
            .take_while(|&number| number < end)
            .for_each(&body);
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
}

/// The listing without the sizes of files.
fn without_sizes(list: &str) -> Vec<&str> {
    list.lines().filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name).collect()
}

/// The writes of the commands, and the number of writes at the end of each command.
struct Recording {
    image: Vec<u8>,
    writes: Vec<Write>,
    ends: Vec<usize>,
}

impl Recording {
    fn make(folder: &Path, name: &str, commands: &[&str]) -> Self {
        let image = card_image(folder, name);
        let (card, writes) = recorded(&image);
        let (mut shell, _) = Shell::start(folder, ON_CARD, Some(card));
        let mut ends = vec![writes.lock().unwrap().len()];
        for command in commands {
            let said = shell.command(command);
            assert!(!said.contains("fail"), "{command}: {said}");
            ends.push(writes.lock().unwrap().len());
        }
        drop(shell);
        let writes = std::mem::take(&mut *writes.lock().unwrap());
        Self { image, writes, ends }
    }

    /// The card's contents after the first `count` writes.
    fn card(&self, count: usize) -> Vec<u8> {
        let mut image = self.image.clone();
        for write in &self.writes[..count] {
            image[write.block * BLOCK..][..BLOCK].copy_from_slice(&write.data);
        }
        image
    }

    /// Cuts the power after `count` writes. `lists` are the listings at the end of each command.
    fn cut(&self, folder: &Path, count: usize, lists: &[String]) {
        let card = self.card(count);
        check(folder, &format!("cut-{count}"), &card, false);
        let (list, after) = start_and_list(folder, &card);
        check(folder, &format!("recovered-{count}"), &after, true);
        let ended = self.ends.iter().rposition(|&end| end <= count).unwrap_or(0);
        let next = lists.get(ended + 1).unwrap_or(&lists[ended]);
        let growing = COMMANDS.get(ended).is_some_and(|command| command.contains('>'))
            && without_sizes(&list) == without_sizes(next);
        assert!(
            list == lists[ended] || &list == next || growing,
            "after {count} writes, {ended} commands had ended:\n{list}\nbefore:\n{}\nbehind:\n{next}",
            lists[ended]
        );
    }
}

#[test]
fn whenever_the_power_fails_the_card_recovers_to_what_had_ended() {
    let Some(folder) = kernel::build() else { return };
    let recording = Recording::make(folder, "recorded", &COMMANDS);
    let total = recording.writes.len();
    assert!(total > 60, "{total} writes");
    let lists: Vec<String> =
        recording.ends.iter().map(|&end| start_and_list(folder, &recording.card(end)).0).collect();
    assert!(lists.windows(2).all(|pair| pair[0] != pair[1]), "{lists:?}");
    in_two_threads(total + 1, |count| recording.cut(folder, count, &lists));
}

#[test]
fn while_five_processes_write_a_power_cut_leaves_a_consistent_card() {
    let Some(folder) = kernel::build() else { return };
    let recording = Recording::make(folder, "stressed", &["stressfs"]);
    let total = recording.writes.len();
    assert!(total > 500, "{total} writes");
    let every = if full() { 1 } else { 50 };
    in_two_threads(total + 1, |count| {
        let card = recording.card(count);
        check(folder, &format!("stressed-{count}"), &card, false);
        if count % every == 0 {
            let (_, after) = start_and_list(folder, &card);
            check(folder, &format!("settled-{count}"), &after, true);
        }
    });
}

#[test]
fn the_tests_of_the_file_system_on_the_host_pass() {
    if Command::new("gcc").arg("--version").output().is_err() {
        eprintln!("skipped: needs gcc");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("host");
    let said = kernel::make(&folder, "test");
    assert_eq!(said.matches(" 0 failed").count(), 8, "{said}");
    for (test, seeds) in [
        ("model", 3000),
        ("tasks", 2000),
        ("reuse", 2000),
        ("cut", 300),
        ("faults", 5000),
        ("lies", 20_000),
    ] {
        if full() {
            let output = Command::new(folder.join("host/fs-test"))
                .arg(folder.join("host/empty.img"))
                .args([test, "1000", &seeds.to_string()])
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
        }
    }
}

/// Files around the limits of direct and indirect blocks, in the order given to `mkfs`.
fn sample_files(folder: &Path) -> Vec<PathBuf> {
    let sizes = [
        ("empty", 0),
        ("_byte", 1),
        ("block", 512),
        ("direct", 6_144),
        ("indirect", 6_145),
        ("fourteen-bytes", 100),
        ("longest", 71_680),
    ];
    sizes
        .into_iter()
        .map(|(name, size)| {
            let path = folder.join(name);
            let data: Vec<u8> = (0..size).map(|at: u32| (at % 251).to_le_bytes()[0]).collect();
            std::fs::write(&path, data).unwrap();
            path
        })
        .collect()
}

#[test]
fn mkfs_makes_the_image_that_xv6_makes_of_the_same_files() {
    let Some(folder) = kernel::build() else { return };
    let samples = folder.join("samples");
    std::fs::create_dir_all(&samples).unwrap();
    let image = mkfs(folder, "samples", &["-s", "1000"], &sample_files(&samples));
    let word = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap());
    let super_block: Vec<u32> = (0..7).map(|index| word(512 + 4 * index)).collect();
    assert_eq!(super_block, [1000, 941, 200, 30, 2, 32, 58]);
    assert_eq!(word(32 * BLOCK + 64), 0x0000_0001, "inode 1 is a directory");
    assert_eq!(word(32 * BLOCK + 72), 512, "bytes of the root directory");
    assert_eq!(word(32 * BLOCK + 76), 59, "its block");
    assert_eq!(image[59 * BLOCK..][32..39], *b"\x02\0empty");
    assert_eq!(image[59 * BLOCK..][48..54], *b"\x03\0byte");
    // Of the image by xv6's mkfs with FSSIZE 1000.
    assert_eq!(crc32fast::hash(&image), 0x2016_743F);
    check(folder, "samples-checked", &image, true);
}

/// The messages of `mkfs` for these files, all of which it must reject.
fn refused(folder: &Path, options: &[&str], files: &[PathBuf]) -> String {
    let image = folder.join("refused.img");
    let mut command = Command::new(folder.join("mkfs"));
    let output = command.args(options).arg(&image).args(files).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!image.exists(), "an image that is not whole");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn mkfs_refuses_what_does_not_fit_and_names_that_are_none() {
    let Some(folder) = kernel::build() else { return };
    let odd = folder.join("odd");
    std::fs::create_dir_all(&odd).unwrap();
    let file = |name: &str, bytes: usize| {
        let path = odd.join(name);
        std::fs::write(&path, vec![7; bytes]).unwrap();
        path
    };
    let many: Vec<PathBuf> = (0..40).map(|number| file(&format!("f{number}"), 10)).collect();
    let cases = [
        (vec![file("_", 1)], "it has no name"),
        (vec![file("same", 1), file("_same", 1)], "there is a file of this name already"),
        (vec![file("fifteen-letters", 1)], "its name is too long"),
        (vec![file("long", 71_681)], "it is longer than a file may be"),
        (vec![odd.join("missing")], "cannot be opened"),
        (vec![odd.clone()], "cannot be read"),
    ];
    for (files, why) in cases {
        let said = refused(folder, &[], &files);
        assert!(said.contains(why), "{said}");
    }
    let said = refused(folder, &["-i", "30"], &many);
    assert!(said.contains("no inode is left for it"), "{said}");
    let said = refused(folder, &["-s", "90"], &many);
    assert!(said.contains("no block is left for it"), "{said}");
}

#[test]
fn fsck_replays_a_log_and_tells_damage_by_its_status() {
    let Some(folder) = kernel::build() else { return };
    let fsck = folder.join("fsck");
    let name = "damage.img";
    let path = folder.join(name);
    let status = |arguments: &[&str]| status_of(&fsck, folder, arguments).0;
    let mut image = mkfs(folder, "damaged", &[], &[]);
    // Block 1999 waits in the log.
    image[2 * BLOCK..][..8].copy_from_slice(&[1, 0, 0, 0, 0xCF, 7, 0, 0]);
    image[3 * BLOCK..][..BLOCK].fill(0xAB);
    std::fs::write(&path, &image).unwrap();
    assert_eq!(status(&[name]), Some(0));
    assert_eq!(std::fs::read(&path).unwrap(), image, "it only looks");
    assert_eq!(status(&["--replay", name]), Some(0));
    image[2 * BLOCK] = 0;
    image[1999 * BLOCK..][..BLOCK].fill(0xAB);
    assert_eq!(std::fs::read(&path).unwrap(), image);
    image[58 * BLOCK] = 0;
    std::fs::write(&path, &image).unwrap();
    assert_eq!(status(&[name]), Some(1));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(status(&[name]), Some(2));
    assert_eq!(status(&[]), Some(2));
}

/// The exit status of `mkfs` or `fsck`, and its output.
fn status_of(program: &Path, folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn mkfs_makes_no_image_that_is_an_option_or_too_large_for_the_kernel() {
    let Some(folder) = kernel::build() else { return };
    let here = folder.join("options");
    std::fs::create_dir_all(&here).unwrap();
    for (arguments, status, says) in [
        (&["--help"][..], 0, "usage: mkfs"),
        (&["-s"], 2, "usage: mkfs"),
        (&["-q", "3", "image"], 2, "usage: mkfs"),
        (&["-s", "17000", "image"], 1, "-s is 17000, expected is a number from 64 to 16384"),
        (&["-i", "70000", "image"], 1, "-i is 70000, expected is a number from 2 to 65535"),
    ] {
        let (code, said) = status_of(&folder.join("mkfs"), &here, arguments);
        assert!(code == Some(status) && said.contains(says), "{arguments:?}: {code:?} {said}");
    }
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0, "no image");
    assert_eq!(mkfs(folder, "largest", &["-s", "16384"], &[]).len(), 16_384 * BLOCK);
}

#[test]
fn fsck_says_in_one_line_why_a_file_is_no_image() {
    let Some(folder) = kernel::build() else { return };
    let image = mkfs(folder, "whole", &[], &[]);
    let mut large = image.clone();
    large[BLOCK..][..4].copy_from_slice(&17_000_u32.to_le_bytes());
    let foreign = [7_u8; 5000];
    for (bytes, says) in [
        (&image[..0], "this is no image: the file has 0 bytes"),
        (&image[..700], "the file has 700 bytes, its super block says 2000 blocks"),
        (&large[..], "its super block says 17000 blocks, the kernel takes 16384 at most"),
        (&foreign[..], "this is no image: block 1 is no super block"),
    ] {
        std::fs::write(folder.join("no.img"), bytes).unwrap();
        let (code, said) = status_of(&folder.join("fsck"), folder, &["no.img"]);
        assert_eq!((code, said.lines().count()), (Some(1), 2), "{said}");
        assert!(said.contains(says) && said.ends_with("no.img: 1 errors, 0 notes\n"), "{said}");
    }
}

/// The offset of the inode with this number in an image.
fn inode_at(image: &[u8], number: usize) -> usize {
    let first = u32::from_le_bytes(image[BLOCK + 20..][..4].try_into().unwrap());
    usize::try_from(first).unwrap() * BLOCK + 64 * number
}

/// The kernel's message for a disk from which it cannot boot.
fn ends_at_the_start(folder: &Path, image: &[u8]) -> String {
    let mut machine = kernel::machine(&Settings::default(), folder, ON_CARD);
    machine.insert_card(Card::new(Medium::image(image).unwrap(), false).unwrap());
    let outcome = machine.run(Limit::cycles(Cycles::default().plus(100_000_000)));
    let text = String::from_utf8_lossy(&machine.take_console()).into_owned();
    assert!(matches!(outcome, Outcome::Exit { code: 1, .. }), "{outcome:?} {text}");
    assert!(!text.contains("panic"), "{text}");
    text
}

#[test]
fn a_disk_without_a_root_or_a_file_system_ends_the_kernel_with_a_message() {
    let Some(folder) = kernel::build() else { return };
    let image = card_image(folder, "endless");
    let mut endless = image.clone();
    // The size is the third word of what is on the disk.
    endless[inode_at(&image, 1) + 8..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let said = ends_at_the_start(folder, &endless);
    assert!(said.contains("fs: inode 1: it is larger than a file can be"), "{said}");
    assert!(said.contains("init: /init cannot be executed"), "{said}");
    let mut wild = image;
    wild[BLOCK..][..28].fill(0xFF);
    assert!(ends_at_the_start(folder, &wild).contains("fs_init: no file system"));
}

#[test]
fn an_inode_that_cannot_be_is_an_error_of_who_uses_it_and_of_nobody_else() {
    let Some(folder) = kernel::build_checked() else { return };
    let whole = card_image(folder, "impossible");
    // mkfs numbers the files in their order: `ln` is the fourth behind the root.
    let ln = inode_at(&whole, 5);
    for (at, value, why) in [
        (8, u32::MAX, "it is larger than a file can be"),
        (8, 71_681, "it is larger than a file can be"),
        (0, 7, "its type is none"),
        (4, 0xFFFF_0000, "it has less than no links"),
        (12, 0x00FF_FFFF, "is not one of data"),
        (12, 2, "is not one of data"),
    ] {
        let mut image = whole.clone();
        image[ln + at..][..4].copy_from_slice(&value.to_le_bytes());
        let card = Card::new(Medium::image(&image).unwrap(), false).unwrap();
        let (mut shell, _) = Shell::start(folder, ON_CARD, Some(card));
        let said = shell.command("ln echo more");
        assert!(said.contains(why) && said.contains("sh: cannot run ln"), "{why}: {said}");
        assert_eq!(shell.command("echo still here").trim_end(), "still here", "{why}");
    }
}

/// A card with these contents on which some blocks fail.
fn failing(image: &[u8], rules: &[Rule]) -> (Card, Arc<Mutex<Vec<Write>>>) {
    let (recorder, writes) = recorder(image);
    let device = FaultInjector::over(recorder, Seed::new(1), rules);
    (Card::new(Medium::Device(Box::new(device)), false).unwrap(), writes)
}

#[test]
fn a_block_that_cannot_be_read_is_an_error_of_who_reads_it() {
    let Some(folder) = kernel::build_checked() else { return };
    let image = card_image(folder, "unreadable");
    let word = |at: usize| u32::from_le_bytes(image[at..][..4].try_into().unwrap());
    let block = word(inode_at(&image, 5) + 12);
    let bad = Rule::new(Fault::ReadUncorrectable, Trigger::From(0))
        .within(Extent::new(u64::from(block), 1));
    let (mut shell, _) = Shell::start(folder, ON_CARD, Some(failing(&image, &[bad]).0));
    let said = shell.command("ln echo more");
    let message = format!("bread: block {block} cannot be read");
    assert!(said.contains(&message) && said.contains("sh: cannot run ln"), "{said}");
    shell.command("echo kept > f");
    assert_eq!(shell.command("echo still here").trim_end(), "still here");
    assert!(shell.command("ls").contains("f              2"));
}

#[test]
fn a_card_that_cannot_be_written_any_more_is_read_to_the_end() {
    let Some(folder) = kernel::build_checked() else { return };
    let image = card_image(folder, "worn");
    let worn = Rule::new(Fault::WriteFails, Trigger::From(40));
    let (card, writes) = failing(&image, &[worn]);
    let (mut shell, _) = Shell::start(folder, ON_CARD, Some(card));
    let mut said = String::new();
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        said += &shell.command(&format!("mkdir {name}"));
    }
    assert!(said.contains("from here on the file system is only read"), "{said}");
    assert!(said.contains("mkdir: cannot make g"), "{said}");
    let list = shell.command("ls");
    let there = |name: &str| list.lines().any(|line| line.starts_with(&format!("{name} ")));
    assert!(there("a") && there("sh") && !there("g"), "{list}");
    let mut after = image;
    for write in writes.lock().unwrap().iter() {
        after[write.block * BLOCK..][..BLOCK].copy_from_slice(&write.data);
    }
    let (list_after, settled) = start_and_list(folder, &after);
    assert!(list_after.starts_with(&*list), "{list}\n{list_after}");
    check(folder, "worn-settled", &settled, true);
}

/// Random calls on a kernel with runtime checks, followed by `fsck`.
#[test]
fn random_calls_leave_kernel_and_file_system_whole() {
    let Some(folder) = kernel::build_checked() else { return };
    let image = card_image(folder, "fuzzed");
    let seed = std::env::var("BOARDLAB_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let options = ["tick=300", "fcse=0", "slots=2 tick=1000", "tick=100 ahead=0"];
    for round in seed..seed + if full() { 200 } else { 4_u32 } {
        let options = options[usize::try_from(round).unwrap() % options.len()];
        let card = Card::new(Medium::image(&image).unwrap(), false).unwrap();
        let on_card = format!("{ON_CARD} {options}");
        let (mut shell, _) = Shell::start(folder, &on_card, Some(card));
        let said = shell.command(&format!("fuzz {round} 100"));
        let ended = said.contains("fuzz: WHOLE") && !said.contains("FAIL");
        assert!(ended, "BOARDLAB_SEED={round} {options}: {said}");
        let mut after = vec![0; CARD];
        shell.machine.processor().bus.card().unwrap().contents(0, &mut after).unwrap();
        check(folder, &format!("fuzzed-{round}"), &after, true);
    }
}

/// The card's contents on QEMU after the commands; `None` if QEMU is not installed.
fn card_on_qemu(folder: &Path, image: &[u8]) -> Option<Vec<u8>> {
    let path = folder.join("qemu.img");
    std::fs::write(&path, image).unwrap();
    let run = Command::new("timeout")
        .args(["60", "qemu-system-arm", "-M", "realview-eb", "-cpu", "arm926", "-m", "128"])
        .args(["-nographic", "-semihosting", "-append", ON_CARD, "-kernel"])
        .arg(folder.join("kernel.elf"))
        .args(["-drive", &format!("if=sd,format=raw,file={}", path.display())])
        .env("QEMU_AUDIO_DRV", "none")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut run = run.unwrap();
    let typed = COMMANDS.join("\n") + "\nhalt\n";
    run.stdin.as_mut().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = run.wait_with_output().unwrap();
    if output.status.code() == Some(127) {
        eprintln!("skipped: needs qemu-system-arm");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let after = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    Some(after)
}

#[test]
fn the_same_commands_leave_the_same_card_here_and_on_qemu() {
    let Some(folder) = kernel::build() else { return };
    let image = card_image(folder, "both");
    let Some(theirs) = card_on_qemu(folder, &image) else { return };
    let (card, writes) = recorded(&image);
    let (mut shell, _) = Shell::start(folder, ON_CARD, Some(card));
    for command in COMMANDS {
        shell.command(command);
    }
    let mut ours = image;
    for write in writes.lock().unwrap().iter() {
        ours[write.block * BLOCK..][..BLOCK].copy_from_slice(&write.data);
    }
    assert!(ours == theirs, "the cards differ");
}
