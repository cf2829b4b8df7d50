//! The kinds of rows in which scripts of Python read and make nodes: the first number of each.

use crate::words::{Worded, Words};

crate::words! {
    /// The kind of a scalar expression, before its element type and its parts.
    pub enum ScalarKind {
        /// An integer: two words.
        Int = "int",
        /// A float: the bits of a double, in two words.
        Float = "float",
        /// A string: its name.
        Str = "string",
        /// An extent that is not known.
        Any = "any",
        /// A variable.
        Var = "var",
        /// An operation on two: its number, operands.
        Binary = "binary",
        /// A negation.
        Not = "not",
        /// A cast.
        Cast = "cast",
        /// A choice: condition, two values.
        Select = "select",
        /// A call: the name of what is called, arguments.
        Call = "call",
        /// An element of a buffer: the buffer, indices.
        Load = "load",
        /// The memory of a buffer.
        Data = "data",
        /// A buffer itself.
        Buffer = "buffer",
        /// Numbers at one distance: the first, the distance, how many.
        Ramp = "ramp",
        /// One number repeated: the number, how many.
        Broadcast = "broadcast",
        /// Elements of vectors: the number of vectors, vectors, indices.
        Shuffle = "shuffle",
        /// A variable with a value: variable, value, body.
        Let = "let",
        /// A commutative reduction: its width, left and right variables, results, identities.
        Reducer = "reducer",
        /// Attributes.
        Attrs = "attrs",
    }
}

crate::words! {
    /// The kind of a statement, before its parts.
    pub enum StmtKind {
        /// Statements, one after the other.
        Seq = "seq",
        /// A loop: variable, begin, extent, step, kind, index of threads, annotations, body.
        For = "for",
        /// A block.
        Block = "block",
        /// A store: buffer, value, indices.
        Store = "store",
        /// A branch: condition, two bodies.
        If = "if",
        /// A loop with a condition: condition, body.
        While = "while",
        /// A variable with a value.
        Bind = "bind",
        /// An attribute of a body: kind of node, two words for the node, key, value, body.
        Attr = "attr",
        /// Memory for a buffer: buffer, annotations.
        Alloc = "alloc",
        /// A buffer without memory of its own.
        Declare = "declare",
        /// An assertion: condition, kind of error, parts of its message.
        Assert = "assert",
        /// A value that is computed and dropped.
        Evaluate = "evaluate",
        /// The result of the function.
        Return = "return",
        /// The end of a loop.
        Break = "break",
        /// The next round of a loop.
        Continue = "continue",
    }
}

crate::words! {
    /// The kind of a loop.
    pub enum LoopKind {
        /// One round after the other.
        Serial = "serial",
        /// By several processors.
        Parallel = "parallel",
        /// As one vector.
        Vectorized = "vectorized",
        /// Written out.
        Unrolled = "unrolled",
        /// By threads.
        Thread = "thread",
    }
}

crate::words! {
    /// The subject of an attribute of a body.
    pub enum AttrNodeKind {
        /// A scalar expression.
        Prim = "prim",
        /// None.
        Nothing = "nothing",
        /// An index of threads: variable, name of the index.
        Thread = "thread",
    }
}

crate::words! {
    /// The kind of a block's variable.
    pub enum AxisKind {
        /// Independent of the others.
        Spatial = "spatial",
        /// A reduction.
        Reduce = "reduce",
        /// In order.
        Scan = "scan",
        /// Anything.
        Opaque = "opaque",
    }
}

crate::words! {
    /// The extents of a shape as far as they are known, before its parts.
    pub enum ExtentsKind {
        /// Nothing.
        Unknown = "unknown",
        /// The number of axes.
        Rank = "rank",
        /// The variable that holds it.
        Var = "var",
        /// All extents.
        Known = "known",
    }
}

crate::words! {
    /// The kind of an attribute's value, before its parts.
    pub enum ValueKind {
        /// None.
        Null = "null",
        /// A truth value.
        Bool = "bool",
        /// An integer: its bits, two words.
        Int = "int",
        /// A float: the bits of a double, in two words.
        Float = "float",
        /// A string: its name.
        Str = "string",
        /// An element type.
        DType = "dtype",
        /// Values: their number, the values.
        Array = "array",
        /// Values by name: their number, names and values.
        Map = "map",
        /// An extent.
        Dim = "dim",
        /// A function of the module: its name.
        Global = "global",
        /// An expression.
        Expr = "expr",
        /// A type.
        Type = "type",
        /// An object.
        Object = "object",
    }
}

/// The numbers that stand in rows, besides those of expressions, types and patterns.
pub fn codes() -> Vec<Words> {
    vec![
        ScalarKind::WORDS,
        StmtKind::WORDS,
        LoopKind::WORDS,
        AttrNodeKind::WORDS,
        AxisKind::WORDS,
        ExtentsKind::WORDS,
        ValueKind::WORDS,
    ]
}
