//! The head of a file whose pages change in place. The head does not change.
//!
//! ```text
//!   | header | PARAMS | NOTES | GEOMETRY | 0 ... | states, pages: not sections
//!   0        64                              ^ the next multiple of 4096
//! ```
//!
//! The sections are written once and checked as in any other file. `buffered` reads and writes what
//! follows them, never through a map, because it changes.

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

/// The alignment of states and pages.
pub(crate) const ALIGN: u64 = 4096;
/// The longest head that is accepted, since it is read into memory.
const LONGEST_HEAD: u64 = 1 << 20;
/// The longest notes: half of that, which leaves ample room for the other sections.
const LONGEST_NOTES: u64 = LONGEST_HEAD / 2;

/// The content of the sections.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) params: Params,
    pub(crate) notes: Notes,
    pub(crate) geometry: Vec<u8>,
    /// The first offset after the sections that is a multiple of [`ALIGN`].
    pub(crate) end: u64,
    pub(crate) file_len: u64,
    sections: Vec<Section>,
}

impl Head {
    /// Returns the offset of the geometry payload, for error messages.
    pub(crate) fn geometry_offset(&self) -> u64 {
        let geometry = self.sections.iter().find(|s| s.kind == Kind::Geometry);
        geometry.map_or(0, |section| section.offset)
    }

    pub(crate) fn report(&self) -> Report {
        Report::of(Content::Paged, &self.sections)
    }
}

/// Creates a new file and locks it. The file is complete or does not exist. `more` writes what
/// follows the sections, starting at the given offset.
pub(crate) fn create(
    path: &Path,
    params: &Params,
    notes: &Notes,
    geometry: &[u8],
    more: impl FnOnce(&File, u64) -> io::Result<()>,
) -> Result<File, Error> {
    let notes_len = notes.to_bytes().len() as u64;
    if notes_len > LONGEST_NOTES {
        let what = format!("the notes have {notes_len} bytes; there is room for {LONGEST_NOTES}");
        return Err(Error::params(what));
    }
    // If another process is still building the file to be replaced, it must not lose it.
    let _old = lock_target(path, Origin::Named).map_err(Error::in_file(path))?;
    let mut writer = Writer::create(path, Content::Paged)?;
    writer.lock().map_err(Error::in_file(path))?;
    writer.section(Kind::Params, &params.to_bytes())?;
    writer.section(Kind::Notes, &notes.to_bytes())?;
    writer.section(Kind::Geometry, geometry)?;
    let end = writer.at().next_multiple_of(ALIGN);
    writer.persist_with(|file| more(file, end))
}

/// Opens a file to read or to change it. Errors do not contain its path.
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
        // It may have been replaced before we acquired the lock.
        if !change || is_at(&file, path, Origin::Named) {
            break file;
        }
    };
    let head = read_head(&file)?;
    Ok((file, head))
}

fn read_head(mut file: &File) -> Result<Head, Error> {
    use std::io::{Read, Seek};
    let file_len = file
        .metadata()
        .map_err(Error::io("reading its metadata"))?
        .len();
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
            let what = format!("expected a {} here", wanted.name());
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
        None => return Err(corrupt("the file ends before its first page")),
        Some(gap) if gap.iter().any(|&byte| byte != 0) => {
            return Err(corrupt("the gap before the states is not zero"));
        }
        Some(_) => {}
    }
    let [params, notes, geometry] = [0, 1, 2].map(|i| payload(&bytes, &sections[i]));
    let params = Params::from_bytes(params)
        .map_err(|what| Error::corrupt(Kind::Params.name(), sections[0].offset, what))?;
    let notes = Notes::from_bytes(notes).ok_or_else(|| {
        let what = "it is not a sorted list of name=value lines";
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

/// `decode` has checked that the payload is within the file.
fn payload<'b>(bytes: &'b [u8], section: &Section) -> &'b [u8] {
    &bytes[section.offset as usize..][..section.len as usize]
}
