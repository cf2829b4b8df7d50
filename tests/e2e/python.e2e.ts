/** Scripts in Python: CPython in the sandbox, its passes on the list, its errors at their places, and no way out. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BRIEF, eventually, type Lab, SMALL, type Stage, setUp } from "./browser";
import { type Detector, detector } from "./detector";

let stage: Stage;
let leak: Detector;

beforeAll(async () => {
  [stage, leak] = await Promise.all([setUp(BRIEF), detector()]);
});
afterAll(async () => {
  await leak?.close();
  await stage?.close();
});

const RELAX = `# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv = R.add(x, x)
            gv = R.exp(lv)
            R.output(gv)
        return gv
`;

/** A mutator over Relax, an instrument, and a program that the script makes itself. */
const PASSES = `import tvm
from tvm import relax
from tvm.script import ir as I, relax as R

@relax.expr_functor.mutator
class AddToMultiply(relax.PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if call.op == tvm.ir.Op.get("relax.add"):
            return relax.op.multiply(call.args[0], call.args[1])
        return call

@tvm.transform.module_pass(opt_level=0, name="MultiplyAll")
class MultiplyAll:
    """Every addition becomes a multiplication."""

    def transform_module(self, mod, ctx):
        mutator = AddToMultiply(mod)
        for var, func in mod.functions_items():
            if isinstance(func, relax.Function):
                mutator.builder_.update_func(var, mutator.visit_expr(func))
        return mutator.builder_.get()

@tvm.instrument.pass_instrument
class Names:
    def run_before_pass(self, mod, info):
        print("before", info.name)

@I.ir_module
class Mine:
    @R.function
    def f(x: R.Tensor((3,), "float32")):
        return R.add(x, x)

with tvm.transform.PassContext(opt_level=3, instruments=[Names()]):
    print("multiply" in str(MultiplyAll()(Mine)))
`;

/** A script that runs passes itself, and makes a module that goes through none. */
const NOTEBOOK = `import tvm
from tvm import relax
from tvm.script import ir as I, relax as R

@I.ir_module
class Mine:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.exp(a)
            R.output(b)
        return b

@tvm.transform.module_pass(opt_level=0, name="Untouched")
def untouched(mod, ctx):
    return mod

with tvm.transform.PassContext(opt_level=3):
    mod = tvm.transform.Sequential([relax.transform.LegalizeOps(), relax.transform.FuseOps()])(Mine)
untouched(mod)

@I.ir_module
class Other:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        return R.exp(x)
`;

/** Python takes seconds to start, and more where other tests run beside it. */
const START = 60_000;

const said = (lab: Lab, text: string) =>
  lab.console.getByText(text).first().waitFor({ timeout: START });

async function withPython(script: string, body: (lab: Lab) => Promise<void>): Promise<void> {
  await stage.withPage({}, async (lab) => {
    await lab.write(SMALL);
    await lab.tab("My passes").click();
    await lab.patience(60);
    await lab.writeScript(script);
    await body(lab);
  });
}

