//! `ElastiCache` users and user groups as the service speaks: AWS Query in, XML out, with the states, refusals and canonical forms of the
//! real one. Other operations answer `InvalidAction`.

mod access;
mod directory;
mod form;
mod groups;
mod users;
mod view;

pub use self::directory::{Authentication, Directory, Group, Status, User};
pub use self::form::Form;
use super::log::Subject;
use super::place::Place;
use super::refusal::Refusal;
use super::xml::Xml;

pub const NAMESPACE: &str = "http://elasticache.amazonaws.com/doc/2015-02-02/";

/// What a request is about, for the log: ids and numbers only.
pub fn subject(form: &Form) -> Subject {
    let ids = ["UserId", "UserGroupId", "ResourceName"];
    let mut flags = Vec::new();
    for (field, flag) in [
        ("UserIdsToAdd", "add"),
        ("UserIdsToRemove", "remove"),
        ("UserIds", "users"),
    ] {
        let users = form.list(field);
        if !users.is_empty() {
            flags.push(format!("{flag}={}", users.join(",")));
        }
    }
    let passwords = form.list("Passwords").len() + form.list("AuthenticationMode.Passwords").len();
    if passwords > 0 {
        flags.push(format!("passwords={passwords}"));
    }
    if form.get("Marker").is_some() {
        flags.push("next-page".to_owned());
    }
    let filters: Vec<String> = form
        .items("Filters")
        .iter()
        .flat_map(|filter| filter.list("Values"))
        .collect();
    let key = ids
        .iter()
        .find_map(|id| form.get(id))
        .map_or_else(|| filters.join(","), str::to_owned);
    Subject { key, flags }
}

pub fn answer(operation: &str, form: &Form, kept: &mut Directory, at: &Place<'_>) -> Result<String, Refusal> {
    kept.settle(at.now);
    let (now, terms) = (at.now, at.terms);
    match operation {
        "CreateUser" => users::create(form, kept, now, terms).and_then(|id| show_user(&id, kept, at, true)),
        "ModifyUser" => users::modify(form, kept, now, terms).and_then(|id| show_user(&id, kept, at, true)),
        "DeleteUser" => users::delete(form, kept, now, terms).and_then(|id| show_user(&id, kept, at, false)),
        "CreateUserGroup" => groups::create(form, kept, now, terms).and_then(|id| show_group(&id, kept, at, true)),
        "ModifyUserGroup" => groups::modify(form, kept, now, terms).and_then(|id| show_group(&id, kept, at, true)),
        "DeleteUserGroup" => groups::delete(form, kept, now, terms).and_then(|id| show_group(&id, kept, at, false)),
        "DescribeUsers" => view::users(form, kept, at),
        "DescribeUserGroups" => view::groups(form, kept, at),
        "ListTagsForResource" => view::tagged(form, kept).map(|tags| view::show_tags(tags)),
        "AddTagsToResource" => view::add_tags(form, kept),
        "RemoveTagsFromResource" => view::remove_tags(form, kept),
        other => Err(Refusal::client(
            "InvalidAction",
            format!("the sandbox has no operation {other}"),
        )),
    }
}

/// Shows the user as the operation leaves it; a change without a delay is shown done, a deletion is always shown under way.
fn show_user(id: &str, kept: &mut Directory, at: &Place<'_>, settled: bool) -> Result<String, Refusal> {
    if settled {
        kept.settle(at.now);
    }
    let mut xml = Xml::default();
    view::user(&mut xml, kept.user(id)?, kept, at);
    kept.settle(at.now);
    Ok(xml.finish())
}

fn show_group(id: &str, kept: &mut Directory, at: &Place<'_>, settled: bool) -> Result<String, Refusal> {
    if settled {
        kept.settle(at.now);
    }
    let mut xml = Xml::default();
    view::group(&mut xml, kept.group(id)?, at);
    kept.settle(at.now);
    Ok(xml.finish())
}
