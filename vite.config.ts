import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { minifySync, type Plugin } from "vite";
import solid from "vite-plugin-solid";
import { defineConfig } from "vitest/config";
import { made } from "./www/made.ts";
import { python, sandbox } from "./www/sandbox/build.ts";
import { texts } from "./www/texts.ts";

const here = import.meta.dirname;

/**
 * The page may load and run no more than this. No server of ours ever sees a program: connections go
 * only to where the page came from. CodeMirror writes its styles in a style element, hence 'unsafe-inline' there.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "worker-src 'self'",
  // The frame of the sandbox, which has a stricter policy of its own.
  "frame-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Adds the policy to the built page only: the development server needs inline scripts and a socket. */
function contentPolicy(): Plugin {
  return {
    name: "passlab-policy",
    apply: "build",
    transformIndexHtml: () => [
      {
        tag: "meta",
        attrs: { "http-equiv": "Content-Security-Policy", content: policy },
        injectTo: "head-prepend",
      },
    ],
  };
}

function filesUnder(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? filesUnder(path) : [path];
  });
}

/**
 * Writes `sw.js`: the service worker with the list of everything that was built and a version made
 * from all their bytes, so that the same build is the same worker and a new build replaces all files at once.
 */
function offline(): Plugin {
  /** CPython and what belongs to it. */
  const python = /assets\/(?:pyodide|python)[-._]/;
  let out = "dist";
  return {
    name: "passlab-offline",
    configureServer(server) {
      server.middlewares.use("/sw.js", (_, response) => {
        response.setHeader("content-type", "text/javascript");
        response.end(readFileSync(resolve(here, "www/sw.js")));
      });
    },
    configResolved(config) {
      out = resolve(config.root, config.build.outDir);
    },
    // Not closeBundle, which is called after a failed build too and would hide its message.
    writeBundle() {
      const hash = createHash("sha256");
      const files = filesUnder(out)
        .filter((path) => !path.endsWith("sw.js"))
        .sort();
      for (const path of files) hash.update(relative(out, path)).update(readFileSync(path));
      const list = files.map((path) => relative(out, path).replaceAll("\\", "/"));
      const source = readFileSync(resolve(here, "www/sw.js"), "utf8")
        .replace('"__VERSION__"', JSON.stringify(hash.digest("hex").slice(0, 16)))
        .replace('["__FILES__"]', JSON.stringify(list.filter((name) => !python.test(name))))
        .replace('["__LATER__"]', JSON.stringify(list.filter((name) => python.test(name))));
      writeFileSync(join(out, "sw.js"), minifySync("sw.js", source).code);
    },
  };
}

/**
 * Mends a slip of the editor's library (@codemirror/state 6.7.6, `compare`): the end of a mark in the old document is
 * compared with a position in the new one, so that after a letter was deleted all marks behind it count as changed, and
 * the editor takes every line apart. The build fails when the place is no longer there: then this can go.
 */
function marksBehindDeletions(): Plugin {
  const slip = "a.openEnd(end) != b.openEnd(end)";
  return {
    name: "passlab-codemirror",
    apply: "build",
    transform(code, id) {
      if (!/@codemirror\/state\/dist\/index\.js$/.test(id)) return null;
      if (!code.includes(slip)) this.error(`${slip} is not in @codemirror/state any more`);
      return { code: code.replace(slip, "a.openEnd(end - dPos) != b.openEnd(end)"), map: null };
    },
  };
}

/** No browser has `process`: with that said, what libraries print of themselves when it asks them to is left out. */
function noProcess(): Plugin {
  return {
    name: "passlab-no-process",
    apply: "build",
    config: () => ({ define: { process: "undefined" } }),
  };
}

/** The engine; the sandbox opens the same one from bytes. */
const engine = {
  "passlab-engine-bytes": resolve(here, "www/engine/bytes.ts"),
  "passlab-engine": resolve(here, "www/pkg"),
  "passlab-session": resolve(here, "www/engine/wasm.ts"),
  "passlab-sandbox-session": resolve(here, "www/sandbox/session.ts"),
};

const panels =
  /www\/(graph\/|share\/|lessons\/(LessonList|LessonPane|attempt|judge|lessons\.css)|panels\/(passes\/(AddPass|ContextForm|EditPass|Explained)|Compare|Culprit|Help|HistoryPanel|Matrix|OpenMenu|Operators|Palette|Popover|Rewrites|TensorView|Timing|Values|choices|prose)|state\/(beside|flame|unzip|zip)|engine\/explanations|styles\/(compare|culprit|history|matrix|operators|palette|popover|rewrites|sheet|timing|values)\.css)|package\.json/;
/** The modules that two of the above, or the page and the frame that is put into other pages, have in common. */
const shared = /www\/|passlab-|node_modules\/solid-js|preload-helper/;
/** What the editors do beyond showing a text (keys, search, completion, languages): it comes after the first screen. */
const editing =
  /www\/editor\/(completing|explained|keys|program|words)|node_modules\/(@codemirror\/(autocomplete|commands|language|lint|search)|@lezer)/;
const editor = /node_modules\/(@codemirror\/(view|state)|@marijn|style-mod|w3c-keyname|crelt)/;

export default defineConfig({
  base: "./",
  publicDir: "www/public",
  plugins: [
    solid(),
    made({ ...sandbox(engine), ...python, ...texts }),
    contentPolicy(),
    offline(),
    marksBehindDeletions(),
    noProcess(),
  ],
  resolve: { alias: engine },
  worker: { format: "es" },
  build: {
    target: "es2022",
    outDir: process.env.PASSLAB_DIST ?? "dist",
    assetsInlineLimit: 0,
    // Every browser that runs the engine knows modulepreload.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ["index.html", "embed.html"].map((page) => resolve(here, page)),
      // The libraries of the editor as one file, which stays the same for long, and what opens over the page as another:
      // cut in many they compress worse.
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: "editor", test: editor },
            { name: "editing", test: editing },
            { name: "panels", test: panels },
            { name: "shared", test: shared, minShareCount: 2 },
          ],
        },
      },
    },
    reportCompressedSize: false,
  },
  test: {
    include: ["www/**/*.test.ts"],
    environment: "node",
    // Files share their processes: one for each took longer than the tests in them.
    isolate: false,
  },
});
