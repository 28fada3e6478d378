//! How much a site is asked for at once, and how much it may tell, so that none takes the room of others.
//!
//! ```text
//!   answer too large   an eighth of the links, a sixteenth of the ids; the rest is asked for later
//!   answer small       more again, by as much as would surely fit
//!   too few links      of an id with many, when fewer were asked for: once more, the id alone
//! ```
//!
//! A site may take half of what the others have left of a trace's bytes: one alone half of all, and
//! however many flood, those that come after have some. Answers that are too large are not kept, so
//! they are only counted.

use std::collections::HashMap;

use bloomgrove_client::api::MOST_LINKS;

use super::graph::{MOST_ASKED, SiteNo};
use super::pool::ANSWER;

/// Bytes of all answers that one trace keeps.
const MOST_BYTES: u64 = 64 << 20;
/// When an answer is too large, so many times fewer links are asked for, down to about so many; and so
/// many times fewer ids, down to one.
const FEWER_LINKS: u64 = 8;
const FEWEST_LINKS: u64 = 64;
const FEWER_IDS: usize = 16;
/// Answers that are too large, less those that are not, until a site is given up.
const TOO_LARGE: u32 = 8;

/// What to ask a site for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) links: u64,
    pub(super) ids: usize,
    too_large: u32,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            links: MOST_LINKS,
            ids: MOST_ASKED,
            too_large: 0,
        }
    }
}

impl Size {
    /// The answer to so many ids was too large: says whether there is a smaller question.
    pub(super) fn shrink(&mut self, ids: usize) -> bool {
        self.too_large += 1;
        if self.too_large > TOO_LARGE || (self.links < FEWEST_LINKS && ids <= 1) {
            return false;
        }
        if self.links >= FEWEST_LINKS {
            self.links /= FEWER_LINKS;
        }
        self.ids = (ids.min(self.ids) / FEWER_IDS).max(1);
        true
    }

    /// Whether fewer links are asked for than a site could tell.
    pub(super) fn is_fewer_links(&self) -> bool {
        self.links < MOST_LINKS
    }

    /// One id, and all its links.
    pub(super) fn alone(self) -> Self {
        Self {
            links: MOST_LINKS,
            ids: 1,
            ..self
        }
    }

    /// An answer had so many bytes.
    fn grow(&mut self, bytes: u64) {
        let times = (ANSWER / 2 / bytes.max(1)).clamp(1, FEWER_LINKS);
        self.links = (self.links * times).min(MOST_LINKS);
        self.ids = (self.ids * times as usize).min(MOST_ASKED);
        self.too_large = self.too_large.saturating_sub(1);
    }
}

/// What each site has told so far.
#[derive(Debug, Default)]
pub(super) struct Shares {
    sites: HashMap<SiteNo, (Size, u64)>,
    bytes: u64,
}

impl Shares {
    /// What to ask this site for.
    pub(super) fn size(&self, site: SiteNo) -> Size {
        let known = self.sites.get(&site);
        known.map(|(size, _)| *size).unwrap_or_default()
    }

    /// A site has told so many bytes, asked for so much.
    ///
    /// # Errors
    /// That is more than its share: the answer is not to be kept.
    pub(super) fn take(&mut self, site: SiteNo, mut size: Size, bytes: u64) -> Result<(), String> {
        size.grow(bytes);
        let (known, own) = self.sites.entry(site).or_default();
        *known = size;
        let of_others = self.bytes - *own;
        let share = MOST_BYTES.saturating_sub(of_others) / 2;
        if *own + bytes > share {
            return Err(format!(
                "it told more than {:.1} MiB, half of what others left of the {} MiB of a trace",
                share as f64 / f64::from(1 << 20),
                MOST_BYTES >> 20
            ));
        }
        *own += bytes;
        self.bytes += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_shrink_to_one_id_and_grow_again() {
        let mut size = Size::default();
        let mut ids = MOST_ASKED;
        let mut tries = 0;
        while size.shrink(ids) {
            ids = ids.min(size.ids);
            tries += 1;
        }
        assert_eq!((size.links, size.ids, tries), (19, 1, 4));
        for _ in 0..20 {
            size.grow(ANSWER / 2 + 1);
        }
        assert_eq!(
            (size.links, size.ids),
            (19, 1),
            "nearly too large is enough"
        );
        for _ in 0..20 {
            size.grow(1000);
        }
        assert_eq!(size, Size::default());
    }

    #[test]
    fn a_site_that_is_too_large_again_and_again_is_given_up() {
        let mut size = Size::default();
        for _ in 0..TOO_LARGE {
            assert!(size.shrink(MOST_ASKED));
            size.links = MOST_LINKS;
        }
        assert!(!size.shrink(MOST_ASKED));
    }

    #[test]
    fn nobody_takes_all_the_room() {
        let mut shares = Shares::default();
        for site in 0..5 {
            // As much as it gets.
            while shares.take(site, Size::default(), 1 << 18).is_ok() {}
        }
        assert!(shares.bytes <= MOST_BYTES);
        assert_eq!(shares.take(9, Size::default(), 1 << 19), Ok(()));
        let one = &mut Shares::default();
        assert_eq!(one.take(0, Size::default(), MOST_BYTES / 2), Ok(()));
        assert!(one.take(0, Size::default(), 1).is_err());
    }
}
