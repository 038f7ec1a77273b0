//! How blocks of instructions follow each other: the loops among them, and the way through a loop.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};

/// A graph of blocks; the first is where it begins.
pub struct Flow {
    successors: Vec<Vec<usize>>,
    /// The blocks that can be reached, each behind all that follow it but by a jump back.
    order: Vec<usize>,
    /// Jumps back: to the head of a loop, from where.
    back: BTreeMap<usize, Vec<usize>>,
}

/// A loop: where it begins, and its blocks.
#[derive(Debug, PartialEq, Eq)]
pub struct Loop {
    pub head: usize,
    pub blocks: BTreeSet<usize>,
}

impl Flow {
    pub fn new(successors: Vec<Vec<usize>>) -> Self {
        let states = vec![State::New; successors.len()];
        let mut flow = Self {
            successors,
            order: Vec::new(),
            back: BTreeMap::new(),
        };
        if !states.is_empty() {
            flow.visit(0, &mut { states });
        }
        flow
    }

    fn visit(&mut self, block: usize, states: &mut [State]) {
        states[block] = State::Open;
        for next in self.successors[block].clone() {
            match states[next] {
                State::New => self.visit(next, states),
                State::Open => self.back.entry(next).or_default().push(block),
                State::Done => {}
            }
        }
        states[block] = State::Done;
        self.order.push(block);
    }

    /// The loops: for each head, what leads back to it without passing it.
    pub fn loops(&self) -> Vec<Loop> {
        let mut before = vec![Vec::new(); self.successors.len()];
        for &block in &self.order {
            for &next in &self.successors[block] {
                before[next].push(block);
            }
        }
        let find = |(&head, ends): (&usize, &Vec<usize>)| {
            let mut blocks = BTreeSet::from([head]);
            let mut open = ends.clone();
            while let Some(block) = open.pop() {
                if blocks.insert(block) {
                    open.extend(&before[block]);
                }
            }
            Loop { head, blocks }
        };
        self.back.iter().map(find).collect()
    }

    /// One turn of a loop: of all ways from its head to a jump back, the one with the most `work`, and of these
    /// the one with the fewest instructions. `of` says both of a block.
    pub fn turn(&self, of_loop: &Loop, of: impl Fn(usize) -> (usize, usize)) -> Vec<usize> {
        let inside = |block: &usize| of_loop.blocks.contains(block);
        self.way(of_loop.head, inside, &self.back[&of_loop.head], of)
    }

    /// As [`Flow::turn`], from the beginning to one of `ends`.
    pub fn through(&self, ends: &[usize], of: impl Fn(usize) -> (usize, usize)) -> Vec<usize> {
        self.way(0, |_| true, ends, of)
    }

    fn way(
        &self,
        head: usize,
        inside: impl Fn(&usize) -> bool,
        ends: &[usize],
        of: impl Fn(usize) -> (usize, usize),
    ) -> Vec<usize> {
        // Of the best way from a block to the end: what is compared, and the block that follows.
        let mut best: BTreeMap<usize, ((usize, isize), Option<usize>)> = BTreeMap::new();
        for &block in self.order.iter().filter(|block| inside(block)) {
            let ways = self.successors[block].iter().filter_map(|next| {
                let is_back = self
                    .back
                    .get(next)
                    .is_some_and(|from| from.contains(&block));
                let rest = best.get(next).filter(|_| !is_back)?;
                Some((rest.0, Some(*next)))
            });
            let end = ends.contains(&block).then_some(((0, 0), None));
            if let Some((rest, next)) = ways.chain(end).max() {
                let (work, instructions) = of(block);
                let all = (rest.0 + work, rest.1 - instructions as isize);
                best.insert(block, (all, next));
            }
        }
        let mut way = vec![head];
        while let Some((_, Some(next))) = way.last().and_then(|block| best.get(block)) {
            way.push(*next);
        }
        way
    }
}

/// How far a walk has come with a block.
#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0, a loop of 1 to 5 with a short way by 2 and a long one by 3, around a loop of 4 alone, and 6.
    fn flow() -> Flow {
        Flow::new(vec![
            vec![1],
            vec![2, 3],
            vec![5],
            vec![4],
            vec![4, 5],
            vec![1, 6],
            vec![],
        ])
    }

    #[test]
    fn loops_lie_in_each_other() {
        let found = flow().loops();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].head, found[1].head), (1, 4));
        assert_eq!(found[0].blocks, BTreeSet::from([1, 2, 3, 4, 5]));
        assert_eq!(found[1].blocks, BTreeSet::from([4]));
    }

    #[test]
    fn a_turn_goes_where_the_work_is() {
        let flow = flow();
        let outer = &flow.loops()[0];
        let turn = |work: [usize; 7]| flow.turn(outer, |block| (work[block], 1));
        assert_eq!(turn([0, 1, 5, 0, 0, 1, 0]), [1, 2, 5]);
        assert_eq!(turn([0, 1, 5, 3, 3, 1, 0]), [1, 3, 4, 5]);
        // Fewer instructions, where the work is the same.
        assert_eq!(turn([0, 1, 0, 0, 0, 1, 0]), [1, 2, 5]);
        let inner = &flow.loops()[1];
        assert_eq!(flow.turn(inner, |_| (1, 1)), [4]);
        assert_eq!(flow.through(&[6], |_| (0, 1)), [0, 1, 2, 5, 6]);
    }
}
