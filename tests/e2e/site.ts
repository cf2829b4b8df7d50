/** A static server as plain as any host: it serves a folder under a sub-path and knows a few content types. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { brotliCompressSync } from "node:zlib";

const types: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
};

export interface Site {
  url: string;
  close(): Promise<void>;
}

/**
 * Serves a folder. `clean`: a host that redirects addresses in `.html` to those without it, as many do. `packed`: a host
 * that sends brotli, each file packed once, before its first answer.
 */
export async function serve(
  folder: string,
  subPath = "/some/where/",
  { clean = false, packed = false } = {},
): Promise<Site> {
  const ready = new Map<string, Buffer>();
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent((request.url ?? "/").replace(/[?#].*$/, ""));
    if (!path.startsWith(subPath)) {
      response.writeHead(404).end();
      return;
    }
    const asked = path.slice(subPath.length) || "index.html";
    if (clean && path.endsWith(".html")) {
      const search = /\?.*$/.exec(request.url ?? "")?.[0] ?? "";
      const to = path.replace(/(index)?\.html$/, "") + search;
      response.writeHead(308, { location: to }).end();
      return;
    }
    const name = normalize(clean && !extname(asked) ? `${asked}.html` : asked);
    try {
      const body = ready.get(name) ?? (await readFile(join(folder, name)));
      const sent = packed && !ready.has(name) ? brotliCompressSync(body) : body;
      if (packed) ready.set(name, sent);
      response.writeHead(200, {
        "content-type": types[extname(name)] ?? "application/octet-stream",
        "cache-control": name.startsWith("assets/") ? "max-age=600" : "no-cache",
        ...(packed && { "content-encoding": "br" }),
      });
      response.end(sent);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${subPath}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
