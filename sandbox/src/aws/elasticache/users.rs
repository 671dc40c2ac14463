//! Creating, modifying and deleting users.

use std::time::Instant;

use super::access;
use super::directory::{Authentication, Directory, Engine, Status, User, checked_id, user_not_found};
use super::form::Form;
use crate::aws::refusal::Refusal;
use crate::aws::terms::{Terms, Transition};

pub const TAGS: usize = 50;

pub fn create(form: &Form, directory: &mut Directory, now: Instant, terms: &Terms) -> Result<String, Refusal> {
    let id = checked_id(form.require("UserId")?)?;
    let name = form.require("UserName")?.to_owned();
    let engine = Engine::parse(form.require("Engine")?)?;
    let access = access::canonical(form.require("AccessString")?)?;
    let authentication = authentication(form)?
        .ok_or_else(|| Refusal::value("No password was provided. Use NoPasswordRequired for a user without one."))?;
    check_engine(engine, &authentication)?;
    if authentication == Authentication::Iam && id != name {
        return Err(Refusal::combination(
            "For an IAM user the user id and the user name must be the same.",
        ));
    }
    let tags = form.tags();
    if tags.len() > TAGS {
        return Err(Refusal::client(
            "TagQuotaPerResourceExceeded",
            "A resource can have at most 50 tags.",
        ));
    }
    if directory.users.contains_key(&id) {
        return Err(Refusal::client(
            "UserAlreadyExists",
            format!("User {id} already exists."),
        ));
    }
    if directory.users.len() >= terms.quotas.users {
        return Err(Refusal::client(
            "UserQuotaExceeded",
            "The quota of users has been exceeded.",
        ));
    }
    let until = Some(now + terms.delay(Transition::UserCreate));
    let user = User {
        id: id.clone(),
        name,
        engine,
        access,
        authentication,
        tags,
        status: Status::Creating,
        until,
    };
    directory.users.insert(id.clone(), user);
    directory.epoch += 1;
    Ok(id)
}

pub fn modify(form: &Form, directory: &mut Directory, now: Instant, terms: &Terms) -> Result<String, Refusal> {
    let id = form.require("UserId")?.to_ascii_lowercase();
    changeable(directory, &id)?;
    let authentication = authentication(form)?;
    let engine = form.get("Engine").map(Engine::parse).transpose()?;
    let user = directory.users.get_mut(&id).ok_or_else(|| user_not_found(&id))?;
    let access = match (form.get("AccessString"), form.get("AppendAccessString")) {
        (Some(_), Some(_)) => {
            return Err(Refusal::combination(
                "AccessString and AppendAccessString cannot be used together.",
            ));
        }
        (Some(whole), None) => Some(access::canonical(whole)?),
        (None, Some(more)) => Some(access::canonical(&format!("{} {more}", user.access))?),
        (None, None) => None,
    };
    if access.is_none() && authentication.is_none() && engine.is_none() {
        return Err(Refusal::combination("No modification was requested."));
    }
    let engine = engine.unwrap_or(user.engine);
    check_engine(engine, authentication.as_ref().unwrap_or(&user.authentication))?;
    user.engine = engine;
    if let Some(access) = access {
        user.access = access;
    }
    if let Some(authentication) = authentication {
        user.authentication = authentication;
    }
    user.status = Status::Modifying;
    user.until = Some(now + terms.delay(Transition::UserModify));
    directory.epoch += 1;
    Ok(id)
}

/// The user leaves every group at once; its record stays until the deletion is done.
pub fn delete(form: &Form, directory: &mut Directory, now: Instant, terms: &Terms) -> Result<String, Refusal> {
    let id = form.require("UserId")?.to_ascii_lowercase();
    changeable(directory, &id)?;
    if directory.user(&id)?.name == "default" && directory.groups_of(&id).next().is_some() {
        return Err(Refusal::client(
            "DefaultUserAssociatedToUserGroup",
            format!("User {id} is the default user of a user group and cannot be deleted."),
        ));
    }
    for group in directory.groups.values_mut() {
        group.members.remove(&id);
        if let Some(pending) = &mut group.pending {
            pending.add.retain(|added| *added != id);
            pending.remove.retain(|removed| *removed != id);
        }
    }
    if let Some(user) = directory.users.get_mut(&id) {
        user.status = Status::Deleting;
        user.until = Some(now + terms.delay(Transition::UserDelete));
    }
    directory.epoch += 1;
    Ok(id)
}

fn changeable(directory: &Directory, id: &str) -> Result<(), Refusal> {
    let user = directory.user(id)?;
    if id == "default" {
        return Err(Refusal::value("The user default cannot be modified or deleted."));
    }
    if user.status != Status::Active {
        return Err(not_active(user));
    }
    Ok(())
}

pub fn not_active(user: &User) -> Refusal {
    Refusal::client(
        "InvalidUserState",
        format!(
            "User {} has status {}. Only active users can be modified.",
            user.id,
            user.status.name()
        ),
    )
}

/// The authentication that a request asks for, if it asks for any.
fn authentication(form: &Form) -> Result<Option<Authentication>, Refusal> {
    let plain = form.list("Passwords");
    let moded = form.list("AuthenticationMode.Passwords");
    let no_password = form.flag("NoPasswordRequired") == Some(true);
    let mode = form.get("AuthenticationMode.Type");
    if (!plain.is_empty() && no_password) || (mode.is_some() && (!plain.is_empty() || no_password)) {
        return Err(Refusal::combination(
            "Passwords, NoPasswordRequired and AuthenticationMode exclude each other.",
        ));
    }
    let passwords = |given: Vec<String>| check_passwords(&given).map(|()| Some(Authentication::Passwords(given)));
    match mode {
        None if no_password => Ok(Some(Authentication::NoPassword)),
        None if plain.is_empty() => Ok(None),
        None => passwords(plain),
        Some("password") => passwords(moded),
        Some(_) if !moded.is_empty() => Err(Refusal::combination("Passwords need the authentication type password.")),
        Some("no-password-required") => Ok(Some(Authentication::NoPassword)),
        Some("iam") => Ok(Some(Authentication::Iam)),
        Some(other) => Err(Refusal::value(format!("{other} is not an authentication type."))),
    }
}

/// The refusal never repeats a password.
fn check_passwords(passwords: &[String]) -> Result<(), Refusal> {
    if !(1..=2).contains(&passwords.len()) {
        return Err(Refusal::value("A user must have one or two passwords."));
    }
    for password in passwords {
        if !(16..=128).contains(&password.len()) {
            return Err(Refusal::value("Passwords length must be between 16-128 characters."));
        }
        if !password
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b",\"/@".contains(&byte))
        {
            return Err(Refusal::value(
                "Passwords must be printable and must not contain , \" / or @.",
            ));
        }
    }
    Ok(())
}

fn check_engine(engine: Engine, authentication: &Authentication) -> Result<(), Refusal> {
    if engine == Engine::Valkey && *authentication == Authentication::NoPassword {
        return Err(Refusal::combination("A user of engine valkey needs a password or IAM."));
    }
    Ok(())
}
