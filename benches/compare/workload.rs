//! Reading workloads and the comment lines that open them.

use std::fs;
use std::path::{Path, PathBuf};

/// A `.maude` file to measure.
pub struct Workload {
    pub name: String,
    pub path: PathBuf,
    /// The wanted ratio of Maude's time to rwl's.
    pub target: Option<f64>,
    /// The wanted ratio of Maude's peak memory to rwl's.
    pub memory: Option<f64>,
    /// For scaling: the command, with `@` for the size.
    pub command: Option<String>,
    pub sizes: Vec<u64>,
    /// For scaling: the power of the size that time should grow with.
    pub order: u32,
}

/// The workloads of some folders under `benches/` whose names contain one of the filters.
pub fn suites(names: &[String], filters: &[String]) -> Result<Vec<Workload>, String> {
    let mut all = Vec::new();
    for name in names {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches").join(name);
        let problem = |e| format!("no suite `{name}`: {}: {e}", folder.display());
        for entry in fs::read_dir(&folder).map_err(problem)? {
            let path = entry.map_err(problem)?.path();
            if path.extension().is_some_and(|extension| extension == "maude") {
                all.push(Workload::read(path)?);
            }
        }
    }
    all.retain(|w| filters.is_empty() || filters.iter().any(|filter| w.name.contains(filter)));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    if all.is_empty() {
        return Err(format!("no workload of {} is named like that", names.join(", ")));
    }
    Ok(all)
}

impl Workload {
    fn read(path: PathBuf) -> Result<Workload, String> {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let wrong = |key: &str| format!("{}: `*** {key}:` is not a number", path.display());
        let ratio = |key| header(&text, key).map(str::parse).transpose().map_err(|_| wrong(key));
        let (target, memory) = (ratio("target")?, ratio("memory")?);
        let sizes = header(&text, "sizes").unwrap_or("").split_whitespace();
        let sizes = sizes.map(|size| size.parse()).collect::<Result<_, _>>();
        let order = header(&text, "order").unwrap_or("1").parse();
        Ok(Workload {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into(),
            target,
            memory,
            command: header(&text, "command").map(str::to_string),
            sizes: sizes.map_err(|_| wrong("sizes"))?,
            order: order.map_err(|_| wrong("order"))?,
            path,
        })
    }
}

/// What follows `*** key:` among the comment lines that open a text.
fn header<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .map_while(|line| line.strip_prefix("*** "))
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
        .map(str::trim)
}
