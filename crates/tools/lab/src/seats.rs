//! The seats of workers: the PUs that they are bound to, the same for all systems that an
//! experiment compares.

use crate::Failure;
use actinium::Bind;
use actinium::topology::{PuId, Seats};
use actinium_app::machine;

/// The seats that all compared systems have. Either each worker has a PU, or none, and a remark
/// says why.
///
/// # Errors
/// If this machine can not be looked at, or the process may not use what is listed.
pub fn seats(bind: &Bind, workers: usize) -> Result<Seats, Failure> {
    let machine = machine()?;
    let seats = |bind| machine.seats(bind, workers);
    let wrong = |error| Failure::Asked(format!("--bind: {error}"));
    let some = seats(bind).map_err(wrong)?;
    if is_bound(&some) {
        return Ok(some);
    }
    let mut none = seats(&Bind::None).map_err(wrong)?;
    none.remarks = match (bind, some.remarks) {
        (Bind::None, _) => vec![format!("{workers} run unbound: --bind says so")],
        (_, remarks) if !remarks.is_empty() => remarks,
        _ => vec![format!("{workers} run unbound: other programs have claimed PUs")],
    };
    Ok(none)
}

/// Whether each worker has a PU.
#[must_use]
pub fn is_bound(seats: &Seats) -> bool {
    seats.pus().iter().all(Option::is_some)
}

/// The PU of each worker, for people.
#[must_use]
pub fn text(pus: &[Option<PuId>]) -> String {
    let name = |pu: &Option<PuId>| pu.map_or("unbound".to_owned(), |pu| pu.to_string());
    pus.iter().map(name).collect::<Vec<_>>().join(" ")
}
