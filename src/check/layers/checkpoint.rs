//! What is done, on disk: a file for each boundary and one for the final layer.
//!
//! A file is written beside its place, flushed and renamed, so that a crash leaves the old one or
//! the new one. It begins with what it belongs to (the system, the formula, the layers) and ends
//! with a checksum; what is damaged or belongs to something else is refused. Every change of a
//! single byte changes the checksum, since each step of it is a bijection.

use super::Layers;
use super::boundary::{Boundary, Entry, Level};
use super::post::Census;
use crate::graph::{Region, Seed, Stop};
use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Where to save, and whether to go on with what is there.
#[derive(Clone, Debug)]
pub struct Saving {
    pub directory: PathBuf,
    pub resume: bool,
    /// Whatever tells this check from others: the text of the module, the initial state, the formula.
    pub identity: Vec<u8>,
    /// Time between two writes in the final layer.
    pub interval: Duration,
}

impl Saving {
    /// Has a check like this one, in these layers, saved something in the directory?
    pub fn is_at(&self, directory: &Path, layers: &Layers) -> bool {
        let saving = Saving { directory: directory.to_owned(), ..self.clone().with(layers) };
        let checkpoint = Checkpoint { saving, last: Mutex::new(Instant::now()) };
        matches!(checkpoint.read(Some(0)), Ok(Some(_)))
    }

    /// With the layers as a part of what tells this check from others.
    pub(super) fn with(mut self, layers: &Layers) -> Saving {
        self.identity.extend_from_slice(format!("\n{layers:?}\n").as_bytes());
        self
    }
}

/// What is wrong with a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckpointError {
    /// A file could not be read or written; the text is the system's.
    Io(PathBuf, String),
    /// The file is not what was written.
    Damaged(PathBuf),
    /// It belongs to another module, formula or layering.
    Foreign(PathBuf),
    /// There is a checkpoint, and nobody said to go on with it.
    Exists(PathBuf),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            CheckpointError::Io(path, text) => write!(f, "{}: {text}", path.display()),
            CheckpointError::Damaged(path) => write!(f, "{}: the checkpoint is damaged", path.display()),
            CheckpointError::Foreign(path) => {
                write!(f, "{}: the checkpoint belongs to another module, formula or layering", path.display())
            }
            CheckpointError::Exists(path) => {
                write!(
                    f,
                    "{}: there is a checkpoint already; resume it or use another directory",
                    path.display()
                )
            }
        }
    }
}

const MAGIC: &[u8] = b"rwl layers 3\n";

/// An open checkpoint.
#[derive(Debug)]
pub struct Checkpoint {
    saving: Saving,
    /// When the final layer was last saved.
    last: Mutex<Instant>,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Saved {
    pub boundaries: Vec<(Arc<Boundary>, Census)>,
    /// Which places of the last one are done.
    pub done: Option<Vec<bool>>,
    /// Whether the premise of the formula was met.
    pub is_met: bool,
}

impl Checkpoint {
    /// Opens the directory and reads what is there.
    pub fn open<R: Region>(saving: Saving, region: &mut R) -> Result<(Checkpoint, Saved), CheckpointError> {
        let checkpoint = Checkpoint { saving, last: Mutex::new(Instant::now()) };
        let directory = &checkpoint.saving.directory;
        fs::create_dir_all(directory).map_err(|error| io(directory, error))?;
        let files = checkpoint.files()?;
        match (checkpoint.saving.resume, files.is_empty()) {
            (false, false) => return Err(CheckpointError::Exists(directory.clone())),
            // It may have ended before anything was saved.
            (_, true) => return Ok((checkpoint, Saved::default())),
            (true, false) => {}
        }
        let mut saved = Saved::default();
        while let Some(bytes) = checkpoint.read(Some(saved.boundaries.len()))? {
            let before = saved.boundaries.last().map(|(boundary, _)| boundary.clone());
            let path = checkpoint.path(Some(saved.boundaries.len()));
            match load(&bytes, region, before) {
                Ok(Some(Stored { boundary, census, is_met })) => {
                    saved.boundaries.push((boundary, census));
                    saved.is_met |= is_met;
                }
                Ok(None) => return Err(CheckpointError::Damaged(path)),
                Err(_) => return Err(CheckpointError::Io(path, "there is no room for it".to_owned())),
            }
        }
        // What comes after a gap is no use, and may be somebody else's.
        let next = checkpoint.path(Some(saved.boundaries.len()));
        if saved.boundaries.is_empty() || files.iter().any(|file| is_layer(file) && *file > next) {
            return Err(CheckpointError::Damaged(next));
        }
        if let Some(bytes) = checkpoint.read(None)? {
            let mut cursor = Cursor(&bytes);
            let count = saved.boundaries.last().map_or(0, |(boundary, _)| boundary.level.len());
            let belongs = cursor.number() == Some(saved.boundaries.len() as u64);
            saved.is_met |= cursor.number() == Some(1);
            if !belongs || cursor.0.len() != count {
                return Err(CheckpointError::Damaged(checkpoint.path(None)));
            }
            saved.done = Some(cursor.0.iter().map(|&byte| byte != 0).collect());
        }
        Ok((checkpoint, saved))
    }

