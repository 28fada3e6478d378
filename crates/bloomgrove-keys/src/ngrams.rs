//! N-grams: every run of N characters within a line, folded.
//!
//! ```text
//!   N = 4:  Error 7  -->  erro, rror, ror_, or_7     (_ is a blank)
//! ```
//!
//! They find substrings and parts of words, which tokens cannot, and take about six times the
//! space. A byte that is not part of valid UTF-8 ends a run, as does the end of a line: a match
//! never spans either.

use crate::chars::fold;

/// Calls `each` on every n-gram of a text, duplicates included.
pub(crate) fn each_ngram<E>(
    text: &[u8],
    n: usize,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut run = Vec::new();
    // Where the last characters of the run begin, oldest first.
    let mut starts = std::collections::VecDeque::with_capacity(n + 1);
    let mut utf8 = [0; 4];
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let (c, len) = match byte.is_ascii() {
            true => (Some(byte.to_ascii_lowercase() as char), 1),
            false => {
                let (c, len) = bstr::decode_utf8(&text[at..]);
                (c.map(fold), len)
            }
        };
        at += len;
        let Some(c) = c.filter(|&c| c != '\n') else {
            run.clear();
            starts.clear();
            continue;
        };
        starts.push_back(run.len());
        run.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
        if starts.len() > n {
            starts.pop_front();
        }
        if starts.len() == n {
            each(&run[starts[0]..])?;
        }
        // Long lines must not use memory.
        if run.len() > 1 << 16 {
            let first = starts[0];
            run.drain(..first);
            starts.iter_mut().for_each(|start| *start -= first);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ngrams(text: &[u8], n: usize) -> Vec<String> {
        let mut found = Vec::new();
        let Ok(()) = each_ngram(text, n, |key| {
            found.push(String::from_utf8(key.to_vec()).unwrap());
            Ok::<_, std::convert::Infallible>(())
        });
        found
    }

    #[test]
    fn ngrams_stay_within_lines_and_valid_text() {
        assert_eq!(ngrams(b"Error 7", 4), ["erro", "rror", "ror ", "or 7"]);
        assert_eq!(ngrams(b"abc\ndef", 3), ["abc", "def"]);
        assert_eq!(ngrams(b"ab\xffcde", 3), ["cde"]);
        assert_eq!(ngrams("aé中b".as_bytes(), 2).len(), 3);
        let long = "x".repeat(200_000);
        assert_eq!(ngrams(long.as_bytes(), 3).len(), 199_998);
    }
}
