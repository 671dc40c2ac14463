//! One page of a sorted listing, and the opaque token that stands for the place to go on.

/// Part of a listing; `next` is absent on the last page only.
#[derive(Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

/// A token that cannot be one of ours.
#[derive(Debug, PartialEq, Eq)]
pub struct BadToken;

/// Cuts one page out of `sorted`, the part of a listing that comes after `token`.
pub fn cut<T>(
    sorted: impl Iterator<Item = (String, T)>,
    token: Option<&str>,
    limit: usize,
    short: bool,
) -> Result<Page<T>, BadToken> {
    let after = token.map(decode).transpose()?;
    if short && after.is_none() {
        return Ok(Page {
            items: Vec::new(),
            next: Some(encode("")),
        });
    }
    let limit = if short { limit.min(3) } else { limit };
    let mut rest = sorted.filter(|(key, _)| after.as_ref().is_none_or(|after| key > after));
    let mut items = Vec::new();
    let mut last = String::new();
    for (key, item) in rest.by_ref().take(limit) {
        items.push(item);
        last = key;
    }
    let next = rest.next().is_some().then(|| encode(&last));
    Ok(Page { items, next })
}

fn encode(key: &str) -> String {
    use std::fmt::Write as _;
    key.bytes().fold(String::from("t"), |mut token, byte| {
        let _ = write!(token, "{byte:02x}");
        token
    })
}

fn decode(token: &str) -> Result<String, BadToken> {
    let digits = token
        .strip_prefix('t')
        .filter(|digits| digits.len() % 2 == 0)
        .ok_or(BadToken)?;
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| {
            digits
                .get(at..at + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        })
        .collect();
    String::from_utf8(bytes.ok_or(BadToken)?).map_err(|_| BadToken)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn listing() -> impl Iterator<Item = (String, u32)> {
        (0..7).map(|number| (format!("/k{number}"), number))
    }

    #[test]
    fn following_the_tokens_visits_every_item_once() {
        for short in [false, true] {
            let (mut token, mut seen) = (None, Vec::new());
            loop {
                let page = cut(listing(), token.as_deref(), 4, short).unwrap();
                seen.extend(page.items);
                token = page.next;
                if token.is_none() {
                    break;
                }
            }
            assert_eq!(seen, (0..7).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_token_that_is_not_ours_is_refused() {
        for bad in ["x", "t0", "tzz", "", "té"] {
            assert_eq!(cut(listing(), Some(bad), 4, false).err(), Some(BadToken), "{bad}");
        }
    }
}
