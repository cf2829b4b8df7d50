//! A script speaks to the engine: descriptions of its passes, instruments and contexts, and numbers that stand for words.

use super::{Record, Word, message};
use crate::ir::ExprKind;
use crate::words::{Worded, Words};

crate::words! {
    /// The kind of a pass of a script.
    pub enum DescKind {
        /// A pass of the engine, in call notation.
        BuiltIn = "built-in",
        /// Other passes, one after the other.
        Sequential = "sequential",
        /// A function of the script that gets functions.
        Function = "function",
        /// One that gets modules.
        Module = "module",
        /// One that gets dataflow blocks.
        DataflowBlock = "dataflow-block",
        /// One that gets functions of TIR.
        PrimFunc = "prim-func",
    }
}

message! { question
    /// A pass as a script describes it.
    PassDesc {
        kind: Word<DescKind>,
        name: String,
        opt_level: i64,
        required: Vec<String>,
        /// The number of the script's function.
        index: u32,
        /// A pass of the engine, in call notation; else empty.
        call: String,
        /// Indices of the parts, which stand before it.
        passes: Vec<usize>,
        /// True if it stands in the list of passes, or is only a part of one.
        listed: bool,
    }
}

message! { question
    /// An instrument as a script describes it.
    InstrumentDesc {
        name: String,
        /// The number of the script's instrument.
        index: u32,
        /// An instrument of the engine, in call notation; else empty.
        call: String,
    }
}

message! { question
    /// The options that passes run under.
    ContextDesc {
        opt_level: i64,
        required: Vec<String>,
        disabled: Vec<String>,
        /// Names with Python literals.
        config: Record<String>,
        instruments: Vec<InstrumentDesc>,
    }
}

crate::words! {
    /// The kind of a type, before its parts.
    pub enum TypeKind {
        /// A tensor: element type, extents.
        Tensor = "tensor",
        /// A tuple: its fields.
        Tuple = "tuple",
        /// A function: result, number of parameters, parameters, type parameters.
        Func = "func",
        /// A reference.
        Ref = "ref",
        /// A type parameter: its number and name.
        Var = "var",
        /// A data type: its name.
        Global = "global",
        /// A data type with arguments.
        Apply = "apply",
        /// A type that inference is to find: its number.
        Hole = "hole",
        /// Any value.
        Any = "any",
        /// A scalar: its element type.
        Prim = "prim",
        /// A shape: extents.
        Shape = "shape",
        /// A tensor of which not all is known: one more than the element type or 0, extents.
        PartialTensor = "partialTensor",
        /// A function of Relax: result, 1 if pure, 1 if any parameters, parameters.
        Callable = "callable",
        /// A function of the runtime.
        PackedFunc = "packedFunc",
        /// A string.
        Str = "str",
        /// A type that goes by as a whole.
        Whole = "whole",
        /// In rows, a tensor that is spread over devices: its type, mesh, placement.
        Distributed = "distributed",
    }
}

crate::words! {
    /// The kind of a pattern of a match, before its parts.
    pub enum ClauseKind {
        /// Anything.
        Wildcard = "wildcard",
        /// A variable.
        Var = "var",
        /// A constructor, its fields.
        Ctor = "ctor",
        /// Fields.
        Tuple = "tuple",
    }
}

crate::words! {
    /// The nodes of an expression that a script walks through.
    pub enum Walk {
        /// All of them, children first.
        All = "all",
        /// Its free variables.
        Free = "free",
        /// The variables that it binds.
        Bound = "bound",
        /// Both.
        Vars = "vars",
    }
}

crate::words! {
    /// A question about a program, with what it is about.
    pub enum Analysis {
        /// An expression: the functions that it names.
        AllGlobalVars = "allGlobalVars",
        /// An expression: the functions that it calls.
        CalledGlobalVars = "calledGlobalVars",
        /// A function: the extents that it defines.
        DefinedSymbolicVars = "definedSymbolicVars",
        /// A function: the extents that it uses and does not define.
        FreeSymbolicVars = "freeSymbolicVars",
        /// An expression, the name of the function around it (or the expression again), a module: 1 if it may have a side
        /// effect apart from calling itself.
        ContainsImpureCall = "containsImpureCall",
        /// A tensor program: 1 if it only reshapes.
        HasReshapePattern = "hasReshapePattern",
        /// An expression: its blocks.
        Blocks = "blocks",
        /// A block: each variable, the number of its users, and these.
        UDChain = "udchain",
        /// Two types: 0 to 3, from never to always.
        TypeBaseCheck = "typeBaseCheck",
        /// Two types: the narrowest that holds both.
        TypeLca = "typeLca",
        /// 1 for a function alone, a module: what is wrong with it, as names.
        WellFormed = "wellFormed",
    }
}

