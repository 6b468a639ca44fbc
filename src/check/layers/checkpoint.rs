//! What is done, on disk: a file for each boundary and one for the final layer.
//!
//! A file is written beside its place, flushed and renamed, so that a crash leaves the old one or
//! the new one. It begins with what it belongs to (the system, the formula, the layers) and ends
//! with a checksum; what is damaged or belongs to something else is refused. Every change of a
//! single byte changes the checksum, since each step of it is a bijection.
//!
//! Boundaries may be large, so no file is ever in memory as a whole. Of a state only that is written in
//! which it differs from the one before.

use super::Layers;
use super::boundary::{Boundary, Entry, Level};
use super::post::Census;
use crate::base::{Interrupt, put_number, take_number};
use crate::graph::{Region, Seed, Stop};
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, Take, Write};
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

    /// Makes the directory and looks whether it can be used, so that this is known before there is anything to save.
    pub fn prepare(&self) -> Result<(), CheckpointError> {
        let directory = &self.directory;
        fs::create_dir_all(directory).map_err(|error| io(directory, error))?;
        let trial = directory.join("trial");
        File::create(&trial).and_then(|_| fs::remove_file(&trial)).map_err(|error| io(directory, error))?;
        let checkpoint = Checkpoint { saving: self.clone(), last: Mutex::new(Instant::now()) };
        match self.resume || checkpoint.files()?.is_empty() {
            true => Ok(()),
            false => Err(CheckpointError::Exists(directory.clone())),
        }
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
            CheckpointError::Io(path, text) => write!(f, "cannot use {}: {text}", path.display()),
            CheckpointError::Damaged(path) => write!(f, "{}: the checkpoint is damaged", path.display()),
            CheckpointError::Foreign(path) => {
                write!(f, "{}: the checkpoint belongs to another module, formula or layering", path.display())
            }
            CheckpointError::Exists(path) => {
                write!(
                    f,
                    "{}: there is a checkpoint already; go on with it by --resume, or use another directory",
                    path.display()
                )
            }
        }
    }
}

