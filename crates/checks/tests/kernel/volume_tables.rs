//! Our UBI whose power fails while it changes the volume table is attached by the kernel.
//!
//! The power fails in every program and erase of the chip, and that one is not begun, incomplete, or nearly complete. The
//! kernel shows the volumes that ours shows after it attached the same bytes: those of before the change, of after it or,
//! during an update, with the marker. Its log has no error but of pages and blocks that were torn, and there ours has the
//! same. In `make test` the cuts are drawn from a seed.

use crate::inspections::Boot;
use crate::table_cuts::{Change, Cut, EXPECTED_BAD, KINDS, Kind, Look};
use crate::{assert_none, full, index};
use boardlab_checks::guest::{Guest, Share};
use boardlab_checks::inspection::complaints;
use boardlab_sim::Seed;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Flashes of one nandsim at most, a partition each.
const PARTITIONS: usize = 30;
/// Flashes of one boot.
const BOOT: usize = 240;
/// Cuts of the sample on each kind of flash.
const SAMPLE: usize = 5;

/// In the guest: attaches one flash after the other.
const LOOK: &str = r#"
show() {
  read available </sys/class/ubi/ubi0/avail_eraseblocks
  read reserve </sys/class/ubi/ubi0/reserved_for_bad
  echo device $available $reserve
  for volume in /sys/class/ubi/ubi0_*; do
    [ -e $volume ] || continue
    line=${volume##*_}
    for attribute in name type reserved_ebs upd_marker corrupted data_bytes; do
      read value <$volume/$attribute
      line="$line $value"
    done
    echo $line
  done
}
look() { # PARTITION NAME OPTION...
  mtd=$1 name=$2; shift 2
  cp /h/$name.image /tmp/image
  nandwrite -q -n -o /dev/mtd$mtd /tmp/image >/dev/null
  echo "= $name" >>/h/shown; echo "= $name" >>/h/log
  dmesg -c >/dev/null
  if ubiattach -m $mtd -d 0 "$@" >/tmp/said 2>&1; then
    show >>/h/shown
    dmesg -c >>/h/log
    ubidetach -d 0
  else
    cat /tmp/said >>/h/shown
    dmesg -c >>/h/log
  fi
}
modprobe ubi; dmesg -n 1
: >/h/shown; : >/h/log
"#;

/// Flashes that cuts left, and what ours says about each.
pub(crate) struct Left<'a>(Vec<(Cut<'a>, Look)>);

impl<'a> Left<'a> {
    /// Puts them into a share.
    pub(crate) fn put(cuts: &[Cut<'a>], share: &Share) -> Self {
        let put = |cut: &Cut<'a>| {
            let dump = cut.dump();
            share.write(&format!("{}.image", cut.name()), &dump);
            (*cut, cut.kind().look(&dump))
        };
        Self(cuts.iter().map(put).collect())
    }

    /// Lets the guest attach them.
    pub(crate) fn job(&self) -> String {
        let mut job = LOOK.to_owned();
        for same in self.0.chunk_by(|(one, _), (next, _)| one.kind() == next.kind()) {
            let kind = same[0].0.kind();
            let blocks = kind.flash.blocks_of(kind.flash.mebibytes);
            for group in same.chunks(PARTITIONS.min(blocks / kind.blocks)) {
                job += &(kind.flash.load_blocks(&vec![kind.blocks; group.len()]) + "\n");
                for (partition, (cut, _)) in group.iter().enumerate() {
                    let (name, attach) = (cut.name(), kind.attach);
                    writeln!(job, "look {partition} {name} -b {EXPECTED_BAD} {attach}").unwrap();
                }
                job += "rmmod nandsim\n";
            }
        }
        job
    }

    /// What the kernel finds wrong or other than ours.
    pub(crate) fn problems(&self, share: &Share) -> Vec<String> {
        let [shown, log] = ["shown", "log"].map(|file| by_name(&share.text_of(file)));
        let problem = |(cut, look): &(Cut<'_>, Look)| {
            let name = cut.name();
            let found =
                |text: &BTreeMap<String, String>| text.get(&name).cloned().unwrap_or_default();
            let told = judge(cut, look, &found(&shown), &found(&log));
            told.map(|told| format!("{name}: {told}"))
        };
        self.0.iter().filter_map(problem).collect()
    }
}

