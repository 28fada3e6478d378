//! Word characters, and one representative for all characters that `-i` treats as equal.
//!
//! Both are exactly those of the `regex` crate, because candidates are searched with it: a word
//! character is one that `\w` matches, and two characters are equal if `(?i)` says so. Any
//! deviation would be a missed file.
//!
//! Cost: a table look-up. The tables of 256 characters each are computed when a text first uses
//! one of their characters, which takes about 0.1 ms.

use std::sync::OnceLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// Characters per table.
const PAGE: usize = 256;
const PAGES: usize = 0x11_0000 / PAGE;

static FOLDED: [OnceLock<Box<[char; PAGE]>>; PAGES] = [const { OnceLock::new() }; PAGES];

/// Not a word character. (U+0000 is not one either, so it cannot be confused with a folded one.)
const NONE: char = '\0';

/// For each byte: 0 if it separates tokens, the folded byte if it is an ASCII word character, and
/// [`WIDE`] if it may begin another character.
pub(crate) const ASCII: [u8; 256] = ascii();
pub(crate) const WIDE: u8 = 0x80;

const fn ascii() -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        table[at] = match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'_' => byte,
            b'A'..=b'Z' => byte.to_ascii_lowercase(),
            0x80.. => WIDE,
            _ => 0,
        };
        at += 1;
    }
    table
}

/// The folded character if this is a word character.
pub(crate) fn word(c: char) -> Option<char> {
    let at = c as usize;
    let page = FOLDED[at / PAGE].get_or_init(|| page(at / PAGE));
    Some(page[at % PAGE]).filter(|&folded| folded != NONE)
}

/// The representative of the characters that are equal to this one except for case.
pub(crate) fn fold(c: char) -> char {
    // Characters that have a case but are not word characters exist (the circled letters).
    word(c).unwrap_or_else(|| match c.is_ascii() {
        true => c,
        false => representative(c),
    })
}

fn page(number: usize) -> Box<[char; PAGE]> {
    let mut page = Box::new([NONE; PAGE]);
    for (at, folded) in page.iter_mut().enumerate() {
        // Surrogates are not characters.
        if let Some(c) = char::from_u32((number * PAGE + at) as u32)
            && regex_syntax::is_word_character(c)
        {
            *folded = representative(c);
        }
    }
    page
}

fn representative(c: char) -> char {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
    class.case_fold_simple();
    let equal = || class.iter().flat_map(|range| range.start()..=range.end());
    // So that text in lower case is its own key; that of ASCII first.
    let ascii = equal().find(char::is_ascii_lowercase);
    let lower = || equal().find(|c| c.is_lowercase());
    ascii.or_else(lower).or_else(|| equal().next()).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_syntax::hir::{Class, HirKind};

    /// Against the regex crate itself, for every character there is.
    #[test]
    fn folding_and_words_are_those_of_regex() {
        let word_of_regex = regex::Regex::new(r"^\w$").unwrap();
        let mut text = [0; 4];
        let mut cased = 0;
        for c in '\0'..=char::MAX {
            let is_word = word_of_regex.is_match(c.encode_utf8(&mut text));
            assert_eq!(word(c).is_some(), is_word, "{c:?}");
            if c.is_ascii() {
                assert_eq!(ASCII[c as usize] != 0, is_word);
                assert!(!is_word || ASCII[c as usize] == fold(c) as u8);
            }
            let folded = fold(c);
            assert_eq!(fold(folded), folded, "{c:?}");
            if folded != c {
                cased += 1;
                let pattern = format!("(?i:{})", regex::escape(&folded.to_string()));
                let same = regex_syntax::parse(&pattern).unwrap();
                let HirKind::Class(Class::Unicode(same)) = same.kind() else {
                    panic!("{folded:?} has no case");
                };
                let is_same = same
                    .iter()
                    .any(|range| (range.start()..=range.end()).contains(&c));
                assert!(is_same, "{c:?} {folded:?}");
            }
        }
        assert!(cased > 1000, "{cased}");
    }
}
