//! A name index in a `.grove` file: FORMAT.md section 13.

use std::io::Write;
use std::path::Path;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{NameIndex, NameIndexOptions, Progress, Segment, SegmentLayout, build};
use crate::format::{Content, Durable, Growing, Kind, Origin, Report, Store, Writer, lock_target};
use crate::sample::namespace::{Integers, Lines, Namespace, Part, Spelling};
use crate::{Error, Params};

/// FORMAT section 13.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Head {
    spelling: U32,
    parts: U32,
    bounded: U32,
    second: U32,
    bounds_start: U64,
    bounds_end: U64,
    params_len: U64,
}

/// The location of a part in its file. FORMAT section 13.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Home {
    form: U32,
    zero: U32,
    names: U64,
    /// For a range, its bounds. For a list, the offsets of its section headers.
    one: U64,
    two: U64,
    /// The offset of the index's section header.
    index: U64,
}

/// A file may contain this much unused space, plus as much as is in use.
const SPARE: u64 = 1 << 20;

const RANGE: u32 = 1;
const INTEGERS: u32 = 2;
const LINES: u32 = 3;

impl NameIndex {
    /// Writes the index to a file, atomically replacing an existing one.
    ///
    /// # Errors
    /// [`Error::Io`], naming the file. The old file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let _lock = lock_target(path, Origin::Named).map_err(Error::in_file(path))?;
        let mut writer = Writer::create(path, Content::Names)?;
        let homes = self.write_segments(&mut writer)?;
        writer.commit(0, &self.manifest(&homes))?;
        writer.persist().map(|_| ())
    }

    /// Writes to `out` the bytes that [`save`](Self::save) writes to a file. They are built in
    /// memory first.
    ///
    /// # Errors
    /// [`Error::Io`] if writing to `out` fails.
    pub fn write_to(&self, mut out: impl Write) -> Result<(), Error> {
        let mut writer = Writer::in_memory(Content::Names)?;
        let homes = self.write_segments(&mut writer)?;
        writer.commit(0, &self.manifest(&homes))?;
        out.write_all(&writer.into_bytes()?)
            .map_err(Error::io("writing"))
    }

    /// Reads a name index from the bytes of a file, and checks all of them. The index stores a
    /// copy.
    ///
    /// # Errors
    /// If the bytes are damaged or are not a name index.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let file = Growing::of_bytes(bytes, Content::Names)?;
        let (index, _) = read(&file)?;
        index.check()?;
        Ok(index)
    }

    fn manifest(&self, homes: &[Home]) -> Vec<u8> {
        manifest(&self.params, &self.namespace, self.options, homes)
    }

    /// Writes the parts that have a segment.
    fn write_segments<W: Durable>(&self, writer: &mut Writer<W>) -> Result<Vec<Home>, Error> {
        let parts = self.namespace.parts().iter().zip(&self.segments);
        parts
            .map(|(part, segment)| {
                write_part(writer, part, |writer| writer.words(segment.words.as_ref()))
            })
            .collect()
    }

    /// Builds an index of all names in a file, within the memory that `options` allows, and
    /// opens it. For indexes that do not fit in memory.
    ///
    /// # Errors
    /// As for [`build`](Self::build) and [`save`](Self::save), and the error of `progress`.
    pub fn build_to(
        path: impl AsRef<Path>,
        params: &Params,
        namespace: &Namespace,
        options: NameIndexOptions,
        progress: Progress,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        namespace.check_family(params)?;
        let _lock = lock_target(path, Origin::Named).map_err(Error::in_file(path))?;
        let mut writer = Writer::create(path, Content::Names)?;
        let homes = write_parts(&mut writer, params, namespace, options, progress)?;
        writer.commit(0, &manifest(params, namespace, options, &homes))?;
        writer.persist()?;
        Self::open(path)
    }

    /// Opens an index in place, whatever its size, without reading it: entries are loaded as
    /// they are needed. Everything except the entries and the names is checked;
    /// [`verify`](crate::verify()) checks those too.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or is not a name index.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = Growing::open(path, Content::Names, Origin::Named)?;
        read(&file)
            .map(|(index, _)| index)
            .map_err(Error::in_file(path))
    }

    /// Adds names to the index in a file and returns how many are new. The file grows by about
    /// the size of the new names, or by more when lists are merged. Once most of the file is
    /// unused, it is replaced by a new one. If the process is killed during the call, the index
    /// is unchanged.
    ///
    /// # Errors
    /// As for [`add`](Self::add) and [`open`](Self::open); [`Error::Busy`] while another
    /// process is adding names.
    pub fn add_to(
        path: impl AsRef<Path>,
        more: Namespace,
        memory: u64,
        progress: Progress,
    ) -> Result<u64, Error> {
        let path = path.as_ref();
        let file = Growing::open_to_change(path, Content::Names, Origin::Named)?;
        let add = || {
            let (mut index, mut homes) = read(&file)?;
            let growth = index.namespace.grown(more)?;
            if growth.added == 0 {
                return Ok(0);
            }
            homes.truncate(growth.kept);
            index.segments.truncate(growth.kept);
            let options = NameIndexOptions {
                memory,
                ..index.options
            };
            let (params, fresh, added) = (&index.params, &growth.fresh, growth.added);
            let used = index.bytes() + fresh.bytes();
            if file.end() > 2 * used + SPARE {
                // More than half of the file is unused: copy what is in use to a new file.
                let mut writer = Writer::create(path, Content::Names)?;
                homes = index.write_segments(&mut writer)?;
                homes.extend(write_parts(&mut writer, params, fresh, options, progress)?);
                index.namespace.apply(growth);
                writer.commit(0, &index.manifest(&homes))?;
                writer.persist()?;
            } else {
                let mut writer = file.append()?;
                homes.extend(write_parts(&mut writer, params, fresh, options, progress)?);
                index.namespace.apply(growth);
                writer.commit(file.number() + 1, &index.manifest(&homes))?;
            }
            Ok(added)
        };
        add().map_err(|error| match error {
            named @ Error::InFile { .. } => named,
            error => Error::in_file(path)(error),
        })
    }
}

