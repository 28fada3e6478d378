//! Files as they are stored: plain, compressed, or an archive of many.
//!
//! ```text
//!   app.log      app.log.gz     logs.tar.zst       logs.zip
//!      |            |  gunzip      |  unzstd, untar    |  unzip
//!      v            v              v                   v
//!    text         text          a text for each member, itself decompressed
//! ```
//!
//! What a file is, its first bytes tell, not its name.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::Counted;
use crate::shared::progress::Progress;

/// A file in an archive.
pub(crate) struct Member<'m> {
    /// Its place in the archive, from 0.
    pub(crate) ordinal: u64,
    pub(crate) name: &'m [u8],
}

/// What takes a text, and returns whether it wants more.
type EachText<'e> = &'e mut dyn FnMut(Option<Member<'_>>, &mut dyn Read) -> Result<bool>;

/// Calls `each` on the text of a file, decompressed; of an archive, on that of every member,
/// until it returns false.
pub(crate) fn each_text(
    path: &Path,
    progress: Option<&Progress>,
    each: EachText<'_>,
) -> Result<()> {
    // Progress counts the bytes of the file, not the decompressed ones.
    let mut text = if path == Path::new("-") {
        decompressed(Counted(io::stdin().lock(), progress))?
    } else {
        let (file, _) = super::open_file(path)?;
        let start = start_of(&file)?;
        if packing(&start) == Some(Packing::Zip) {
            return unzip(file, progress, each);
        }
        check_name(path, &start)?;
        decompressed(Counted(file, progress))?
    };
    let (start, mut text) = peek(&mut text, TAR_START)?;
    if !is_tar(&start) {
        return each(None, &mut text).map(|_| ());
    }
    let mut archive = tar::Archive::new(text);
    for (ordinal, entry) in (0..).zip(archive.entries().context("reading the archive")?) {
        let entry = entry.context("reading the archive")?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path_bytes().into_owned();
        let shown = || String::from_utf8_lossy(&name).into_owned();
        let mut text = decompressed(entry).with_context(shown)?;
        let member = Member {
            ordinal,
            name: &name,
        };
        if !each(Some(member), &mut text).with_context(shown)? {
            break;
        }
    }
    Ok(())
}

/// A file that is named like a compressed one and is not was damaged: it is not read as text.
fn check_name(path: &Path, start: &[u8]) -> Result<()> {
    let packed = ["gz", "tgz", "zst", "zstd", "xz", "bz2", "zip"];
    let ending = packed.iter().find(|ending| super::ends_in(path, ending));
    match ending {
        Some(ending) if packing(start).is_none() && !start.is_empty() => bail!(
            "the file is named .{ending}, but its content is not compressed; rename it if it is text"
        ),
        _ => Ok(()),
    }
}

fn unzip(file: File, progress: Option<&Progress>, each: EachText<'_>) -> Result<()> {
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).context("reading the archive")?;
    for ordinal in 0..archive.len() {
        let entry = archive.by_index(ordinal).context("reading the archive")?;
        if !entry.is_file() {
            continue;
        }
        let name = entry.name_raw().to_vec();
        let shown = || String::from_utf8_lossy(&name).into_owned();
        let packed = entry.compressed_size();
        let mut text = decompressed(entry).with_context(shown)?;
        let member = Member {
            ordinal: ordinal as u64,
            name: &name,
        };
        if !each(Some(member), &mut text).with_context(shown)? {
            break;
        }
        if let Some(progress) = progress {
            progress.add(packed);
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Zip,
    Parquet,
    /// Read without decompressing, these would contain none of their keys.
    Unknown(&'static str),
}

/// How a file that begins like this is packed; None if it is plain.
fn packing(start: &[u8]) -> Option<Packing> {
    let kinds: [(&[u8], Packing); 9] = [
        (b"PAR1", Packing::Parquet),
        (b"\x1f\x8b", Packing::Gzip),
        (b"\x28\xb5\x2f\xfd", Packing::Zstd),
        (b"\xfd7zXZ\0", Packing::Xz),
        (b"BZh", Packing::Bzip2),
        (b"PK\x03\x04", Packing::Zip),
        (b"\x04\x22\x4d\x18", Packing::Unknown("lz4")),
        (b"\x1f\x9d", Packing::Unknown("compress (.Z)")),
        (b"7z\xbc\xaf\x27\x1c", Packing::Unknown("7-Zip")),
    ];
    let found = kinds.iter().find(|(magic, _)| start.starts_with(magic));
    // "BZh" alone could be a word.
    found.map(|(_, packing)| *packing).filter(|packing| {
        *packing != Packing::Bzip2
            || start
                .get(3)
                .is_some_and(|level| (b'1'..=b'9').contains(level))
                && start
                    .get(4..6)
                    .is_none_or(|block| block == b"1A" || block == b"\x17\x72")
    })
}

/// Whether the file is stored as it is, so that a part of it can be read by itself.
pub(crate) fn is_plain(path: &Path) -> Result<bool> {
    let (file, _) = super::open_file(path)?;
    let start = start_of(&file)?;
    // UTF-16 is decoded from its beginning.
    let is_wide = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    Ok(packing(&start).is_none() && !is_tar(&start) && !is_wide)
}

/// The text of a source, decompressed if necessary.
pub(crate) fn decompressed<'r>(mut source: impl Read + 'r) -> Result<Box<dyn Read + 'r>> {
    let mut start = [0; START];
    let len = fill(&mut source, &mut start)?;
    let source = Cursor::new(start[..len].to_vec()).chain(source);
    Ok(match packing(&start[..len]) {
        None | Some(Packing::Zip) => Box::new(source),
        Some(Packing::Gzip) => unpacked("gzip", flate2::read::MultiGzDecoder::new(source)),
        Some(Packing::Zstd) => {
            unpacked("zstd", zstd::Decoder::new(source).context("decompressing")?)
        }
        Some(Packing::Xz) => unpacked(
            "xz",
            lzma_rust2::XzReader::new(BufReader::new(source), true),
        ),
        Some(Packing::Bzip2) => unpacked("bzip2", bzip2::read::MultiBzDecoder::new(source)),
        Some(Packing::Parquet) => {
            bail!("a Parquet file has columns, not text; name one with --column")
        }
        Some(Packing::Unknown(kind)) => bail!(
            "{kind} files cannot be read; decompress the file first, or use gzip, zstd, xz or bzip2"
        ),
    })
}

/// A text being decompressed, whose errors say what is damaged.
struct Unpacked<R> {
    format: &'static str,
    inner: R,
}

fn unpacked<'r>(format: &'static str, inner: impl Read + 'r) -> Box<dyn Read + 'r> {
    Box::new(Unpacked { format, inner })
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| {
            let format = self.format;
            let what = match error.kind() {
                // The disk, not the content.
                _ if error.raw_os_error().is_some() => return error,
                io::ErrorKind::Interrupted => return error,
                io::ErrorKind::UnexpectedEof => format!("the {format} data ends early"),
                _ => format!("the {format} data is invalid ({error})"),
            };
            let advice = "restore the file from a backup";
            io::Error::new(error.kind(), format!("damaged: {what}; {advice}"))
        })
    }
}