/// What the guest wrote about flashes, by their names.
fn by_name(text: &str) -> BTreeMap<String, String> {
    let parts = text.split("= ").filter_map(|part| part.split_once('\n'));
    parts.map(|(name, lines)| (name.to_owned(), lines.to_owned())).collect()
}

/// What is wrong with what the kernel shows and says of a flash.
fn judge(cut: &Cut<'_>, look: &Look, shown: &str, log: &str) -> Option<String> {
    if shown != look.shown {
        return Some(format!("the kernel shows\n{shown}and ours\n{}{log}", look.shown));
    }
    if let Some(line) = complaints(log).find(|line| !is_expected(line, look)) {
        return Some(format!("the kernel says {line}"));
    }
    let pebs = |what: &str| {
        log.lines().filter(|line| line.contains(what)).filter_map(peb).collect::<BTreeSet<_>>()
    };
    let (flipped, unreadable) = (pebs("fixable bit-flip"), pebs("ECC error"));
    if flipped != look.flipped || unreadable != look.unreadable {
        let ours = (&look.flipped, &look.unreadable);
        return Some(format!(
            "flipped and unreadable blocks {:?}, ours {ours:?}",
            (flipped, unreadable)
        ));
    }
    let volumes: Vec<&str> = shown.lines().skip(1).collect();
    cut.wrong_table(&volumes, log.contains(SECOND_COPY))
}

/// What the kernel says when it restores the second copy.
const SECOND_COPY: &str = "volume table copy #2 is corrupted";

/// The block that a line of the log is about.
fn peb(line: &str) -> Option<u64> {
    let (_, number) = line.split_once("PEB ")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Whether ours knows what a line of the log complains about.
fn is_expected(line: &str, look: &Look) -> bool {
    let of_torn = ["ECC error", "corrupted EC header"].iter().any(|what| line.contains(what));
    let is_torn = |peb| look.unreadable.contains(&peb) || look.flipped.contains(&peb);
    line.contains(SECOND_COPY)
        || of_torn && peb(line).is_some_and(is_torn)
        || line.contains("uncorrectable") && !look.unreadable.is_empty()
        || line.contains("static volume") && look.damaged > 0
        || line.ends_with(&format!("corrupted PEBs: {}", look.corrupted))
}

/// On each kind of flash a change without a cut and [`SAMPLE`] cuts, drawn from a seed.
pub(crate) fn sample(changes: &[Change]) -> Vec<Cut<'_>> {
    let mut stream = Seed::new(1).stream("volume tables");
    let mut draw = |cuts: Vec<_>| cuts[index(stream.below(u64::try_from(cuts.len()).unwrap()))];
    let mut sample = Vec::new();
    for changes in changes.chunk_by(|one, next| one.kind() == next.kind()) {
        sample.push(draw(changes.iter().map(Change::whole).collect()));
        sample.extend((0..SAMPLE).map(|_| draw(changes.iter().flat_map(Change::cuts).collect())));
    }
    sample
}

/// All changes on all flashes.
pub(crate) fn changes() -> Vec<Change> {
    KINDS.iter().flat_map(Kind::changes).collect()
}

/// What is wrong with what any cut leaves.
fn problems_of_all(guest: &Guest) -> Vec<String> {
    let changes = changes();
    let cuts = changes.iter().flat_map(|change| change.cuts().chain([change.whole()]));
    let cuts: Vec<_> = cuts.collect();
    let boot = |cuts: &[Cut<'_>]| {
        let share = Share::new();
        let left = Left::put(cuts, &share);
        guest.run(&share, &left.job());
        left.problems(&share)
    };
    cuts.chunks(BOOT).flat_map(boot).collect()
}

#[test]
fn the_kernel_attaches_what_a_cut_in_a_change_of_the_volume_table_left() {
    let Some(guest) = Guest::find() else { return };
    if full() {
        assert_none(&problems_of_all(guest));
    } else {
        assert_none(&Boot::of(guest).tables);
    }
}
