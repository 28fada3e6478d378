//! The page file: creating and opening it, and reading and writing its pages.
//!
//! ```text
//!   | head | state A | state B | page 0 | page 1 | ... | page n - 1 |
//!   0      4096 ...                                                 end of file
//! ```
//!
//! All of it is reserved when the file is created, so that a full disk is reported before the
//! work starts and not in the middle of it. FORMAT section 14.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::Error;
use crate::format::{Kind, Notes, Report, paged};

use super::geometry::Geometry;
use super::page::{self, Marker, SECTOR};
use super::state::{Phase, State};
use super::store::{Buffer, FileStore, Store, reserve};

/// How often a sector that another process may be writing is read again before it counts as
/// damaged, and the pause before each attempt.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(2);

/// FORMAT section 14.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct GeometryBytes {
    pages: U64,
    page_bytes: U64,
    entry_bytes: U32,
    sector: U32,
    reserved: U64,
}

/// An open page file.
#[derive(Clone, Debug)]
pub(super) struct PageFile {
    path: PathBuf,
    store: Arc<dyn Store>,
    geometry: Geometry,
    marker: Marker,
    notes: Notes,
    states_at: u64,
    pages_at: u64,
}

impl PageFile {
    /// Creates an empty file, locked.
    pub(super) fn create(
        path: &Path,
        geometry: &Geometry,
        notes: &Notes,
        direct: bool,
    ) -> Result<(Self, State), Error> {
        check_endian()?;
        let state = State::new(geometry.pages());
        let bytes = GeometryBytes {
            pages: geometry.pages().into(),
            page_bytes: geometry.page_bytes().into(),
            entry_bytes: geometry.entry_bytes().into(),
            sector: (SECTOR as u32).into(),
            reserved: 0.into(),
        };
        let mut states_at = 0;
        let write_rest = |file: &File, end: u64| {
            use std::io::{Seek, SeekFrom, Write};
            states_at = end;
            reserve(file, pages_at(geometry, end) + geometry.bytes())?;
            let mut bytes = vec![0; State::len(geometry.pages()) as usize];
            state.encode(&mut bytes);
            let mut file = file;
            file.seek(SeekFrom::Start(state_at(geometry, end, state.number)))?;
            file.write_all(&bytes)
        };
        let file = paged::create(path, geometry.params(), notes, bytes.as_bytes(), write_rest)?;
        let store = Arc::new(FileStore::new(file, direct));
        Ok((
            Self::of_store(path, store, geometry.clone(), notes.clone(), states_at),
            state,
        ))
    }

    /// Opens a file, and locks it if it will be changed.
    pub(super) fn open(path: &Path, change: bool, direct: bool) -> Result<(Self, State), Error> {
        let open = || {
            check_endian()?;
            let (file, head) = paged::open(path, change)?;
            let geometry = decode_geometry(&head)?;
            let store = Arc::new(FileStore::new(file, direct));
            let file = Self::of_store(path, store, geometry, head.notes, head.end);
            let state = file.read_state()?;
            Ok((file, state))
        };
        open().map_err(Error::in_file(path))
    }

    pub(super) fn of_store(
        path: &Path,
        store: Arc<dyn Store>,
        geometry: Geometry,
        notes: Notes,
        states_at: u64,
    ) -> Self {
        Self {
            path: path.to_owned(),
            store,
            marker: Marker::new(&geometry),
            pages_at: pages_at(&geometry, states_at),
            geometry,
            notes,
            states_at,
        }
    }

    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(super) fn marker(&self) -> &Marker {
        &self.marker
    }

    pub(super) fn notes(&self) -> &Notes {
        &self.notes
    }

    pub(super) fn is_direct(&self) -> bool {
        self.store.is_direct()
    }

    /// Returns the newer intact state, for readers: while another process has the file locked,
    /// the phase says that it is being built.
    pub(super) fn current_state(&self) -> Result<State, Error> {
        let mut state = self.read_state().map_err(Error::in_file(&self.path))?;
        if state.phase == Phase::Interrupted && self.store.is_locked() {
            state.phase = Phase::Building;
        }
        Ok(state)
    }

    /// Reads the newer intact state. Errors do not name the file.
    pub(super) fn read_state(&self) -> Result<State, Error> {
        let pages = self.geometry.pages();
        let mut buffer = Buffer::new(State::len(pages) as usize)?;
        let mut newest: Option<State> = None;
        for slot in 0..2 {
            let at = state_at(&self.geometry, self.states_at, slot);
            self.store
                .read(buffer.bytes_mut(), at)
                .map_err(Error::io("reading"))?;
            let state = State::decode(buffer.bytes(), pages).filter(|s| s.number % 2 == slot);
            let number = |state: &Option<State>| state.as_ref().map(|state| state.number);
            if number(&state) > number(&newest) {
                newest = state;
            }
        }
        newest.ok_or_else(|| {
            Error::corrupt(
                "state",
                self.states_at,
                "neither of the two copies is intact",
            )
        })
    }

    /// Returns whether the state that does not count is intact or was never written.
    fn other_state_is_whole(&self, state: &State) -> Result<bool, Error> {
        let pages = self.geometry.pages();
        let mut buffer = Buffer::new(State::len(pages) as usize)?;
        let at = state_at(&self.geometry, self.states_at, state.number.wrapping_add(1));
        self.store
            .read(buffer.bytes_mut(), at)
            .map_err(|error| self.failed("reading", error))?;
        let blank = state.number == 1 && buffer.words().iter().all(|&word| word == 0);
        let other = State::decode(buffer.bytes(), pages);
        Ok(blank || other.is_some_and(|other| other.number.checked_add(1) == Some(state.number)))
    }

