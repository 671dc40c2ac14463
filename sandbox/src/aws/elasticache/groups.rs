//! Creating, modifying and deleting user groups. A request is taken as a whole or refused as a whole.

use std::collections::BTreeSet;
use std::time::Instant;

use super::directory::{Authentication, Directory, Engine, Group, Pending, Status, checked_id, group_not_found};
use super::form::Form;
use super::users::{TAGS, not_active};
use crate::aws::refusal::Refusal;
use crate::aws::terms::{Quotas, Terms, Transition};

pub fn create(form: &Form, directory: &mut Directory, now: Instant, terms: &Terms) -> Result<String, Refusal> {
    let id = checked_id(form.require("UserGroupId")?)?;
    let engine = Engine::parse(form.require("Engine")?)?;
    let tags = form.tags();
    if tags.len() > TAGS {
        return Err(Refusal::client(
            "TagQuotaPerResourceExceeded",
            "A resource can have at most 50 tags.",
        ));
    }
    if directory.groups.contains_key(&id) {
        return Err(Refusal::client(
            "UserGroupAlreadyExists",
            format!("User Group {id} already exists."),
        ));
    }
    if directory.groups.len() >= terms.quotas.groups {
        return Err(Refusal::client(
            "UserGroupQuotaExceeded",
            "The quota of user groups has been exceeded.",
        ));
    }
    let members: BTreeSet<String> = ids(form, "UserIds").into_iter().collect();
    check_users(directory, &members)?;
    check_membership(directory, engine, &members, &terms.quotas)?;
    let until = Some(now + terms.delay(Transition::GroupCreate));
    let group = Group {
        id: id.clone(),
        engine,
        members,
        pending: None,
        tags,
        status: Status::Creating,
        until,
    };
    directory.groups.insert(id.clone(), group);
    directory.epoch += 1;
    Ok(id)
}

pub fn modify(form: &Form, directory: &mut Directory, now: Instant, terms: &Terms) -> Result<String, Refusal> {
    let id = form.require("UserGroupId")?.to_ascii_lowercase();
    let (add, remove) = (ids(form, "UserIdsToAdd"), ids(form, "UserIdsToRemove"));
    let group = active(directory, &id)?;
    let engine = form.get("Engine").map(Engine::parse).transpose()?;
    if add.is_empty() && remove.is_empty() && engine.is_none() {
        return Err(Refusal::combination(
            "No user was given to add to or to remove from the user group.",
        ));
    }
    check_users(directory, &add.iter().cloned().collect())?;
    for user in &add {
        if group.members.contains(user) {
            return Err(Refusal::value(format!(
                "User {user} is already a member of user group {id}."
            )));
        }
    }
    for user in &remove {
        if !group.members.contains(user) {
            return Err(Refusal::value(format!(
                "User {user} is not a member of user group {id}."
            )));
        }
    }
    let mut members = group.members.clone();
    members.retain(|member| !remove.contains(member));
    members.extend(add.iter().cloned());
    let engine = engine.unwrap_or(group.engine);
    check_membership(directory, engine, &members, &terms.quotas)?;
    if let Some(group) = directory.groups.get_mut(&id) {
        group.engine = engine;
        group.pending = Some(Pending { add, remove });
        group.status = Status::Modifying;
        group.until = Some(now + terms.delay(Transition::GroupModify));
    }
    directory.epoch += 1;
    Ok(id)
}

pub fn delete(form: &Form, directory: &mut Directory, now: Instant, terms: &Terms) -> Result<String, Refusal> {
    let id = form.require("UserGroupId")?.to_ascii_lowercase();
    active(directory, &id)?;
    let group = directory.groups.get_mut(&id).ok_or_else(|| group_not_found(&id))?;
    group.status = Status::Deleting;
    group.until = Some(now + terms.delay(Transition::GroupDelete));
    directory.epoch += 1;
    Ok(id)
}

fn ids(form: &Form, field: &str) -> Vec<String> {
    form.list(field).into_iter().map(|id| id.to_ascii_lowercase()).collect()
}

fn active<'a>(directory: &'a Directory, id: &str) -> Result<&'a Group, Refusal> {
    let group = directory.group(id)?;
    if group.status == Status::Active {
        return Ok(group);
    }
    Err(Refusal::client(
        "InvalidUserGroupState",
        format!(
            "User group {id} has status {}. Only active user groups can be modified.",
            group.status.name()
        ),
    ))
}

fn check_users(directory: &Directory, joining: &BTreeSet<String>) -> Result<(), Refusal> {
    for id in joining {
        let user = directory.user(id)?;
        if user.status != Status::Active {
            return Err(not_active(user));
        }
    }
    Ok(())
}

/// What holds for the membership as it would be.
fn check_membership(
    directory: &Directory,
    engine: Engine,
    members: &BTreeSet<String>,
    quotas: &Quotas,
) -> Result<(), Refusal> {
    let mut names = BTreeSet::new();
    for user in members.iter().filter_map(|id| directory.users.get(id)) {
        if !names.insert(&user.name) {
            return Err(Refusal::client(
                "DuplicateUserName",
                format!("A user with the user name {} is in the user group already.", user.name),
            ));
        }
        let fits = match engine {
            Engine::Redis => user.engine == Engine::Redis,
            Engine::Valkey => user.authentication != Authentication::NoPassword,
        };
        if !fits {
            return Err(Refusal::combination(format!(
                "User {} does not go with a user group of engine {}.",
                user.id,
                engine.name()
            )));
        }
    }
    if engine == Engine::Redis && !names.iter().any(|name| *name == "default") {
        return Err(Refusal::client(
            "DefaultUserRequired",
            "User group needs to contain a user with the user name default.",
        ));
    }
    if members.len() > quotas.users_per_group {
        return Err(Refusal::client(
            "UserGroupQuotaExceeded",
            "The quota of users in a user group has been exceeded.",
        ));
    }
    Ok(())
}