    /// The files of boundaries and of the final layer that are there.
    fn files(&self) -> Result<Vec<PathBuf>, CheckpointError> {
        let directory = &self.saving.directory;
        let entries = fs::read_dir(directory).map_err(|error| io(directory, error))?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let paths: Result<Vec<PathBuf>, _> = paths.collect();
        let mut paths = paths.map_err(|error| io(directory, error))?;
        paths.retain(|path| is_layer(path) || *path == self.path(None));
        Ok(paths)
    }

    /// The file of a boundary, or of the final layer.
    fn path(&self, layer: Option<usize>) -> PathBuf {
        let name = layer.map_or("done".to_owned(), |layer| format!("layer-{layer:03}"));
        self.saving.directory.join(name)
    }

    /// Saves a boundary, the n-th from 0.
    pub fn save_boundary<R: Region>(
        &self,
        number: usize,
        boundary: &Boundary,
        census: Census,
        is_met: bool,
        region: &mut R,
    ) -> Result<(), Stop> {
        self.write(Some(number), &store(boundary, census, is_met, region)?)
    }

    /// Saves which places of the last of so many boundaries are done, if it is time to.
    pub fn save_done(
        &self,
        boundaries: usize,
        done: impl Fn() -> Vec<bool>,
        is_met: bool,
    ) -> Result<(), Stop> {
        let Ok(mut last) = self.last.try_lock() else { return Ok(()) };
        if last.elapsed() < self.saving.interval {
            return Ok(());
        }
        self.write_done(boundaries, &done(), is_met)?;
        *last = Instant::now();
        Ok(())
    }

    /// Saves which places of the last of so many boundaries are done.
    pub fn write_done(&self, boundaries: usize, done: &[bool], is_met: bool) -> Result<(), Stop> {
        let mut out = (boundaries as u64).to_le_bytes().to_vec();
        out.extend_from_slice(&u64::from(is_met).to_le_bytes());
        out.extend(done.iter().copied().map(u8::from));
        self.write(None, &out)
    }

    fn write(&self, layer: Option<usize>, payload: &[u8]) -> Result<(), Stop> {
        let path = self.path(layer);
        let identity = &self.saving.identity;
        let mut bytes = MAGIC.to_vec();
        for part in [identity, payload] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        let beside = path.with_extension("new");
        let write = || {
            let mut file = File::create(&beside)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            File::open(&self.saving.directory)?.sync_all()
        };
        // What is written in part is of no use to anybody.
        write()
            .inspect_err(|_| _ = fs::remove_file(&beside))
            .map_err(|error| Stop::Failed(format!("cannot save a checkpoint: {}: {error}", path.display())))
    }

    /// The payload of a file, if it is there.
    fn read(&self, layer: Option<usize>) -> Result<Option<Vec<u8>>, CheckpointError> {
        let path = self.path(layer);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(&path, error)),
        };
        let damaged = || CheckpointError::Damaged(path.clone());
        let (content, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if u64::from_le_bytes(*sum) != checksum(content) {
            return Err(damaged());
        }
        let mut cursor = Cursor(content.strip_prefix(MAGIC).ok_or_else(damaged)?);
        let identity = cursor.bytes().ok_or_else(damaged)?;
        let payload = cursor.bytes().ok_or_else(damaged)?.to_vec();
        if identity != self.saving.identity {
            return Err(CheckpointError::Foreign(path.clone()));
        }
        Ok(Some(payload))
    }
}

