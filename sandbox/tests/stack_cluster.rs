//! The control plane of the stack, as kubectl sees it.

#![allow(clippy::unwrap_used, clippy::panic)]

use sandbox::cluster::OPERATOR;
use sandbox::{Stack, User};
use tokio::sync::OnceCell;

async fn shared() -> &'static Stack {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    STACK
        .get_or_init(|| async { Stack::builder().kube().start().await.unwrap() })
        .await
}

#[tokio::test]
async fn the_administrator_may_do_everything_and_the_operator_nothing_until_it_is_granted() {
    let kube = &shared().await.kube;
    assert_eq!(kube.kubectl(&["auth", "can-i", "*", "*"]).await.unwrap().trim(), "yes");
    let whoami = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
    assert_eq!(kube.kubectl_as(User::Operator, &whoami, "").await.unwrap(), OPERATOR);

    let list = ["get", "configmaps", "--all-namespaces"];
    let error = kube
        .kubectl_as(User::Operator, &list, "")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("Forbidden") && error.contains(OPERATOR), "{error}");
    kube.apply(&format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: look}}
rules: [{{apiGroups: [''], resources: [configmaps], verbs: [list]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: look}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: look}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {OPERATOR}}}]
"
    ))
    .await
    .unwrap();
    // The authorizer hears of the binding by a watch.
    let mut answer = kube.kubectl_as(User::Operator, &list, "").await;
    for _ in 0..50 {
        if answer.is_ok() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        answer = kube.kubectl_as(User::Operator, &list, "").await;
    }
    assert!(
        answer
            .unwrap()
            .contains("kube-apiserver-legacy-service-account-token-tracking")
    );
    assert!(
        kube.kubectl_as(User::Operator, &["get", "secrets"], "").await.is_err(),
        "nothing but what was granted"
    );
}

#[tokio::test]
async fn kubectl_verifies_the_server() {
    let stack = shared().await;
    let kubeconfig = std::fs::read_to_string(stack.kube.kubeconfig(User::Administrator)).unwrap();
    assert!(!kubeconfig.contains("insecure"));
    let ca = stack.strange_ca().display().to_string();
    let error = stack
        .kube
        .kubectl(&["--certificate-authority", &ca, "get", "namespaces"])
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("certificate signed by unknown authority"), "{error}");
}

#[tokio::test]
async fn objects_outlive_an_outage_of_the_api_server_and_lost_history() {
    let stack = Stack::builder().kube().start().await.unwrap();
    let (kube, url) = (&stack.kube, stack.kube.url());
    let version = [
        "create",
        "configmap",
        "kept",
        "-o",
        "jsonpath={.metadata.resourceVersion}",
    ];
    let version = kube.kubectl(&version).await.unwrap();
    kube.kubectl(&["create", "configmap", "another"]).await.unwrap();
    kube.stop();
    assert!(kube.kubectl(&["get", "configmap", "kept"]).await.is_err());
    kube.restart().await.unwrap();
    assert_eq!(kube.url(), url);
    assert_eq!(
        kube.kubectl(&["get", "configmap", "kept", "-o", "name"])
            .await
            .unwrap()
            .trim(),
        "configmap/kept"
    );

    kube.forget_history().await.unwrap();
    assert_eq!(
        kube.kubectl(&["get", "configmap", "kept", "-o", "name"])
            .await
            .unwrap()
            .trim(),
        "configmap/kept"
    );
    let watch = format!("/api/v1/configmaps?watch=1&timeoutSeconds=2&resourceVersion={version}");
    let answer = match kube.kubectl(&["get", "--raw", &watch]).await {
        Ok(events) => events,
        Err(error) => error.to_string(),
    };
    assert!(answer.contains("too old resource version"), "{answer}");
}
