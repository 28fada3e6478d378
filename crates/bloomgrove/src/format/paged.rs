//! A file whose pages change in place: the head of it, which does not.
//!
//! ```text
//!   | header | PARAMS | NOTES | GEOMETRY | 0 ... | states, pages: not sections
//!   0        64                              ^ the next multiple of 4096
//! ```
//!
//! The sections are written once and checked as in any other file. What follows them is
//! read and written by `buffered`, never through a map, because it changes.

use std::fs::File;
use std::io;
use std::path::Path;

use super::growing::is_at;
use super::header::{self, Section, UNIT};
use super::reader::Report;
use super::whole::{Origin, open_file};
use super::writer::Writer;
use super::{Content, Kind, Notes, lock, lock_target};
use crate::{Error, Params};

/// States and pages begin at a multiple of this.
pub(crate) const ALIGN: u64 = 4096;
/// The sections of a head may not be longer: they are read into memory.
const LONGEST_HEAD: u64 = 1 << 20;
/// The notes: what the other sections leave of that, and more than enough.
const LONGEST_NOTES: u64 = LONGEST_HEAD / 2;

/// What the sections say.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) params: Params,
    pub(crate) notes: Notes,
    pub(crate) geometry: Vec<u8>,
    /// Where the first byte behind the sections is, a multiple of [`ALIGN`].
    pub(crate) end: u64,
    pub(crate) file_len: u64,
    sections: Vec<Section>,
}

impl Head {
    /// Where the payload of the geometry is, for error messages.
    pub(crate) fn geometry_offset(&self) -> u64 {
        let geometry = self.sections.iter().find(|s| s.kind == Kind::Geometry);
        geometry.map_or(0, |section| section.offset)
    }

    pub(crate) fn report(&self) -> Report {
        Report::of(Content::Paged, &self.sections)
    }
}

/// Makes a new file, locked, and whole or not at all; `more` writes what follows the
/// sections, from the offset it is given on.
pub(crate) fn create(
    path: &Path,
    params: &Params,
    notes: &Notes,
    geometry: &[u8],
    more: impl FnOnce(&File, u64) -> io::Result<()>,
) -> Result<File, Error> {
    let notes_len = notes.to_bytes().len() as u64;
    if notes_len > LONGEST_NOTES {
        let what = format!("notes of {notes_len} bytes; there is room for {LONGEST_NOTES}");
        return Err(Error::params(what));
    }
    // Whoever is building the file that is to be replaced is not to lose it.
    let _old = lock_target(path, Origin::Named).map_err(Error::in_file(path))?;
    let mut writer = Writer::create(path, Content::Paged)?;
    writer.lock().map_err(Error::in_file(path))?;
    writer.section(Kind::Params, &params.to_bytes())?;
    writer.section(Kind::Notes, &notes.to_bytes())?;
    writer.section(Kind::Geometry, geometry)?;
    let end = writer.at().next_multiple_of(ALIGN);
    writer.persist_with(|file| more(file, end))
}

/// Opens a file, to be changed or only read; errors do not name it.
pub(crate) fn open(path: &Path, change: bool) -> Result<(File, Head), Error> {
    let file = loop {
        let file = open_file(
            path,
            File::options().read(true).write(change),
            Origin::Named,
        )?;
        if change {
            lock(&file)?;
        }
        // It may have been replaced before we had the lock.
        if !change || is_at(&file, path, Origin::Named) {
            break file;
        }
    };
    let head = read_head(&file)?;
    Ok((file, head))
}

fn read_head(mut file: &File) -> Result<Head, Error> {
    use std::io::{Read, Seek};
    let file_len = file.metadata().map_err(Error::io("looking at"))?.len();
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.take(LONGEST_HEAD).read_to_end(&mut bytes))
        .map_err(Error::io("reading"))?;
    let content = header::decode_file(&bytes)?;
    if content != Content::Paged {
        return Err(Error::WrongContent {
            found: content.name(),
            wanted: Content::Paged.name(),
        });
    }
    let mut sections: Vec<Section> = Vec::new();
    let mut at = UNIT;
    for wanted in [Kind::Params, Kind::Notes, Kind::Geometry] {
        let section = Section::decode(&bytes, at)?;
        if section.kind != wanted {
            let what = format!("a {} should be here", wanted.name());
            return Err(Error::corrupt(section.kind.name(), at, what));
        }
        section.check(payload(&bytes, &section))?;
        super::reader::check_padding(&bytes, at, &section)?;
        at = section.end();
        sections.push(section);
    }
    let end = at.next_multiple_of(ALIGN);
    let corrupt = |what| Error::corrupt("file", at, what);
    let gap = bytes.get(at as usize..end as usize);
    match gap {
        None => return Err(corrupt("it ends before its first page")),
        Some(gap) if gap.iter().any(|&byte| byte != 0) => {
            return Err(corrupt("the gap before the states is not zero"));
        }
        Some(_) => {}
    }
    let [params, notes, geometry] = [0, 1, 2].map(|i| payload(&bytes, &sections[i]));
    let params = Params::from_bytes(params)
        .map_err(|what| Error::corrupt(Kind::Params.name(), sections[0].offset, what))?;
    let notes = Notes::from_bytes(notes).ok_or_else(|| {
        let what = "it is not made of sorted lines name=value";
        Error::corrupt(Kind::Notes.name(), sections[1].offset, what)
    })?;
    Ok(Head {
        params,
        notes,
        geometry: geometry.to_vec(),
        end,
        file_len,
        sections,
    })
}

/// `decode` has checked that it lies inside.
fn payload<'b>(bytes: &'b [u8], section: &Section) -> &'b [u8] {
    &bytes[section.offset as usize..][..section.len as usize]
}
