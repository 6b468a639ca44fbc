//! Breaking long lines where Maude breaks them.
//!
//! A line may break at a blank and after `(`, `[`, `{` or `,`, but not inside a string or after
//! a backquote. What would go beyond column 79 moves to the next line, indented by 4. A piece
//! that could never fit stays where it is; columns then go on modulo 80, as on a terminal that
//! breaks by itself.

const WIDTH: usize = 79;
const INDENT: usize = 4;
/// Pieces of this length are not moved.
const LONG: usize = WIDTH - INDENT;

/// Breaks lines of a text that comes bit by bit.
#[derive(Clone, Debug, Default)]
pub struct Wrapper {
    column: usize,
    /// Blanks before the current piece.
    blanks: usize,
    /// The current piece, not written yet; empty if `long`.
    piece: String,
    length: usize,
    /// The current piece is being written through.
    long: bool,
    in_string: bool,
    escaped: bool,
    /// In a sequence that sets a colour, which takes no place on the screen.
    in_colour: bool,
}

impl Wrapper {
    /// The text with breaks; the last piece of an unfinished line is kept back.
    pub fn wrap(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + text.len() / WIDTH * (INDENT + 1));
        for c in text.chars() {
            self.push(c, &mut out);
        }
        out
    }

    /// Gives out what was kept back.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        self.end_piece(&mut out);
        self.write_blanks(&mut out);
        out
    }

    fn push(&mut self, c: char, out: &mut String) {
        if c == '\x1b' || self.in_colour {
            self.in_colour = c != 'm';
            if self.long {
                out.push(c)
            } else {
                self.piece.push(c)
            }
            return;
        }
        let escaped = std::mem::take(&mut self.escaped);
        match c {
            '\n' => {
                self.end_piece(out);
                self.write_blanks(out);
                out.push(c);
                *self = Wrapper::default();
            }
            '\t' if !self.in_string => {
                self.end_piece(out);
                self.write_blanks(out);
                out.push(c);
                self.column = (self.column / 8 + 1) * 8;
            }
            ' ' if !self.in_string => {
                self.end_piece(out);
                self.blanks += 1;
            }
            _ => {
                self.add(c, out);
                if escaped {
                    return;
                }
                match c {
                    '"' => self.in_string = !self.in_string,
                    '\\' if self.in_string => self.escaped = true,
                    '`' if !self.in_string => self.escaped = true,
                    '(' | '[' | '{' | ',' if !self.in_string => self.end_piece(out),
                    _ => {}
                }
            }
        }
    }

    fn add(&mut self, c: char, out: &mut String) {
        if self.long {
            out.push(c);
            self.column += 1;
            return;
        }
        self.piece.push(c);
        self.length += 1;
        if self.length >= LONG {
            self.write_piece(out);
            self.long = true;
        }
    }

    fn end_piece(&mut self, out: &mut String) {
        if self.long {
            self.long = false;
            self.column %= WIDTH + 1;
        } else if !self.piece.is_empty() {
            if self.column + self.blanks + self.length > WIDTH {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', INDENT));
                self.column = INDENT;
                self.blanks = 0;
            }
            self.write_piece(out);
        }
    }

    fn write_piece(&mut self, out: &mut String) {
        self.write_blanks(out);
        out.push_str(&self.piece);
        self.column += self.length;
        self.piece.clear();
        self.length = 0;
    }

    fn write_blanks(&mut self, out: &mut String) {
        out.extend(std::iter::repeat_n(' ', self.blanks));
        self.column += self.blanks;
        self.blanks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut wrapper = Wrapper::default();
        let mut wrapped = wrapper.wrap(text);
        wrapped.push_str(&wrapper.finish());
        assert_eq!(wrapped, expected);
    }

    #[test]
    fn blanks_and_opening_brackets_are_breaks() {
        let words = ["abcdefg"; 12].join(" ");
        let (first, rest) = (["abcdefg"; 9].join(" "), ["abcdefg"; 3].join(" "));
        check(&format!("{words}\n"), &format!("{first} abcdefg\n    {}\n", &rest[8..]));
        let nested = format!("S: {}a{}\n", "f(".repeat(30), ")".repeat(30));
        check(&nested, &format!("S: {}\n    a{}\n", "f(".repeat(30), ")".repeat(30)));
    }

    #[test]
    fn strings_and_long_pieces_stay_whole() {
        let long = "x y ".repeat(30);
        check(&format!("S: \"{long}\"\n"), &format!("S: \"{long}\"\n"));
        check(&format!("S: a @ '{} @ 'b\n", "x".repeat(74)), &format!("S: a @ '{} @ 'b\n", "x".repeat(74)));
        check(&format!("S: a @ '{}\n", "x".repeat(73)), &format!("S: a @\n    '{}\n", "x".repeat(73)));
    }

    #[test]
    fn colours_take_no_place() {
        let words = ["\x1b[1;31mabcd\x1b[0m"; 15].join(" ");
        check(&format!("{words}\n"), &format!("{words}\n"));
        check(&format!("{words} abcde\x1b[0m\n"), &format!("{words}\n    abcde\x1b[0m\n"));
    }

    /// Texts that Maude wrote with and without `-no-wrap`.
    #[test]
    fn breaks_as_maude_does() {
        let plain = include_str!("wrap_tests/plain.txt");
        check(plain, include_str!("wrap_tests/wrapped.txt"));
    }
}
