//! What a tenant's user can do with its own keys and channels, and cannot with a neighbour's.

use ramparts_core::{
    acl::CacheProfile,
    name::{KeyPrefix, TenantName},
};
use redis::Value;

use crate::server::{PASSWORD, Server, is_denied, prefix, send, words};

/// Commands of every kind of data, with `KEY` for the tenant's prefix.
const EVERYDAY: [&str; 44] = [
    "SET KEYs v EX 60",
    "GET KEYs",
    "MSET KEYs v KEYt w",
    "MGET KEYs KEYt",
    "INCR KEYn",
    "APPEND KEYs x",
    "SETBIT KEYb 7 1",
    "BITCOUNT KEYb",
    "HSET KEYh f v",
    "HGETALL KEYh",
    "HSCAN KEYh 0",
    "LPUSH KEYl a",
    "RPUSH KEYl b",
    "LRANGE KEYl 0 -1",
    "LMOVE KEYl KEYl LEFT RIGHT",
    "BLPOP KEYl 1",
    "SADD KEYset a",
    "SMEMBERS KEYset",
    "SINTERSTORE KEYset2 KEYset KEYset",
    "ZADD KEYz 1 a",
    "ZRANGE KEYz 0 -1",
    "ZUNIONSTORE KEYz2 1 KEYz",
    "GEOADD KEYgeo 13.4 52.5 berlin",
    "PFADD KEYhll a",
    "PFCOUNT KEYhll",
    "XADD KEYx * f v",
    "XREAD COUNT 1 STREAMS KEYx 0",
    "XGROUP CREATE KEYx g 0",
    "XREADGROUP GROUP g c COUNT 1 STREAMS KEYx >",
    "EXPIRE KEYs 60",
    "TTL KEYs",
    "TYPE KEYs",
    "EXISTS KEYs",
    "OBJECT ENCODING KEYs",
    "RENAME KEYt KEYu",
    "COPY KEYs KEYv",
    "UNLINK KEYv",
    "DEL KEYu",
    "DUMP KEYs",
    "PUBLISH KEYchannel x",
    "SPUBLISH KEYchannel x",
    "WATCH KEYs",
    "CLIENT SETNAME me",
    "PING",
];

fn of(command: &str, prefix: &str) -> Vec<String> {
    words(&command.replace("KEY", prefix))
}