fn write_parts<W: Durable>(
    writer: &mut Writer<W>,
    params: &Params,
    namespace: &Namespace,
    options: NameIndexOptions,
    progress: Progress,
) -> Result<Vec<Home>, Error> {
    (0..namespace.parts().len())
        .map(|part| {
            let names = &namespace.parts()[part];
            let layout = SegmentLayout::new(params, names.len(), options.second)?;
            write_part(writer, names, |writer| {
                writer.begin(Kind::Bits, layout.words * 8)?;
                let mut sink = |words: &[u64]| writer.append_words(words);
                build::write(
                    params, namespace, part, layout, options, progress, &mut sink,
                )?;
                writer.end()
            })
        })
        .collect()
}

/// Writes the names of a part, and its index using `index`.
fn write_part<W: Durable>(
    writer: &mut Writer<W>,
    part: &Part,
    index: impl FnOnce(&mut Writer<W>) -> Result<(), Error>,
) -> Result<Home, Error> {
    let (form, one, two) = match part {
        Part::Range(range) => (RANGE, range.start, range.end),
        Part::Integers(integers) => {
            let heads = writer.at();
            writer.words(integers.heads())?;
            let data = writer.at();
            writer.words(integers.data())?;
            (INTEGERS, heads, data)
        }
        Part::Lines(lines) => {
            let text = writer.at();
            writer.section(Kind::Names, lines.text())?;
            let starts = writer.at();
            writer.words(lines.starts())?;
            (LINES, text, starts)
        }
    };
    let at = writer.at();
    index(writer)?;
    Ok(Home {
        form: form.into(),
        zero: 0.into(),
        names: part.len().into(),
        one: one.into(),
        two: two.into(),
        index: at.into(),
    })
}

fn manifest(
    params: &Params,
    namespace: &Namespace,
    options: NameIndexOptions,
    homes: &[Home],
) -> Vec<u8> {
    let params = params.to_bytes();
    let bounds = namespace.bounds();
    let head = Head {
        spelling: match namespace.spelling() {
            Spelling::Binary => 0,
            Spelling::Decimal => 1,
            Spelling::Text => 2,
        }
        .into(),
        parts: (homes.len() as u32).into(),
        bounded: u32::from(bounds.is_some()).into(),
        second: u32::from(options.second).into(),
        bounds_start: bounds.map_or(0, |bounds| bounds.start).into(),
        bounds_end: bounds.map_or(0, |bounds| bounds.end).into(),
        params_len: (params.len() as u64).into(),
    };
    let mut bytes = head.as_bytes().to_vec();
    bytes.extend_from_slice(homes.as_bytes());
    bytes.extend_from_slice(&params);
    bytes
}

