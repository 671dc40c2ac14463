//! Nothing of a stack survives: not when it is dropped, not when its program ends on a signal, not when it is killed outright.

#![allow(clippy::unwrap_used, clippy::panic)]

use rustix::process::{Pid, Signal, kill_process};
use sandbox::folder::Folder;
use sandbox::{Stack, Version};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The processes that name this folder in their command line or work in it: every server of a stack does either.
fn processes_of(folder: &Path) -> BTreeSet<i32> {
    let folder = folder.to_str().unwrap();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let place = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(folder) || place.starts_with(folder) {
            found.insert(pid);
        }
    }
    found
}

fn names_of(processes: &BTreeSet<i32>) -> BTreeSet<String> {
    let name = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    processes.iter().map(name).collect()
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn running(pid: i32) -> bool {
    // A zombie has no command line; it is up to whoever inherited it to bury it.
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

#[tokio::test]
async fn a_dropped_stack_leaves_no_process_and_no_folder() {
    let stack = Stack::start().await.unwrap();
    let folder = stack.directory().to_owned();
    let processes = processes_of(&folder);
    let names = names_of(&processes);
    for server in ["etcd", "kube-apiserver", "postgres", "redis-server"] {
        assert!(names.contains(server), "{server} is not among {names:?}");
    }
    drop(stack);
    assert!(!folder.exists());
    assert!(!processes.iter().any(|pid| running(*pid)), "{:?}", names_of(&processes));
}

#[test]
fn servers_outlive_the_thread_and_the_runtime_that_started_them() {
    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }
    let start = || {
        runtime().block_on(async {
            let stack = Stack::builder().postgres(Version::V15).redis().start().await.unwrap();
            // The first start is done by a runtime of the sandbox's own; these are done by this thread.
            stack.postgres.restart().await.unwrap();
            stack.redis.restart().await.unwrap();
            stack
        })
    };
    let stack = thread::spawn(start).join().unwrap();
    thread::sleep(Duration::from_millis(300));
    runtime().block_on(async {
        stack.postgres.admin().await.unwrap();
        stack.redis.admin().connect().await.unwrap();
    });
}

/// `sandbox up` in a process of its own.
struct Up {
    child: Child,
    folder: PathBuf,
    env: PathBuf,
    _scratch: Folder,
}

impl Up {
    fn begin() -> Self {
        let scratch = Folder::temporary().unwrap();
        let (folder, env) = (scratch.path().join("stack"), scratch.path().join("env"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
        command
            .args(["up", "--postgres", "15", "--dir"])
            .arg(&folder)
            .arg("--env-file")
            .arg(&env);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self {
            child,
            folder,
            env,
            _scratch: scratch,
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap(), signal).unwrap();
    }

    fn servers(&self) -> BTreeSet<i32> {
        let own = i32::try_from(self.child.id()).unwrap();
        processes_of(&self.folder)
            .into_iter()
            .filter(|pid| *pid != own)
            .collect()
    }

    fn is_gone(&self, servers: &BTreeSet<i32>) {
        eventually("all servers end", || !servers.iter().any(|pid| running(*pid)));
        eventually("the folder goes", || !self.folder.exists());
        eventually("no other process is left in the folder", || self.servers().is_empty());
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The id of the shared memory segment that PostgreSQL noted beside its data; the kernel keeps it until somebody removes it.
fn shared_memory(folder: &Path) -> String {
    let note = fs::read_to_string(folder.join("pg/data/postmaster.pid")).unwrap();
    note.lines()
        .nth(6)
        .and_then(|line| line.split_whitespace().nth(1))
        .unwrap()
        .to_owned()
}

fn is_allocated(segment: &str) -> bool {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    segments
        .lines()
        .any(|line| line.split_whitespace().nth(1) == Some(segment))
}

#[test]
fn a_killed_program_leaves_no_process_and_no_folder() {
    let mut up = Up::begin();
    eventually("the stack is up", || up.env.exists());
    let servers = up.servers();
    assert!(servers.len() >= 4, "{:?}", names_of(&servers));
    let memory = shared_memory(&up.folder);
    assert!(is_allocated(&memory));
    up.signal(Signal::KILL);
    up.child.wait().unwrap();
    up.is_gone(&servers);
    eventually("PostgreSQL's shared memory goes", || !is_allocated(&memory));
}

#[test]
fn a_program_killed_in_the_middle_of_its_start_leaves_nothing_either() {
    for delay in [5, 100, 400, 1200] {
        let mut up = Up::begin();
        eventually("the folder is there", || {
            up.folder.join(".ramparts-sandbox.lock").exists()
        });
        thread::sleep(Duration::from_millis(delay));
        up.signal(Signal::KILL);
        up.child.wait().unwrap();
        let servers = up.servers();
        eventually("all servers end", || !servers.iter().any(|pid| running(*pid)));
        // A kill before the janitor was hired leaves the folder for the next stack's sweep; it was never more than a lock.
        eventually("the folder goes", || {
            !up.folder.exists() || fs::read_dir(&up.folder).unwrap().count() <= 1
        });
        eventually("no other process is left in the folder", || up.servers().is_empty());
    }
}

#[test]
fn a_terminated_program_ends_well_and_takes_its_environment_file_along() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut up = Up::begin();
        eventually("the stack is up", || up.env.exists());
        let servers = up.servers();
        up.signal(signal);
        assert!(up.child.wait().unwrap().success());
        assert!(!up.env.exists() && !up.folder.exists());
        assert!(!servers.iter().any(|pid| running(*pid)), "{:?}", names_of(&servers));
    }
}

#[test]
fn the_environment_file_is_all_that_the_usual_clients_need() {
    let up = Up::begin();
    eventually("the stack is up", || up.env.exists());
    let run = |script: &str| {
        let script = format!(". {}; {script}", up.env.display());
        let output = Command::new("sh").args(["-ec", &script]).output().unwrap();
        assert!(
            output.status.success(),
            "{script}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(run("psql -Atc 'select current_user'"), "ramparts");
    assert_eq!(
        run("psql -h \"$SANDBOX_PGSOCKET\" -U postgres -Atc 'select current_user'"),
        "postgres"
    );
    assert_eq!(run("kubectl get --raw /readyz"), "ok");
    assert_eq!(
        run("KUBECONFIG=$SANDBOX_OPERATOR_KUBECONFIG kubectl auth whoami -o jsonpath={.status.userInfo.username}"),
        "ramparts"
    );
    let redis = "redis-cli --tls --cacert $SANDBOX_CA -h localhost -p $SANDBOX_REDIS_PORT --user $SANDBOX_REDIS_USER";
    assert_eq!(run(&format!("{redis} acl whoami 2>/dev/null")), "sandbox-admin");
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let scratch = Folder::temporary().unwrap();
    let folder = scratch.path().join("precious");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("letter"), "dear").unwrap();
    fs::write(folder.join("lock"), "somebody else's").unwrap();
    let error = Folder::at(&folder).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
    assert_eq!(fs::read_to_string(folder.join("letter")).unwrap(), "dear");
}

/// A folder as a crash leaves it, with this file in it. It appears in one piece: the stacks of other tests sweep as well.
fn abandoned(name: &str, file: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ramparts-sandbox-{name}{}", std::process::id()));
    let nascent = std::env::temp_dir().join(format!("ramparts-nascent-{name}{}", std::process::id()));
    fs::create_dir(&nascent).unwrap();
    fs::write(nascent.join(".ramparts-sandbox.lock"), "").unwrap();
    fs::write(nascent.join(file), "").unwrap();
    fs::rename(&nascent, &path).unwrap();
    path
}

#[test]
fn what_a_crash_left_is_removed_by_the_next_stack_and_what_is_in_use_is_not() {
    let leftover = abandoned("leftover", "data");
    let kept = abandoned("kept", "kept");
    let living = Folder::temporary().unwrap();

    let next = Folder::temporary().unwrap();
    assert!(!leftover.exists());
    assert!(kept.exists() && living.path().exists() && next.path().exists());
    assert!(Folder::at(living.path()).is_err(), "a folder in use is refused");
    fs::remove_dir_all(&kept).unwrap();
}
