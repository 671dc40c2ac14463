//! No secret in anything that is printed: results, failures, and logs at their loudest.

use std::{
    collections::BTreeSet,
    env,
    fmt::{Debug, Write as _},
    process::Command,
    sync::{Arc, Mutex},
};

use ramparts::{
    aws::hush::{NOISY_TARGETS, is_quiet},
    cache::prove,
};
use ramparts_core::settings::Endpoint;
use sandbox::aws::{Fault, Times};
use tracing::{Event, Metadata, Subscriber, field::Visit, span};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry::LookupSpan,
};

use crate::bench::{Bench, acme, app, bench, copy, gate, issue, number, password, target, user};

/// Everything that is said, with the target that says it.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<(String, String)>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        let _ = write!(self.0, " {field}={value:?}");
    }
}

impl Ear {
    fn hear(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Text)) {
        let mut text = Text(String::new());
        record(&mut text);
        self.0.lock().unwrap().push((metadata.target().to_owned(), text.0));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Ear {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.hear(event.metadata(), |text| event.record(text));
    }

    fn on_new_span(&self, attributes: &span::Attributes<'_>, _: &span::Id, _: Context<'_, S>) {
        self.hear(attributes.metadata(), |text| attributes.record(text));
    }
}

/// Uses every operation, with and without success, and returns all that a caller could print.
async fn everything(bench: Bench) -> String {
    let mut printed = String::new();
    let mut print = |what: &dyn Debug| writeln!(printed, "{what:?}").unwrap();
    for _ in 0..2 {
        print(&bench.ssm.create_record(&acme(), &issue(1, 'a')).await);
        print(&bench.ssm.create_copy(&acme(), &app("api"), &copy('a')).await);
        print(&bench.ssm.create_server(&target("main"), "id").await);
        print(&bench.ssm.observe(&acme()).await);
        print(&bench.ssm.record(&acme(), number(1), true).await);
        print(&bench.create_user("api", &password('a')).await);
        print(&bench.users.observe(&acme(), &[user("api")]).await);
        print(&bench.users.join(&[user("api")]).await);
    }
    let invalid = Fault::Error {
        code: "ValidationException".to_owned(),
        status: 400,
    };
    for fault in [Fault::AccessDenied, Fault::LostReply, invalid] {
        let rule = bench.aws.fail("*", fault, Times::UntilCleared);
        for failure in [
            bench.ssm.create_record(&acme(), &issue(2, 'a')).await.unwrap_err(),
            bench
                .ssm
                .create_copy(&acme(), &app("web"), &copy('a'))
                .await
                .unwrap_err(),
            bench.ssm.observe(&acme()).await.unwrap_err(),
            bench.create_user("web", &password('a')).await.unwrap_err(),
        ] {
            print(&(&failure, failure.to_string()));
        }
        bench.aws.clear_fault(rule);
        for name in ["/ramparts/_ledger/acme/2", "/ramparts/acme/web"] {
            bench.aws.hand().delete_parameter(name);
        }
        bench.aws.hand().delete_user("prod-acme-web");
    }
    let nowhere = Endpoint {
        host: "127.0.0.1".to_owned(),
        port: 1,
    };
    print(&prove(&gate(), &nowhere, None, &user("api"), &password('a'), "acme:").await);
    print(&(&bench.ssm, &bench.users, &bench.clients));
    printed
}

fn leaks(text: &str) -> bool {
    text.contains(&password('a').expose()[4..])
}

#[tokio::test]
async fn no_result_and_no_failure_prints_a_secret() {
    let printed = everything(bench().await).await;
    assert!(printed.contains("<redacted>"), "no secret passed by at all");
    assert!(!leaks(&printed), "{printed}");
}

/// Makes the SDK print the bodies that it would otherwise call sensitive.
const LOUDER: &str = "LOG_SENSITIVE_BODIES";

/// Runs again, in a process of its own whose environment is the worst there could be.
#[test]
fn the_loudest_log_holds_no_secret_once_the_noisy_targets_are_hushed() {
    if env::var_os(LOUDER).is_none() {
        let this = "secrecy::the_loudest_log_holds_no_secret_once_the_noisy_targets_are_hushed";
        let mut again = Command::new(env::current_exe().unwrap());
        let output = again
            .args(["--exact", this, "--nocapture"])
            .env(LOUDER, "true")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(listen());
}

async fn listen() {
    let (all, hushed) = (Ear::default(), Ear::default());
    let filter = tracing_subscriber::filter::filter_fn(is_quiet);
    let subscriber = tracing_subscriber::registry()
        .with(all.clone())
        .with(hushed.clone().with_filter(filter));
    let guard = tracing::subscriber::set_default(subscriber);
    everything(bench().await).await;
    drop(guard);
    let heard = all.0.lock().unwrap();
    let loud: BTreeSet<&str> = heard
        .iter()
        .filter(|(_, text)| leaks(text))
        .map(|(target, _)| target.as_str())
        .collect();
    assert!(
        !loud.is_empty(),
        "the SDK printed no body: is the test still listening?"
    );
    for target in loud {
        assert!(
            NOISY_TARGETS.iter().any(|noisy| target.starts_with(noisy)),
            "{target} prints passwords"
        );
    }
    let heard = hushed.0.lock().unwrap();
    assert!(
        heard.iter().any(|(target, _)| target.starts_with("ramparts")),
        "our own log is silent"
    );
    for (target, text) in heard.iter() {
        assert!(!leaks(text), "{target}: {text}");
    }
}
