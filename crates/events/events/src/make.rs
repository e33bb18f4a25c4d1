//! What a factory of modules may return: a module, or an error.

use crate::cause::Cause;

/// The roles of modules, so that a factory's result is a module of that role.
pub(crate) mod role {
    macro_rules! roles {
        ($($role:ident)+) => {$(
            #[derive(Debug)]
            pub enum $role {}

            impl<M: crate::module::$role> super::Makes<$role> for M {
                type Module = M;
                fn made(self) -> Result<M, crate::cause::Cause> {
                    Ok(self)
                }
            }

            impl<M: crate::module::$role> super::Makes<$role> for Result<M, crate::cause::Cause> {
                type Module = M;
                fn made(self) -> Result<M, crate::cause::Cause> {
                    self
                }
            }
        )+};
    }

    roles! {
        Producer ProducerMut AsyncProducer Filter FilterMut AsyncFilter
        Analyzer AnalyzerMut AsyncAnalyzer Output OutputMut
        AsyncProducerMut AsyncFilterMut AsyncAnalyzerMut
    }
}

/// What a factory may return: a module of a role, or a `Result` with one and a [`Cause`].
pub trait Makes<Role> {
    /// The module.
    type Module;
    /// The module, or why it can not be made.
    ///
    /// # Errors
    /// The factory's.
    fn made(self) -> Result<Self::Module, Cause>;
}
