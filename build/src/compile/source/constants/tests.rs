//! Tests for replacing constants, with every supported kind of definition.

use super::*;

fn with_four(text: &str) -> Option<String> {
    let constant = Constant {
        file: "a.cu".into(),
        name: "N".into(),
        value: 4,
    };
    replace(text, &constant)
}

#[test]
fn only_the_values_of_definitions_are_replaced() {
    for (before, after) in [
        (
            "#define N 16 // runs\n#define NN 3\n",
            "#define N 4 // runs\n#define NN 3\n",
        ),
        ("# define N  (1 << 20)\r\n", "# define N  4\r\n"),
        (
            "const int N   = 512;\nuse(N == 512);",
            "const int N   = 4;\nuse(N == 512);",
        ),
        (
            "int n = 1;\n  uint N = 16 * 1024; // N = 3;",
            "int n = 1;\n  uint N = 4; // N = 3;",
        ),
        (
            "{ float N = 3.0f, x = 1; N = 2; }",
            "{ float N = 4, x = 1; N = 2; }",
        ),
        (
            "#ifdef A\n#define N 1\n#else\n#define N 2\n#endif\n",
            "#ifdef A\n#define N 4\n#else\n#define N 4\n#endif\n",
        ),
    ] {
        assert_eq!(with_four(before).as_deref(), Some(after));
    }
}

#[test]
fn text_without_a_definition_returns_none() {
    for text in [
        "int M = 1; N = 2; f(N);",
        "bool same(int N == 3);",
        "int NN = 1; N += 2;",
        "#define N\n",
        "printf(\"\\t  N=%d\\n\", N);",
    ] {
        assert_eq!(with_four(text), None, "{text}");
    }
}
