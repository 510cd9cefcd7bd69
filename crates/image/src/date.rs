//! Times as dates of the Gregorian calendar, in UTC.
//!
//! Layer: rank 7. Functions: [`date`], and [`state`], which reads one. Days are counted from 1 March of the year 0, in cycles
//! of 400 years. Left out: leap seconds, which the times of files do not count.

/// Days from 1 March of the year 0 to the beginning of 1970.
const DAYS: i64 = 719_468;
/// Seconds of a day.
const DAY: i64 = 86_400;

/// Seconds since 1970 as a date and a time of day.
#[must_use]
pub(crate) fn date(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let days = days + DAYS;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = cycle * 400 + year + next;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// An older state as a user writes it: a number, or a date as [`date`] shows it, which may end with the day. The number of a
/// date are seconds since 1970.
///
/// # Errors
/// It is neither.
pub fn state(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().or_else(|| u64::try_from(seconds(text)?).ok());
    number.ok_or_else(|| "expected a number, or a time such as \"2024-05-01 12:00:00\"".into())
}

/// The seconds since 1970 of a date from then on.
fn seconds(text: &str) -> Option<i64> {
    let (day, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, mark: char| {
        let parts: Option<Vec<i64>> = text
            .split(mark)
            .map(|part| {
                part.parse().ok().filter(|_| part.bytes().all(|byte| byte.is_ascii_digit()))
            })
            .collect();
        <[i64; 3]>::try_from(parts?).ok()
    };
    let [year, month, day] = numbers(day, '-')?;
    let [hour, minute, second] = numbers(time.trim_end_matches('Z'), ':')?;
    let is_one = (1_970..=9_999).contains(&year)
        && (1..=12).contains(&month)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second);
    if !is_one {
        return None;
    }
    let (march, year) = if month > 2 { (month - 3, year) } else { (month + 9, year - 1) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * march + 2) / 5 + day - 1;
    let found = (days - DAYS) * DAY + hour * 3_600 + minute * 60 + second;
    // A day that its month does not have is none.
    date(found)[8..10].parse().ok().filter(|shown: &i64| *shown == day).map(|_| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `date --utc --date=@SECONDS` of coreutils 9.1 says them.
    const SAID: [(i64, &str); 6] = [
        (0, "1970-01-01 00:00:00"),
        (951_782_399, "2000-02-28 23:59:59"),
        (951_782_400, "2000-02-29 00:00:00"),
        (4_107_542_400, "2100-03-01 00:00:00"),
        (4_294_967_295, "2106-02-07 06:28:15"),
        (-1, "1969-12-31 23:59:59"),
    ];

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, said) in SAID {
            assert_eq!(date(seconds), said);
        }
    }

    #[test]
    fn a_state_is_a_number_or_a_date_as_it_is_shown() {
        for (seconds, said) in SAID {
            assert_eq!(state(said).ok(), u64::try_from(seconds).ok(), "{said}");
        }
        for day in 0..60_000 {
            assert_eq!(state(&date(day * 86_399)), Ok(u64::try_from(day * 86_399).unwrap()));
        }
        assert_eq!(state("4711"), Ok(4_711));
        assert_eq!(state("2000-02-29"), Ok(951_782_400));
        assert_eq!(state("2000-02-28T23:59:59Z"), Ok(951_782_399));
        for wrong in ["", "x", "-1", "2001-02-29", "2000-13-01", "2000-01-01 24:00:00", "2000-01"] {
            assert!(state(wrong).is_err(), "{wrong}");
        }
        assert!(state("2000-+1-01").is_err() && state("99999999999999999999").is_err());
    }
}
