//! Reading many parameters at once, through the SDK.

use crate::client::{refusal, sandbox};
use crate::ssm::fill;
use aws_sdk_ssm::types::ParameterStringFilter;

#[tokio::test]
async fn ten_names_are_read_at_once_and_the_missing_are_named() {
    let (_aws, ssm, _) = sandbox().await;
    fill(&ssm, ["/b".to_owned(), "/a".to_owned()]).await;
    let read = ssm.get_parameters();
    let answer = read
        .names("/b")
        .names("/missing")
        .names("/a")
        .with_decryption(true)
        .send()
        .await
        .unwrap();
    let names: Vec<_> = answer
        .parameters()
        .iter()
        .filter_map(|parameter| parameter.name())
        .collect();
    assert_eq!(
        (names, answer.invalid_parameters()),
        (vec!["/a", "/b"], &["/missing".to_owned()][..])
    );

    let eleven: Vec<String> = (0..11).map(|number| format!("/n{number}")).collect();
    let refused = ssm.get_parameters().set_names(Some(eleven.clone())).send().await;
    assert_eq!(refusal(refused), "400 ValidationException");
    assert_eq!(
        refusal(ssm.delete_parameters().set_names(Some(eleven)).send().await),
        "400 ValidationException"
    );
}

#[tokio::test]
async fn a_path_is_listed_in_pages_of_ten() {
    let (aws, ssm, _) = sandbox().await;
    fill(&ssm, (0..23).map(|number| format!("/t/acme/k{number:02}"))).await;
    fill(&ssm, ["/t/acme/deep/er".to_owned(), "/t/acme2/x".to_owned()]).await;
    let list = || ssm.get_parameters_by_path().path("/t/acme");

    let first = list().send().await.unwrap();
    assert_eq!((first.parameters().len(), first.next_token().is_some()), (10, true));
    for short in [false, true] {
        aws.set_short_pages(short);
        for (recursive, expected) in [(false, 23), (true, 24)] {
            let pages = list()
                .recursive(recursive)
                .into_paginator()
                .send()
                .try_collect()
                .await
                .unwrap();
            let all: usize = pages.iter().map(|page| page.parameters().len()).sum();
            assert_eq!(all, expected, "recursive {recursive}, short pages {short}");
        }
    }
    assert!(
        list().send().await.unwrap().parameters().is_empty(),
        "a page may be empty and not the last"
    );
    assert_eq!(refusal(list().max_results(11).send().await), "400 ValidationException");
    assert_eq!(
        refusal(list().next_token("nonsense").send().await),
        "400 InvalidNextToken"
    );
    assert_eq!(
        refusal(ssm.get_parameters_by_path().path("t").send().await),
        "400 ValidationException"
    );
}

#[tokio::test]
async fn metadata_is_described_by_filter_in_pages_of_fifty() {
    let (_aws, ssm, _) = sandbox().await;
    fill(&ssm, (0..60).map(|number| format!("/t/k{number:02}"))).await;
    fill(&ssm, ["/other".to_owned()]).await;
    let describe = |option: &str, value: &str| {
        let filter = ParameterStringFilter::builder()
            .key("Name")
            .option(option)
            .values(value)
            .build()
            .unwrap();
        ssm.describe_parameters().parameter_filters(filter)
    };
    let page = describe("BeginsWith", "/t/").send().await.unwrap();
    assert_eq!((page.parameters().len(), page.next_token().is_some()), (50, true));
    let rest = describe("BeginsWith", "/t/")
        .next_token(page.next_token().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!((rest.parameters().len(), rest.next_token()), (10, None));
    let one = describe("Equals", "/other").send().await.unwrap();
    assert_eq!((one.parameters().len(), one.parameters()[0].version()), (1, 1));
    assert_eq!(one.parameters()[0].key_id(), Some("alias/aws/ssm"));
    assert_eq!(
        refusal(ssm.describe_parameters().max_results(51).send().await),
        "400 ValidationException"
    );
    let odd = ParameterStringFilter::builder().key("Odd").values("x").build().unwrap();
    assert_eq!(
        refusal(ssm.describe_parameters().parameter_filters(odd).send().await),
        "400 InvalidFilterKey"
    );
}
