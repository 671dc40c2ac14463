//! The PostgreSQL layer against real servers, the oldest release that is supported and the newest, with an admin that is no superuser.

#![allow(clippy::unwrap_used, clippy::panic)]

macro_rules! on_every_release {
    ($($promise:ident)*) => {
        mod postgres_15 {
            $(#[tokio::test] async fn $promise() { super::$promise(sandbox::Version::V15).await })*
        }
        mod postgres_18 {
            $(#[tokio::test] async fn $promise() { super::$promise(sandbox::Version::V18).await })*
        }
    };
}

mod enrolment;
mod fixture;
mod isolation;
mod limits;
mod lock;
mod names;
mod proof;
mod provision;
mod repair;
mod trust;
