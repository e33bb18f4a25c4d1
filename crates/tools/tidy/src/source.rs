//! A Rust file with its code and its comments told apart, line by line.
//!
//! `proc_macro2`, the lexer of `syn`, finds the tokens: what stands between them, and what it takes
//! for documentation, are comments.

use proc_macro2::{LexError, TokenStream, TokenTree};

/// The two halves of a Rust file; both have as many lines as the file, with blanks for the other
/// half.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Code, with blanks for comments and for what is inside of literals.
    pub code: Vec<String>,
    /// The text of comments.
    pub comments: Vec<String>,
}

impl Source {
    /// Takes a file apart. A text that is no Rust is all code.
    #[must_use]
    pub fn of(text: &str) -> Source {
        let mut halves = Halves { text, ..Halves::default() };
        if halves.take_apart().is_err() {
            halves = Halves { code: text.to_owned(), comments: blank(text), ..halves };
        }
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Source { code: lines(&halves.code), comments: lines(&halves.comments) }
    }

    /// The lines of code, counted from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.iter().map(String::as_str))
    }

    /// The lines of code in which this text stands as words of its own, counted from 1.
    pub fn uses<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.lines().filter(|(_, code)| has_word(code, text)).map(|(line, _)| line)
    }

    /// The line where the unit tests at the end of the file begin; past the end if there are none.
    #[must_use]
    pub fn tests_begin(&self) -> usize {
        let is_module = |line: &String| line.trim_start().starts_with("mod ") && line.contains('{');
        let mut pairs = (1..).zip(self.code.windows(2));
        let found = pairs.find(|(_, two)| two[0].trim() == "#[cfg(test)]" && is_module(&two[1]));
        found.map_or(self.code.len() + 1, |(line, _)| line)
    }

    /// The comments on this line and on the `above` lines before it, as one text.
    #[must_use]
    pub fn comments_near(&self, line: usize, above: usize) -> String {
        let last = line.min(self.comments.len());
        self.comments[line.saturating_sub(above + 1)..last].join("\n")
    }
}

/// The two halves up to a byte of the text.
#[derive(Default)]
struct Halves<'a> {
    text: &'a str,
    at: usize,
    code: String,
    comments: String,
}

impl Halves<'_> {
    fn take_apart(&mut self) -> Result<(), LexError> {
        let tokens = self.text.parse()?;
        self.tokens(tokens);
        self.comment(self.text.len());
        Ok(())
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            let range = token.span().byte_range();
            // The other tokens of a line of documentation have its place, too.
            if range.start < self.at {
                continue;
            }
            self.comment(range.start);
            match token {
                TokenTree::Group(group) => {
                    self.code(group.span_open().byte_range().end);
                    self.tokens(group.stream());
                    self.comment(group.span_close().byte_range().start);
                    self.code(range.end);
                }
                TokenTree::Literal(_) => self.literal(range.end),
                TokenTree::Punct(_) if range.len() > 1 => self.comment(range.end),
                _ => self.code(range.end),
            }
        }
    }

    fn code(&mut self, end: usize) {
        let text = &self.text[self.at..end];
        self.code.push_str(text);
        self.comments.push_str(&blank(text));
        self.at = end;
    }

    fn comment(&mut self, end: usize) {
        let text = &self.text[self.at..end];
        self.code.push_str(&blank(text));
        self.comments.push_str(text);
        self.at = end;
    }

    /// Numbers, and the quotes of a text, count as code: so a text leaves a trace.
    fn literal(&mut self, end: usize) {
        let text = &self.text[self.at..end];
        let quotes = text.find(['"', '\'']).zip(text.rfind(['"', '\'']));
        if let Some((first, last)) = quotes {
            let (first, last) = (self.at + first + 1, self.at + last);
            self.code(first);
            let inside = blank(&self.text[first..last]);
            self.code.push_str(&inside);
            self.comments.push_str(&inside);
            self.at = last;
        }
        self.code(end);
    }
}

/// As many blanks, in the same lines.
fn blank(text: &str) -> String {
    text.chars().map(|char| if char == '\n' { char } else { ' ' }).collect()
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether `text` stands in the line without being part of a longer word.
#[must_use]
pub fn has_word(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + text.len()..].chars().next();
        let free = |neighbour: Option<char>, own: Option<char>| {
            !own.is_some_and(is_word) || !neighbour.is_some_and(is_word)
        };
        free(before, text.chars().next()) && free(after, text.chars().next_back())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::of(text).code.join("\n")
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        for text in [
            "// word",
            "/// word",
            "/* a /* word */ word */",
            "let x = \"word\";",
            "let x = \"\\\" word\";",
            "let x = r\"word\";",
            "let x = r#\"a \" word\"#;",
            "let x = br##\"word \"# word\"##;",
            "let x = \"two\nword lines\";",
        ] {
            assert!(!code(text).contains("word"), "{text}: {}", code(text));
        }
    }

    #[test]
    fn code_after_them_is() {
        for text in [
            "// a\nword",
            "/* a /* b */ c */ word",
            "f(\"a\", word)",
            "f(\"\\\\\", word)",
            "f(r\"\\\", word)",
            "f(r#\"\"\"#, word)",
            "f('\"', word)",
            "f('\\'', word)",
            "f('\\u{1F600}', word)",
            "fn f<'a>(x: &'a str) -> word",
            "for r in word",
            "super(\"a\", word)",
        ] {
            assert!(code(text).contains("word"), "{text}: {}", code(text));
        }
    }

    #[test]
    fn lines_stay_where_they_are() {
        let text = "one\n\"two\nthree\" // four\n/* five\nsix */ seven\n";
        let source = Source::of(text);
        assert_eq!((source.code.len(), source.comments.len()), (5, 5));
        assert_eq!(source.code[4].trim(), "seven");
        assert_eq!(source.comments[2].trim(), "// four");
        assert_eq!(source.comments[4].trim(), "six */");
    }

    #[test]
    fn a_word_stands_alone() {
        assert!(has_word("unsafe { f() }", "unsafe"));
        assert!(!has_word("#![forbid(unsafe_code)]", "unsafe"));
        assert!(has_word("std::time::Instant::now()", "Instant::now"));
        assert!(!has_word("MyInstant::now()", "Instant::now"));
        assert!(has_word("    dbg!(x)", "dbg!"));
        assert!(has_word("#[ignore = \"slow\"]", "#[ignore"));
    }

    #[test]
    fn unit_tests_at_the_end_are_found() {
        assert_eq!(Source::of("a\n#[cfg(test)]\nmod tests {\n}").tests_begin(), 2);
        assert_eq!(Source::of("a\n#[cfg(test)]\nmod tests;\nb").tests_begin(), 5);
    }

    #[test]
    fn comments_near_a_line() {
        let source = Source::of("// one\na\nb\nc // two\n");
        assert!(source.comments_near(4, 3).contains("one"));
        assert!(!source.comments_near(4, 2).contains("one"));
        assert!(source.comments_near(4, 0).contains("two"));
        assert!(source.comments_near(1, 6).contains("one"));
    }
}
