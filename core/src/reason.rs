//! The closed vocabulary. A reason appears, spelled the same, as condition reason, event reason, metric label and log field;
//! nothing else may. Adding one breaks the build wherever somebody has to think about it.

use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// Why a tenant is as it is, or why a step did not happen.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason { $($(#[$doc])* $name),+ }

        impl Reason {
            /// Every reason there is: for the reference documentation and for metrics that start at zero.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The spelling used everywhere.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }
        }
    };
}

reasons! {
    /// Everything is there and every published credential logs in.
    Provisioned,
    /// Work is under way and nothing is wrong.
    Provisioning,
    /// `suspend: true`: observed and reported, nothing written.
    Suspended,

    /// The tenant's or an app's name breaks a rule of the alphabet.
    InvalidName,
    /// A name derived from the tenant's would be longer than the server keeps.
    NameTooLong,
    /// The name belongs to PostgreSQL, RDS, AWS or Ramparts.
    ReservedName,
    /// `spec.plan` names no plan of the settings.
    UnknownPlan,
    /// `spec.apps` names no app of the settings.
    UnknownApp,
    /// A placement names no database or cache of the settings.
    UnknownPlacement,
    /// `spec.placement` differs from what the ledger fixed.
    PlacementMismatch,
    /// The manifest asks for something that this version does not do.
    NotSupported,
    /// The record would not fit into a parameter of this tier.
    RecordTooLarge,
    /// All 9999 record numbers are used.
    LedgerFull,

    /// Nothing is asked for: every app is removed or has to be added.
    NoApps,
    /// More numbers have no record than a crash or a slip leaves behind.
    RecordsMissing,

    /// Something with this name exists and does not bear our mark.
    NotOwned,
    /// Another claimant took this tenant over.
    Superseded,
    /// A login or cache user of ours exists whose password is in no record and no copy.
    CredentialLost,
    /// The stored credential is refused, or its login was disabled by another's hand.
    CredentialDrift,
    /// Ledger and published copy give one record different values.
    CredentialConflict,
    /// The database is gone though this tenant once had it.
    DatabaseLost,
    /// A published copy points at an endpoint that the settings no longer name.
    EndpointChanged,

    /// Server and store do not know each other.
    NotEnrolled,
    /// A record or copy of ours cannot be understood.
    Malformed,
    /// The store could not be read or written.
    StoreUnreachable,
    /// The database server could not be reached.
    DatabaseUnreachable,
    /// The cache, or its API, could not be reached.
    CacheUnreachable,
    /// A service refused us: a permission is missing.
    AccessDenied,
    /// A service asked us to slow down.
    Throttled,
    /// A quota of a service is used up.
    QuotaExceeded,
    /// The tenant's lock is held by another pass.
    Locked,
    /// Another writer was faster; the next pass looks again.
    LostRace,
    /// A record that must be there was not shown yet by the store.
    LedgerStale,
    /// A cache user is still being made by the service.
    CacheUserPending,
    /// The user group is being changed by the service.
    UserGroupPending,
    /// The server refused a login; whether that is drift is decided by what else was seen.
    LoginRefused,
    /// The login's VALID UNTIL has passed.
    LoginExpired,
    /// A server answered something that we did not expect.
    Unexpected,
    /// An invariant of this program does not hold: a bug.
    Defect,

    /// Event: a ledger record was committed.
    RecordCommitted,
    /// Event: a database was created, closed to others, or prepared.
    DatabaseChanged,
    /// Event: a role was created or configured.
    RoleChanged,
    /// Event: a cache user was created or joined its group.
    CacheUserChanged,
    /// Event: a copy was published.
    Published,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
