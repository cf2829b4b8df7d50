/**
 * Builds the sandbox: its frame as a page whose policy names the hash of its one script, and what its worker runs as one
 * classic script, because a module worker does not start from a blob in a frame without an origin. Both are files of
 * their own that nothing loads before the first script is run.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { build, type Plugin } from "vite";

const FRAME = "passlab-sandbox-frame";
const HARNESS = "passlab-harness";
const here = import.meta.dirname;

/** No network, no storage, no other script; the worker and the user's module come from blobs of the frame itself. */
function framePage(): string {
  const script = readFileSync(resolve(here, "frame.js"), "utf8");
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${hash}' 'wasm-unsafe-eval' blob:; worker-src blob:`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <title>Sandbox</title>
  </head>
  <body>
    <script>${script}</script>
  </body>
</html>
`;
}

/**
 * The glue knows an address of the engine for those who give it none. The sandbox gives it bytes; left in, that
 * address would bring the whole engine along, as text.
 */
const withoutAddress: Plugin = {
  name: "passlab-no-address",
  enforce: "pre",
  transform: (code, id) =>
    id.endsWith("/passlab.js")
      ? code.replace(/new URL\([^)]*import\.meta\.url\)/, "undefined")
      : undefined,
};

async function harnessScript(alias: Record<string, string>, minify: boolean): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: "warn",
    resolve: { alias },
    plugins: [withoutAddress],
    publicDir: false,
    build: {
      write: false,
      target: "es2022",
      minify,
      lib: { entry: resolve(here, "harness.ts"), formats: ["iife"], name: "harness" },
    },
  });
  const [first] = Array.isArray(result) ? result : [result];
  const chunk = first && "output" in first ? first.output[0] : undefined;
  if (chunk?.type !== "chunk") throw new Error("the sandbox's worker was not built");
  return chunk.code;
}

/** The modules `passlab-sandbox-frame` and `passlab-harness`: the addresses of the two files. */
export function sandbox(alias: Record<string, string>): Plugin {
  let serving = false;
  return {
    name: "passlab-sandbox",
    configResolved(config) {
      serving = config.command === "serve";
    },
    configureServer(server) {
      server.middlewares.use(async (request, response, next) => {
        const path = (request.url ?? "").replace(/[?#].*$/, "");
        if (path.endsWith("/@sandbox.html")) {
          response.setHeader("content-type", "text/html");
          response.end(framePage());
        } else if (path.endsWith("/@harness.js")) {
          response.setHeader("content-type", "text/javascript");
          response.end(await harnessScript(alias, false));
        } else next();
      });
    },
    resolveId: (id) => (id === FRAME || id === HARNESS ? `\0${id}` : undefined),
    async load(id) {
      if (id !== `\0${FRAME}` && id !== `\0${HARNESS}`) return;
      const frame = id === `\0${FRAME}`;
      if (serving) return `export default "./@${frame ? "sandbox.html" : "harness.js"}";`;
      const reference = this.emitFile({
        type: "asset",
        name: frame ? "sandbox.html" : "harness.js",
        source: frame ? framePage() : await harnessScript(alias, true),
      });
      return `export default import.meta.ROLLUP_FILE_URL_${reference};`;
    },
  };
}
