//! The stacks that scenarios run on. A stack takes seconds to start, so it is leased, to one scenario at a time, and given back: what a
//! scenario may do to it is then nobody else's concern, and every call in its logs is its own. A scenario that fails keeps its stack
//! from the others, and ends it.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use kube::{
    Api, Client,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
    core::DynamicObject,
};
use sandbox::{Stack, User, aws::Quotas, cluster::OPERATOR};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{operator, tenants, until};

/// How many stacks there are: as many as the scenarios that two cores can carry.
static TURNS: Semaphore = Semaphore::const_new(2);
static FREE: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

/// One scenario's stack.
pub struct Ground {
    stack: Option<Stack>,
    _turn: SemaphorePermit<'static>,
}

impl Ground {
    pub async fn lease() -> Self {
        let turn = TURNS.acquire().await.unwrap();
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let stack = match free {
            Some(stack) => stack,
            None => prepare().await,
        };
        Self {
            stack: Some(stack),
            _turn: turn,
        }
    }

    pub fn stack(&self) -> &Stack {
        self.stack
            .as_ref()
            .expect("the stack is given back only when the lease ends")
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let stack = self.stack.take();
        if !std::thread::panicking() {
            FREE.lock().unwrap_or_else(PoisonError::into_inner).extend(stack);
        }
    }
}

async fn prepare() -> Stack {
    let stack = Stack::start().await.unwrap();
    // A fresh account's hundred users in a group are fewer than all scenarios make together.
    stack.aws.set_quotas(Quotas {
        users_per_group: 10_000,
        users: 10_000,
        ..Quotas::default()
    });
    let definition = operator::definition();
    let strict = ["apply", "--validate=strict", "-f", "-"];
    stack
        .kube
        .kubectl_as(User::Administrator, &strict, &definition)
        .await
        .unwrap();
    let role = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/rbac/clusterrole.yaml");
    stack
        .kube
        .kubectl_as(User::Administrator, &strict, &std::fs::read_to_string(role).unwrap())
        .await
        .unwrap();
    let binding = format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: ramparts}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ramparts}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {OPERATOR}}}]
"
    );
    stack.kube.apply(&binding).await.unwrap();
    let tenants: Api<DynamicObject> = Api::all_with(client(&stack, User::Operator).await, &tenants::resource());
    until("the operator may list Tenants", async || {
        tenants.list(&ListParams::default()).await.ok()
    })
    .await;
    stack
}

/// A client of the API server that lives as long as the scenario's runtime.
pub async fn client(stack: &Stack, user: User) -> Client {
    sandbox::tls::install_crypto_provider();
    let file = Kubeconfig::read_from(stack.kube.kubeconfig(user)).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}
