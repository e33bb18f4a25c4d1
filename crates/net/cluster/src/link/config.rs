//! The settings of a link.

use std::fmt;

/// The settings of a link. Both ends may differ in all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// Whether this node sends each frame again until it is acknowledged. If not, frames that the
    /// fabric loses stay lost, and each loss is reported once.
    pub reliable: bool,
    /// The largest number of data frames that are sent and not yet handled by the other node. This
    /// is the credit, and it bounds memory at both ends.
    pub window_frames: u32,
    /// The time after which a reliable link sends an unacknowledged frame again.
    pub resend_ns: u64,
    /// The longest time until a handled frame is acknowledged.
    pub acknowledge_ns: u64,
    /// The longest silence of a node that has nothing to say.
    pub heartbeat_ns: u64,
    /// The length of a silence after which the other node counts as down.
    pub down_after_ns: u64,
}

impl Default for LinkConfig {
    fn default() -> Self {
        LinkConfig {
            reliable: false,
            window_frames: 64,
            resend_ns: 20_000_000,
            acknowledge_ns: 1_000_000,
            heartbeat_ns: 100_000_000,
            down_after_ns: 1_000_000_000,
        }
    }
}

/// The setting for which a [`LinkConfig`] makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadConfig {
    /// The name of the setting.
    pub setting: &'static str,
    /// The value that the setting has.
    pub value: u64,
    /// The values that the setting may have, in words.
    pub allowed: String,
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: allowed is {}", self.setting, self.value, self.allowed)
    }
}

impl std::error::Error for BadConfig {}

/// More frames under way than any pair of nodes needs.
pub(crate) const WINDOW_FRAMES_MAX: u32 = 4096;

impl LinkConfig {
    /// Checks that the settings make sense.
    ///
    /// # Errors
    /// The first setting that does not.
    pub fn check(&self) -> Result<(), BadConfig> {
        let bad = |setting, value, allowed: &str| {
            Err(BadConfig { setting, value, allowed: allowed.to_owned() })
        };
        if !(1..=WINDOW_FRAMES_MAX).contains(&self.window_frames) {
            return bad("window_frames", self.window_frames.into(), "1 to 4096");
        }
        if self.resend_ns == 0 {
            return bad("resend_ns", 0, "1 or more");
        }
        if self.heartbeat_ns == 0 {
            return bad("heartbeat_ns", 0, "1 or more");
        }
        if self.down_after_ns < self.heartbeat_ns.saturating_mul(2) {
            return bad("down_after_ns", self.down_after_ns, "at least twice heartbeat_ns");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        assert_eq!(LinkConfig::default().check(), Ok(()));
        let default = LinkConfig::default;
        for (config, setting) in [
            (LinkConfig { window_frames: 0, ..default() }, "window_frames"),
            (LinkConfig { window_frames: 4097, ..default() }, "window_frames"),
            (LinkConfig { resend_ns: 0, ..default() }, "resend_ns"),
            (LinkConfig { heartbeat_ns: 0, ..default() }, "heartbeat_ns"),
            (LinkConfig { down_after_ns: 1, ..default() }, "down_after_ns"),
        ] {
            assert_eq!(config.check().unwrap_err().setting, setting);
        }
    }
}