/// Reads the index of a file as of its last commit.
fn read(file: &Growing) -> Result<(NameIndex, Vec<Home>), Error> {
    let manifest = file.manifest()?;
    let corrupt = |what: &'static str| Error::corrupt(Kind::Manifest.name(), 0, what);
    let (head, rest) =
        Head::read_from_prefix(manifest.as_ref()).map_err(|_| corrupt("it is truncated"))?;
    let parts = head.parts.get() as usize;
    let (homes, rest) = <[Home]>::ref_from_prefix_with_elems(rest, parts)
        .map_err(|_| corrupt("it is truncated"))?;
    if rest.len() as u64 != head.params_len.get() || parts == 0 {
        return Err(corrupt("its lengths are inconsistent"));
    }
    let params =
        Params::from_bytes(rest).map_err(|what| Error::corrupt(Kind::Manifest.name(), 0, what))?;
    let spelling = match head.spelling.get() {
        0 => Spelling::Binary,
        1 => Spelling::Decimal,
        2 => Spelling::Text,
        _ => return Err(corrupt("it has an unknown spelling")),
    };
    let (Ok(second), Ok(bounded)) = (flag(head.second.get()), flag(head.bounded.get())) else {
        return Err(corrupt("a flag is neither 0 nor 1"));
    };
    let bounds = head.bounds_start.get()..head.bounds_end.get();
    if !bounded && bounds != (0..0) {
        return Err(corrupt("it has bounds, but the flag for them is not set"));
    }
    let options = NameIndexOptions {
        second,
        ..NameIndexOptions::default()
    };
    let names = homes
        .iter()
        .map(|home| read_part(file, home, spelling))
        .collect::<Result<Vec<_>, _>>()?;
    let segments = homes
        .iter()
        .map(|home| {
            let layout = SegmentLayout::new(&params, home.names.get(), second)?;
            let words = file.words(home.index.get())?;
            if words.as_ref().len() as u64 != layout.words {
                return Err(corrupt("an index has the wrong length"));
            }
            Ok(Segment::new(layout, Store::Mapped(words)))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    file.expect_jumps();
    let mut namespace = Namespace::of_parts(spelling, names);
    if bounded {
        namespace.set_bounds(bounds);
    }
    namespace.check_family(&params)?;
    let index = NameIndex {
        params,
        namespace,
        options,
        segments,
    };
    Ok((index, homes.to_vec()))
}

fn flag(value: u32) -> Result<bool, ()> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(()),
    }
}

fn read_part(file: &Growing, home: &Home, spelling: Spelling) -> Result<Part, Error> {
    let corrupt = |what: &'static str| Error::corrupt(Kind::Manifest.name(), 0, what);
    let (names, one, two) = (home.names.get(), home.one.get(), home.two.get());
    let words = |head: u64| file.words(head).map(Store::Mapped);
    if names == 0 || home.zero.get() != 0 {
        return Err(corrupt("a part is empty, or a reserved field is not zero"));
    }
    let is_text = spelling == Spelling::Text;
    match home.form.get() {
        RANGE if !is_text && one.checked_add(names) == Some(two) => Ok(Part::Range(one..two)),
        INTEGERS if !is_text => Integers::from_parts(names, words(one)?, words(two)?)
            .map(Part::Integers)
            .ok_or_else(|| corrupt("a list of integers is inconsistent")),
        LINES if is_text => Lines::from_parts(names, file.names(one)?, words(two)?)
            .map(Part::Lines)
            .ok_or_else(|| corrupt("a list of strings is inconsistent")),
        _ => Err(corrupt("a part has an unknown form")),
    }
}

/// The part of `verify` for name indexes: checks all checksums, that names are in order, and
/// that every name is in its bucket.
pub(crate) fn check_file(path: &Path) -> Result<Report, Error> {
    let file = Growing::open(path, Content::Names, Origin::Named)?;
    let check = || {
        let report = file.check_all()?;
        let (index, _) = read(&file)?;
        index.check()?;
        Ok(report)
    };
    check().map_err(Error::in_file(path))
}

impl NameIndex {
    /// Checks that every bucket contains exactly its names: as many entries as names, no
    /// duplicates, and each at the positions it hashes to.
    fn check(&self) -> Result<(), Error> {
        let wrong = |what: &'static str| Error::corrupt(Kind::Bits.name(), 0, what);
        for (part, segment) in self.segments.iter().enumerate() {
            let start = self.namespace.start_of(part);
            let mut end = 0;
            for bucket in 0..segment.buckets() {
                let entries = segment.bucket(bucket);
                if entries.start != end {
                    return Err(wrong("the buckets are not contiguous"));
                }
                end = entries.end;
                let mut last = None;
                for i in entries {
                    let (rank, first, second) = segment.entry(i, bucket);
                    if last.replace(rank).is_some_and(|last| last >= rank) {
                        return Err(wrong("the names in a bucket are out of order"));
                    }
                    let found = self.namespace.positions(start + rank, &self.params);
                    if found.0 != first || second.is_some_and(|second| second != found.1) {
                        return Err(wrong("a name is in the wrong bucket"));
                    }
                }
            }
            if end != segment.names() {
                return Err(wrong(
                    "the number of entries differs from the number of names",
                ));
            }
        }
        self.namespace.check_order()
    }
}
