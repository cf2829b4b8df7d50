/**
 * Makes the Python script that asks TVM for the page's results. People run it, and its contents may come from a link:
 * so it is inert. Every text is a literal without invisible characters, passes are looked up by their names and take
 * literals only, and programs made by the user's script were parsed and printed by an engine without a script.
 */
import type { Run, RunDocument } from "../engine/protocol";
import { callName } from "../state/calls";
import { visible } from "./forms";

const escaped = (found: string): string => {
  const code = found.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code > 0xffff ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
};

/** Makes a text as a literal of Python, on as many lines as it has where nothing in it has to be escaped. */
export function literal(text: string): string {
  const odd = /'''|[^\P{C}\n\t]|[\\\p{Zl}\p{Zp}]|'$/u;
  // JSON escapes the characters that end a literal, and its escapes are Python's.
  return odd.test(text)
    ? JSON.stringify(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped)
    : `r'''${text}'''`;
}

const list = (items: readonly string[]): string => `[${items.map(literal).join(", ")}]`;

/** The input and output of a pass in JavaScript. */
export interface Given {
  name: string;
  before: string;
  after: string;
}

/** The run for TVM to repeat, and its last step. */
export interface Result {
  dialect: "relay" | "relax";
  /** The program before the first pass. */
  before: string;
  /** The calls of passes; for one that only passlab runs, its input and output. */
  steps: readonly (string | Given)[];
  /** The program after the last pass. */
  after: string;
  /** The error of a failed pass, if there is no result. */
  failure: string;
  version: string;
}

/**
 * Returns the part of a run that TVM can repeat, or the reason why there is none. Passes of the script run in passlab
 * only, and the ones that an instrument refused are left out. `isKnown` tells the calls of passes that the engine has;
 * no others are passed on. `textOf` returns the text of a version as the engine prints it, or null if it cannot be had.
 */
export async function toRepeat(
  document: RunDocument,
  run: Run,
  version: string,
  isKnown: (call: string) => boolean,
  textOf: (version: number) => Promise<string | null>,
): Promise<Result | string> {
  if (document.files?.length)
    return "These files were written by another compiler: there are no passes to repeat.";
  const own = new Set(run.script?.passes.map((pass) => pass.name));
  const listed = run.steps.filter((step) => step.depth === 0 && step.role === "listed");
  const steps: (string | Given)[] = [];
  const unread = "The text of a step could not be had.";
  for (const [row, { call, enabled }] of document.passes.entries()) {
    const step = listed.find((one) => one.row === row);
    if (!enabled || !step || step.reason.startsWith("refused by ")) continue;
    if (!own.has(callName(call))) {
      if (!isKnown(call)) return `${visible(call)} is no pass that passlab knows.`;
      steps.push(call);
    } else if (step.outcome === "changed") {
      const [before, after] = [await textOf(step.before), await textOf(step.after)];
      if (before === null || after === null) return unread;
      steps.push({ name: step.name, before, after });
    }
  }
  const failed = run.steps.find((step) => step.outcome === "failed");
  const last = run.steps.filter((step) => step.depth === 0).at(-1);
  // TVM's parser of scripts evaluates expressions of Python, so it gets the text printed here.
  const before = run.dialect === "relax" ? await textOf(0) : document.source;
  const after = failed ? "" : await textOf(last?.after ?? 0);
  if (before === null || after === null) return unread;
  const failure = failed ? `${failed.name}: ${failed.reason}` : "";
  return { dialect: run.dialect, before, steps, after, failure, version };
}

const GIVEN = `

class Given:
    """A pass in JavaScript, which only passlab runs: what it was given and what it gave."""

    def __init__(self, before, after):
        self.before, self.after = before, after
`;

/** Makes a pass from its call without executing it. */
const MADE = `
def found(name):
    """The factory of a pass by its name, such as FuseOps or relax.transform.FuseOps."""
    *places, last = name.split(".")
    for place, module in PLACES:
        factory = vars(module).get(last)
        home = getattr(factory, "__module__", None) or ""
        inside = home.startswith("tvm.") and (".transform" in home or ".dlight." in home)
        fits = not places or place in (places[0], places[-1])
        if fits and inside and callable(factory) and last[0] != "_":
            return factory
    raise LookupError(f"TVM {tvm.__version__} has no pass {name}")


def argument(node):
    if isinstance(node, (ast.Call, ast.Name, ast.Attribute)):
        return built(node)
    if isinstance(node, ast.List) and any(isinstance(item, ast.Call) for item in node.elts):
        return [argument(item) for item in node.elts]
    return ast.literal_eval(node)


def built(node):
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    name = ast.unparse(call.func)
    named = {str(item.arg): argument(item.value) for item in call.keywords}
    args = list(map(argument, call.args))
    if name.split(".")[-1] == "Schedule":
        return schedule(*args, **named)
    if name.endswith("MetaScheduleApplyDatabase"):
        return tuned(found(name), *args, **named)
    if not name.endswith(("ApplyDefaultSchedule", "DefaultGPUSchedule")):
        return found(name)(*args, **named)
    # The target is the one in scope, and rules are no list.
    target = named.pop("target", None)
    rules = [rule for arg in args for rule in (arg if isinstance(arg, list) else [arg])]
    inner = found(name)(*rules, **named)

    def within(mod, _):
        with tvm.target.Target(target):
            return inner(mod)

    return inner if target is None else tvm.transform.module_pass(within, opt_level=0, name=name)


def tuned(factory, work_dir=None, enable_warning=False, database=""):
    """A pass that applies a database, whose lines become the two files that TVM reads."""

    def run(mod, _):
        with tempfile.TemporaryDirectory() as place:
            for file, programs in (("workload", True), ("tuning_record", False)):
                with open(f"{place}/database_{file}.json", "w") as out:
                    for line in filter(None, map(str.strip, database.splitlines())):
                        if line.startswith('["') == programs:
                            out.write(line + "\\n")
            # TVM wants a target in scope, and does not look at it.
            with tvm.target.Target("llvm"):
                return factory(place, enable_warning)(mod)

    return tvm.transform.module_pass(run, opt_level=0, name="MetaScheduleApplyDatabase")


def made(text):
    """The pass of a call. Its name is looked up and its arguments are literals: nothing in it is executed."""
    return built(ast.parse(text.strip(), mode="eval").body)


def value(text):
    """A value of the configuration: a literal, or else a string."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
`;

/** Makes a pass of the instructions of a schedule: its methods are called with literals and with what they gave, and nothing else. */
const SCHEDULE = `

def schedule(trace=""):
    """A pass that applies the instructions of a trace, which are read and not executed."""
    return tvm.transform.module_pass(lambda mod, _: scheduled(mod, trace), opt_level=0, name="Schedule")


# A name that TVM 0.27 has no longer.
OLD = {"get_block": "get_sblock"}


def scheduled(mod, trace):
    from tvm.s_tir import tensor_intrin  # It registers the intrinsics.

    sch = tvm.s_tir.Schedule(mod)
    names, schedules = {}, {"sch"}

    def put(target, result):
        if isinstance(target, ast.Name):
            names[target.id] = result
            return
        stars = [at for at, one in enumerate(target.elts) if isinstance(one, ast.Starred)]
        parts = list(result)
        if stars:
            first, last = stars[0], len(parts) - (len(target.elts) - stars[0] - 1)
            parts[first:last] = [parts[first:last]]
        for one, part in zip(target.elts, parts, strict=True):
            put(one.value if isinstance(one, ast.Starred) else one, part)

    def many(nodes, known):
        found = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += value(node.value, known)
            else:
                found.append(value(node, known))
        return found

    def value(node, known={}):
        """The value of an expression, which may have the parameters of a map of indices in it."""
        inner = lambda node: value(node, known)
        if isinstance(node, ast.Name):
            return known[node.id] if node.id in known else names[node.id]
        if isinstance(node, ast.List):
            return many(node.elts, known)
        if isinstance(node, ast.Tuple):
            return tuple(many(node.elts, known))
        if isinstance(node, ast.Dict):
            return {inner(key): inner(item) for key, item in zip(node.keys, node.values)}
        if isinstance(node, ast.Subscript):
            ends = (node.slice.lower, node.slice.upper) if isinstance(node.slice, ast.Slice) else None
            place = slice(*(end and inner(end) for end in ends)) if ends else inner(node.slice)
            return inner(node.value)[place]
        if isinstance(node, ast.BinOp):
            return BINARY[type(node.op)](inner(node.left), inner(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -inner(node.operand)
        if isinstance(node, ast.Lambda):
            params = [one.arg for one in node.args.args]
            body = lambda *given: value(node.body, {**known, **dict(zip(params, given))})
            # TVM counts the parameters of a map, so that it needs a function of so many.
            numbered = ", ".join(f"p{place}" for place in range(len(params)))
            return eval(f"lambda {numbered}: body({numbered})", {"body": body})
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "T.index_map":
                return inner(node.args[0])
            if re.fullmatch(SCALARS, called) and not node.keywords:
                return getattr(T, called[2:])(*many(node.args, known))
            return call(node, known)
        return ast.literal_eval(node)

    def call(node, known={}):
        called = node.func
        if is_register(called):
            named = {str(item.arg): value(item.value) for item in node.keywords}
            return tvm.s_tir.TensorIntrin.register(*many(node.args, known), **named)
        name = called.attr if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) else "_"
        name = OLD.get(name, name)
        if name[0] == "_" or called.value.id not in schedules or not hasattr(tvm.s_tir.Schedule, name):
            raise LookupError(f"a schedule has no instruction {ast.unparse(called)}")
        named = {str(item.arg): value(item.value, known) for item in node.keywords}
        return getattr(sch, name)(*many(node.args, known), **named)

    def is_register(called):
        return ast.unparse(called).endswith("TensorIntrin.register")

    def lines(body):
        for line in body:
            if isinstance(line, ast.FunctionDef) and line.decorator_list:
                # One of the two functions of an intrinsic.
                names[line.name] = tvm.script.from_source(ast.unparse(line))
            elif isinstance(line, ast.FunctionDef):
                yield from lines(line.body)
            elif isinstance(line, (ast.Assign, ast.Expr)):
                yield line

    for line in lines(ast.parse(trace).body):
        # The schedule is there, and what is printed changes nothing.
        called = ast.unparse(line.value.func) if isinstance(line.value, ast.Call) else ""
        if called.endswith("Schedule"):
            schedules.update(one.id for one in line.targets if isinstance(one, ast.Name))
        elif isinstance(line, ast.Assign):
            put(line.targets[0], value(line.value))
        elif called and called != "print" and not called.endswith(".show"):
            if not is_register(line.value.func):
                schedules.add(called.split(".")[0])
            call(line.value)
    return sch.mod
`;

const RELAX = `import ast
import operator
import re
import sys
import tempfile
from typing import TypeVar

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

# Where passes are looked up: those of Relax go first.
PLACES = [("relax", relax.transform), ("transform", tvm.transform)]
for name in ("s_tir", "tirx", "tir"):
    if hasattr(getattr(tvm, name, None), "transform"):
        PLACES.append((name, getattr(tvm, name).transform))
if hasattr(tvm, "s_tir"):
    from tvm.s_tir import dlight

    PLACES += [("dlight", dlight), ("cpu", dlight.cpu), ("gpu", dlight.gpu)]
BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
# What stands in maps of indices besides operators.
SCALARS = r"T\\.(u?int\\d+|float\\d+|min|max|floordiv|floormod|truncdiv|truncmod|if_then_else)"


def read(text):
    names = {"I": I, "R": R, "T": T, "tvm": tvm}
    for name in re.findall(r"^(\\w+) = TypeVar\\(", text, re.M):
        names[name] = TypeVar(name)
    # The constants stand before the module, too.
    given = re.search(r'^metadata = tvm\\.ir\\.load_json\\(("""[\\s\\S]*?""")\\)', text, re.M)
    if given:
        names["metadata"] = tvm.ir.load_json(ast.literal_eval(given[1]))
    elif "metadata[" in text:
        sys.exit("this program was copied without its metadata, so TVM does not know its constants")
    text = text[re.search(r"^@", text, re.M).start() :]
    program = tvm.script.from_source(text, names, check_well_formed=False)
    return program if isinstance(program, tvm.IRModule) else tvm.IRModule({"main": program})


def equal(module, text):
    # Through text both: what a text does not say, such as types inside of expressions, is found by reading.
    given = read(module.script(show_meta=True))
    tvm.ir.assert_structural_equal(given, read(text), map_free_vars=True)
`;

const RELAY = `import ast
import sys

import tvm

if not hasattr(tvm, "relay"):
    sys.exit(f"this is a program of Relay, which TVM {tvm.__version__} does not have: take TVM 0.19")

from tvm import relay

# Where passes are looked up.
PLACES = [("relay", relay.transform), ("transform", tvm.transform)]


def read(text):
    program = tvm.relay.fromtext(text)
    if not isinstance(program, tvm.IRModule):
        program = tvm.IRModule.from_expr(program)
    return relay.transform.InferType()(program)


def equal(module, text):
    tvm.ir.assert_structural_equal(module, read(text), map_free_vars=True)
`;

/** Returns the head of the script: its description, and the link that it was made from. */
function headOf(relax: boolean, version: string, link: string): string {
  return `"""The passes of a passlab link, run by TVM itself.

It fails when TVM gives another program than passlab did.
Made for ${relax ? "TVM 0.27 (pip install apache-tvm)" : "TVM 0.19, the last version with Relay"}.
"""
# passlab ${visible(version)}
# ${visible(link)}

`;
}

/** Runs the passes: all in one go, or one after the other if some of them run in passlab only. */
const runOf = (context: string, given: boolean): string =>
  given
    ? `def run():
    module = read(BEFORE)
    with tvm.transform.PassContext(${context}):
        for step in PASSES:
            if isinstance(step, Given):
                equal(module, step.before)
                module = read(step.after)
            else:
                module = tvm.transform.Sequential([made(step)])(module)
    return module
`
    : `def run():
    with tvm.transform.PassContext(${context}):
        return tvm.transform.Sequential([made(step) for step in PASSES])(read(BEFORE))
`;

/** Makes a script that runs the same passes on real TVM and asserts that they give the page's result. */
export function python(document: RunDocument, result: Result, link: string): string {
  const relax = result.dialect === "relax";
  const given = result.steps.some((step) => typeof step !== "string");
  const scheduled = result.steps.some(
    (step) => typeof step === "string" && /(^|\.)Schedule$/.test(callName(step)),
  );
  const config = Object.entries(document.config).map(
    ([key, text]) => `${literal(key)}: value(${literal(text)})`,
  );
  const context = [
    `opt_level=${Number(document.optLevel)}`,
    ...(document.required.length > 0 ? [`required_pass=${list(document.required)}`] : []),
    ...(document.disabled.length > 0 ? [`disabled_pass=${list(document.disabled)}`] : []),
    ...(config.length > 0 ? [`config={${config.join(", ")}}`] : []),
  ].join(", ");
  const check = result.failure
    ? `try:
    run()
except Exception as error:  # What TVM raises differs from pass to pass.
    print("TVM fails as passlab did:", FAILURE, error)
else:
    raise AssertionError("passlab failed here and TVM does not")
`
    : `equal(run(), AFTER)
print("TVM", tvm.__version__, "gives what passlab showed")
`;
  const step = (one: string | Given) =>
    typeof one === "string"
      ? `    ${literal(one)},\n`
      : `    # ${visible(one.name)}\n    Given(${literal(one.before)}, ${literal(one.after)}),\n`;
  const goal = result.failure
    ? `FAILURE = ${literal(visible(result.failure))}`
    : `AFTER = ${literal(result.after)}`;
  return `${headOf(relax, result.version, link)}${relax ? RELAX : RELAY}
${MADE}${scheduled ? SCHEDULE : ""}${given ? GIVEN : ""}

BEFORE = ${literal(result.before)}

${goal}

PASSES = [
${result.steps.map(step).join("")}]


${runOf(context, given)}

${check}`;
}
