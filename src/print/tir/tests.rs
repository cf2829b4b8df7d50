//! Programs of our own, as TVM 0.27.0.post1 prints them after parsing them.

use crate::ir::Store;
use crate::parse::parse;
use crate::print::{PrintOptions, expr};

/// Prints the first function of a text alone.
fn printed(source: &str) -> String {
    let store = &mut Store::new();
    let parsed = parse(store, source);
    assert!(parsed.diagnostics.is_empty(), "{}", crate::diag::render(&parsed.diagnostics, "text", source));
    expr(store, parsed.program.expr.unwrap(), &PrintOptions::default())
}

#[test]
fn statements_and_operators_print_as_tvm_prints_them() {
    let source = r#"
@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,16), "float16"), n: T.int32, p: T.handle, x: T.float32):
    T.func_attr({"b": True, "a": 1, "d": [1,2], "e": T.int64(3), "f": 1.5, "g": {"x": 1}, "i": n, "j": T.int32(5)})
    for i in range(2, 10):
        A[i] = A[i] & 3 | n ^ 1
        A[i] = ~A[i] + (n << 2) + (n >> 1)
    for i in T.serial(10, annotations={"k": 1, "m": T.int64(2)}):
        A[i] = T.Select(n > 2 and n < 4 or not (n == 3), 1, 2)
    for i in T.parallel(4):
      for j in T.vectorized(4):
        for k in T.unroll(3):
            A[i] = -n
            A[i*4+j] = T.if_then_else(n > 2, 1, 2)
    for i in range(0, 10, 2):
        A[i] = T.Cast("int32", x) + T.max(n, 3) - T.min(T.int32(4), n)
    for i in T.thread_binding(4, thread="threadIdx.x"):
        for j in range(3):
            for k in range(4):
                A[i] = n // 2 % 3 + T.truncdiv(n, 2) * T.truncmod(n, 5)
    y: T.let[T.int32] = n + 1
    z = T.bind(y * 2)
    assert n > 2, "hello"
    if n > 3:
        A[0] = z
    elif n > 2:
        A[1] = y
    else:
        T.evaluate(0)
    while n < 3:
        A[0] = 1
    T.evaluate(T.call_extern("int32", "foo", n, p, T.float32("inf")))
    B[0, 0] = T.float16(1.5) + T.Cast("float16", x * T.float32(1e-5))
    with T.attr(A.data, "key2", "val"):
        A[0] = 3
        A[1] = 3
    C = T.alloc_buffer((16,), "float32")
    D = T.alloc_buffer((16,), "float32", scope="shared")
    C[0] = T.exp(x)
    D[0] = T.sqrt(x) + T.pow(x, x) + T.fabs(x) + T.likely(x)
    A[0:4] = T.Broadcast(1, 4)
    A[T.Ramp(0, 2, 4)] = T.Broadcast(1, 4)
    yy = T.int32()
    A[0] = T.Let(yy + n, where={yy: n})
"#;
    let wanted = r#"# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis

@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16, 16), "float16"), n: T.int32, p: T.handle, x: T.float32):
    T.func_attr({"a": 1, "b": True, "d": [1, 2], "e": T.int64(3), "f": 1.5, "g": {"x": 1}, "i": n, "j": 5})
    for i in range(2, 10):
        A[i] = A[i] & 3 | n ^ 1
        A[i] = ~A[i] + (n << 2) + (n >> 1)
    for i in T.serial(10, annotations={"k": 1, "m": T.int64(2)}):
        A[i] = T.Select(n > 2 and n < 4 or not n == 3, 1, 2)
    for i in T.parallel(4):
        for j in T.vectorized(4):
            for k in T.unroll(3):
                A[i] = n * -1
                A[i * 4 + j] = T.if_then_else(n > 2, 1, 2)
    for i in range(0, 10, 2):
        A[i] = T.Cast("int32", x) + T.max(n, 3) - T.min(4, n)
    for i in T.thread_binding(4, thread="threadIdx.x"):
        for j, k in T.grid(3, 4):
            A[i] = n // 2 % 3 + T.Div(n, 2) * T.truncmod(n, 5)
    y: T.let[T.int32] = n + 1
    z: T.let[T.int32] = y * 2
    assert n > 2, ("RuntimeError", ["hello"])
    if n > 3:
        A[0] = z
    else:
        if n > 2:
            A[1] = y
        else:
            T.evaluate(0)
    while n < 3:
        A[0] = 1
    T.call_extern("int32", "foo", n, p, T.float32("inf"))
    B[0, 0] = T.float16(1.5) + T.Cast("float16", x * T.float32(1.0000000000000001e-05))
    with T.attr(A.data, "key2", "val"):
        A[0] = 3
        A[1] = 3
    C = T.alloc_buffer((16,))
    D = T.alloc_shared((16,))
    C[0] = T.exp(x)
    D[0] = T.sqrt(x) + T.pow(x, x) + T.fabs(x) + T.likely(x)
    A[0:4] = T.Broadcast(1, 4)
    A[0:8:2] = T.Broadcast(1, 4)
    yy = T.int32()
    A[0] = T.Let(yy + n, where={yy: n})"#;
    assert_eq!(printed(source), wanted);
}

#[test]
fn a_chain_of_a_hundred_thousand_operators_prints() {
    let sum = " + n".repeat(100_000);
    let source = format!("@T.prim_func\ndef main(n: T.int32):\n    T.evaluate(n{sum})\n");
    assert!(printed(&source).ends_with(&format!("T.evaluate(n{sum})")));
}

#[test]
fn pointers_say_what_they_point_to() {
    let wanted = r#"
@T.prim_func(s_tir=True)
def main(p: T.handle, q: T.handle("float32", "global")) -> T.int64:
    a: T.let[T.handle("int64", "global")] = T.tvm_struct_get(p, 0, 3, T.handle("int64", "global").ty)
    b: T.let[T.handle] = T.tvm_struct_get(p, 0, 15, T.handle().ty)
    assert not T.isnullptr(T.reinterpret(T.handle("bool", "global").ty, b)), ("RuntimeError", ["none"])
    shape = T.decl_buffer((2,), "int64", data=a)
    return shape[1]"#;
    assert!(printed(wanted).ends_with(wanted), "{}", printed(wanted));
}
