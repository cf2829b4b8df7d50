// @ts-check
/** TVM's own tests by file: how many of those that TVM passes pass here. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const main = join(dirname(fileURLToPath(import.meta.url)), "main.mjs");
/** A process may take this long, in milliseconds. */
const LIMIT = 600_000;
/** So many files share a process: to start it takes longer than most files do. */
const TOGETHER = 24;

/**
 * The tests of a file that count: those that TVM passed; of Relay, where no one can say, all.
 * @param {string} folder
 * @returns {Map<string, Set<string>>}
 */
function wanted(folder) {
  const tests = new Map();
  for (const line of readFileSync(join(folder, "index.jsonl"), "utf8").split("\n")) {
    if (!line) continue;
    const row = JSON.parse(line);
    if (!row.test || !["passed", "unknown"].includes(row.baseline)) continue;
    const file = row.file;
    if (!tests.has(file)) tests.set(file, new Set());
    tests.get(file).add(row.test);
  }
  return tests;
}

/**
 * Outcomes by file and test, without parameters: passed when every case passed or was skipped. A file is not there if it
 * could not be collected. One process runs all of the files.
 * @param {string[]} paths
 * @param {string} out
 * @returns {Map<string, Map<string, string>>}
 */
function run(paths, out) {
  writeFileSync(out, "");
  try {
    execFileSync("node", [main, "--pytest", "--json", out, ...paths], {
      stdio: "ignore",
      timeout: LIMIT,
    });
  } catch {}
  /** @type {Map<string, Map<string, string>>} */
  const files = new Map(paths.map((path) => [path, new Map()]));
  for (const line of readFileSync(out, "utf8").split("\n")) {
    if (!line) continue;
    const { file, test, outcome } = JSON.parse(line);
    if (outcome === "collect-error" || !test) files.delete(file);
    else {
      const name = test.replace(/\[.*$/s, "");
      const outcomes = files.get(file);
      const good = ["passed", "skipped", "xfailed"].includes(outcome);
      if (!good || !outcomes?.has(name)) outcomes?.set(name, good ? "passed" : "failed");
    }
  }
  return files;
}

/**
 * @param {Map<string, string> | undefined} outcomes
 * @param {Set<string>} tests
 */
function count(outcomes, tests) {
  /** @param {string} outcome */
  const having = (outcome) => [...tests].filter((test) => outcomes?.get(test) === outcome).length;
  return { passed: having("passed"), failed: having("failed"), collected: outcomes !== undefined };
}

/**
 * @param {string[]} args
 * @param {string} root
 */
export function table(args, root) {
  const folder = process.env.PASSLAB_PYTHON_TESTS ?? join(root, "../shared/python");
  if (!existsSync(join(folder, "index.jsonl"))) {
    console.log(
      "skipped: TVM's own tests are not here (../shared/python, or $PASSLAB_PYTHON_TESTS)",
    );
    return 0;
  }
  const counts = join(root, "tests/python.txt");
  const update = args.includes("--update");
  const check = args.includes("--check");
  const filter = args.find((arg) => !arg.startsWith("-")) ?? "";
  const before = new Map();
  if (existsSync(counts))
    for (const line of readFileSync(counts, "utf8").split("\n")) {
      const [file, passed, of] = line.split(/\s+/);
      if (file && !file.startsWith("#")) before.set(file, [Number(passed), Number(of)]);
    }
  const out = join(root, "target/python");
  mkdirSync(out, { recursive: true });
  const log = join(out, "outcomes.jsonl");
  const now = new Map(before);
  const sums = new Map();
  let fell = 0;
  // One in eight of those that have something to lose: a quarter of a minute, where all take ten.
  const sample = args.includes("--sample");
  const able = [...before].filter(([, [passed]]) => passed > 0).map(([file]) => file);
  const picked = new Set(able.filter((_, index) => index % 8 === 0));
  const chosen = [...wanted(folder)]
    .filter(([file]) => file.includes(filter) && (!sample || picked.has(file)))
    .sort();
  /** @type {ReturnType<typeof run>} */
  let together = new Map();
  for (const [index, [file, tests]] of chosen.entries()) {
    if (index % TOGETHER === 0 && !update) {
      const some = chosen.slice(index, index + TOGETHER);
      together = run(
        some.map(([one]) => join(folder, one)),
        log,
      );
    }
    const path = join(folder, file);
    const was = before.get(file)?.[0] ?? 0;
    let found = count(together.get(path), tests);
    // Alone it counts: in company a file finds what others have registered, and none has the name of another.
    if (update || found.passed < was || !found.collected)
      found = count(run([path], log).get(path), tests);
    const { passed, failed, collected } = found;
    const missing = tests.size - passed - failed;
    if (passed < was) fell += 1;
    const mark = passed < was ? `  was ${was}` : "";
    const how = collected ? "" : "  not collected";
    console.log(
      `${file}  ${passed} passed, ${failed} failed, ${missing} not run, of ${tests.size}${how}${mark}`,
    );
    now.set(file, [passed, tests.size]);
    const group = file.split("/")[0];
    const sum = sums.get(group) ?? [0, 0];
    sums.set(group, [sum[0] + passed, sum[1] + tests.size]);
  }
  for (const [group, [passed, of]] of sums)
    console.log(`${group}: ${passed} of ${of} (${((100 * passed) / of).toFixed(1)} %)`);
  if (update) {
    const lines = [...now].sort().map(([file, [passed, of]]) => `${file} ${passed} ${of}`);
    const head =
      "# TVM's own tests: passed here, of those that TVM passes (cargo xtask python --table --update)";
    writeFileSync(counts, `${[head, ...lines].join("\n")}\n`);
  }
  return check && fell > 0 ? 1 : 0;
}