/// How many bytes tell how a file is packed, and whether it is a tar archive.
const START: usize = 6;
const TAR_START: usize = 263;

fn is_tar(start: &[u8]) -> bool {
    start.len() == TAR_START && matches!(&start[257..], b"ustar\0" | b"ustar ")
}

/// The first bytes of a file, which stays at its beginning.
fn start_of(file: &File) -> Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let mut start = vec![0; TAR_START];
    let mut len = 0;
    while len < start.len() {
        match file.read_at(&mut start[len..], len as u64) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A pipe: it is read as it comes.
            Err(error) if error.raw_os_error() == Some(ESPIPE) => break,
            Err(error) => return Err(error).context("reading"),
        }
    }
    start.truncate(len);
    Ok(start)
}

/// "Illegal seek", which has no kind of its own on stable Rust.
const ESPIPE: i32 = 29;

fn peek<R: Read>(mut source: R, len: usize) -> Result<(Vec<u8>, impl Read + use<R>)> {
    let mut start = vec![0; len];
    let len = fill(&mut source, &mut start)?;
    start.truncate(len);
    Ok((start.clone(), Cursor::new(start).chain(source)))
}

/// Reads the first bytes. A line that comes from a pipe is not kept waiting for more of them: no
/// packing begins with a line feed in its mark.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buffer.len() && memchr::memchr(b'\n', &buffer[..len]).is_none() {
        match source.read(&mut buffer[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}
