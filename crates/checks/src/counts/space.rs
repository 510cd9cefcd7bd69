//! Workloads that show what UBIFS says about its space, and where it is full.
//!
//! Layer: beside all others. Functions: [`states`], [`full`]. A line that begins with `?` may fail; both
//! sides say which did.

use super::{index, line};
use boardlab_sim::Stream;

/// Files with random data until the flash is full, and what was written of them.
pub(super) fn full(mebibytes: usize, more: u64) -> String {
    let size = 65_536;
    let count = (u64::try_from(mebibytes).expect("a size of a flash") << 20) / size + more;
    let mut text = String::new();
    for file in 0..count {
        line(&mut text, format_args!("?file f{file:04} 0644"));
        line(&mut text, format_args!("?write f{file:04} 0 {size} random {file} {size}"));
    }
    text + "@state full\n@stored full\nsync\n@state synced\n@stored synced\n@unmount\n@mount\n@state mounted\n"
}

/// More than 30 states between an empty flash, a full one and one that is emptied again.
pub(super) fn states(stream: &mut Stream) -> String {
    let mut text = String::from("@state empty\n");
    few(&mut text);
    many(&mut text, stream);
    filled(&mut text);
    text
}

/// Ends a step: the state with dirty pages, and the one after sync.
fn noted(text: &mut String, name: &str) {
    line(text, format_args!("@state {name}\nsync\n@state {name}-synced"));
}

/// Empty files, and two larger ones that are changed.
fn few(text: &mut String) {
    for folder in 0..10 {
        line(text, format_args!("mkdir d{folder} 0755"));
    }
    *text += "@state directories\n";
    for file in 0..100 {
        line(text, format_args!("file d{}/e{file} 0644", file % 10));
    }
    *text += "@state empty-files\n";
    *text += "file t 0644\nwrite t 0 1000000 text 1 32768\n";
    noted(text, "text");
    *text += "file r 0644\nwrite r 0 1000000 random 2 32768\n";
    noted(text, "random");
    *text += "write t 100000 500000 text 3 32768\n";
    noted(text, "overwritten");
    *text += "truncate r 300001\n@state truncated\nunlink t\n";
    noted(text, "deleted");
}

/// Small files, attributes, links and a hole.
fn many(text: &mut String, stream: &mut Stream) {
    for file in 0..300 {
        let size = [1, 1_000, 4_096, 5_000, 9_000][index(stream.below(5))];
        line(text, format_args!("file d{}/s{file} 0644", file % 10));
        line(text, format_args!("write d{}/s{file} 0 {size} percent:50 {file} 4096", file % 10));
    }
    noted(text, "small-files");
    for file in (0..300).step_by(2) {
        line(text, format_args!("unlink d{}/s{file}", file % 10));
    }
    noted(text, "half-deleted");
    for file in 0..50 {
        let (value, target) = (1 + stream.below(200), 1 + stream.below(200));
        let (value, target) = ("ab".repeat(index(value)), "t".repeat(index(target)));
        line(text, format_args!("setxattr d{}/e{file} user.x {value}", file % 10));
        line(text, format_args!("symlink {target} l{file}"));
    }
    noted(text, "attributes");
    *text += "file h 0644\ntruncate h 5000000\nwrite h 3000000 4096 text 1 4096\n";
    noted(text, "hole");
}

/// Until there is no space, and back.
fn filled(text: &mut String) {
    for file in 0..12 {
        line(text, format_args!("?file big{file} 0644"));
        line(text, format_args!("?write big{file} 0 1500000 random {file} 4096"));
    }
    *text += "@stored full\n";
    noted(text, "full");
    *text += "?unlink big0\n?unlink big1\n";
    noted(text, "two-deleted");
    *text += "@unmount\n@mount\n@state mounted\n?file after 0644\n?write after 0 3000000 random 99 4096\n";
    *text += "@stored full-again\n";
    noted(text, "full-again");
    for file in 2..12 {
        line(text, format_args!("?unlink big{file}"));
    }
    noted(text, "emptied");
    *text +=
        "@unmount\n@mount\n@state mounted-again\n@unmount\n@mount-read-only\n@state read-only\n";
}
