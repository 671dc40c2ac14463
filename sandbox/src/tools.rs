//! Where the stack's programs are. `scripts/setup stack` puts them into a tool cache outside the repository; a program that is missing is named
//! together with that command, and nothing is downloaded or built from here.

use anyhow::{Result, anyhow, bail};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Tools {
    cache: PathBuf,
    path: Option<OsString>,
}

impl Tools {
    /// The cache is `RAMPARTS_TOOLS`; else /var/cache/ramparts where that exists or we are root; else in the person's own cache folder.
    pub fn locate() -> Result<Self> {
        let path = env::var_os("PATH");
        if let Some(cache) = env::var_os("RAMPARTS_TOOLS").filter(|dir| !dir.is_empty()) {
            return Ok(Self {
                cache: cache.into(),
                path,
            });
        }
        let shared = Path::new("/var/cache/ramparts");
        if shared.is_dir() || rustix::process::geteuid().is_root() {
            return Ok(Self {
                cache: shared.into(),
                path,
            });
        }
        let personal = env::var_os("XDG_CACHE_HOME")
            .filter(|dir| !dir.is_empty())
            .map(PathBuf::from)
            .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
            .ok_or_else(|| anyhow!("finding the tool cache: neither RAMPARTS_TOOLS nor HOME is set"))?;
        Ok(Self {
            cache: personal.join("ramparts"),
            path,
        })
    }

    /// Where the cache keeps its programs, for a person's `PATH`.
    pub fn binaries(&self) -> PathBuf {
        self.cache.join("bin")
    }

    /// A program of the control plane, which only the cache has: another version from `PATH` would be another test.
    pub fn cached(&self, program: &str) -> Result<PathBuf> {
        let file = self.cache.join("bin").join(program);
        if file.is_file() {
            return Ok(file);
        }
        bail!(
            "{program} is missing: expected at {}; run scripts/setup stack",
            file.display()
        )
    }

    /// The folder of a PostgreSQL release, with `bin/initdb` and `bin/postgres` in it: from the cache, else as Debian installs it.
    pub fn postgres(&self, major: u32) -> Result<PathBuf> {
        let cached = self.cache.join(format!("postgres-{major}"));
        let debian = PathBuf::from(format!("/usr/lib/postgresql/{major}"));
        let complete = |root: &PathBuf| root.join("bin/initdb").is_file() && root.join("bin/postgres").is_file();
        if let Some(root) = [cached.clone(), debian].into_iter().find(complete) {
            return Ok(root);
        }
        bail!(
            "PostgreSQL {major} is missing: expected bin/initdb and bin/postgres in {}; run scripts/setup stack",
            cached.display()
        )
    }

    /// A program that the distribution ships: redis-server, psql, setpriv.
    pub fn on_path(&self, program: &str) -> Result<PathBuf> {
        let directories = self
            .path
            .iter()
            .flat_map(|path| env::split_paths(path).collect::<Vec<_>>());
        // Daemons live in sbin, which is not on everybody's PATH.
        let directories = directories.chain(["/usr/sbin".into(), "/usr/bin".into()]);
        directories
            .map(|dir| dir.join(program))
            .find(|file| file.is_file())
            .ok_or_else(|| anyhow!("{program} is missing: not found on PATH; run scripts/setup stack"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_together_with_the_command_that_installs_it() {
        let tools = Tools {
            cache: "/nowhere".into(),
            path: None,
        };
        for error in [
            tools.cached("etcd").expect_err("not there"),
            tools.postgres(7).expect_err("not there"),
            tools.on_path("no-such-server").expect_err("not there"),
        ] {
            let text = error.to_string();
            assert!(
                text.contains("is missing") && text.ends_with("run scripts/setup stack"),
                "{text}"
            );
        }
    }
}
