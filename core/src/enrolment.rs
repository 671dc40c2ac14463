//! Enrolment: a server and a store that belong together know each other. This guards the whole fleet against one bad line of
//! configuration: a wrong server, region, account or prefix, or a server replaced by an empty one, is seen before anything is written.

use crate::{failure::Failure, reason::Reason};

/// What the server's own role says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerSide {
    /// The role that owns the databases is not there.
    Absent,
    /// It was made, and the store was perhaps told.
    Enrolling(String),
    /// It was made and the store was told.
    Enrolled(String),
    /// It is there and belongs to another installation, or to nobody we know.
    Foreign(String),
}

/// What the store says about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreSide {
    /// It has never heard of it.
    Absent,
    /// It knows it by this id.
    Recorded(String),
    /// Something else stands in the record's place.
    Foreign(String),
}

/// The next thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnrolmentStep {
    /// Make the role, marked *enrolling* with a new random id.
    MarkServer,
    /// Write the id into the store, create-only.
    TellStore(String),
    /// Mark the server *enrolled*.
    Confirm(String),
    /// Nothing: they know each other by this id.
    Complete(String),
}

/// What to do about a server, by its name in the settings.
pub fn enrol(name: &str, server: &ServerSide, store: &StoreSide) -> Result<EnrolmentStep, Failure> {
    let refuse = |message: String| Err(Failure::blocked(Reason::NotEnrolled, message));
    match (server, store) {
        (ServerSide::Foreign(what), _) => refuse(format!(
            "server {name} bears the mark of something else ({what}); nothing is written to it"
        )),
        (_, StoreSide::Foreign(what)) => refuse(format!(
            "the store's record of server {name} is not ours ({what}); nothing is written"
        )),
        (ServerSide::Absent, StoreSide::Absent) => Ok(EnrolmentStep::MarkServer),
        (ServerSide::Enrolling(id), StoreSide::Absent) => Ok(EnrolmentStep::TellStore(id.clone())),
        (ServerSide::Enrolling(id), StoreSide::Recorded(known)) if id == known => {
            Ok(EnrolmentStep::Confirm(id.clone()))
        }
        (ServerSide::Enrolled(id), StoreSide::Recorded(known)) if id == known => {
            Ok(EnrolmentStep::Complete(id.clone()))
        }
        (ServerSide::Enrolled(_), StoreSide::Absent) => refuse(format!(
            "server {name} is enrolled and the store does not know it: wrong region, account or prefix? Nothing is written until they agree"
        )),
        (ServerSide::Absent, StoreSide::Recorded(_)) => refuse(format!(
            "the store knows server {name}, and the server that answers was never enrolled: wrong endpoint, or an empty replacement? \
             Nothing is written until they agree"
        )),
        (ServerSide::Enrolling(_) | ServerSide::Enrolled(_), StoreSide::Recorded(_)) => refuse(format!(
            "server {name} and the store know each other by different ids: another server answers under this name. \
             Nothing is written until they agree"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_enrolment_is_resumed_wherever_it_stopped() {
        let id = || "id".to_owned();
        let next = |server, store| enrol("main", &server, &store).unwrap();
        assert_eq!(next(ServerSide::Absent, StoreSide::Absent), EnrolmentStep::MarkServer);
        assert_eq!(
            next(ServerSide::Enrolling(id()), StoreSide::Absent),
            EnrolmentStep::TellStore(id())
        );
        assert_eq!(
            next(ServerSide::Enrolling(id()), StoreSide::Recorded(id())),
            EnrolmentStep::Confirm(id())
        );
        assert_eq!(
            next(ServerSide::Enrolled(id()), StoreSide::Recorded(id())),
            EnrolmentStep::Complete(id())
        );
    }

    #[test]
    fn a_server_and_a_store_that_do_not_know_each_other_are_left_alone() {
        let id = || "id".to_owned();
        let other = || StoreSide::Recorded("other".into());
        for (server, store) in [
            (ServerSide::Enrolled(id()), StoreSide::Absent),
            (ServerSide::Absent, other()),
            (ServerSide::Enrolled(id()), other()),
            (ServerSide::Enrolling(id()), other()),
            (ServerSide::Foreign("x".into()), StoreSide::Absent),
            (ServerSide::Absent, StoreSide::Foreign("x".into())),
        ] {
            assert_eq!(
                enrol("main", &server, &store).unwrap_err().reason,
                Reason::NotEnrolled,
                "{server:?} {store:?}"
            );
        }
    }
}
