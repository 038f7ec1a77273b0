//! The resources of the kernels as ptxas reports them, with which plans must agree.
#![forbid(unsafe_code)]

use diptych_device::launch::entry::ALL;
use diptych_device::table::Entry;

/// Registers of each quarter of a multiprocessor, whose warps have no others. They are allocated to a warp 256 at a time.
const REGISTERS: usize = 16384;

/// Returns the blocks of a kernel that fit on a multiprocessor of an H100 by their registers; `None` if there is no such
/// kernel.
pub fn resident_blocks(name: &str) -> Option<usize> {
    let named = |entry: &&&Entry| entry.names().any(|of_type| of_type == name);
    let threads = ALL.iter().find(named)?.threads as usize;
    let table = include_str!("../../ptx/RESOURCES.md");
    let lines = table.lines().map(|line| line.split('|').map(str::trim));
    let rows: Vec<Vec<&str>> = lines.map(Iterator::collect).collect();
    let head = rows.iter().find(|row| row.contains(&"sm_90")).unwrap();
    let column = head.iter().position(|cell| *cell == "sm_90").unwrap();
    let row = rows.iter().find(|row| row.contains(&name)).unwrap();
    let registers: usize = row[column].parse().unwrap();
    let warps = 4 * (REGISTERS / (32 * registers.next_multiple_of(8)));
    Some(warps * 32 / threads)
}
