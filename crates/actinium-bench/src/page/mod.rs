//! todo
use crate::options::Options;
pub(crate) fn write(_options: &Options, _args: &[String]) -> Result<String, String> {
    Err(String::new())
}
