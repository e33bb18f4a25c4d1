//! Seats: the PU that each worker is bound to, so that no two share one by accident.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use crate::bind::{self, BindError};
use crate::claims::{self, Claim, Claims};
use crate::{CpuSet, PuId, Topology, bind_current_thread, bind_current_thread_to};

/// The environment variable that says how workers are bound, where the program does not.
const VARIABLE: &str = "ACTINIUM_BIND";

/// How workers are bound to PUs.
///
/// ```
/// use actinium_topology::Bind;
///
/// assert_eq!("auto".parse(), Ok(Bind::Auto));
/// assert_eq!("none".parse(), Ok(Bind::None));
/// let some: Bind = "0-3,8".parse()?;
/// assert_eq!((&some, some.to_string()), (&Bind::To("0-3,8".parse().unwrap()), "0-3,8".to_owned()));
/// # Ok::<(), actinium_topology::WrongBind>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bind {
    /// Each worker to a PU that nobody else has claimed, as far as there are any; the others are
    /// left to the operating system.
    #[default]
    Auto,
    /// No worker to any: the operating system places them on the PUs that the process may use.
    None,
    /// Binds like `Auto`, but to these PUs only.
    To(CpuSet),
}

impl Bind {
    /// The value of `ACTINIUM_BIND`, if it is set.
    ///
    /// # Errors
    /// If it has a value that is not allowed.
    pub fn from_env() -> Result<Option<Bind>, WrongBind> {
        let text = std::env::var_os(VARIABLE);
        let parse = |text: std::ffi::OsString| text.to_string_lossy().parse();
        text.map(parse).transpose().map_err(|error: WrongBind| WrongBind { of: VARIABLE, ..error })
    }

    /// How many workers make use of all PUs, of which the process may use so many.
    #[must_use]
    pub fn most(&self, usable: usize) -> usize {
        match self {
            Bind::To(list) => usable.min(list.len()),
            Bind::Auto | Bind::None => usable,
        }
    }

    /// Whether this process may use what is listed.
    ///
    /// # Errors
    /// If there are PUs in the list that are not on this machine, or not in the process's cpuset:
    /// the error names them.
    pub fn check(&self, machine: &Topology) -> Result<(), WrongBind> {
        let Bind::To(list) = self else { return Ok(()) };
        let wrong = list.difference(machine.allowed());
        if !wrong.is_empty() || list.is_empty() {
            let there: CpuSet = machine.pus().iter().map(|pu| pu.id).collect();
            let why = match wrong.difference(&there) {
                _ if list.is_empty() => "it names no PU".to_owned(),
                missing if !missing.is_empty() => format!("{} not there", pus(&missing)),
                _ => format!("{} not in the process's cpuset", pus(&wrong)),
            };
            let value = self.to_string();
            return Err(WrongBind { of: "bind", value, allowed: allowed(Some(why), machine) });
        }
        Ok(())
    }
}

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bind::Auto => f.write_str("auto"),
            Bind::None => f.write_str("none"),
            Bind::To(list) => list.fmt(f),
        }
    }
}

impl FromStr for Bind {
    type Err = WrongBind;

    fn from_str(text: &str) -> Result<Bind, WrongBind> {
        match text {
            "auto" => Ok(Bind::Auto),
            "none" => Ok(Bind::None),
            list => match list.parse::<CpuSet>() {
                Ok(list) if !list.is_empty() => Ok(Bind::To(list)),
                _ => {
                    // Who can not look at the machine is told the rest.
                    let allowed = Topology::detect()
                        .map_or_else(|_| FORM.to_owned(), |machine| allowed(None, &machine));
                    Err(WrongBind { of: "bind", value: list.to_owned(), allowed })
                }
            },
        }
    }
}

const FORM: &str = "auto, none, or a list of PUs such as '0-3,8'";

fn allowed(why: Option<String>, machine: &Topology) -> String {
    let why = why.map(|why| format!("{why}: ")).unwrap_or_default();
    let count = machine.pus().len();
    format!("{why}{FORM}; this process may use the PUs {} of {count}", machine.allowed())
}

fn pus(set: &CpuSet) -> String {
    let (plural, are) = if set.len() == 1 { ("", "is") } else { ("s", "are") };
    format!("PU{plural} {set} {are}")
}

