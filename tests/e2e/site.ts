/** A static server as plain as any host: it serves a folder under a sub-path and knows a few content types. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

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

export async function serve(folder: string, subPath = "/some/where/"): Promise<Site> {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent((request.url ?? "/").replace(/[?#].*$/, ""));
    if (!path.startsWith(subPath)) {
      response.writeHead(404).end();
      return;
    }
    const name = normalize(path.slice(subPath.length) || "index.html");
    try {
      const body = await readFile(join(folder, name));
      response.writeHead(200, {
        "content-type": types[extname(name)] ?? "application/octet-stream",
        "cache-control": "no-cache",
      });
      response.end(body);
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
