//! The syntax: levels, attached nodes, attributes.

use crate::error::SyntheticError;
use crate::{CacheKind, MAX_PUS};

const KINDS: &str = "one of package, die, group, numa, l5 to l1 (also l1d, l1i), core, pu";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Package,
    Die,
    Group,
    NumaNode,
    Cache(u8, CacheKind),
    Core,
    Pu,
}

impl Kind {
    pub(super) fn parse(name: &str) -> Option<Kind> {
        let name = name.to_ascii_lowercase();
        Some(match name.as_str() {
            "package" | "pack" | "socket" => Kind::Package,
            "die" => Kind::Die,
            "group" => Kind::Group,
            "numanode" | "numa" | "node" => Kind::NumaNode,
            "core" => Kind::Core,
            "pu" => Kind::Pu,
            cache => {
                let cache = cache.strip_suffix("cache").unwrap_or(cache);
                let mut characters = cache.strip_prefix('l')?.chars();
                let level = characters.next()?.to_digit(10)?;
                let kind = match characters.as_str() {
                    "" | "u" => CacheKind::Unified,
                    "d" => CacheKind::Data,
                    "i" => CacheKind::Instruction,
                    _ => return None,
                };
                (1..=5).contains(&level).then_some(Kind::Cache(level as u8, kind))?
            }
        })
    }
}

/// A piece of the text, and the character where it stands, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) position: usize,
    pub(super) text: String,
}

impl Word {
    pub(super) fn not(&self, expected: impl Into<String>) -> SyntheticError {
        SyntheticError {
            position: self.position,
            found: self.text.chars().take(40).collect(),
            expected: expected.into(),
        }
    }
}

/// A level, or a node attached to one.
#[derive(Clone, Debug)]
pub(super) struct Level {
    pub(super) kind: Kind,
    /// How many in the whole machine.
    pub(super) width: usize,
    pub(super) memory_bytes: Option<u64>,
    pub(super) size_bytes: Option<u64>,
    pub(super) indexes: Option<Word>,
}

/// The levels of the text: at least one; the last is `pu`; each is as wide as the one before or a
/// multiple.
#[derive(Debug, Default)]
pub(super) struct Description {
    pub(super) levels: Vec<Level>,
    pub(super) attached: Vec<Level>,
}

impl Description {
    /// How many of the innermost level there are: in the end, of PUs.
    pub(super) fn width(&self) -> usize {
        self.levels.last().map_or(1, |level| level.width)
    }

    fn has(&self, kind: Kind) -> bool {
        self.levels.iter().any(|level| level.kind == kind)
    }
}

pub(super) fn parse(text: &str) -> Result<Description, SyntheticError> {
    let mut cursor = Cursor { text: text.chars().collect(), at: 0 };
    let mut description = Description::default();
    loop {
        cursor.skip_blanks();
        if cursor.at_end() {
            break;
        }
        let start = cursor.here();
        if description.has(Kind::Pu) {
            return Err(start.not("the end: pu is the last level"));
        }
        if cursor.take('[') {
            attached(&mut cursor, &mut description)?;
        } else {
            level(&mut cursor, &mut description)?;
        }
    }
    if !description.has(Kind::Pu) {
        return Err(cursor.here().not("pu:COUNT as the last level"));
    }
    Ok(description)
}

fn level(cursor: &mut Cursor, description: &mut Description) -> Result<(), SyntheticError> {
    let name = cursor.word(char::is_alphanumeric);
    let kind = Kind::parse(&name.text).ok_or_else(|| cursor.or_here(&name).not(KINDS))?;
    if kind != Kind::Group && description.has(kind) {
        return Err(name.not("each kind of level once"));
    }
    if kind == Kind::NumaNode && !description.attached.is_empty() {
        return Err(name.not("NUMA nodes either as a level or in brackets"));
    }
    cursor.expect(':', "':' and a count")?;
    let count = cursor.word(|c| c.is_ascii_digit());
    let before = description.width();
    let width = count.text.parse::<usize>().ok();
    let width = width.and_then(|count| before.checked_mul(count));
    let width = width.filter(|width| (1..=MAX_PUS).contains(width));
    let width = width.ok_or_else(|| {
        let at_most = MAX_PUS / before;
        cursor.or_here(&count).not(format!("a count from 1 to {at_most} (at most {MAX_PUS} PUs)"))
    })?;
    let level = attributes(cursor, kind, width)?;
    cursor.expect_end_of_item()?;
    description.levels.push(level);
    Ok(())
}