crate::words! {
    /// Something that a builder does, with its operands. A name may be missing: 0, else one more than its number.
    pub enum Build {
        /// 1 for a dataflow block.
        BeginBlock = "beginBlock",
        /// One more than the block that it may be, or 0: the block.
        EndBlock = "endBlock",
        /// A value, a name.
        Emit = "emit",
        /// A value, a name.
        EmitOutput = "emitOutput",
        /// A value, a type, a name.
        MatchCast = "matchCast",
        /// A binding.
        EmitNormalized = "emitNormalized",
        /// An expression.
        Normalize = "normalize",
        /// A variable: one more than its value, or 0.
        LookupBinding = "lookupBinding",
        /// Parameters.
        BeginScope = "beginScope",
        /// Begins a scope in the one that is open.
        BeginInnerScope = "beginInnerScope",
        /// Ends it.
        EndScope = "endScope",
        /// A function, its name.
        AddFunction = "addFunction",
        /// A name, its function.
        UpdateFunction = "updateFunction",
        /// The module.
        Module = "module",
        /// 1 if the open block is a dataflow block.
        IsDataflow = "isDataflow",
        /// An expression: a variable or a constant that stands for it.
        Operand = "operand",
        /// A name: one that nothing has.
        UniqueName = "uniqueName",
        /// A call, a name: the call of the tensor program that it becomes.
        EmitTE = "emitTE",
        /// A name, attributes, 1 if pure, parameters.
        BeginFunction = "beginFunction",
        /// 1 for a dataflow block.
        SwitchBlock = "switchBlock",
        /// The result, parameters.
        EmitFuncOutput = "emitFuncOutput",
        /// One more than the function's name, or 0.
        EndFunction = "endFunction",
        /// An expression, a name, the number of parameters, each with its value.
        ComposeTE = "composeTE",
    }
}

crate::words! {
    /// Something that is done with patterns.
    pub enum Dpl {
        /// One pattern and an expression.
        Match = "match",
        /// All of a context and a block.
        MatchBlock = "matchBlock",
        /// One pattern, and a function in which calls are replaced.
        RewriteCall = "rewriteCall",
        /// A context, and a function in which bindings are replaced.
        RewriteBindings = "rewriteBindings",
        /// Patterns by name, and a module whose matches become functions.
        Fuse = "fuse",
    }
}

crate::words! {
    /// The kind of a pattern, before its parts.
    pub enum PatternKind {
        /// Anything.
        Wildcard = "wildcard",
        /// A constant.
        Const = "const",
        /// A variable: its name.
        Var = "var",
        /// A variable of a dataflow block: its name.
        DataflowVar = "dfv",
        /// A function of the module: its name.
        GlobalVar = "gv",
        /// An external function: its name.
        Extern = "extern",
        /// This very expression.
        Expr = "expr",
        /// A call: callee, 1 if there may be more arguments, arguments.
        Call = "call",
        /// A function: body, 1 if any parameters, parameters.
        Function = "function",
        /// A tuple: its fields.
        Tuple = "tuple",
        /// A tuple in any order: its fields.
        Unordered = "unordered",
        /// A field of a tuple: the tuple, one more than the index or 0.
        Item = "item",
        /// One of two.
        Or = "or",
        /// Both.
        And = "and",
        /// Not that.
        Not = "not",
        /// With attributes.
        Attr = "attr",
        /// With a type.
        Type = "type",
        /// With a shape.
        Shape = "shape",
        /// With an element type.
        DType = "dtype",
        /// Extents.
        Extents = "extents",
    }
}

crate::words! {
    /// The subject of a row of a table: each has ids of its own.
    pub enum Space {
        /// Expressions.
        Expr = "expr",
        /// Types.
        Type = "type",
        /// Scalars.
        Prim = "prim",
        /// Statements.
        Stmt = "stmt",
        /// Scalar variables.
        Symbol = "symbol",
        /// Buffers.
        Buffer = "buffer",
        /// Attributes.
        Attrs = "attrs",
        /// Objects.
        Object = "object",
        /// Blocks of bindings.
        Block = "block",
        /// Patterns of a match.
        Pattern = "pattern",
        /// Definitions of types.
        Adt = "adt",
        /// Type variables.
        TypeVar = "typevar",
        /// Names, which are no rows: they stand in them.
        Name = "name",
    }
}

/// The numbers that a script says to the engine: what their enums are called in it, and their words.
pub fn codes() -> Vec<(&'static str, Words)> {
    // A script has statements of its own for those of a tensor program.
    let Words { name, doc, words } = ExprKind::WORDS;
    let nodes = Words { name, doc, words: words.split_last().map_or(words, |(_, nodes)| nodes) };
    vec![
        ("KIND", nodes),
        ("TYPE", TypeKind::WORDS),
        ("CLAUSE", ClauseKind::WORDS),
        ("WALK", Walk::WORDS),
        ("ANALYSIS", Analysis::WORDS),
        ("BUILD", Build::WORDS),
        ("DPL", Dpl::WORDS),
        ("PATTERN", PatternKind::WORDS),
        ("SPACE", Space::WORDS),
    ]
}
