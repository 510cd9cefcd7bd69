//! The names of partitions in `mtdparts`.
//!
//! Layer: rank 7. Main type: [`MtdParts`]. Source: `drivers/mtd/parsers/cmdlinepart.c` of Linux.

use boardlab_sim::Bytes;

/// The partitions of one flash.
#[derive(Debug, Default)]
pub(super) struct MtdParts {
    /// Names with offset and size.
    pub(super) all: Vec<(String, Bytes, Bytes)>,
}

/// The partitions that are taken.
const MOST: usize = 64;

impl MtdParts {
    /// Those of the variable `mtdparts`, or of that word in `bootargs`, for a flash of `length`. Of several
    /// flashes it is the first one whose partitions are within it.
    pub(super) fn of(variables: &[(String, String)], length: Bytes) -> Self {
        let value = |name: &str| {
            variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| value.as_str())
        };
        let in_arguments =
            || value("bootargs")?.split_whitespace().find(|word| word.starts_with("mtdparts="));
        let text = value("mtdparts").or_else(in_arguments).unwrap_or_default();
        let text = text.strip_prefix("mtdparts=").unwrap_or(text);
        let flashes = text.split(';').filter_map(|flash| parse(flash, length));
        Self { all: flashes.into_iter().next().unwrap_or_default() }
    }

    /// The name of the partition that an offset is in.
    pub(super) fn name_at(&self, at: Bytes) -> Option<String> {
        let found = self.all.iter().find(|(_, start, size)| (*start..*start + *size).contains(&at));
        found.map(|(name, _, _)| name.clone())
    }
}

/// `id:size[@offset](name)[ro],...`; `None` if a partition is not within the flash.
fn parse(text: &str, length: Bytes) -> Option<Vec<(String, Bytes, Bytes)>> {
    let (_, text) = text
        .rsplit_once(':')
        .filter(|(id, _)| !id.contains('('))
        .or_else(|| text.split_once(':'))?;
    let (mut all, mut next) = (Vec::new(), 0_u64);
    for part in text.split(',').take(MOST) {
        let (numbers, rest) = part.split_once('(')?;
        let name = rest.split_once(')')?.0;
        let (size, offset) = match numbers.split_once('@') {
            Some((size, offset)) => (size, Some(number(offset)?)),
            None => (numbers, None),
        };
        let start = offset.unwrap_or(next);
        let left = length.get().checked_sub(start)?;
        let size = if size == "-" { left } else { number(size)? };
        if size > left {
            return None;
        }
        next = start + size;
        all.push((name.to_owned(), Bytes::new(start), Bytes::new(size)));
    }
    Some(all)
}

/// `512k`, `0x20000`, `2m`.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    value.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_named_as_linux_counts_them() {
        let of = |text: &str| {
            let variables = [("mtdparts".to_owned(), text.to_owned())];
            let all = MtdParts::of(&variables, Bytes::mib(8)).all;
            all.into_iter()
                .map(|(name, at, size)| format!("{name} {:#x} {:#x}", at.get(), size.get()))
                .collect::<Vec<_>>()
        };
        let names = of("mtdparts=spi0.0:256k(u-boot)ro,64k(env),2m@0x100000(kernel),-(root fs)");
        let known = [
            "u-boot 0x0 0x40000",
            "env 0x40000 0x10000",
            "kernel 0x100000 0x200000",
            "root fs 0x300000 0x500000",
        ];
        assert_eq!(names, known);
        // A larger flash comes first; addresses have a colon.
        assert_eq!(of("big:9m(a);fc000000.nor:1m(b)"), ["b 0x0 0x100000"]);
        for wrong in [
            "",
            "x",
            "x:",
            "x:1m",
            "x:1m(",
            "x:9m(a)",
            "x:zk(a)",
            "x:18446744073709551615g(a)",
            "x:1@9m(a)",
        ] {
            assert!(of(wrong).is_empty(), "{wrong}");
        }
        let bootargs =
            [("bootargs".to_owned(), "console=x mtdparts=n:1m(b),-(c) quiet".to_owned())];
        assert_eq!(MtdParts::of(&bootargs, Bytes::mib(4)).name_at(Bytes::mib(2)), Some("c".into()));
    }
}
