//! Lengths of time as people write them: a whole number and one unit, `30s`, `5m`, `24h`, `7d`.

use std::time::Duration;

pub(super) fn parse(text: &str) -> Option<Duration> {
    let unit = text.char_indices().next_back()?;
    let number = &text[..unit.0];
    let plain = !number.is_empty() && !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: u64 = match unit.1 {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return None,
    };
    if !plain {
        return None;
    }
    number
        .parse::<u64>()
        .ok()?
        .checked_mul(seconds)
        .map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_number_and_a_unit() {
        for (text, seconds) in [("1s", 1), ("30s", 30), ("5m", 300), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(parse(text), Some(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_length() {
        let huge = format!("{}d", u64::MAX);
        for text in [
            "", "s", "30", "0s", "05s", "-1s", "+1s", "1.5h", "1h30m", "30 s", "30S", "30ms", "٣s", "3é", &huge,
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
