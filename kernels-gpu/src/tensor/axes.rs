//! The loops over elements that a launch takes.

use diptych::backend::tensor::{List, Loop, MAX_OPERANDS};

/// A loop that runs once.
const ONCE: Loop = Loop {
    count: 1,
    steps: [0; MAX_OPERANDS],
};

/// The most columns of tiles, of which the grid has a block for each 256.
const MOST_COLUMNS: usize = 1 << 38;

/// Takes the loop with the greatest key; one that runs once if there is none.
pub fn take<K: Ord>(loops: &mut List<Loop>, key: impl Fn(&Loop) -> K) -> Loop {
    let best = loops.iter().enumerate().max_by_key(|(_, one)| key(one));
    let best = best.map(|(i, _)| i);
    best.and_then(|i| loops.remove(i)).unwrap_or(ONCE)
}

/// Takes up to three of the loops for a launch: those around tiles, those over their rows and over their columns. The
/// columns are the innermost loop, along which the output is contiguous if it is so along any. The rows are a loop along
/// which an input is contiguous, else the longest one. Around them goes the longest of the others.
pub fn take_axes(loops: &mut List<Loop>, reads_contiguously: impl Fn(&Loop) -> bool) -> [Loop; 3] {
    let columns = loops.remove(loops.len().wrapping_sub(1)).unwrap_or(ONCE);
    let rows = take(loops, |one| (reads_contiguously(one), one.count));
    let planes = take(loops, |one| one.count);
    [planes, rows, columns]
}

/// Takes a single row as a column, so that a thread has several of its elements in flight, and rows that are too long for
/// a grid as columns, of which there may be any number.
pub fn upright([planes, rows, columns]: [Loop; 3]) -> [Loop; 3] {
    if planes.count * rows.count == 1 || columns.count > MOST_COLUMNS {
        [planes, columns, rows]
    } else {
        [planes, rows, columns]
    }
}
