//! Files that are whole or not there, and say so: one JSON object whose first field is a digest of all
//! that follows.
//!
//! A file is written beside its place under a name of its own, flushed and renamed. So a crash leaves
//! the old file, or none, or the new one, and of two who write at the same time one comes last.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::JobsError;
use crate::base::{DIGEST_LEN, digest};

const HEAD: &str = "{\"digest\":\"";
const NECK: &str = "\",";

/// Writes an object that is not empty; gives its digest.
pub fn write(path: &Path, object: Value) -> Result<String, JobsError> {
    let mut text = object.to_string();
    // It may be large.
    drop(object);
    text.push('\n');
    let body = text.strip_prefix('{').expect("an object begins with a brace");
    let seal = digest(body.as_bytes());
    let write = || {
        let beside = beside(path);
        let mut file = File::create_new(&beside)?;
        let written = file
            .write_all(format!("{HEAD}{seal}{NECK}").as_bytes())
            .and_then(|()| file.write_all(body.as_bytes()))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|error: io::Error| JobsError::Io(path.to_owned(), error.to_string()))?;
    Ok(seal)
}

/// A name that nobody else uses.
fn beside(path: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{now}.new", std::process::id()))
}

/// The object of a file and its digest; nothing if there is no file.
pub fn read(path: &Path) -> Result<Option<(Value, String)>, JobsError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(JobsError::Io(path.to_owned(), error.to_string())),
    };
    let damaged = || JobsError::Damaged(path.to_owned());
    let rest = bytes.strip_prefix(HEAD.as_bytes()).ok_or_else(|| JobsError::Unsealed(path.to_owned()))?;
    let (seal, rest) = rest.split_at_checked(DIGEST_LEN).ok_or_else(damaged)?;
    let body = rest.strip_prefix(NECK.as_bytes()).ok_or_else(damaged)?;
    let found = digest(body);
    if found.as_bytes() != seal {
        return Err(damaged());
    }
    let value = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
    Ok(Some((value, found)))
}

/// Bytes as text.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes that were written so.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    let pair = |pair: &[u8]| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?);
    text.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_changed_bit_is_seen() {
        let directory = std::env::temp_dir().join(format!("rwl-sealed-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("file");
        assert_eq!(read(&path), Ok(None));
        let object = json!({"number": 1, "text": "two\nlines", "bytes": hex(&[0, 255, 18])});
        let seal = write(&path, object.clone()).unwrap();
        let (found, found_seal) = read(&path).unwrap().unwrap();
        assert_eq!((&found["text"], found_seal), (&object["text"], seal));
        assert_eq!(unhex(found["bytes"].as_str().unwrap()), Some(vec![0, 255, 18]));
        let good = fs::read(&path).unwrap();
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).unwrap();
            assert!(read(&path).is_err(), "bit {bit}");
        }
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).unwrap();
            assert!(read(&path).is_err(), "{length} bytes");
        }
        // What is written later replaces it; nothing else stays.
        write(&path, object.clone()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), good);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_dir_all(&directory).unwrap();
        assert!(matches!(write(&path, object), Err(JobsError::Io(..))));
    }

    #[test]
    fn bytes_as_text() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&all)), Some(all));
        assert_eq!((unhex("0"), unhex("0g"), unhex("é")), (None, None, None));
    }
}
