//! Any world: a start, and a few edits. Shrinking takes edits away, so a counterexample reads like a story.

use proptest::prelude::*;
use ramparts_core::{
    ledger::Body,
    name::Access,
    observed::{DatabaseSeen, Membership, Presence},
    plan::LAYOUT,
    reason::Reason,
    secret::Secret,
};

use crate::common::{
    Wish, World, app, fault, record, tenant, world,
    world::{login_of, mark, user_of},
};

pub const APPS: [&str; 3] = ["api", "reporting", "worker"];
const UIDS: [&str; 2] = ["uid-1", "uid-2"];

/// One thing that somebody did.
#[derive(Clone, Debug)]
pub enum Edit {
    LoseRecord(u32),
    Confirm(u32),
    Issue(u32, usize, Vec<&'static str>),
    Open(u32, usize),
    Void(u32, usize),
    Copy(&'static str, u32, Thing),
    Login(&'static str, u32, Thing),
    User(&'static str, u32, Thing),
    Database(Thing),
    Group(Access, Thing),
    StoreFault,
    DatabaseFault(bool),
    CacheFault(bool),
    GroupBusy,
    ForeignRecord,
    Refuse(&'static str),
}

/// What became of an object.
#[derive(Clone, Copy, Debug)]
pub enum Thing {
    Gone,
    There,
    Changed,
    Otherwise,
    Foreign,
    Unknown,
}

fn an_app() -> impl Strategy<Value = &'static str> {
    prop::sample::select(APPS.to_vec())
}

fn some_apps() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(APPS.to_vec(), 1..=3)
}

fn thing() -> impl Strategy<Value = Thing> {
    use Thing::{Changed, Foreign, Gone, Otherwise, There, Unknown};
    prop::sample::select(vec![Gone, Gone, There, Changed, Changed, Otherwise, Foreign, Unknown])
}

fn edit() -> impl Strategy<Value = Edit> {
    let number = || 1..=3_u32;
    let uid = || 0..UIDS.len();
    prop_oneof![
        2 => number().prop_map(Edit::LoseRecord),
        3 => number().prop_map(Edit::Confirm),
        2 => (number(), uid(), some_apps()).prop_map(|(number, uid, apps)| Edit::Issue(number, uid, apps)),
        1 => (number(), uid()).prop_map(|(number, uid)| Edit::Open(number, uid)),
        1 => (number(), uid()).prop_map(|(number, uid)| Edit::Void(number, uid)),
        4 => (an_app(), number(), thing()).prop_map(|(app, number, it)| Edit::Copy(app, number, it)),
        4 => (an_app(), number(), thing()).prop_map(|(app, number, it)| Edit::Login(app, number, it)),
        4 => (an_app(), number(), thing()).prop_map(|(app, number, it)| Edit::User(app, number, it)),
        2 => thing().prop_map(Edit::Database),
        1 => (prop::sample::select(Access::ALL.to_vec()), thing()).prop_map(|(access, it)| Edit::Group(access, it)),
        1 => Just(Edit::StoreFault),
        1 => any::<bool>().prop_map(Edit::DatabaseFault),
        1 => any::<bool>().prop_map(Edit::CacheFault),
        1 => Just(Edit::GroupBusy),
        1 => Just(Edit::ForeignRecord),
        1 => an_app().prop_map(Edit::Refuse),
    ]
}

/// A Tenant, the world it meets, and how the world came to be so.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug)]
pub struct Scene {
    pub start: Vec<&'static str>,
    pub edits: Vec<Edit>,
    pub apps: Vec<&'static str>,
    pub uid: &'static str,
    pub large: bool,
    pub suspended: bool,
    pub once_ready: bool,
    pub pinned: bool,
}

pub fn scene() -> impl Strategy<Value = Scene> {
    let start = prop::sample::subsequence(APPS.to_vec(), 0..=3);
    let often_not = || prop::bool::weighted(0.15);
    let wish = (
        some_apps(),
        prop::bool::weighted(0.25),
        often_not(),
        often_not(),
        often_not(),
        prop::bool::weighted(0.05),
    );
    (start, prop::collection::vec(edit(), 0..7), wish).prop_map(
        |(start, edits, (apps, other, large, suspended, once, pinned))| Scene {
            start,
            edits,
            apps,
            uid: UIDS[usize::from(other)],
            large,
            suspended,
            once_ready: once,
            pinned,
        },
    )
}

impl Scene {
    pub fn wish(&self) -> Wish {
        let mut wish = self
            .apps
            .iter()
            .fold(tenant("acme"), |wish, app| wish.app(app))
            .uid(self.uid);
        if self.large {
            wish = wish.plan("large");
        }
        if self.suspended {
            wish = wish.suspended();
        }
        if self.once_ready {
            wish = wish.once_ready();
        }
        if self.pinned {
            wish = wish.pinned(Some("second"), None);
        }
        wish
    }

    pub fn world(&self) -> World {
        let start = if self.start.is_empty() {
            world()
        } else {
            World::ready(&self.start)
        };
        self.edits.iter().fold(start, apply)
    }
}

fn apply(world: World, edit: &Edit) -> World {
    let mut world = world;
    match edit {
        Edit::LoseRecord(number) => drop(world.store.ledger.records.remove(&record(*number))),
        Edit::Confirm(number) => world = world.confirmed(*number),
        Edit::Issue(number, uid, apps) => {
            world = world.with_record(*number, apps);
            world.store.ledger.records.get_mut(&record(*number)).unwrap().uid = UIDS[*uid].into();
        }
        Edit::Open(number, uid) => world = world.with_body(*number, UIDS[*uid], Body::Open),
        Edit::Void(number, uid) => world = world.with_body(*number, UIDS[*uid], Body::Void),
        Edit::Copy(name, number, thing) => world = copy(world, name, *number, *thing),
        Edit::Login(name, number, thing) => world = login(world, name, *number, *thing),
        Edit::User(name, number, thing) => world = user(world, name, *number, *thing),
        Edit::Database(thing) => database(&mut world, *thing),
        Edit::Group(access, thing) => drop(world.database.groups.insert(*access, plain(*thing))),
        Edit::StoreFault => world.store_fault = Some(fault(Reason::StoreUnreachable)),
        Edit::DatabaseFault(down) => {
            world.database_fault = Some(fault(if *down {
                Reason::DatabaseUnreachable
            } else {
                Reason::AccessDenied
            }));
        }
        Edit::CacheFault(down) => {
            world.cache_fault = Some(fault(if *down {
                Reason::CacheUnreachable
            } else {
                Reason::AccessDenied
            }));
        }
        Edit::GroupBusy => world.cache.group_busy = Some("modifying".into()),
        Edit::ForeignRecord => world.store.foreign_record = Some("/ramparts/_ledger/acme/9".into()),
        Edit::Refuse(name) => {
            world.refusing.insert(login_of(name, 1).to_string());
            world.refusing.insert(user_of(name, 1).to_string());
        }
    }
    world
}

fn plain(thing: Thing) -> Presence<()> {
    match thing {
        Thing::Gone => Presence::Absent,
        Thing::There | Thing::Changed | Thing::Otherwise => Presence::Ours(()),
        Thing::Foreign => Presence::Foreign("not ours".into()),
        Thing::Unknown => Presence::Unknown(fault(Reason::AccessDenied)),
    }
}

/// The presence of an object that is not a plain one of ours.
fn odd<T>(thing: Thing) -> Option<Presence<T>> {
    match plain(thing) {
        Presence::Ours(()) => None,
        Presence::Absent => Some(Presence::Absent),
        Presence::Foreign(what) => Some(Presence::Foreign(what)),
        Presence::Unknown(failure) => Some(Presence::Unknown(failure)),
    }
}

fn database(world: &mut World, thing: Thing) {
    world.database.database = odd(thing).unwrap_or_else(|| {
        let layout = (!matches!(thing, Thing::Changed)).then_some(LAYOUT);
        let mark = (!matches!(thing, Thing::Otherwise)).then(|| ramparts_core::mark::Mark {
            layout,
            ..mark(None, 1)
        });
        Presence::Ours(DatabaseSeen {
            mark,
            sealed: !matches!(thing, Thing::Otherwise),
        })
    });
}

fn copy(world: World, name: &str, number: u32, thing: Thing) -> World {
    let mut world = world.with_copy(name, number);
    match thing {
        Thing::Changed => world.copy_mut(name).copy.database.password = Secret::new("CANARY changed".into()),
        Thing::Otherwise => world.copy_mut(name).copy.database.endpoint.port = 1,
        _ => {}
    }
    if let Some(presence) = odd(thing) {
        world.store.copies.insert(app(name), presence);
    }
    world
}

fn login(world: World, name: &str, number: u32, thing: Thing) -> World {
    let mut world = world.with_login(name, number);
    let seen = world.login_mut(login_of(name, number).as_str());
    match (thing, number) {
        (Thing::Changed, 1) => seen.can_login = false,
        (Thing::Changed, 2) => seen.connections = 1,
        (Thing::Changed, _) => seen.member_of.clear(),
        (Thing::Otherwise, 1) => seen.expired = true,
        (Thing::Otherwise, _) => seen.mark = mark(Some("worker"), 1),
        _ => {}
    }
    if let Some(presence) = odd(thing) {
        world.database.logins.insert(login_of(name, number), presence);
    }
    world
}

fn user(world: World, name: &str, number: u32, thing: Thing) -> World {
    if name == "reporting" {
        return world;
    }
    let mut world = world.with_cache_user(name, number);
    let seen = world.user_mut(user_of(name, number).as_str());
    match (thing, number) {
        (Thing::Changed, 1) => seen.membership = Membership::Outside,
        (Thing::Changed, 2) => seen.pending = Some("modifying".into()),
        (Thing::Changed, _) => seen.membership = Membership::Leaving,
        (Thing::Otherwise, 1) => seen.membership = Membership::Joining,
        (Thing::Otherwise, _) => seen.mark = mark(Some("worker"), 1),
        _ => {}
    }
    if let Some(presence) = odd(thing) {
        world.cache.users.insert(user_of(name, number), presence);
    }
    world
}
