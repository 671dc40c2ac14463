//! AWS: the clients for Parameter Store and ElastiCache, made once per process. They never retry by themselves, because a retry after
//! a lost reply collides with its own first try: when to try again is decided in one place, by the reconciler's backoff.

mod elasticache;
mod error;
pub mod hush;
mod ssm;

use std::time::Duration;

use aws_config::{BehaviorVersion, ConfigLoader, Region, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_ssm::config::ProvideCredentials;
use ramparts_core::settings;

pub use elasticache::{CreatedUser, ElastiCache, Joined};

pub use ssm::Ssm;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(3);

/// How long a call may take in all: less than the gate's deadline, so that the SDK says what it waited for.
const OPERATION: Duration = Duration::from_secs(12);

/// The clients that everything to do with AWS goes through. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clients {
    /// Parameter Store.
    pub ssm: aws_sdk_ssm::Client,
    /// Users and user groups of caches.
    pub elasticache: aws_sdk_elasticache::Client,
}

/// What a create-only write came to. Either way the value used afterwards is the one that is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// This call wrote it.
    Written,
    /// The name was taken, perhaps by an earlier try whose reply was lost.
    Existed,
}

/// Clients with credentials as the SDK finds them: environment, web identity, pod identity, profile, instance.
pub async fn clients(settings: &settings::Aws) -> Clients {
    load(loader(settings)).await
}

/// Clients with credentials from elsewhere, for a local stack.
pub async fn clients_as(settings: &settings::Aws, credentials: impl ProvideCredentials + 'static) -> Clients {
    load(loader(settings).credentials_provider(credentials)).await
}

fn loader(settings: &settings::Aws) -> ConfigLoader {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_timeout(OPERATION)
        .build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts);
    if let Some(region) = &settings.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(endpoint) = &settings.endpoint {
        loader = loader.endpoint_url(endpoint);
    }
    loader
}

async fn load(loader: ConfigLoader) -> Clients {
    let config = loader.load().await;
    Clients {
        ssm: aws_sdk_ssm::Client::new(&config),
        elasticache: aws_sdk_elasticache::Client::new(&config),
    }
}
