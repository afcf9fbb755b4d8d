//! Tests for `compatibility`.

use super::*;

#[test]
fn brackets_are_joined_without_moving_other_text() {
    let text = "  f << < blocks, threads >> > (a, b);\n  g<  <\n<1, 2>>>(c);\n";
    let joined = join_brackets(text);
    assert_eq!(
        joined,
        "  f <<<  blocks, threads >>>  (a, b);\n  g<<<  \n1, 2>>>(c);\n"
    );
    assert_eq!(joined.len(), text.len());
    assert_eq!(joined.lines().count(), text.lines().count());
}

#[test]
fn other_angle_brackets_are_unchanged() {
    for text in [
        "f<<<1, 2>>>(a);",
        "f<<<dim3(a >> 1), 2>>> (a);",
        "x = a << b; if (c < d) { y = e >> f; } if (g > (h)) return;",
        "std::vector<std::vector<std::vector<int> > > v(3);",
        "map<int, set<int> > m; f<<<1, 2>>>(m);",
    ] {
        assert!(matches!(join_brackets(text), Cow::Borrowed(_)), "{text}");
    }
}
