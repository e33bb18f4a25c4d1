//! A Rust file with its code and its comments told apart, line by line.
//!
//! A small lexer, not a parser: it knows comments (nested ones too), strings (raw ones too) and
//! character literals, which is what it takes to know whether a word is code.

/// The two halves of a Rust file; both have as many lines as the file, with blanks for the other
/// half.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Code, with blanks for comments and for what is inside of literals.
    pub code: Vec<String>,
    /// The text of comments.
    pub comments: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    /// How many are open.
    BlockComment(usize),
    Text,
    /// How many `#` it takes to close it.
    RawText(usize),
}

impl Source {
    /// Takes a file apart.
    #[must_use]
    pub fn of(text: &str) -> Source {
        let chars: Vec<char> = text.chars().collect();
        let (mut code, mut comments) = (String::new(), String::new());
        let (mut at, mut state) = (0, State::Code);
        while at < chars.len() {
            let (next, length) = step(&chars, at, state);
            let in_comment = |state| matches!(state, State::LineComment | State::BlockComment(_));
            for &char in &chars[at..at + length] {
                let blank = if char == '\n' { '\n' } else { ' ' };
                // The quotes themselves count as code, so that a literal leaves a trace.
                let is_code = state == State::Code && !in_comment(next);
                code.push(if is_code { char } else { blank });
                let is_comment = in_comment(state) || in_comment(next);
                comments.push(if is_comment { char } else { blank });
            }
            (at, state) = (at + length, next);
        }
        let lines = |text: &str| text.lines().map(str::to_owned).collect();
        Source { code: lines(&code), comments: lines(&comments) }
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

/// Takes one step from here. Returns the state after it, and how many characters it covers.
fn step(chars: &[char], at: usize, state: State) -> (State, usize) {
    let rest = &chars[at..];
    let starts = |text: &str| text.chars().enumerate().all(|(n, c)| rest.get(n) == Some(&c));
    match state {
        State::Code if starts("//") => (State::LineComment, 2),
        State::Code if starts("/*") => (State::BlockComment(1), 2),
        State::Code if rest[0] == '"' => (State::Text, 1),
        State::Code if rest[0] == 'r' && (at == 0 || !continues_word(chars, at - 1)) => {
            let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
            match rest.get(1 + hashes) {
                Some('"') => (State::RawText(hashes), 2 + hashes),
                _ => (State::Code, 1),
            }
        }
        State::Code if rest[0] == '\'' => (State::Code, character_literal(rest).unwrap_or(1)),
        State::Code => (State::Code, 1),
        State::LineComment if rest[0] == '\n' => (State::Code, 1),
        State::BlockComment(open) if starts("/*") => (State::BlockComment(open + 1), 2),
        State::BlockComment(1) if starts("*/") => (State::Code, 2),
        State::BlockComment(open) if starts("*/") => (State::BlockComment(open - 1), 2),
        State::Text if rest[0] == '\\' => (State::Text, rest.len().min(2)),
        State::Text if rest[0] == '"' => (State::Code, 1),
        State::RawText(hashes) if rest[0] == '"' => {
            let closing = rest[1..].iter().take(hashes).filter(|&&c| c == '#').count();
            if closing == hashes { (State::Code, 1 + hashes) } else { (state, 1) }
        }
        _ => (state, 1),
    }
}

/// Whether the character before a raw string's `r` belongs to an identifier (`br"` and `cr"` are
/// prefixes).
fn continues_word(chars: &[char], at: usize) -> bool {
    let is_prefix = matches!(chars[at], 'b' | 'c') && (at == 0 || !is_word(chars[at - 1]));
    is_word(chars[at]) && !is_prefix
}

/// The length of the character literal that begins here, or none if this is a lifetime.
fn character_literal(rest: &[char]) -> Option<usize> {
    if rest.get(1) == Some(&'\\') {
        return rest.iter().skip(3).position(|&c| c == '\'').map(|n| n + 4);
    }
    (rest.get(2) == Some(&'\'')).then_some(3)
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