/// A [`Bind`] that is not allowed, or not a [`Bind`] at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrongBind {
    /// The setting, or the environment variable that it came from.
    pub of: &'static str,
    /// The value.
    pub value: String,
    /// The fault, the allowed values, and the PUs that this process may use.
    pub allowed: String,
}

impl fmt::Display for WrongBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not allowed: {}", self.value, self.allowed)
    }
}

impl std::error::Error for WrongBind {}

/// A PU that one worker's thread is bound to. It is claimed as long as it lives, or a clone of it:
/// it is for the thread to keep until it ends.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The PUs that it may run on if it has none of its own: those that the process may use. `None`
    /// on a machine that is only made believe.
    pus: Option<CpuSet>,
    claim: Option<(PuId, Arc<Claim>)>,
}

impl Seat {
    /// The PU, if it has one.
    #[must_use]
    pub fn pu(&self) -> Option<PuId> {
        self.claim.as_ref().map(|(pu, _)| *pu)
    }

    /// Binds the calling thread. One without a PU may then run wherever the process may, though the
    /// thread that has made it be bound.
    ///
    /// # Errors
    /// The same as for [`bind_current_thread`]: the thread goes on as before.
    pub fn bind_current_thread(&self) -> Result<(), BindError> {
        match (self.pu(), &self.pus) {
            (Some(pu), _) => bind_current_thread(pu),
            (None, Some(pus)) if bind::affinity(0).as_ref() != Ok(pus) => {
                bind_current_thread_to(pus)
            }
            (None, _) => Ok(()),
        }
    }
}

/// A seat for each worker. Clones are the same seats: who gives them to several systems has these
/// share PUs on purpose.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Seats {
    /// In the workers' order. Those that have a PU come first.
    pub seats: Vec<Seat>,
    /// Why workers have no PU, if not because others have claimed what there is.
    pub remarks: Vec<String>,
}

impl Seats {
    /// Seats for `n` workers that bind nothing.
    #[must_use]
    pub fn unbound(n: usize) -> Seats {
        Seats { seats: vec![Seat { pus: None, claim: None }; n], remarks: Vec::new() }
    }

    /// The seats of the first `n` workers, without remarks. If there are fewer seats, the rest bind
    /// nothing.
    #[must_use]
    pub fn first(&self, n: usize) -> Seats {
        let nowhere = Seat { pus: None, claim: None };
        let seats = self.seats.iter().cloned().chain(std::iter::repeat(nowhere));
        Seats { seats: seats.take(n).collect(), remarks: Vec::new() }
    }

    /// The PU of each worker.
    #[must_use]
    pub fn pus(&self) -> Vec<Option<PuId>> {
        self.seats.iter().map(Seat::pu).collect()
    }
}

impl Topology {
    /// Seats for `n` workers of this process on this machine, each with a claim that ends with the
    /// seat.
    ///
    /// Claims are locks on files in a folder of the user's own (`ACTINIUM_CLAIMS`, or else
    /// `/tmp/actinium-UID`), so they hold between processes of one user that see the same folder. A
    /// process that dies frees its claims. PUs are taken in the order of [`Topology::choose_pus`];
    /// where there are fewer PUs than workers none is bound, whoever has claimed them.
    ///
    /// ```
    /// use actinium_topology::{Bind, Topology};
    ///
    /// let machine = Topology::detect()?;
    /// let (mine, yours) = (machine.seats(&Bind::Auto, 1)?, machine.seats(&Bind::Auto, 1)?);
    /// let pus = (mine.pus()[0], yours.pus()[0]);
    /// assert!(pus.0 != pus.1 || pus.0.is_none()); // never one PU for both
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If PUs are listed that the process may not use.
    pub fn seats(&self, bind: &Bind, n: usize) -> Result<Seats, WrongBind> {
        self.seats_by(bind, n, &claims::folder())
    }

    /// Where [`Topology::seats`] would put workers if nobody had claimed anything: for machines
    /// that are only made believe.
    ///
    /// # Errors
    /// The same as there.
    pub fn unclaimed_pus(&self, bind: &Bind, n: usize) -> Result<Vec<Option<PuId>>, WrongBind> {
        let pus = self.candidates(bind)?.filter(|pus| pus.len() >= n);
        let pus = pus.map(|pus| pus.into_iter().take(n).map(Some).collect());
        Ok(pus.unwrap_or_else(|| vec![None; n]))
    }