/// Is it the file of a boundary, written whole?
fn is_layer(path: &Path) -> bool {
    let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("layer-"));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn io(path: &Path, error: std::io::Error) -> CheckpointError {
    CheckpointError::Io(path.to_owned(), error.to_string())
}

fn pack(entries: &[Entry]) -> Vec<u8> {
    entries
        .iter()
        .flat_map(|entry| (u64::from(entry.at) << 32 | u64::from(entry.origin)).to_le_bytes())
        .collect()
}

/// A boundary that was stored.
pub struct Stored {
    pub boundary: Arc<Boundary>,
    pub census: Census,
    /// Had the premise of a leads-to been true?
    pub is_met: bool,
}

/// A boundary as bytes that mean the same to every process that has the same system.
pub fn store<R: Region>(
    boundary: &Boundary,
    census: Census,
    is_met: bool,
    region: &mut R,
) -> Result<Vec<u8>, Stop> {
    let mut out = Vec::new();
    let level = &boundary.level;
    let Census { states, counterexample_states, pairs, spaces } = census;
    let numbers = [states, counterexample_states, pairs, spaces, is_met.into()].map(|count| count as u64);
    for number in [u64::from(boundary.depth), level.len() as u64].into_iter().chain(numbers) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let mut bytes = Vec::new();
    for (index, &seed) in level.seeds.iter().enumerate() {
        bytes.clear();
        region.write(seed, &mut bytes)?;
        for part in [&bytes[..], &pack(level.entries(index))[..]] {
            out.extend_from_slice(&(part.len() as u64).to_le_bytes());
            out.extend_from_slice(part);
        }
    }
    Ok(out)
}

/// The boundary that was stored so; none if something is wrong with it.
pub fn load<R: Region>(
    bytes: &[u8],
    region: &mut R,
    before: Option<Arc<Boundary>>,
) -> Result<Option<Stored>, Stop> {
    let mut stopped = None;
    let mut read = |bytes: &[u8]| match region.read(bytes) {
        Ok(seed) => Some(seed),
        Err(Stop::Failed(_)) => None,
        Err(stop) => {
            stopped = Some(stop);
            None
        }
    };
    let boundary = load_with(bytes, &mut read, before);
    stopped.map_or(Ok(boundary), Err)
}

fn load_with(
    bytes: &[u8],
    read: &mut dyn FnMut(&[u8]) -> Option<Seed>,
    before: Option<Arc<Boundary>>,
) -> Option<Stored> {
    let mut cursor = Cursor(bytes);
    let depth = u32::try_from(cursor.number()?).ok()?;
    let count = cursor.number()?;
    let mut number = || cursor.number().map(|number| number as usize);
    let [states, counterexample_states, pairs, spaces] = [number()?, number()?, number()?, number()?];
    let census = Census { states, counterexample_states, pairs, spaces };
    let is_met = cursor.number()? == 1;
    let origins = before.as_ref().map_or(usize::MAX, |before| before.level.entries.len());
    let mut level = Level::default();
    for _ in 0..count {
        level.seeds.push(read(cursor.bytes()?)?);
        let mut entries = Cursor(cursor.bytes()?);
        while let Some(word) = entries.number() {
            let entry = Entry { at: (word >> 32) as u32, origin: word as u32 };
            if entry.origin as usize >= origins {
                return None;
            }
            level.entries.push(entry);
        }
        level.ends.push(level.entries.len() as u32);
    }
    let is_whole = cursor.0.is_empty() && before.as_ref().is_none_or(|before| before.depth <= depth);
    is_whole.then(|| Stored { boundary: Arc::new(Boundary { level, depth, before }), census, is_met })
}

/// What is left to read.
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_saved_leaves_nothing_behind() {
        let directory = std::env::temp_dir().join(format!("rwl-unsaved-{}", std::process::id()));
        // In the place of the file there is something that cannot be replaced.
        fs::create_dir_all(directory.join("done")).expect("writable");
        let saving = Saving {
            directory: directory.clone(),
            resume: false,
            identity: Vec::new(),
            interval: Duration::ZERO,
        };
        let checkpoint = Checkpoint { saving, last: Mutex::new(Instant::now()) };
        let outcome = checkpoint.write_done(1, &[true], false);
        assert!(matches!(outcome, Err(Stop::Failed(_))), "{outcome:?}");
        let left: Vec<_> =
            fs::read_dir(&directory).expect("there").flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["done"]);
        fs::remove_dir_all(&directory).expect("our own");
    }
}
