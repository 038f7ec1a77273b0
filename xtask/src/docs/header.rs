//! The chapter of the C header: its sections as code, under headings of their own.

/// Makes the chapter from the text of include/diptych.h.
pub fn chapter(header: &str) -> String {
    let mut chapter = String::from(
        "# The header\n\nThe text of `include/diptych.h`, which is the reference of the C interface.\n",
    );
    let mut section = Vec::new();
    let mut heading = "About this file".to_owned();
    for line in header.lines() {
        if let Some(next) = title(line) {
            close(&mut chapter, &heading, &mut section);
            heading = next;
        }
        section.push(line);
    }
    close(&mut chapter, &heading, &mut section);
    chapter
}

/// The title of the section that a line begins, in upper case: in the first comment a line of its own, later between
/// dashes.
fn title(line: &str) -> Option<String> {
    let text = match line.strip_prefix("/* ---- ") {
        Some(rest) => rest.split(" --").next()?,
        None => line.strip_prefix(" * ")?,
    };
    let letters = |c: char| c.is_ascii_uppercase() || c == ' ';
    let is_title = text.len() > 2 && !text.starts_with(' ') && text.chars().all(letters);
    let (first, rest) = text.split_at_checked(1)?;
    is_title.then(|| match text {
        "GPU" => text.to_owned(),
        _ => format!("{first}{}", rest.to_ascii_lowercase()),
    })
}

/// Appends a section to the chapter.
fn close(chapter: &mut String, heading: &str, lines: &mut Vec<&str>) {
    let text = lines.join("\n");
    lines.clear();
    *chapter += &format!("\n## {heading}\n\n```c\n{}\n```\n", text.trim_matches('\n'));
}

#[cfg(test)]
mod tests {
    #[test]
    fn sections_become_headings() {
        let header = "/*\n * Diptych: kernels\n *\n * CANONICAL ORDERS\n *\n * The bits\n */\n\n/* ---- TYPES ------ */\n\nint x;\n";
        let chapter = super::chapter(header);
        let headings: Vec<&str> = chapter
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        assert_eq!(
            headings,
            ["## About this file", "## Canonical orders", "## Types"]
        );
        assert!(chapter.contains("```c\n/* ---- TYPES ------ */\n\nint x;\n```\n"));
    }
}