    /// Overwrites the older of the two states.
    pub(super) fn write_state(&self, state: &State) -> Result<(), Error> {
        let mut buffer = Buffer::new(State::len(self.geometry.pages()) as usize)?;
        state.encode(buffer.bytes_mut());
        let at = state_at(&self.geometry, self.states_at, state.number);
        self.store
            .write(buffer.bytes(), at)
            .map_err(|error| self.failed("writing", error))
    }

    /// Returns once all that was written has reached the disk.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.store
            .sync()
            .map_err(|error| self.failed("writing", error))
    }

    fn sectors(&self) -> u64 {
        self.geometry.page_bytes() / SECTOR
    }

    /// Reads a page and checks it. `written` means that it must not be blank, `still` that no
    /// one else can be writing it.
    pub(super) fn read_page(
        &self,
        page: usize,
        buffer: &mut Buffer,
        written: bool,
        still: bool,
    ) -> Result<(), Error> {
        let first = page as u64 * self.sectors();
        self.read_sectors(first, buffer, written, still)
    }

    /// Reads one sector of a page.
    pub(super) fn read_sector(
        &self,
        page: usize,
        sector: u64,
        buffer: &mut Buffer,
        written: bool,
        still: bool,
    ) -> Result<(), Error> {
        let number = page as u64 * self.sectors() + sector;
        self.read_sectors(number, buffer, written, still)
    }

    fn read_sectors(
        &self,
        first: u64,
        buffer: &mut Buffer,
        written: bool,
        still: bool,
    ) -> Result<(), Error> {
        let offset = self.pages_at + first * SECTOR;
        let attempts = if still { 1 } else { ATTEMPTS };
        let mut bad = first;
        for attempt in 0..attempts {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            self.store
                .read(buffer.bytes_mut(), offset)
                .map_err(|error| self.failed("reading", error))?;
            match page::check(buffer.words(), first, written) {
                None => return Ok(()),
                // Part of it may be from before a concurrent write, and the rest from after.
                Some(number) => bad = number,
            }
        }
        let what = format!(
            "the checksum of sector {} of page {} does not match",
            bad % self.sectors(),
            bad / self.sectors()
        );
        let error = Error::corrupt("page", self.pages_at + bad * SECTOR, what);
        Err(Error::in_file(&self.path)(error))
    }

    /// Updates the checksums and writes the page.
    pub(super) fn write_page(&self, page: usize, buffer: &mut Buffer) -> Result<(), Error> {
        let first = page as u64 * self.sectors();
        page::write_checksums(buffer.words_mut(), first);
        self.store
            .write(buffer.bytes(), self.pages_at + first * SECTOR)
            .map_err(|error| self.failed("writing", error))
    }

    fn failed(&self, doing: &'static str, error: io::Error) -> Error {
        Error::in_file(&self.path)(Error::io(doing)(error))
    }
}

fn state_at(geometry: &Geometry, states_at: u64, number: u64) -> u64 {
    states_at + number % 2 * State::len(geometry.pages())
}

fn pages_at(geometry: &Geometry, states_at: u64) -> u64 {
    states_at + 2 * State::len(geometry.pages())
}

fn check_endian() -> Result<(), Error> {
    if cfg!(target_endian = "big") {
        return Err(Error::Unsupported {
            what: "a buffered filter on a big-endian machine",
        });
    }
    Ok(())
}

fn decode_geometry(head: &paged::Head) -> Result<Geometry, Error> {
    let corrupt =
        |what: String| Error::corrupt(Kind::Geometry.name(), head.geometry_offset(), what);
    let bytes = GeometryBytes::read_from_bytes(&head.geometry)
        .map_err(|_| corrupt("it has the wrong length".into()))?;
    if bytes.sector.get() != SECTOR as u32 || bytes.reserved != 0 {
        return Err(corrupt(
            "the sector size is wrong, or a reserved field is not zero".into(),
        ));
    }
    let geometry = Geometry::from_parts(
        head.params.clone(),
        bytes.pages.get(),
        bytes.page_bytes.get(),
        bytes.entry_bytes.get(),
    )
    .map_err(corrupt)?;
    // Check before allocating anything in proportion to the number of pages.
    if pages_at(&geometry, head.end) + geometry.bytes() != head.file_len {
        let what = format!(
            "{} pages of {} bytes do not add up to the file size of {} bytes",
            geometry.pages(),
            geometry.page_bytes(),
            head.file_len
        );
        return Err(corrupt(what));
    }
    Ok(geometry)
}

/// The part of `verify` for page files: reads and checks everything.
pub(crate) fn check_file(path: &Path) -> Result<Report, Error> {
    let (file, state) = PageFile::open(path, false, true)?;
    let (_, head) = paged::open(path, false).map_err(Error::in_file(path))?;
    let mut report = head.report();
    if !file.other_state_is_whole(&state)? {
        if state.phase == Phase::Finished {
            let what = "one of the two copies is damaged";
            let error = Error::corrupt("state", file.states_at, what);
            return Err(Error::in_file(path)(error));
        }
        // Left by a change that did not complete.
        report.unfinished = State::len(file.geometry.pages());
    }
    let mut buffer = Buffer::new(file.geometry.page_bytes() as usize)?;
    let finished = state.phase == Phase::Finished;
    for page in 0..file.geometry.pages() as usize {
        let written = state.is_written(page);
        // In a finished file, pages that an interrupted session wrote but that do not count are
        // ignored.
        if written || !finished {
            file.read_page(page, &mut buffer, written, finished)?;
        }
    }
    Ok(report)
}
