//! The recommended change to Linux, as a patch text for the two kernels.
//!
//! The change keeps the driver's test of readiness as the only judge: it only asks at another time. The
//! context lines are those of `drivers/mtd/chips/cfi_cmdset_0002.c` in Linux 3.4 and 6.1, no more
//! than `patch` needs to find the place.

use boardlab_result::Attachment;

/// A kernel that the change is for.
struct Kernel {
    version: &'static str,
    /// The line after the maximum of retries in that version.
    retries: &'static str,
    /// First lines of the two hunks, before and after the change.
    at: [(u32, u32); 2],
    /// The two lines after the wait.
    after: [&'static str; 2],
}

const KERNELS: [Kernel; 2] = [
    Kernel {
        version: "3.4",
        retries: "#define MAX_WORD_RETRIES 3",
        at: [(40, 40), (1472, 1480)],
        after: ["", "\ttimeo = jiffies + uWriteTimeout;"],
    },
    Kernel {
        version: "6.1",
        retries: "#define MAX_RETRIES 3",
        at: [(43, 43), (2075, 2083)],
        after: ["", "\tret = do_write_buffer_wait(map, chip, adr, datum);"],
    },
];

/// A patch for each kernel that waits `micros` before the first poll.
pub(crate) fn all(micros: u64) -> Vec<Attachment> {
    KERNELS.iter().map(|kernel| attachment(kernel, micros)).collect()
}

fn attachment(kernel: &Kernel, micros: u64) -> Attachment {
    Attachment {
        name: format!("linux-{}-nor-write-wait.patch", kernel.version),
        title: format!("The recommended wait for Linux {}", kernel.version),
        text: text(kernel, micros),
    }
}

fn text(kernel: &Kernel, micros: u64) -> String {
    let Kernel { version, retries, at: [define, wait], after: [gap, next] } = kernel;
    let added = [
        "/* What do_write_buffer() waits before its first poll; below 0 it is the chip's".into(),
        " * typical word time, which has nothing to do with a buffer's.".into(),
        " */".into(),
        format!("static int write_poll_us = {micros};"),
        "module_param(write_poll_us, int, 0644);".into(),
        "MODULE_PARM_DESC(write_poll_us,".into(),
        "\t\t \"Wait (us) before the first poll of a buffered write, -1: word time\");".into(),
        String::new(),
    ];
    let added: String = added.iter().map(|line| format!("+{line}\n")).collect();
    let old_wait = "\t\t\t\tchip->word_write_time);";
    let new_wait =
        "\t\t\t\twrite_poll_us < 0 ? chip->word_write_time : min(write_poll_us, 100000));";
    format!(
        "Linux {version}: when to poll a buffered NOR write\n\n\
         Apply with: patch -p1 < this file. The driver still asks the chip whether it is done;\n\
         only the wait before the first question becomes {micros} us. It can be\n\
         changed at run time: /sys/module/cfi_cmdset_0002/parameters/write_poll_us\n\n\
         --- a/drivers/mtd/chips/cfi_cmdset_0002.c\n\
         +++ b/drivers/mtd/chips/cfi_cmdset_0002.c\n\
         @@ -{},4 +{},12 @@\n #define FORCE_WORD_WRITE 0\n \n{added} {retries}\n \n\
         @@ -{},6 +{},6 @@\n\
         \x20\tINVALIDATE_CACHE_UDELAY(map, chip,\n\
         \x20\t\t\t\tadr, map_bankwidth(map),\n\
         -{old_wait}\n\
         +{new_wait}\n\
         \x20{gap}\n\
         \x20{next}\n\
         \x20\n",
        define.0, define.1, wait.0, wait.1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    /// A file of our own with the lines that the patch looks for.
    fn source(kernel: &Kernel) -> String {
        let after = kernel.after.join("\n");
        format!(
            "/* skeleton */\n#define FORCE_WORD_WRITE 0\n\n{}\n\nstatic int a;\nint f(void)\n{{\n\
             \tINVALIDATE_CACHE_UDELAY(map, chip,\n\t\t\t\tadr, map_bankwidth(map),\n\
             \t\t\t\tchip->word_write_time);\n{after}\n\n}}\n",
            kernel.retries
        )
    }

    #[test]
    fn each_patch_applies_where_the_kernel_has_those_lines() {
        for kernel in &KERNELS {
            let folder = std::env::temp_dir().join(format!(
                "boardlab-patch-{}-{}",
                kernel.version,
                std::process::id()
            ));
            let chips = folder.join("drivers/mtd/chips");
            std::fs::create_dir_all(&chips).unwrap();
            let file = chips.join("cfi_cmdset_0002.c");
            std::fs::write(&file, source(kernel)).unwrap();
            let mut patch = Command::new("patch")
                .args(["-p1", "--fuzz=0", "-d"])
                .arg(&folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("patch is installed wherever software is built");
            let text = text(kernel, 194);
            patch.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
            let output = patch.wait_with_output().unwrap();
            let patched = std::fs::read_to_string(&file).unwrap();
            std::fs::remove_dir_all(&folder).unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            assert!(patched.contains("chip->word_write_time : min(write_poll_us, 100000)"));
            assert!(patched.contains("write_poll_us = 194;"));
        }
    }
}