/// Behind `[`.
fn attached(cursor: &mut Cursor, description: &mut Description) -> Result<(), SyntheticError> {
    cursor.skip_blanks();
    let name = cursor.word(char::is_alphanumeric);
    if Kind::parse(&name.text) != Some(Kind::NumaNode) {
        return Err(cursor.or_here(&name).not("numa"));
    }
    if description.has(Kind::NumaNode) {
        return Err(name.not("NUMA nodes either as a level or in brackets"));
    }
    let width = description.width();
    let before: usize = description.attached.iter().map(|node| node.width).sum();
    if before + width > MAX_PUS {
        return Err(name.not(format!("at most {MAX_PUS} NUMA nodes")));
    }
    let node = attributes(cursor, Kind::NumaNode, width)?;
    if let Some(indexes) = &node.indexes
        && description.attached.iter().any(|node| node.indexes.is_some())
    {
        return Err(indexes.not("indexes once: they are for all nodes in brackets"));
    }
    cursor.skip_blanks();
    cursor.expect(']', "']'")?;
    description.attached.push(node);
    Ok(())
}

fn attributes(cursor: &mut Cursor, kind: Kind, width: usize) -> Result<Level, SyntheticError> {
    let mut level = Level { kind, width, memory_bytes: None, size_bytes: None, indexes: None };
    if !cursor.take('(') {
        return Ok(level);
    }
    let allowed = match kind {
        Kind::NumaNode => "memory=, indexes= or ')'",
        Kind::Cache(..) => "size= or ')'",
        Kind::Package | Kind::Core | Kind::Pu => "indexes= or ')'",
        Kind::Die | Kind::Group => "')'",
    };
    let has_index = matches!(kind, Kind::NumaNode | Kind::Package | Kind::Core | Kind::Pu);
    loop {
        cursor.skip(|c| c.is_whitespace() || c == ',');
        if cursor.take(')') {
            return Ok(level);
        }
        let key = cursor.word(char::is_alphanumeric);
        let bytes = match (key.text.as_str(), kind) {
            ("memory", Kind::NumaNode) => &mut level.memory_bytes,
            ("size", Kind::Cache(..)) => &mut level.size_bytes,
            ("indexes", _) if has_index => {
                cursor.expect('=', "'='")?;
                level.indexes = Some(cursor.value());
                continue;
            }
            _ => return Err(cursor.or_here(&key).not(allowed)),
        };
        cursor.expect('=', "'='")?;
        let value = cursor.value();
        let size = size(&value.text).ok_or_else(|| {
            cursor.or_here(&value).not("a size such as 4096, 32KiB, 64MB or 16GiB")
        })?;
        *bytes = Some(size);
    }
}

/// Units as hwloc has them: `KB` is 1,000, `KiB` is 1,024.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return None,
    };
    let number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| number)?;
    number.checked_mul(unit)
}

struct Cursor {
    text: Vec<char>,
    at: usize,
}

impl Cursor {
    fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&skipped) {
            self.at += 1;
        }
    }

    fn skip_blanks(&mut self) {
        self.skip(char::is_whitespace);
    }

    fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, expected: char, name: &str) -> Result<(), SyntheticError> {
        if self.take(expected) {
            return Ok(());
        }
        Err(self.here().not(name))
    }

    /// After a level comes a blank, a bracket or the end.
    fn expect_end_of_item(&self) -> Result<(), SyntheticError> {
        match self.peek() {
            Some(c) if !c.is_whitespace() && c != '[' => {
                Err(self.here().not("a blank, '(', '[' or the end"))
            }
            _ => Ok(()),
        }
    }

    fn word(&mut self, of: impl Fn(char) -> bool) -> Word {
        let start = self.at;
        self.skip(of);
        self.since(start)
    }

    /// An attribute's value: up to a blank, `)`, or a comma before the next attribute.
    fn value(&mut self) -> Word {
        let start = self.at;
        while let Some(c) = self.peek() {
            let mut rest = self.text[self.at + 1..].iter();
            let next = rest.find(|c| !c.is_whitespace());
            let next_attribute = c == ',' && next.is_none_or(|next| !next.is_ascii_digit());
            if c.is_whitespace() || c == ')' || c == ']' || next_attribute {
                break;
            }
            self.at += 1;
        }
        self.since(start)
    }

    fn since(&self, start: usize) -> Word {
        Word { position: start + 1, text: self.text[start..self.at].iter().collect() }
    }

    /// The text from here up to the next blank.
    fn here(&self) -> Word {
        let rest = self.text[self.at..].iter();
        Word { position: self.at + 1, text: rest.take_while(|c| !c.is_whitespace()).collect() }
    }

    /// The word, or if it is empty, what stands here instead.
    fn or_here(&self, word: &Word) -> Word {
        if word.text.is_empty() { self.here() } else { word.clone() }
    }
}