describe("a script in Python", { timeout: 120_000 }, () => {
  test("puts its passes on the list, and its modules into the editor of programs", () =>
    withPython(PASSES, async (lab) => {
      await said(lab, "before MultiplyAll");
      await said(lab, "True");
      const language = lab.page.getByRole("radiogroup", { name: "Language" });
      expect(await language.getByRole("radio", { name: "Python" }).isChecked()).toBe(true);
      await lab.example("Two convolutions (Relax)");
      await lab.tab("Program").click();
      await lab.write(RELAX);
      await lab.tab("My passes").click();
      await lab.button("Add MultiplyAll").click();
      await lab.step(/^MultiplyAll changed/).click({ timeout: START });
      await lab.region("Diff").getByText("R.multiply").first().waitFor();
      await lab.tab("My passes").click();
      await lab.button("Open Mine as program").click({ timeout: START });
      await lab.tab("Program").click();
      await eventually(() => lab.source(), /@R\.function\s+def f\(/);
    }));

  test("that runs passes is stepped through, each pass with its time and what it changed", () =>
    withPython(NOTEBOOK, async (lab) => {
      await lab.page.getByText("3 passes").waitFor({ timeout: START });
      await lab.button("Step through").click();
      await lab.step(/^LegalizeOps changed/).click({ timeout: START });
      await lab.region("Diff").getByText("R.call_tir").first().waitFor();
      const steps = lab.page.getByRole("listbox", { name: "Steps" }).getByRole("option");
      await eventually(
        async () => (await steps.allTextContents()).join(" "),
        /LegalizeOps.*FuseOps.*Untouched.*Other/s,
      );
      await eventually(async () => (await steps.allTextContents()).join(" "), /\d (ms|µs)/);
      // The script is still there, and its program has become the one of the page.
      expect(await lab.written()).toBe(NOTEBOOK);
      await lab.tab("Program").click();
      await eventually(() => lab.source(), /R\.exp/);
    }));

  const again = async (lab: Lab) => {
    await lab.page.reload();
    await lab.tab("My passes").click();
    await said(lab, "one");
  };

  test("starts from what an earlier visit kept, and from nothing where that is damaged", () =>
    withPython('print("one")', async (lab) => {
      await said(lab, "one");
      const kept = () =>
        lab.page.evaluate(async () => {
          const names = (await caches.keys()).filter((name) => name.startsWith("passlab-python"));
          const caching = await Promise.all(names.map((name) => caches.open(name)));
          return (await Promise.all(caching.map((cache) => cache.keys()))).flat().length;
        });
      await eventually(kept, 1);
      await again(lab);
      await lab.page.evaluate(async () => {
        for (const name of await caches.keys()) {
          if (!name.startsWith("passlab-python")) continue;
          const cache = await caches.open(name);
          for (const key of await cache.keys()) await cache.put(key, new Response("damaged"));
        }
      });
      await again(lab);
    }));

  test("is completed and explained from the docs of the package", () =>
    withPython("import tvm\n", async (lab) => {
      await lab.script.click();
      await lab.page.keyboard.press("Control+End");
      await lab.page.keyboard.type("tvm.relax.PyExprMu");
      const list = lab.page.getByRole("listbox", { name: "Completions" });
      await list.getByRole("option", { name: /^PyExprMutator/ }).waitFor();
      await lab.page.locator(".api-doc").getByText("class PyExprMutator").waitFor();
    }));

  test("is underlined where it goes wrong, with the name of the exception", () =>
    withPython(`# language: python\ndef f():\n    raise KeyError("é")\n\nf()\n`, async (lab) => {
      await lab.problems.getByText("KeyError: 'é'").first().waitFor({ timeout: START });
      await lab.problems.getByText("3:5").first().waitFor();
      await lab.writeScript("import tvm\nx = = 1\n");
      await lab.problems.getByText("SyntaxError").first().waitFor({ timeout: START });
      await lab.writeScript("import tvm\ntvm.relax.transform.FuseOpps()\n");
      await lab.problems.getByText("FuseOpps").first().waitFor({ timeout: START });
    }));

  test("goes wrong within a pass: the step says it, the line is found", () =>
    withPython(
      `import tvm\n\n@tvm.transform.module_pass(opt_level=0)\ndef broken(mod, ctx):\n    return mod.nothing\n`,
      async (lab) => {
        await lab.button("Add broken").click({ timeout: START });
        await lab.step(/^broken failed/).waitFor({ timeout: START });
        await lab.problems.getByText("5:12").first().waitFor();
      },
    ));

  test("that does not end is stopped, and the page goes on", () =>
    withPython(`import tvm\nprint("good")\n`, async (lab) => {
      await said(lab, "good");
      await lab.patience(3);
      await lab.writeScript("import tvm\nwhile True: pass\n");
      await lab.page
        .getByRole("alert")
        .getByText(/no answer in 3 s/)
        .waitFor({ timeout: START });
      await lab.patience(60);
      await lab.writeScript(`import tvm\nprint("mended")\n`);
      await said(lab, "mended");
      await eventually(() => lab.page.getByText("stale").count(), 0);
    }));

  test("that calls itself without end is told so", () =>
    withPython("import tvm\ndef f(n):\n    return f(n + 1)\nf(0)\n", async (lab) => {
      await lab.problems.getByText("RecursionError").first().waitFor({ timeout: START });
    }));
});

/** Statements that must raise, by the way out that each tries. */
const TRIES: Readonly<Record<string, string>> = {
  "js.eval": "import js; js.eval('1')",
  "js.Function": "import js; js.Function.new('return 1')()",
  run_js: "from pyodide.code import run_js; run_js('1')",
  "js.postMessage": "import js; js.postMessage('{}')",
  "js.Worker": "import js; js.Worker.new('x.js')",
  "js.importScripts": "import js; js.importScripts(LEAK + 'scripts')",
  "js.localStorage": "import js; js.localStorage.setItem('a', 'b')",
  "js.document": "import js; js.document.body.remove()",
  XMLHttpRequest:
    "import js; r = js.XMLHttpRequest.new(); r.open('GET', LEAK + 'xhr', False); r.send()",
  urllib: "import urllib.request; urllib.request.urlopen(LEAK + 'urllib', timeout=1)",
  sockets:
    "import socket; assert socket.create_connection(('127.0.0.1', int(LEAK.split(':')[2][:-1])), 1).recv(1)",
  subprocess: "import subprocess; subprocess.run(['ls'])",
  "os.system": "import os; assert os.system('ls') == 0",
  "files of the machine": "open('/etc/passwd').read()",
  ctypes: "import ctypes; ctypes.CDLL('libc.so.6').getpid()",
  micropip: "import micropip",
};

test("no way out of Python leads anywhere", () => {
  const list = Object.entries(TRIES)
    .map(([name, code]) => `    ${JSON.stringify(name)}: ${JSON.stringify(code)},`)
    .join("\n");
  const script = `import js
LEAK = ${JSON.stringify(leak.url)}
tries = {
${list}
}
for name, code in tries.items():
    try:
        exec(code)
        print(name + ": done")
    except BaseException as error:
        print(name + ": refused")
js.fetch(LEAK + "fetch").catch(lambda error: None)
print("all tried")
`;
  return withPython(script, async (lab) => {
    await said(lab, "all tried");
    const lines = await lab.console.locator("pre").allTextContents();
    expect(lines).toEqual([...Object.keys(TRIES).map((name) => `${name}: refused`), "all tried"]);
    expect(leak.requests).toEqual([]);
    await lab.tab("Program").click();
    expect(await lab.source()).toBe(SMALL);
  });
}, 120_000);

test("without a script in Python nothing of it is loaded", () =>
  stage.withPage({}, async (lab) => {
    await lab.writeScript(`console.log("good");`);
    await lab.console.getByText("good").waitFor();
    const loaded = await lab.page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => name),
    );
    expect(loaded.filter((name) => /pyodide|python/.test(name))).toEqual([]);
  }));
