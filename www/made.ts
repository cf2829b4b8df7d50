/**
 * Files of the site that are made, not kept. Each is a module whose value is the address of the file, so that nothing
 * loads it before it is asked for.
 */
import { extname } from "node:path";
import type { Plugin } from "vite";

export interface Made {
  /** The name in the site, but for a hash. */
  name: string;
  make(minify: boolean): string | Uint8Array | Promise<string>;
}

const types: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
  ".zip": "application/zip",
};

/** The modules of these names. From the development server a file is made whenever it is asked for. */
export function made(files: Readonly<Record<string, Made>>): Plugin {
  let serving = false;
  return {
    name: "passlab-made",
    configResolved(config) {
      serving = config.command === "serve";
    },
    configureServer(server) {
      server.middlewares.use(async (request, response, next) => {
        const path = (request.url ?? "").replace(/[?#].*$/, "");
        const file = Object.values(files).find(({ name }) => path.endsWith(`/@${name}`));
        if (!file) return next();
        response.setHeader("content-type", types[extname(file.name)] ?? "text/plain");
        response.end(await file.make(false));
      });
    },
    resolveId: (id) => (Object.hasOwn(files, id) ? `\0${id}` : undefined),
    async load(id) {
      const file = id.startsWith("\0") ? files[id.slice(1)] : undefined;
      if (!file) return;
      if (serving) return `export default "./@${file.name}";`;
      const reference = this.emitFile({
        type: "asset",
        name: file.name,
        source: await file.make(true),
      });
      return `export default import.meta.ROLLUP_FILE_URL_${reference};`;
    },
  };
}