    /// The PUs that may be had, the best first; `None` if none is wanted.
    fn candidates(&self, bind: &Bind) -> Result<Option<Vec<PuId>>, WrongBind> {
        bind.check(self)?;
        Ok(match bind {
            Bind::None => None,
            Bind::Auto => Some(self.ranked_pus()),
            Bind::To(list) => Some(self.clone().with_allowed(list).ranked_pus()),
        })
    }

    fn seats_by(&self, bind: &Bind, n: usize, folder: &Path) -> Result<Seats, WrongBind> {
        let mut remarks = Vec::new();
        let mut claims = Vec::new();
        if let Some(pus) = self.candidates(bind)? {
            match self.claim(&pus, n, folder) {
                Ok(got) => claims = got,
                Err(why) => remarks.push(why),
            }
            let listed = matches!(bind, Bind::To(_)) && remarks.is_empty();
            if listed && claims.len() < n {
                let without = n - claims.len();
                remarks.push(format!(
                    "bind: other systems have claimed PUs of {bind}: {without} of {n} workers run unbound"
                ));
            }
        }
        let bound = |(pu, claim)| Seat { pus: None, claim: Some((pu, Arc::new(claim))) };
        let mut seats: Vec<Seat> = claims.into_iter().map(bound).collect();
        seats.resize(n, Seat { pus: Some(self.allowed.clone()), claim: None });
        Ok(Seats { seats, remarks })
    }

    fn claim(&self, pus: &[PuId], n: usize, folder: &Path) -> Result<Vec<(PuId, Claim)>, String> {
        if n > pus.len() {
            // Two threads bound to the same PU could not make way for each other while another PU
            // idles.
            return Err(format!(
                "{n} workers on {} PUs: they run unbound and share them",
                pus.len()
            ));
        }
        // Better once than by each worker: a security policy forbids it to all of them.
        bind::is_permitted().map_err(|error| format!("workers run unbound: {error}"))?;
        let unusable = |error| claims::unusable(folder, &error);
        let all = Claims::open(folder).map_err(unusable)?;
        let mut claimed = Vec::new();
        for &pu in pus.iter() {
            if claimed.len() == n {
                break;
            }
            if let Some(claim) = all.take(pu).map_err(unusable)? {
                claimed.push((pu, claim));
            }
        }
        Ok(claimed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::thread;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    fn machine() -> Topology {
        Topology::synthetic("package:2 core:2 pu:1").unwrap()
    }

    fn numbers(seats: &Seats) -> Vec<Option<u32>> {
        seats.pus().into_iter().map(|pu| pu.map(|pu| pu.0)).collect()
    }

    #[test]
    fn a_wish_is_read_as_it_is_written() {
        for text in ["auto", "none", "0", "0-3,8"] {
            assert_eq!(text.parse::<Bind>().unwrap().to_string(), text);
        }
        assert_eq!(Bind::default(), Bind::Auto);
        let allowed = Topology::detect().unwrap().allowed().to_string();
        for text in ["", "AUTO", "true", "3-1", "0,x", "-1"] {
            let error = text.parse::<Bind>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("'{text}' is not allowed: auto, none, or")),
                "{error}"
            );
            assert!(error.contains(&format!("may use the PUs {allowed} of ")), "{error}");
        }
    }

    #[test]
    fn systems_divide_the_pus_and_give_them_back() {
        let (machine, folder) = (machine(), Folder::new());
        let folder = folder.path().join("claims");
        let seats = |bind, n| machine.seats_by(&bind, n, &folder).unwrap();
        let first = seats(Bind::Auto, 1);
        assert_eq!(numbers(&first), [Some(0)]);
        let second = seats(Bind::To(set("0-2")), 2);
        assert_eq!(numbers(&second), [Some(1), Some(2)]);
        let third = seats(Bind::Auto, 2);
        assert_eq!((numbers(&third), &third.remarks), (vec![Some(3), None], &Vec::new()));
        // Who lists what others have is told.
        let fourth = seats(Bind::To(set("3")), 1);
        assert_eq!(numbers(&fourth), [None]);
        assert!(fourth.remarks[0].contains("claimed PUs of 3: 1 of 1"), "{:?}", fourth.remarks);
        // Whoever has a clone has the claim.
        let clone = second.first(1);
        drop(second);
        assert_eq!(numbers(&seats(Bind::Auto, 3)), [Some(2), None, None]);
        drop(clone);
        assert_eq!(numbers(&seats(Bind::Auto, 3)), [Some(1), Some(2), None]);
        assert_eq!(numbers(&seats(Bind::None, 2)), [None, None]);
    }

