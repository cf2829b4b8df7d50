/**
 * The page inside of another page: `embed.html?mode=steps#LINK` in a frame. It shows and steps, edits nothing, keeps nothing,
 * never touches an address, and tells the page around it how high it is.
 */
import { render } from "solid-js/web";
import type { WorkerLike } from "../engine/client";
import { Later } from "../engine/later";
import type { Leave } from "../engine/worker";
import { AppContext } from "../panels/context";
import { noAttic } from "../state/attic";
import { createController } from "../state/controller";
import { Keeper, type Storage } from "../state/persist";
import { Works } from "../state/works";
import { Embed } from "./Embed";

/** Makes the engine that all embeds of a page share, as far as this browser has shared workers. */
function shared(): WorkerLike {
  const worker = new SharedWorker(new URL("../engine/worker.ts", import.meta.url), {
    type: "module",
    name: "passlab",
  });
  const like: WorkerLike = {
    postMessage: (message) => worker.port.postMessage(message),
    terminate: () => {
      worker.port.postMessage({ type: "leave" } satisfies Leave);
      worker.port.onmessage = null;
    },
    onmessage: null,
    onerror: null,
  };
  worker.port.onmessage = (event) => like.onmessage?.(event);
  worker.onerror = (event) => like.onerror?.(event as ErrorEvent);
  return like;
}

const root = document.getElementById("app");
if (!root) throw new Error("the page has no place for the application");

/** Takes everything and has nothing. */
const nowhere: Storage = {
  getItem: () => null,
  setItem: () => {},
  removeItem: () => {},
  key: () => null,
  length: 0,
};

let spawned = 0;
/** After a failure a frame gets an engine of its own: another frame may have broken the shared one. */
const spawn = (): WorkerLike =>
  spawned++ === 0 && "SharedWorker" in self
    ? shared()
    : new Worker(new URL("../engine/worker.ts", import.meta.url), { type: "module" });

render(() => {
  const app = createController({
    spawn,
    spawnSandbox: (script) =>
      new Later(() => import("../sandbox/host").then(({ sandboxOf }) => sandboxOf(script))),
    // An embed stores nothing, and shows no notice about that.
    keeper: new Keeper(nowhere),
    works: new Works(nowhere, noAttic, ""),
    watchdog: 10_000,
    location,
    history: { replaceState: () => {}, pushState: () => {}, state: null },
    copy: () => Promise.reject(new Error("an embed copies nothing")),
  });
  void app.start();
  window.addEventListener("hashchange", app.addressed);
  const wanted = new URLSearchParams(location.search).get("mode");
  return (
    <AppContext.Provider value={app}>
      <Embed mode={wanted === "steps" ? "steps" : "read"} />
    </AppContext.Provider>
  );
}, root);

const tell = () => {
  const height = Math.ceil(root.getBoundingClientRect().height);
  if (window.parent !== window) window.parent.postMessage({ type: "passlab-height", height }, "*");
};
new ResizeObserver(tell).observe(root);