#[tokio::test]
async fn everyday_commands_work_on_its_own_keys_and_on_no_neighbours() {
    let mut server = Server::start().await;
    let mut acme = server.user("acme", CacheProfile::Standard, &prefix("acme", 1)).await;
    for command in EVERYDAY {
        send(&mut acme, &of(command, "acme:"))
            .await
            .unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    for neighbour in ["acme2:", "acme-2:", "acme.2:", "acme", "ACME:", "", "x:acme:"] {
        for command in EVERYDAY.iter().filter(|command| command.contains("KEY")) {
            let answer = send(&mut acme, &of(command, neighbour)).await;
            let error = answer.expect_err(&format!("{command} on {neighbour:?} was carried out"));
            assert!(is_denied(&error), "{command} on {neighbour:?}: {error}");
        }
    }
}

#[tokio::test]
async fn one_strange_key_among_its_own_spoils_the_command() {
    let mut server = Server::start().await;
    server.user("acme", CacheProfile::Standard, &prefix("acme", 1)).await;
    for command in [
        "MGET acme:a acme2:a",
        "MSET acme:a 1 acme2:a 2",
        "RENAME acme:a acme2:a",
        "COPY acme2:a acme:a",
        "LMOVE acme2:l acme:l LEFT LEFT",
        "SUNIONSTORE acme:s acme:a acme2:s",
        "ZUNION 2 acme:z acme2:z",
        "ZRANGESTORE acme2:z acme:z 0 -1",
        "GEORADIUS acme:g 0 0 1 km STORE acme2:g",
        "XREAD STREAMS acme:x acme2:x 0 0",
        "BITOP AND acme:b acme:b acme2:b",
        "SORT acme:l BY acme2:*",
        "SORT acme:l GET acme2:*",
        "SORT acme:l STORE acme2:l",
        "MIGRATE host 6379 acme:a 0 1000",
        "RESTORE acme:a 0 x",
    ] {
        assert!(!server.dry_run("acme", &words(command)).await, "{command}");
    }
}

#[tokio::test]
async fn a_later_life_does_not_reach_the_keys_of_an_earlier_one() {
    let mut server = Server::start().await;
    let mut later = server.user("later", CacheProfile::Standard, &prefix("acme", 7)).await;
    send(&mut later, &words("SET acme.7:k v")).await.unwrap();
    for strange in ["GET acme:k", "GET acme.70:k", "GET acme.7k", "GET acmeX7:k"] {
        assert!(
            is_denied(&send(&mut later, &words(strange)).await.unwrap_err()),
            "{strange}"
        );
    }
}

#[tokio::test]
async fn only_its_own_channels_can_be_heard_or_used() {
    let mut server = Server::start().await;
    server.user("acme", CacheProfile::Standard, &prefix("acme", 1)).await;
    for own in [
        "SUBSCRIBE acme:a",
        "PSUBSCRIBE acme:*",
        "SSUBSCRIBE acme:a",
        "PUBLISH acme:a x",
        "UNSUBSCRIBE",
    ] {
        assert!(server.dry_run("acme", &words(own)).await, "{own}");
    }
    for strange in [
        "SUBSCRIBE acme2:a",
        "SUBSCRIBE acme:a acme2:a",
        "PSUBSCRIBE *",
        "PSUBSCRIBE acme*",
        "PSUBSCRIBE acme2:*",
        "PSUBSCRIBE acme[:2]*",
        "SSUBSCRIBE acme2:a",
        "PUBLISH acme2:a x",
        "SPUBLISH acme2:a x",
        "PSUBSCRIBE __keyspace@0__:acme:*",
        "SUBSCRIBE __keyevent@0__:del",
        "SUBSCRIBE __redis__:invalidate",
        "PUBSUB CHANNELS",
    ] {
        assert!(!server.dry_run("acme", &words(strange)).await, "{strange}");
    }
}

#[tokio::test]
async fn a_script_reaches_no_further_than_who_calls_it() {
    let mut server = Server::start().await;
    let mut acme = server.user("acme", CacheProfile::Queues, &prefix("acme", 1)).await;
    let eval = |script: &str| ["EVAL", script, "0"].map(str::to_owned);
    send(&mut acme, &eval("return redis.call('SET','acme:k','v')"))
        .await
        .unwrap();
    for script in [
        "return redis.call('SET','acme2:k','v')",
        "return redis.call('GET','acme2:k')",
        "return redis.call('KEYS','*')",
        "return redis.call('SCAN','0')",
        "return redis.call('PUBLISH','acme2:c','x')",
        "return redis.call('FLUSHALL')",
    ] {
        send(&mut acme, &eval(script)).await.expect_err(script);
    }
    for command in [
        "SCRIPT FLUSH",
        "SCRIPT KILL",
        "FUNCTION FLUSH",
        "FUNCTION LIST",
        "FCALL f 0",
    ] {
        assert!(
            is_denied(&send(&mut acme, &words(command)).await.unwrap_err()),
            "{command}"
        );
    }
}

#[tokio::test]
async fn the_server_reads_one_key_pattern_and_one_channel_pattern_for_any_name() {
    let mut server = Server::start().await;
    for (name, life) in [
        ("a", 1),
        ("acme-2-x", 9999),
        ("a1234567890123456789012345678901234567890".get(..40).unwrap(), 2),
    ] {
        let prefix = prefix(name, life);
        server.user("any", CacheProfile::Standard, &prefix).await;
        let Value::Array(fields) = redis::cmd("ACL")
            .arg(&["GETUSER", "any"])
            .query_async(&mut server.admin)
            .await
            .unwrap()
        else {
            panic!("ACL GETUSER answers with something else than a list");
        };
        let text = |at: usize| redis::from_redis_value::<String>(fields[at].clone()).unwrap();
        assert_eq!((text(6), text(7)), ("keys".to_owned(), format!("~{prefix}*")));
        assert_eq!((text(8), text(9)), ("channels".to_owned(), format!("&{prefix}*")));
        assert_eq!(text(10), "selectors");
        assert_eq!(fields[11], Value::Array(Vec::new()));
        assert!(server.stack.redis.login("any", &format!("{PASSWORD}x")).await.is_err());
    }
}

#[test]
fn no_name_brings_in_a_rule() {
    for crafted in [
        "acme ~*",
        "acme:* ~*:",
        "* :",
        "acme\n~*:",
        "acme) (~*:",
        "~*:",
        "acme[a]:",
        "a?c:",
        "acme\\:",
        "%RW~acme:",
    ] {
        assert!(KeyPrefix::parse(crafted).is_err(), "{crafted:?}");
        assert!(TenantName::parse(crafted.trim_end_matches(':')).is_err(), "{crafted:?}");
    }
}
