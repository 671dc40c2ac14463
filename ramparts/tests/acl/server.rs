//! A Redis with a user for each profile, and what it says about a command.

use ramparts_core::{
    acl::CacheProfile,
    name::{KeyPrefix, RecordNo, TenantName},
};
use redis::{ErrorKind, RedisError, ServerErrorKind, Value, aio::MultiplexedConnection};
use sandbox::Stack;

pub const PASSWORD: &str = "0123456789abcdef";

pub struct Server {
    pub stack: Stack,
    pub admin: MultiplexedConnection,
}

/// The commands of the server, leaves and containers alike: `get`, `client`, `client|kill`.
pub struct Command {
    pub name: String,
    /// How many words it takes at least, its name included.
    pub words: usize,
    /// It names keys, for the rules to check.
    pub keyed: bool,
}

impl Server {
    pub async fn start() -> Self {
        let stack = Stack::builder().redis().start().await.unwrap();
        let admin = stack.redis.admin().connect().await.unwrap();
        Self { stack, admin }
    }

    /// Makes a user of this profile for a tenant in one of its lives, and logs it in.
    pub async fn user(&mut self, name: &str, profile: CacheProfile, prefix: &KeyPrefix) -> MultiplexedConnection {
        self.user_with(name, &profile.access_string(prefix)).await
    }

    pub async fn user_with(&mut self, name: &str, rules: &str) -> MultiplexedConnection {
        let mut setuser = redis::cmd("ACL");
        setuser
            .arg("SETUSER")
            .arg(name)
            .arg("reset")
            .arg(format!(">{PASSWORD}"));
        for rule in rules.split(' ') {
            setuser.arg(rule);
        }
        setuser.query_async::<()>(&mut self.admin).await.unwrap();
        self.stack.redis.login(name, PASSWORD).await.unwrap()
    }

    /// Whether the rules let these words through. A command that Redis finds incomplete is not let through.
    pub async fn dry_run(&mut self, user: &str, words: &[String]) -> bool {
        let mut dry_run = redis::cmd("ACL");
        dry_run.arg("DRYRUN").arg(user).arg(words);
        match dry_run.query_async::<Value>(&mut self.admin).await {
            Ok(Value::Okay) => true,
            Ok(_) | Err(_) => false,
        }
    }

    pub async fn commands(&mut self) -> Vec<Command> {
        let Value::Array(all) = redis::cmd("COMMAND").query_async(&mut self.admin).await.unwrap() else {
            panic!("COMMAND answers with something else than a list");
        };
        let mut commands = Vec::new();
        for one in &all {
            read(one, &mut commands);
        }
        commands.sort_by(|a, b| a.name.cmp(&b.name));
        commands
    }
}

fn read(described: &Value, commands: &mut Vec<Command>) {
    let Value::Array(fields) = described else {
        panic!("{described:?}")
    };
    let name: String = redis::from_redis_value(fields[0].clone()).unwrap();
    let arity: i64 = redis::from_redis_value(fields[1].clone()).unwrap();
    let flags: Vec<String> = redis::from_redis_value(fields[2].clone()).unwrap();
    let specifications = matches!(&fields[8], Value::Array(all) if !all.is_empty());
    commands.push(Command {
        name,
        words: usize::try_from(arity.abs()).unwrap(),
        keyed: specifications || flags.iter().any(|flag| flag == "movablekeys"),
    });
    if let Value::Array(subcommands) = &fields[9] {
        for subcommand in subcommands {
            read(subcommand, commands);
        }
    }
}

pub fn tenant(name: &str) -> TenantName {
    TenantName::parse(name).unwrap()
}

pub fn prefix(name: &str, life: u32) -> KeyPrefix {
    KeyPrefix::of(&tenant(name), RecordNo::new(life).unwrap())
}

pub fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// Sends words as they are.
pub async fn send(connection: &mut MultiplexedConnection, words: &[String]) -> Result<Value, RedisError> {
    redis::cmd(&words[0]).arg(&words[1..]).query_async(connection).await
}

pub fn is_denied(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm)
}