    #[test]
    fn more_workers_than_pus_claim_nothing() {
        let (machine, folder) = (machine(), Folder::new());
        let folder = folder.path().join("claims");
        for (bind, n) in [(Bind::Auto, 5), (Bind::To(set("1-2")), 3)] {
            let seats = machine.seats_by(&bind, n, &folder).unwrap();
            assert!(numbers(&seats).iter().all(Option::is_none));
            assert!(seats.remarks[0].contains("PUs: they run unbound"), "{:?}", seats.remarks);
        }
        assert!(numbers(&machine.seats_by(&Bind::Auto, 4, &folder).unwrap())[3].is_some());
    }

    #[test]
    fn what_can_not_be_used_is_named() {
        let (machine, folder) = (machine().with_allowed(&set("0-1,3")), Folder::new());
        for (list, why) in [
            ("7,9", "'7,9' is not allowed: PUs 7,9 are not there: "),
            ("0,2", "'0,2' is not allowed: PU 2 is not in the process's cpuset: "),
        ] {
            let bind = Bind::To(set(list));
            let error = machine.seats_by(&bind, 1, folder.path()).unwrap_err();
            assert_eq!(machine.unclaimed_pus(&bind, 1).unwrap_err(), error);
            let text = error.to_string();
            assert!(text.starts_with(why), "{text}");
            assert!(text.ends_with("this process may use the PUs 0-1,3 of 4"), "{text}");
        }
        assert!(machine.seats_by(&Bind::To(CpuSet::new()), 1, folder.path()).is_err());
    }

    #[test]
    fn without_a_folder_nobody_is_bound_and_it_is_said() {
        let folder = Folder::new();
        folder.write("claims", "no folder");
        let path = folder.path().join("claims");
        for bind in [Bind::Auto, Bind::To(set("0"))] {
            let seats = machine().seats_by(&bind, 1, &path).unwrap();
            assert_eq!(numbers(&seats), [None]);
            let remark = &seats.remarks[0];
            assert!(remark.contains(path.to_str().unwrap()), "{remark}");
            assert!(remark.contains("ACTINIUM_CLAIMS"), "{remark}");
        }
    }

    #[test]
    fn a_machine_that_is_made_believe_is_not_claimed() {
        let pus = |bind, n| machine().unclaimed_pus(&bind, n).unwrap();
        assert_eq!(pus(Bind::Auto, 2), [Some(PuId(0)), Some(PuId(1))]);
        assert_eq!(pus(Bind::To(set("2-3")), 2), [Some(PuId(2)), Some(PuId(3))]);
        assert_eq!(pus(Bind::None, 2), [None, None]);
        assert_eq!(pus(Bind::Auto, 5), [None; 5]);
    }

    #[test]
    fn a_thread_sits_where_its_seat_is() {
        let (machine, folder) = (Topology::detect().unwrap(), Folder::new());
        let path = folder.path().join("claims");
        let masks = thread::spawn(move || {
            let bound = machine.seats_by(&Bind::Auto, 1, &path).unwrap();
            bound.seats[0].bind_current_thread().unwrap();
            let first = bind::affinity(0).unwrap();
            assert_eq!(first, bound.seats[0].pu().unwrap().into());
            // What it makes inherits that, unless it has a seat of its own.
            let unbound = machine.seats_by(&Bind::None, 1, &path).unwrap();
            let made = thread::spawn(move || {
                unbound.seats[0].bind_current_thread().unwrap();
                bind::affinity(0).unwrap()
            });
            (made.join().unwrap(), machine.allowed().clone())
        });
        let (mask, allowed) = masks.join().unwrap();
        assert_eq!(mask, allowed);
    }
}
