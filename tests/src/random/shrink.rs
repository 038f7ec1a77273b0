//! A smaller input that fails too: a shorter one, or one with more zeros, which select the simplest choices.

use std::any::Any;
use std::panic;

/// The most inputs to try.
const TRIES: usize = 300;

/// Returns the problem of the smallest input that was found; `problem` is that of `data`.
pub fn smallest(
    mut data: Vec<u8>,
    mut problem: String,
    attempt: impl Fn(&[u8]) -> Result<(), String>,
) -> String {
    // The failures on the way say nothing new.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let mut tries = 0;
    let mut fails = |data: &[u8]| {
        tries += 1;
        (tries <= TRIES).then(|| attempt(data).err()).flatten()
    };
    while !data.is_empty()
        && let Some(found) = fails(&data[..data.len() / 2])
    {
        data.truncate(data.len() / 2);
        problem = found;
    }
    for width in [16, 4, 1] {
        for start in (0..data.len()).step_by(width) {
            let end = data.len().min(start + width);
            if data[start..end].iter().all(|&byte| byte == 0) {
                continue;
            }
            let mut simpler = data.clone();
            simpler[start..end].fill(0);
            if let Some(found) = fails(&simpler) {
                (data, problem) = (simpler, found);
            }
        }
    }
    panic::set_hook(hook);
    problem
}

/// Returns the text of a panic.
pub fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}

#[cfg(test)]
mod tests {
    use super::smallest;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let data: Vec<u8> = (1..=100).collect();
        let problem = smallest(data, "at first".into(), |data| {
            let fails = data.get(20).is_some_and(|&byte| byte == 21);
            if fails {
                Err(format!("{data:?}"))
            } else {
                Ok(())
            }
        });
        let mut wanted = [0; 25];
        wanted[20] = 21;
        assert_eq!(problem, format!("{wanted:?}"));
    }
}
