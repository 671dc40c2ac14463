//! Decides. Five nouns and three of the five verbs of Ramparts: `desire` what should be, `plan` what to do about the difference from what
//! was observed, `report` what came of it. No I/O, no clock, no randomness: everything here can be tested at midnight, in a millisecond.
//!
//! Read in this order: [`api`] and [`settings`] (what people write), [`name`] and [`mark`] (what things are called, and whose they are),
//! [`ledger`] and [`published`] (what is true, and what pods read), [`desired`], [`observed`], [`step`], [`plan`], [`cursor`], [`report`].

pub mod acl;
pub mod api;
pub mod cursor;
pub mod desired;
pub mod enrolment;
pub mod failure;
pub mod ledger;
pub mod mark;
pub mod name;
pub mod observed;
mod placement;
pub mod plan;
pub mod published;
pub mod quote;
pub mod reason;
pub mod recall;
pub mod record;
pub mod report;
pub mod secret;
pub mod settings;
pub mod step;
