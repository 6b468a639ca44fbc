//! Names of parameterized sorts and what instantiation makes of them.
//!
//! A sort name is a word and groups of arguments: `Map{X,Set{Y}}`, `List{TOTAL-ORDER}{X}`.
//! Arguments are names of views or of parameters. When parameter `X` is instantiated by a
//! view to a module, `X` becomes the view's name. When it is instantiated by a view `V` to
//! a theory, the sort keeps a parameter of that name: `List{X}` becomes `List{V}{X}`.

use rustc_hash::FxHashMap;

use crate::base::Name;
use crate::syntax::tree::SortExpr;

/// What a parameter's name becomes inside the names of sorts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SortArg {
    /// A view to a module, or another parameter.
    Name(Name),
    /// A view to a theory; the second name is that of the parameter that remains.
    Theory(Name, Name),
}

pub(super) type SortArgs = FxHashMap<Name, SortArg>;

/// The canonical spelling of a sort as written: no blanks.
pub fn sort_name(sort: &SortExpr) -> Name {
    if sort.args.is_empty() {
        return sort.name.name;
    }
    let mut text = String::new();
    write_sort(sort, &mut text);
    Name::new(&text)
}

fn write_sort(sort: &SortExpr, out: &mut String) {
    out.push_str(sort.name.name.as_str());
    if !sort.args.is_empty() {
        out.push('{');
        for (i, arg) in sort.args.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_sort(arg, out);
        }
        out.push('}');
    }
}

/// The name with its parameters replaced.
pub(super) fn instantiate(name: Name, args: &SortArgs) -> Name {
    let text = name.as_str();
    if !text.ends_with('}') {
        return name;
    }
    Name::new(&instantiate_text(text, args))
}

fn instantiate_text(text: &str, args: &SortArgs) -> String {
    let (base, groups) = split(text);
    let mut out = base.to_owned();
    for group in groups {
        let mut remaining = Vec::new();
        let mut items = Vec::new();
        for item in group {
            match args.get(&Name::new(item)) {
                Some(SortArg::Name(name)) => items.push(name.as_str().to_owned()),
                Some(SortArg::Theory(view, param)) => {
                    items.push(view.as_str().to_owned());
                    remaining.push(param.as_str());
                }
                None if item.ends_with('}') => items.push(instantiate_text(item, args)),
                None => items.push(item.to_owned()),
            }
        }
        out.push_str(&format!("{{{}}}", items.join(",")));
        if !remaining.is_empty() {
            out.push_str(&format!("{{{}}}", remaining.join(",")));
        }
    }
    out
}

/// `Map{A,B{C}}{D}` is `Map` with the groups `A`, `B{C}` and `D`.
fn split(text: &str) -> (&str, Vec<Vec<&str>>) {
    let Some(first) = text.find('{') else { return (text, Vec::new()) };
    let mut groups = Vec::new();
    let mut group = Vec::new();
    let mut depth = 0;
    let mut start = first;
    for (i, c) in text.char_indices().skip_while(|&(i, _)| i < first) {
        match c {
            '{' => {
                depth += 1;
                if depth == 1 {
                    start = i + 1;
                }
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    group.push(&text[start..i]);
                    groups.push(std::mem::take(&mut group));
                }
            }
            ',' if depth == 1 => {
                group.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    (&text[..first], groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        let mut args = SortArgs::default();
        args.insert(Name::new("X"), SortArg::Name(Name::new("Nat")));
        args.insert(Name::new("Y"), SortArg::Theory(Name::new("ORD"), Name::new("Y")));
        assert_eq!(instantiate(Name::new(name), &args).as_str(), expected);
    }

    #[test]
    fn parameters_are_replaced_inside_names() {
        check("List", "List");
        check("List{X}", "List{Nat}");
        check("Map{X,Set{X}}", "Map{Nat,Set{Nat}}");
        check("Map{Z,X}", "Map{Z,Nat}");
        check("List{Y}", "List{ORD}{Y}");
        check("Map{X,Y}", "Map{Nat,ORD}{Y}");
        check("List{V}{X}", "List{V}{Nat}");
    }
}
