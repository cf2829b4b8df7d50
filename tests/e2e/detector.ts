/** A server beside the page that tells whether anything reached it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A server that must never be asked for anything. */
export interface Detector {
  url: string;
  requests: string[];
  close(): Promise<void>;
}

/** Starts one. */
export async function detector(): Promise<Detector> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    response.writeHead(200, {
      "access-control-allow-origin": "*",
      "content-type": request.url === "/page" ? "text/html" : "text/javascript",
    });
    response.end(request.url === "/page" ? "<!doctype html><title>open</title>" : "");
  });
  server.on("upgrade", (request, socket) => {
    requests.push(request.url ?? "");
    socket.destroy();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}
