//! The costs of a run that do not depend on the time: instructions, and atomic read-modify-writes
//! among them.
//!
//! callgrind writes how often each instruction ran. Which of them lock memory is read from the
//! program itself.

use crate::child::Order;
use crate::run::{self, Limit};
use object::{Object, ObjectSegment};
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// The counts of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    /// Instructions of all threads.
    pub(crate) instructions: f64,
    /// Atomic read-modify-writes of the program itself, without those in the C library. 0 where the
    /// processor is no x86-64.
    pub(crate) atomics: f64,
}

/// Why nothing can be counted here, if so.
pub(crate) fn missing() -> Option<String> {
    let quiet =
        |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    match quiet(Command::new("valgrind").arg("--version")) {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("valgrind does not run: {status}")),
        Err(error) => Some(format!("valgrind does not run: {error}")),
    }
}

/// Runs a child under callgrind.
pub(crate) fn count(program: &Path, order: &Order, limit: Limit) -> Result<Counted, String> {
    // As the profile names it.
    let program = &program
        .canonicalize()
        .map_err(|error| format!("can not find {}: {error}", program.display()))?;
    let profile = std::env::temp_dir().join(format!("actinium-bench-{}", std::process::id()));
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--dump-instr=yes", "--dump-line=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg("--")
        .arg(program)
        .args(order.args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let ran = run::output(command, limit);
    let text = std::fs::read_to_string(&profile);
    // Nothing is lost if it was never written.
    let _ = std::fs::remove_file(&profile);
    ran?;
    let text = text.map_err(|error| format!("callgrind has written no profile: {error}"))?;
    let code = std::fs::read(program)
        .map_err(|error| format!("can not read {}: {error}", program.display()))?;
    let locked = |address| is_atomic(&code, address);
    tally(&text, &program.to_string_lossy(), locked)
        .ok_or_else(|| "callgrind's profile is not understood".to_owned())
}

/// Adds up a profile, `None` if it is none of this program: lines `0xADDRESS COUNT` below `ob=(1)
/// PROGRAM`, and a line of totals.
fn tally(profile: &str, program: &str, is_atomic: impl Fn(u64) -> bool) -> Option<Counted> {
    let mut counted = Counted::default();
    let (mut ours, mut seen_atomic, mut seen_plain) = ("", HashSet::new(), HashSet::new());
    let (mut inside, mut lines) = (false, profile.lines());
    while let Some(line) = lines.next() {
        if let Some(object) = line.strip_prefix("ob=").or_else(|| line.strip_prefix("cob=")) {
            // The first mention has the name behind the number, later ones, of a caller (ob) or a
            // callee (cob), the number only.
            let (number, name) = object.split_once(' ').unwrap_or((object, ""));
            if name == program {
                ours = number;
            }
            if line.starts_with("ob=") {
                inside = number == ours;
            }
        } else if line.starts_with("calls=") {
            // The next line is what the callee has cost; its own lines say it, too.
            lines.next();
        } else if let Some(rest) = line.strip_prefix("0x") {
            let (address, count) = rest.split_once(' ')?;
            if !inside {
                continue;
            }
            let address = u64::from_str_radix(address, 16).ok()?;
            if !seen_plain.contains(&address) && !seen_atomic.contains(&address) {
                if is_atomic(address) { &mut seen_atomic } else { &mut seen_plain }.insert(address);
            }
            if seen_atomic.contains(&address) {
                counted.atomics += count.trim().parse::<f64>().ok()?;
            }
        } else if let Some(total) = line.strip_prefix("totals:") {
            counted.instructions = total.trim().parse().ok()?;
        }
    }
    (counted.instructions > 0.0 && !ours.is_empty()).then_some(counted)
}

/// Whether the x86-64 instruction at this address of an ELF file locks memory: it has a LOCK
/// prefix, or is an XCHG with memory.
fn is_atomic(file: &[u8], address: u64) -> bool {
    const LONGEST: u64 = 15;
    let Ok(elf) = object::File::parse(file) else { return false };
    if elf.architecture() != object::Architecture::X86_64 {
        return false;
    }
    let bytes = (1..=LONGEST).rev().find_map(|length| {
        elf.segments().find_map(|segment| segment.data_range(address, length).ok().flatten())
    });
    bytes.is_some_and(locks)
}

fn locks(instruction: &[u8]) -> bool {
    let mut bytes = instruction.iter().copied();
    let mut byte = bytes.next();
    // Legacy prefixes: segments, operand and address size, repetition.
    while let Some(0x26 | 0x2E | 0x36 | 0x3E | 0x64 | 0x65 | 0x66 | 0x67 | 0xF2 | 0xF3) = byte {
        byte = bytes.next();
    }
    if byte == Some(0xF0) {
        return true;
    }
    // A REX prefix, then XCHG, whose operand in memory is locked without saying so.
    if let Some(0x40..=0x4F) = byte {
        byte = bytes.next();
    }
    let is_memory = |modrm: u8| modrm >> 6 != 0b11;
    matches!(byte, Some(0x86 | 0x87)) && bytes.next().is_some_and(is_memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_added_up() {
        let profile = "events: Ir\n\nob=(1) /lib/ld.so\nfn=(1) start\n0x10 5\ncob=(2) /the/program\ncalls=1 0x10\n0x11 9\n0x10 4\nob=(2)\nfn=(2) main\n\
                       0x10 7\ncob=(3) /lib/libc.so\ncfn=(1)\ncalls=3 0x10\n0x14 1000\n0x14 2\nob=(1)\n0x10 9\nob=(2)\n0x10 1\n\ntotals: 126375\n";
        let counted = tally(profile, "/the/program", |address| address == 0x10);
        assert_eq!(counted, Some(Counted { instructions: 126_375.0, atomics: 8.0 }));
        assert_eq!(tally(profile, "/another/program", |_| true), None);
        assert_eq!(tally("events: Ir\n", "/the/program", |_| false), None);
        assert_eq!(tally("ob=(1) p\n0x10\n", "p", |_| false), None);
    }

    #[test]
    fn instructions_that_lock_are_known() {
        let atomic: [&[u8]; 4] = [
            &[0xF0, 0x48, 0x0F, 0xC1, 0x07],       // lock xadd [rdi], rax
            &[0x66, 0xF0, 0x0F, 0xB1, 0x0F],       // lock cmpxchg [rdi], cx
            &[0x48, 0x87, 0x07],                   // xchg [rdi], rax
            &[0x86, 0x05, 0x00, 0x00, 0x00, 0x00], // xchg [rip], al
        ];
        assert!(atomic.into_iter().all(locks));
        let plain: [&[u8]; 4] = [
            &[0x48, 0x89, 0x07], // mov [rdi], rax
            &[0x48, 0x87, 0xC7], // xchg rdi, rax
            &[0x66, 0x90],       // nop
            &[],
        ];
        assert!(!plain.into_iter().any(locks));
    }
}
