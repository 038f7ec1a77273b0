//! A list of limited length, without allocation and without code that can panic.

use core::mem::MaybeUninit;

/// The largest rank of a tensor: that of NumPy and PyTorch.
pub const MAX_RANK: usize = 64;

/// A list of at most [`MAX_RANK`] items, one for each axis.
pub struct List<T: Copy> {
    len: usize,
    items: MaybeUninit<[T; MAX_RANK]>,
}

impl<T: Copy> List<T> {
    /// Returns an empty list.
    #[inline(always)]
    pub const fn new() -> Self {
        // Field by field: the compiler fills an uninitialised field of a constant with zeros.
        let mut list = MaybeUninit::<Self>::uninit();
        // SAFETY: `len` lies in the list; the items may be uninitialised.
        unsafe {
            (&raw mut (*list.as_mut_ptr()).len).write(0);
            list.assume_init()
        }
    }

    /// Appends an item. There must be room for it, else it is lost: lists have an item for each axis, and the rank of
    /// a tensor is checked first.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.len < MAX_RANK {
            // SAFETY: the list has room for it.
            unsafe {
                self.items
                    .as_mut_ptr()
                    .cast::<T>()
                    .add(self.len)
                    .write(item)
            };
            self.len += 1;
        }
    }

    /// Drops all items but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Removes an item and returns it, if there is one with this index.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        let item = *self.get(index)?;
        if let Some(tail) = self.get_mut(index..) {
            tail.rotate_left(1);
        }
        self.len -= 1;
        Some(item)
    }

    /// Keeps the items for which `keeps` is true.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&T) -> bool) {
        let mut kept: usize = 0;
        for i in 0..self.len {
            let item = self.get(i).copied().filter(&keeps);
            if let (Some(item), Some(slot)) = (item, self.get_mut(kept)) {
                *slot = item;
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Merges neighbouring items of which `both` makes one.
    pub(crate) fn merge(&mut self, both: impl Fn(&T, &T) -> Option<T>) {
        let mut merged: usize = 0;
        for i in 0..self.len {
            let Some(&inner) = self.get(i) else {
                break;
            };
            let last = merged.checked_sub(1).and_then(|last| self.get_mut(last));
            if let Some(outer) = last
                && let Some(one) = both(outer, &inner)
            {
                *outer = one;
            } else if let Some(next) = self.get_mut(merged) {
                *next = inner;
                merged += 1;
            }
        }
        self.truncate(merged);
    }

    /// Sorts by a key, and keeps the order of equal items. (The sort of `core` has code that can panic.)
    pub fn sort_by_key<K: PartialOrd>(&mut self, key: impl Fn(&T) -> K) {
        for end in 1..self.len {
            for i in (1..=end).rev() {
                let Some([a, b]) = self.get_mut(i - 1..=i) else {
                    break;
                };
                if key(a) <= key(b) {
                    break;
                }
                core::mem::swap(a, b);
            }
        }
    }
}

impl<T: Copy> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> core::ops::Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` items, at most all, have been written.
        unsafe { core::slice::from_raw_parts(self.items.as_ptr().cast(), self.len) }
    }
}

impl<T: Copy> core::ops::DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts_mut(self.items.as_mut_ptr().cast(), self.len) }
    }
}

impl<T: Copy> Clone for List<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        self.iter().for_each(|&item| copy.push(item));
        copy
    }
}
