//! Keeps messages short, however long the text is that they quote.

use std::borrow::Cow;

/// Maximum length of the `detail` of a problem, in bytes.
pub const LONGEST_DETAIL: usize = 2000;
/// Maximum length of a text quoted in a message, in bytes.
const QUOTED: usize = 100;
const LEFT_OUT: &str = " ... ";

/// Shortens a text to at most about `most` bytes by omitting its middle: a message starts with what is wrong
/// and ends with what to do about it.
#[must_use]
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let end = most / 4;
    let boundary = |from: usize| (from..text.len()).find(|at| text.is_char_boundary(*at));
    let head = boundary(most - end).unwrap_or(text.len());
    let tail = boundary(text.len() - end).unwrap_or(text.len());
    format!("{}{LEFT_OUT}{}", &text[..head], &text[tail..]).into()
}

/// A text in quotation marks, shortened and with invisible characters escaped, for messages that repeat part
/// of a request.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("{:?}", shorten(text, QUOTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shortened_in_the_middle_and_between_characters() {
        for most in 0..40 {
            for text in ["", "short", "öäüßöäüßöäüß", "€€€€€€€€€€€€€€€€€€€€"]
            {
                let short = shorten(text, most);
                assert!(short.len() <= most + LEFT_OUT.len() + 6, "{short}");
                assert_eq!(short == text, text.len() <= most, "{short}");
            }
        }
        let long = format!("what is wrong: {}; the way out", "x".repeat(20 << 20));
        let short = shorten(&long, LONGEST_DETAIL);
        assert!(short.len() < LONGEST_DETAIL + 20);
        assert!(short.starts_with("what is wrong: x") && short.ends_with("x; the way out"));
        assert_eq!(quote("a\n\"b"), "\"a\\n\\\"b\"");
        assert!(quote(&"\u{1}".repeat(1 << 20)).len() < 1000);
    }
}
