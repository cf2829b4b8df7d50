use crate::ir::Store;
use crate::parse::parse;

/// The errors and warnings of a text, as `code line:column`.
fn problems(source: &str) -> Vec<String> {
    let store = &mut Store::new();
    let index = crate::diag::LineIndex::new(source);
    let place = |d: &crate::diag::Diagnostic| d.span.map_or((0, 0), |s| index.line_column(source, s.start));
    let all = parse(store, source).diagnostics;
    all.iter().map(|d| (d, place(d))).map(|(d, (l, c))| format!("{} {l}:{c}", d.code)).collect()
}

#[test]
fn a_module_without_problems() {
    assert_eq!(problems("#[version = \"0.0.5\"]\ndef @f(%x: int32) { let %y = %x; (%y, 1) }"), [""; 0]);
}
