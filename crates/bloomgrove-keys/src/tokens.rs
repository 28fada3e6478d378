//! Tokens: the maximal runs of word characters of a text, folded.
//!
//! ```text
//!   GET /Order?id=4711-ä  -->  get, order, id, 4711, ä
//! ```
//!
//! A byte that is not part of valid UTF-8 separates tokens, as it does for `\b` of the `regex`
//! crate. Punctuation outside ASCII does too: the quotes of “foo” are not part of the token.
//!
//! Cost: about 2 ns per byte of ASCII text.

use crate::chars::{ASCII, WIDE, word};

/// Calls `each` on every token of a text, in order, duplicates included.
pub(crate) fn each_token<E>(
    text: &[u8],
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut folded = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let mut differs = 0;
        let end = loop {
            let Some(&byte) = text.get(at) else { break 0 };
            let class = ASCII[byte as usize];
            if class == 0 || class == WIDE {
                break class;
            }
            differs |= class ^ byte;
            at += 1;
        };
        if end == WIDE {
            at = wide_token(text, start, at, &mut folded);
            if !folded.is_empty() {
                each(&folded)?;
            }
        } else if at > start {
            let token = &text[start..at];
            if differs == 0 {
                each(token)?;
            } else {
                folded.clear();
                folded.extend(token.iter().map(|&byte| ASCII[byte as usize]));
                each(&folded)?;
            }
        }
        // The separator; there is none at the end, and a wide one has been consumed.
        at += usize::from(end == 0);
    }
    Ok(())
}

/// Folds the token that begins at `start` and has a byte beyond ASCII at `at`. It may be empty.
/// Returns where to continue.
#[inline(never)]
fn wide_token(text: &[u8], start: usize, at: usize, folded: &mut Vec<u8>) -> usize {
    folded.clear();
    folded.extend(text[start..at].iter().map(|&byte| ASCII[byte as usize]));
    let mut at = at;
    let mut utf8 = [0; 4];
    while at < text.len() {
        let (c, len) = bstr::decode_utf8(&text[at..]);
        at += len;
        match c.and_then(word) {
            Some(c) => folded.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
            None => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        let Ok(()) = each_token(text, |token| {
            found.push(String::from_utf8(token.to_vec()).unwrap());
            Ok::<_, std::convert::Infallible>(())
        });
        found
    }

    #[test]
    fn tokens_are_words_without_case() {
        assert_eq!(
            tokens(b"GET /Order?id=4711"),
            ["get", "order", "id", "4711"]
        );
        assert_eq!(tokens("“foo” naïve ÄÖ".as_bytes()), ["foo", "naïve", "äö"]);
        assert_eq!(tokens(b"a\xffb c\xc3"), ["a", "b", "c"]);
        assert_eq!(tokens(b""), [""; 0]);
        assert_eq!(tokens(b"--"), [""; 0]);
        assert_eq!(tokens("\u{212a}elvin".as_bytes()), ["kelvin"]);
    }

    proptest! {
        /// The words that the regex crate finds, folded.
        #[test]
        fn tokens_are_those_of_regex(text in proptest::collection::vec(prop_oneof![
            Just(b"a".to_vec()), Just(b"Z_9".to_vec()), Just(b" ".to_vec()), Just(b"-".to_vec()),
            Just("é".into()), Just("ſ".into()), Just("“".into()), Just("中".into()), Just("\u{301}".into()),
            Just(b"\xc3".to_vec()), Just(b"\xa9".to_vec()), Just(b"\xf0\x9f".to_vec()), Just(b"\0".to_vec()),
        ], 0..40)) {
            let text = text.concat();
            let word = regex::bytes::Regex::new(r"\w+").unwrap();
            let expected: Vec<String> = word
                .find_iter(&text)
                .map(|found| std::str::from_utf8(found.as_bytes()).unwrap().chars().map(crate::chars::fold).collect())
                .collect();
            prop_assert_eq!(tokens(&text), expected);
        }
    }
}
