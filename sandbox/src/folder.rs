//! The one folder that a stack writes to. It goes when the stack is dropped, and also when the program is killed: a janitor process, which
//! waits for the end of its input, removes it then. Should that fail too, the next stack removes every folder whose lock nobody holds any more.

use crate::process;
use anyhow::{Context, Result, bail};
use rand::distr::{Alphanumeric, SampleString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PREFIX: &str = "ramparts-sandbox-";
/// Also what makes a folder of the caller's choice one that may be cleared, so nobody else may use this name.
const LOCK: &str = ".ramparts-sandbox.lock";
const KEPT: &str = "kept";
/// A folder gets its final name only once it is locked; one that never did belongs to a start that was cut short.
const UNLOCKED: &str = ".new";

#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Held, never read: the kernel lets go of it when the process ends, however it ends.
    _lock: File,
    janitor: Option<Child>,
}

impl Folder {
    /// A new folder under the system's temporary one; what earlier, crashed stacks left there is removed first.
    pub fn temporary() -> Result<Self> {
        sweep();
        let name = format!("{PREFIX}{}", Alphanumeric.sample_string(&mut rand::rng(), 8));
        let path = std::env::temp_dir().join(&name);
        let nascent = path.with_file_name(format!("{name}{UNLOCKED}"));
        fs::create_dir(&nascent).with_context(|| format!("creating the stack's folder {}", nascent.display()))?;
        let lock = lock(&nascent)?;
        fs::rename(&nascent, &path).with_context(|| format!("naming the stack's folder {}", path.display()))?;
        Self::own(path, lock)
    }

    /// A folder of the caller's choice: absent, empty, or left behind by a stack that is gone. Anything else is refused.
    pub fn at(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("creating the stack's folder {}", path.display()))?;
        let path = path
            .canonicalize()
            .with_context(|| format!("resolving {}", path.display()))?;
        let mut entries = fs::read_dir(&path).with_context(|| format!("reading {}", path.display()))?;
        let empty = entries.next().is_none();
        if !empty && !path.join(LOCK).is_file() {
            bail!(
                "{} is not empty and no stack's folder: nothing was changed; choose another",
                path.display()
            );
        }
        let lock = lock(&path)?;
        clear(&path)?;
        Self::own(path, lock)
    }

    fn own(path: PathBuf, lock: File) -> Result<Self> {
        // Servers that run as another user pass through to their own part; nobody else can list what is here.
        fs::set_permissions(&path, Permissions::from_mode(0o711)).context("setting the folder's mode")?;
        let janitor = if keep() {
            write(&path.join(KEPT), "", 0o600)?;
            None
        } else {
            Some(hire(&path)?)
        };
        Ok(Self {
            path,
            _lock: lock,
            janitor,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let Some(mut janitor) = self.janitor.take() else {
            eprintln!("sandbox: kept {}", self.path.display());
            return;
        };
        // Closing its input tells the janitor to work: there is one way by which a folder goes, so both are tested by either.
        drop(janitor.stdin.take());
        if let Err(error) = janitor.wait() {
            eprintln!("sandbox: waiting for the removal of {}: {error}", self.path.display());
        }
    }
}

/// `SANDBOX_KEEP=1` leaves the folder in place, for a look at the logs.
fn keep() -> bool {
    std::env::var_os("SANDBOX_KEEP").is_some_and(|value| !value.is_empty() && value != "0")
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("opening {}", path.display()))?;
    file.try_lock()
        .with_context(|| format!("locking {}: another stack is using this folder", path.display()))?;
    Ok(file)
}

/// Removes all but the lock, which is what says that the folder is ours.
fn clear(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        let path = entry.path();
        let removed = if entry.file_type()?.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.with_context(|| format!("removing {}, left by an earlier stack", path.display()))?;
    }
    Ok(())
}

/// Starts the process that outlives us for as long as it takes to remove the folder. Dying servers may still write, hence the repetition.
fn hire(folder: &Path) -> Result<Child> {
    let script = r#"trap '' HUP INT TERM
        read -r _
        for attempt in 1 2 3 4 5 6 7 8 9 10; do
            rm -rf -- "$0" 2>/dev/null && exit 0
            sleep 0.3
        done
        exit 1"#;
    Command::new("/bin/sh")
        .args(["-c", script])
        .arg(folder)
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("starting the process that removes the stack's folder")
}

/// Removes folders of ours that no living stack holds. What cannot be removed is left for the next time: it must not keep a stack from starting.
fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let path = entry.path();
        let ours = fs::symlink_metadata(&path)
            .is_ok_and(|meta| meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw());
        if ours && !path.join(KEPT).exists() && abandoned(&path, name.ends_with(UNLOCKED)) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn abandoned(folder: &Path, nascent: bool) -> bool {
    if nascent {
        let age = fs::metadata(folder)
            .and_then(|meta| meta.modified())
            .ok()
            .and_then(|time| time.elapsed().ok());
        return age.is_some_and(|age| age > Duration::from_mins(10));
    }
    match File::open(folder.join(LOCK)) {
        Ok(file) => file.try_lock().is_ok(),
        // Half removed: the lock went first.
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Writes a file with exactly this mode, from its first byte on.
pub fn write(path: &Path, content: &str, mode: u32) -> Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(mode)
        .open(path)
        .with_context(|| format!("creating {}", path.display()))?;
    file.write_all(content.as_bytes())
        .with_context(|| format!("writing {}", path.display()))
}

/// Creates a folder for one server, owned by the account that it runs as.
pub fn part(path: &Path, account: Option<&process::Account>) -> Result<()> {
    fs::create_dir(path).with_context(|| format!("creating {}", path.display()))?;
    fs::set_permissions(path, Permissions::from_mode(0o700))
        .with_context(|| format!("protecting {}", path.display()))?;
    account.map_or(Ok(()), |account| account.give(path))
}
