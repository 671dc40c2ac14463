//! Users, groups and tags as `ElastiCache` shows them, and the listings that page through them.

use super::directory::{Authentication, Directory, Engine, Group, Status, Tags, User};
use super::form::Form;
use super::users::TAGS;
use crate::aws::page;
use crate::aws::place::Place;
use crate::aws::refusal::Refusal;
use crate::aws::xml::Xml;

pub fn user(xml: &mut Xml, user: &User, directory: &Directory, at: &Place<'_>) {
    xml.leaf("UserId", &user.id);
    xml.leaf("UserName", &user.name);
    xml.leaf("Status", user.status.name());
    xml.leaf("Engine", user.engine.name());
    xml.leaf("MinimumEngineVersion", minimum(user.engine));
    xml.leaf("AccessString", &user.access);
    xml.members("UserGroupIds", directory.groups_of(&user.id));
    xml.nest("Authentication", |authentication| {
        let (kind, count) = match &user.authentication {
            Authentication::Passwords(passwords) => ("password", passwords.len()),
            Authentication::NoPassword => ("no-password", 0),
            Authentication::Iam => ("iam", 0),
        };
        authentication.leaf("Type", kind);
        if count > 0 {
            authentication.leaf("PasswordCount", &count.to_string());
        }
    });
    xml.leaf("ARN", &at.arn("elasticache", &format!("user:{}", user.id)));
}

pub fn group(xml: &mut Xml, group: &Group, at: &Place<'_>) {
    xml.leaf("UserGroupId", &group.id);
    xml.leaf("Status", group.status.name());
    xml.leaf("Engine", group.engine.name());
    xml.members("UserIds", &group.members);
    xml.leaf("MinimumEngineVersion", minimum(group.engine));
    if let Some(pending) = &group.pending {
        xml.nest("PendingChanges", |changes| {
            changes.members("UserIdsToRemove", &pending.remove);
            changes.members("UserIdsToAdd", &pending.add);
        });
    }
    xml.members("ReplicationGroups", []);
    xml.leaf("ARN", &at.arn("elasticache", &format!("usergroup:{}", group.id)));
}

fn minimum(engine: Engine) -> &'static str {
    match engine {
        Engine::Redis => "6.0",
        Engine::Valkey => "7.2",
    }
}

pub fn users(form: &Form, directory: &Directory, at: &Place<'_>) -> Result<String, Refusal> {
    let engine = form.get("Engine").map(Engine::parse).transpose()?;
    let filters = form.items("Filters");
    for filter in &filters {
        let name = filter.require("Name")?;
        if !is_id_filter(name) {
            return Err(Refusal::value(format!("The filter {name} is not supported.")));
        }
    }
    let wanted = form.get("UserId").map(str::to_ascii_lowercase);
    if let Some(id) = &wanted {
        directory.user(id)?;
    }
    let passes = |user: &User| {
        engine.is_none_or(|engine| user.engine == engine)
            && wanted.as_ref().is_none_or(|id| user.id == *id)
            && filters
                .iter()
                .all(|filter| filter.list("Values").iter().any(|id| id.eq_ignore_ascii_case(&user.id)))
    };
    let listing = directory
        .users
        .values()
        .filter(|user| passes(user))
        .map(|user| (user.id.clone(), user));
    let page = cut(form, listing, at.terms.short_pages)?;
    Ok(listed("Users", &page, |xml, one| user(xml, one, directory, at)))
}

fn is_id_filter(name: &str) -> bool {
    ["user-id", "userid"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

pub fn groups(form: &Form, directory: &Directory, at: &Place<'_>) -> Result<String, Refusal> {
    let wanted = form.get("UserGroupId").map(str::to_ascii_lowercase);
    if let Some(id) = &wanted {
        directory.group(id)?;
    }
    let listing = directory
        .groups
        .values()
        .filter(|group| wanted.as_ref().is_none_or(|id| group.id == *id))
        .map(|group| (group.id.clone(), group));
    let page = cut(form, listing, at.terms.short_pages)?;
    Ok(listed("UserGroups", &page, |xml, one| group(xml, one, at)))
}

fn cut<T>(form: &Form, listing: impl Iterator<Item = (String, T)>, short: bool) -> Result<page::Page<T>, Refusal> {
    let size = form.number("MaxRecords")?.unwrap_or(100);
    if !(20..=100).contains(&size) {
        return Err(Refusal::value("MaxRecords must be between 20 and 100."));
    }
    page::cut(listing, form.get("Marker"), size, short).map_err(|_| Refusal::value("The marker is not valid."))
}

fn listed<T>(name: &str, page: &page::Page<T>, show: impl Fn(&mut Xml, &T)) -> String {
    let mut xml = Xml::default();
    xml.nest(name, |list| {
        for item in &page.items {
            list.nest("member", |member| show(member, item));
        }
    });
    if let Some(next) = &page.next {
        xml.leaf("Marker", next);
    }
    xml.finish()
}

/// The tags of the resource that a tag call names. A user that is not active cannot be tagged and is said not to be there.
pub fn tagged<'a>(form: &Form, directory: &'a mut Directory) -> Result<&'a mut Tags, Refusal> {
    let arn = form.require("ResourceName")?;
    let mut parts = arn.split(':').skip(5);
    let (kind, id) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match kind {
        "user" => {
            if directory.user(id)?.status != Status::Active {
                return Err(Refusal::new(
                    "UserNotFound",
                    404,
                    format!("{id} is not available for tagging"),
                ));
            }
            let user = directory.users.get_mut(&id.to_ascii_lowercase());
            user.map(|user| &mut user.tags)
                .ok_or_else(|| super::directory::user_not_found(id))
        }
        "usergroup" => {
            let group = directory.groups.get_mut(&id.to_ascii_lowercase());
            group
                .map(|group| &mut group.tags)
                .ok_or_else(|| super::directory::group_not_found(id))
        }
        _ => Err(Refusal::client(
            "InvalidARN",
            "The requested Amazon Resource Name does not refer to a user or a user group.",
        )),
    }
}

pub fn add_tags(form: &Form, directory: &mut Directory) -> Result<String, Refusal> {
    let tags = tagged(form, directory)?;
    let mut merged = tags.clone();
    merged.extend(form.tags());
    if merged.len() > TAGS {
        return Err(Refusal::client(
            "TagQuotaPerResourceExceeded",
            "A resource can have at most 50 tags.",
        ));
    }
    *tags = merged;
    Ok(show_tags(tags))
}

pub fn remove_tags(form: &Form, directory: &mut Directory) -> Result<String, Refusal> {
    let tags = tagged(form, directory)?;
    for key in form.list("TagKeys") {
        tags.remove(&key);
    }
    Ok(show_tags(tags))
}

pub fn show_tags(tags: &Tags) -> String {
    let mut xml = Xml::default();
    xml.nest("TagList", |list| {
        for (key, value) in tags {
            list.nest("Tag", |tag| {
                tag.leaf("Key", key);
                tag.leaf("Value", value);
            });
        }
    });
    xml.finish()
}
