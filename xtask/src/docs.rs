//! The pages of the repository: their links, and the book that is made of them.
pub mod book;
mod header;
mod html;
pub mod links;

use crate::command::{cmd, output};
use crate::{paths, skip};
use anyhow::{Result, bail};
use links::Pages;

/// Checks the links of all committed Markdown, then builds the book into target/book/html.
pub fn run() -> Result<()> {
    let Some(files) = committed()? else {
        return skip::skip("the documentation", "this is no git checkout");
    };
    let pages = Pages::read(&paths::root(), files)?;
    let dead = pages.dead_links();
    if !dead.is_empty() {
        bail!("dead links:\n{}", dead.join("\n"));
    }
    book::build(&pages)
}

/// The files that git knows, relative to the root; nothing outside of a checkout.
fn committed() -> Result<Option<Vec<String>>> {
    let listed = output(&mut cmd!("git ls-files"))?;
    let text = String::from_utf8(listed.stdout)?;
    let files = text.lines().map(str::to_owned).collect();
    Ok(listed.status.success().then_some(files))
}