const MAGIC: &[u8] = b"rwl layers 4\n";

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
    /// Opens the directory and reads what is there, if there is room for it.
    pub fn open<R: Region>(
        saving: Saving,
        region: &mut R,
        forget: &dyn Fn(),
    ) -> Result<Result<(Checkpoint, Saved), Stop>, CheckpointError> {
        let checkpoint = Checkpoint { saving, last: Mutex::new(Instant::now()) };
        let directory = &checkpoint.saving.directory;
        fs::create_dir_all(directory).map_err(|error| io(directory, error))?;
        let files = checkpoint.files()?;
        match (checkpoint.saving.resume, files.is_empty()) {
            (false, false) => return Err(CheckpointError::Exists(directory.clone())),
            // It may have ended before anything was saved.
            (_, true) => return Ok(Ok((checkpoint, Saved::default()))),
            (true, false) => {}
        }
        let mut saved = Saved::default();
        while let Some(mut content) = checkpoint.read(Some(saved.boundaries.len()))? {
            let before = saved.boundaries.last().map(|(boundary, _)| boundary.clone());
            let path = checkpoint.path(Some(saved.boundaries.len()));
            match load(&mut content, region, forget, before) {
                Ok(Some(Stored { boundary, census, is_met })) => {
                    saved.boundaries.push((boundary, census));
                    saved.is_met |= is_met;
                }
                Ok(None) => return Err(CheckpointError::Damaged(path)),
                Err(stop) => return Ok(Err(stop)),
            }
        }
        // What comes after a gap is no use, and may be somebody else's.
        let next = checkpoint.path(Some(saved.boundaries.len()));
        if saved.boundaries.is_empty() || files.iter().any(|file| is_layer(file) && *file > next) {
            return Err(CheckpointError::Damaged(next));
        }
        if let Some(mut content) = checkpoint.read(None)? {
            let mut cursor = Cursor(&mut content);
            let count = saved.boundaries.last().map_or(0, |(boundary, _)| boundary.level.len());
            let belongs = cursor.number() == Some(saved.boundaries.len() as u64);
            saved.is_met |= cursor.number() == Some(1);
            let done = cursor.rest().filter(|done| belongs && done.len() == count);
            let done = done.ok_or_else(|| CheckpointError::Damaged(checkpoint.path(None)))?;
            saved.done = Some(done.into_iter().map(|byte| byte != 0).collect());
        }
        Ok(Ok((checkpoint, saved)))
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
        forget: &dyn Fn(),
    ) -> Result<(), Stop> {
        self.write(Some(number), |put| store(boundary, census, is_met, region, forget, put))
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
        self.write(None, |put| {
            put_numbers(&[boundaries as u64, is_met.into()], put);
            done.iter().for_each(|&done| put(&[done.into()]));
            Ok(())
        })
    }

    fn write(&self, layer: Option<usize>, payload: impl FnOnce(Put) -> Result<(), Stop>) -> Result<(), Stop> {
        let path = self.path(layer);
        let beside = path.with_extension("new");
        let failed = |error: std::io::Error| {
            Stop::Failed(format!("cannot save a checkpoint: {}: {error}", path.display()))
        };
        let write = || {
            let mut file = BufWriter::new(File::create(&beside).map_err(failed)?);
            let (mut sum, mut written) = (SUM, Ok(()));
            let mut put = |bytes: &[u8]| {
                sum = checksum(sum, bytes);
                if written.is_ok() {
                    written = file.write_all(bytes);
                }
            };
            put(MAGIC);
            put_bytes(&self.saving.identity, &mut put);
            payload(&mut put)?;
            let end = || {
                written?;
                file.write_all(&sum.to_le_bytes())?;
                file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
                fs::rename(&beside, &path)?;
                File::open(&self.saving.directory)?.sync_all()
            };
            end().map_err(failed)
        };
        // What is written in part is of no use to anybody.
        write().inspect_err(|_| _ = fs::remove_file(&beside))
    }

    /// The payload of a file, if it is there.
    fn read(&self, layer: Option<usize>) -> Result<Option<Take<BufReader<File>>>, CheckpointError> {
        let path = self.path(layer);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(&path, error)),
        };
        let mut file = BufReader::new(file);
        let damaged = || CheckpointError::Damaged(path.clone());
        let length = content(&mut file).map_err(|error| io(&path, error))?.ok_or_else(damaged)?;
        file.rewind().map_err(|error| io(&path, error))?;
        let mut content = file.take(length);
        let mut magic = [0; MAGIC.len()];
        if content.read_exact(&mut magic).is_err() || magic != MAGIC {
            return Err(damaged());
        }
        if Cursor(&mut content).bytes().ok_or_else(damaged)? != self.saving.identity {
            return Err(CheckpointError::Foreign(path.clone()));
        }
        Ok(Some(content))
    }
}

/// The length of what is before the checksum; none if that is not its checksum.
fn content(file: &mut BufReader<File>) -> std::io::Result<Option<u64>> {
    let Some(length) = file.get_ref().metadata()?.len().checked_sub(8) else { return Ok(None) };
    let (mut sum, mut content) = (SUM, file.take(length));
    loop {
        let bytes = content.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        sum = checksum(sum, bytes);
        let count = bytes.len();
        content.consume(count);
    }
    let mut expected = [0; 8];
    file.read_exact(&mut expected)?;
    Ok((u64::from_le_bytes(expected) == sum).then_some(length))
}

/// Is it the file of a boundary, written whole?
fn is_layer(path: &Path) -> bool {
    let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("layer-"));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn io(path: &Path, error: std::io::Error) -> CheckpointError {
    CheckpointError::Io(path.to_owned(), error.to_string())
}

/// A boundary that was stored.
pub struct Stored {
    pub boundary: Arc<Boundary>,
    pub census: Census,
    /// Had the premise of a leads-to been true?
    pub is_met: bool,
}

/// Takes bytes one after the other.
pub type Put<'a> = &'a mut dyn FnMut(&[u8]);

fn put_numbers(numbers: &[u64], put: Put) {
    numbers.iter().for_each(|&number| put_number(number, put));
}

pub fn put_bytes(bytes: &[u8], put: Put) {
    put_number(bytes.len() as u64, put);
    put(bytes);
}

/// Does something with seeds. If there is no room for their states, all others are forgotten first.
fn with_room<T>(forget: &dyn Fn(), mut job: impl FnMut() -> Result<T, Stop>) -> Result<T, Stop> {
    match job() {
        Err(Stop::Interrupted(Interrupt::Memory)) => {
            forget();
            job()
        }
        done => done,
    }
}

