//! The operating system's numbers, in hwloc's three ways of writing them: a list (`0,2,1,3`), loops
//! from the innermost on (`2*2:1*2`: of every second object two, then of each one two), or the same
//! loops as names of levels (`core:pu`).

use super::parse::{Description, Kind, Level, Word};
use crate::cpuset::MAX_INDEX;
use crate::error::SyntheticError;

/// The numbers of a level's objects, if it has any.
pub(super) fn numbers(
    description: &Description,
    at: usize,
) -> Result<Option<Vec<u32>>, SyntheticError> {
    let level = &description.levels[at];
    let Some(word) = &level.indexes else {
        return Ok(None);
    };
    let unique = matches!(level.kind, Kind::Pu | Kind::NumaNode);
    read(word, level.width, &description.levels[..=at], unique).map(Some)
}

/// The numbers of all nodes in brackets, if there are any.
pub(super) fn numbers_of_attached(
    description: &Description,
) -> Result<Option<Vec<u32>>, SyntheticError> {
    let mut words = description.attached.iter().map(|node| &node.indexes);
    let Some(word) = words.find_map(Option::as_ref) else {
        return Ok(None);
    };
    let total = description.attached.iter().map(|node| node.width).sum();
    read(word, total, &[], true).map(Some)
}

/// How far apart, and how many.
type Loop = (usize, usize);

fn read(
    word: &Word,
    total: usize,
    levels: &[Level],
    unique: bool,
) -> Result<Vec<u32>, SyntheticError> {
    let is_list = word.text.chars().all(|c| c.is_ascii_digit() || c == ',');
    let numbers = if is_list {
        list(word, total)?
    } else {
        let begins_with_digit = word.text.starts_with(|c: char| c.is_ascii_digit());
        let loops =
            if begins_with_digit { counted_loops(word)? } else { named_loops(word, levels)? };
        interleave(word, total, loops)?
    };
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    if unique && sorted.windows(2).any(|two| two[0] == two[1]) {
        return Err(word.not("each number once"));
    }
    Ok(numbers)
}

fn list(word: &Word, total: usize) -> Result<Vec<u32>, SyntheticError> {
    let numbers: Option<Vec<u32>> = word.text.split(',').map(|n| n.parse().ok()).collect();
    let fits = |numbers: &Vec<u32>| {
        numbers.len() == total && numbers.iter().all(|&number| number <= MAX_INDEX)
    };
    numbers.filter(fits).ok_or_else(|| {
        word.not(format!("{total} numbers up to {MAX_INDEX} with commas between them"))
    })
}

/// `STEP*COUNT:STEP*COUNT`.
fn counted_loops(word: &Word) -> Result<Vec<Loop>, SyntheticError> {
    let one = |text: &str| -> Option<Loop> {
        let (step, count) = text.split_once('*')?;
        let pair = (step.parse().ok()?, count.parse().ok()?);
        (pair.0 > 0 && pair.1 > 0).then_some(pair)
    };
    let loops: Option<Vec<Loop>> = word.text.split(':').map(one).collect();
    loops.ok_or_else(|| word.not("STEP*COUNT:STEP*COUNT and so on, each at least 1"))
}

/// `core:pu`: over the cores of what is named further out (or of the machine), then over the PUs of
/// a core.
fn named_loops(word: &Word, levels: &[Level]) -> Result<Vec<Loop>, SyntheticError> {
    let total = levels.last().map_or(0, |level| level.width);
    let depth = |name: &str| {
        let kind = Kind::parse(name)?;
        levels.iter().position(|level| level.kind == kind)
    };
    let depths: Option<Vec<usize>> = word.text.split(':').map(depth).collect();
    let depths = depths.ok_or_else(|| {
        word.not(
            "numbers, STEP*COUNT, or names of this level and those before, with ':' between them",
        )
    })?;
    let as_loop = |&depth: &usize| {
        let width = levels[depth].width;
        let outer = depths.iter().filter(|&&other| other < depth).max();
        let outer = outer.map_or(1, |&outer| levels[outer].width);
        (total / width, width / outer)
    };
    Ok(depths.iter().map(as_loop).collect())
}

fn interleave(word: &Word, total: usize, mut loops: Vec<Loop>) -> Result<Vec<u32>, SyntheticError> {
    let wrong = || word.not(format!("loops that number {total} objects, each once"));
    let product = loops.iter().try_fold(1_usize, |product, &(_, count)| {
        product.checked_mul(count).filter(|&product| product <= total)
    });
    let covered = product.ok_or_else(wrong)?;
    if covered != total {
        // hwloc adds the innermost loop if only that is missing.
        let rest = total / covered;
        if loops.iter().map(|&(step, _)| step).min() != Some(rest) {
            return Err(wrong());
        }
        loops.push((1, rest));
    }
    let mut numbers = vec![0; total];
    let mut unit = 1;
    for (step, count) in loops {
        for (at, number) in numbers.iter_mut().enumerate() {
            *number += (at / step) % count * unit;
        }
        unit *= count;
    }
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..total) {
        return Err(wrong());
    }
    Ok(numbers.into_iter().map(|number| number as u32).collect())
}