/// Gives a boundary as bytes that mean the same to every process that has the same system.
pub fn store<R: Region>(
    boundary: &Boundary,
    census: Census,
    is_met: bool,
    region: &mut R,
    forget: &dyn Fn(),
    put: Put,
) -> Result<(), Stop> {
    let level = &boundary.level;
    let Census { states, counterexample_states, pairs, spaces } = census;
    let counts = [level.len(), states, counterexample_states, pairs, spaces].map(|count| count as u64);
    put_numbers(&[boundary.depth.into(), is_met.into()], put);
    put_numbers(&counts, put);
    let (mut bytes, mut before) = (Vec::new(), Vec::new());
    for (index, &seed) in level.seeds.iter().enumerate() {
        with_room(forget, || {
            bytes.clear();
            region.write(seed, &mut bytes)
        })?;
        let common =
            |both: &mut dyn Iterator<Item = (&u8, &u8)>| both.take_while(|(one, other)| one == other).count();
        let start = common(&mut bytes.iter().zip(&before));
        let end = common(&mut bytes[start..].iter().rev().zip(before[start..].iter().rev()));
        put_numbers(&[start as u64, end as u64], put);
        put_bytes(&bytes[start..bytes.len() - end], put);
        std::mem::swap(&mut bytes, &mut before);
        let entries = level.entries(index);
        put_number(entries.len() as u64, put);
        entries.iter().for_each(|entry| put_numbers(&[entry.at.into(), entry.origin.into()], put));
    }
    Ok(())
}

/// The boundary that was stored so; none if something is wrong with it.
pub fn load<R: Region>(
    content: &mut dyn Read,
    region: &mut R,
    forget: &dyn Fn(),
    before: Option<Arc<Boundary>>,
) -> Result<Option<Stored>, Stop> {
    let mut stopped = None;
    let mut read = |bytes: &[u8]| match with_room(forget, || region.read(bytes)) {
        Ok(seed) => Some(seed),
        Err(Stop::Failed(_)) => None,
        Err(stop) => {
            stopped = Some(stop);
            None
        }
    };
    let boundary = load_with(&mut Cursor(content), &mut read, before);
    stopped.map_or(Ok(boundary), Err)
}

fn load_with(
    cursor: &mut Cursor,
    read: &mut dyn FnMut(&[u8]) -> Option<Seed>,
    before: Option<Arc<Boundary>>,
) -> Option<Stored> {
    let depth = cursor.small()?;
    let is_met = cursor.number()? == 1;
    let count = cursor.number()?;
    let mut number = || cursor.number().map(|number| number as usize);
    let [states, counterexample_states, pairs, spaces] = [number()?, number()?, number()?, number()?];
    let census = Census { states, counterexample_states, pairs, spaces };
    let origins = before.as_ref().map_or(usize::MAX, |before| before.level.entries.len());
    let mut level = Level::default();
    let mut state: Vec<u8> = Vec::new();
    for _ in 0..count {
        let (start, end) = (cursor.number()? as usize, cursor.number()? as usize);
        let kept = state.len().checked_sub(end).filter(|&kept| start <= kept)?;
        state.splice(start..kept, cursor.bytes()?);
        level.seeds.push(read(&state)?);
        for _ in 0..cursor.number()? {
            let entry = Entry { at: cursor.small()?, origin: cursor.small()? };
            if entry.origin as usize >= origins {
                return None;
            }
            level.entries.push(entry);
        }
        level.ends.push(level.entries.len() as u32);
    }
    let is_whole = cursor.rest()?.is_empty() && before.as_ref().is_none_or(|before| before.depth <= depth);
    is_whole.then(|| Stored { boundary: Arc::new(Boundary { level, depth, before }), census, is_met })
}

/// What is left to read. There is nothing where it cannot be read or makes no sense.
pub struct Cursor<'a>(pub &'a mut dyn Read);

impl Cursor<'_> {
    fn number(&mut self) -> Option<u64> {
        take_number(self.0)
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub fn bytes(&mut self) -> Option<Vec<u8>> {
        let (length, mut bytes) = (self.number()?, Vec::new());
        let count = (&mut *self.0).take(length).read_to_end(&mut bytes).ok()?;
        (count as u64 == length).then_some(bytes)
    }

    fn rest(&mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).ok().map(|_| bytes)
    }
}

/// FNV-1a, with what is before these bytes.
fn checksum(sum: u64, bytes: &[u8]) -> u64 {
    let step = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(sum, step)
}

const SUM: u64 = 0xcbf2_9ce4_8422_2325;

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
