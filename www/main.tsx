/** Starts the page: the worker first, because it has most to load; then the state of the last visit; then the panels. */
import { render } from "solid-js/web";
import { Later } from "./engine/later";
import { App } from "./panels/App";
import { AppContext } from "./panels/context";
import { browserAttic } from "./state/attic";
import { createController } from "./state/controller";
import { browserStorage, Keeper } from "./state/persist";
import { nameOfTab, Works } from "./state/works";

/** Seconds until a run counts as hung; `?watchdog=2` is for tests. */
const WATCHDOG = Number(new URLSearchParams(location.search).get("watchdog")) || 10;

const root = document.getElementById("app");
if (!root) throw new Error("the page has no place for the application");

/**
 * In a frame of another page a click may be meant for something else, and here it may be consent to run a script: that page
 * shows embeds (`embed.html`), and this one is opened by itself.
 */
function alone(place: HTMLElement): boolean {
  if (window.top === window.self) return true;
  const link = document.createElement("a");
  Object.assign(link, { href: location.href, target: "_blank", rel: "noopener" });
  link.textContent = "Open passlab in a tab of its own";
  place.replaceChildren(link);
  return false;
}

const storage = browserStorage();
const works = new Works(
  storage,
  browserAttic,
  nameOfTab((fresh) => works.rename(fresh)),
);

const start = () => {
  const app = createController({
    spawn: () => new Worker(new URL("./engine/worker.ts", import.meta.url), { type: "module" }),
    spawnSandbox: (script) =>
      new Later(() => import("./sandbox/host").then(({ sandboxOf }) => sandboxOf(script))),
    keeper: new Keeper(storage),
    works,
    watchdog: WATCHDOG * 1000,
    location,
    history,
    copy: (text) => navigator.clipboard.writeText(text),
  });
  void app.start();
  window.addEventListener("hashchange", app.addressed);
  window.addEventListener("popstate", (event) => app.travelled(event.state));
  // A tab that is closed or put aside keeps what was typed in its last moment.
  document.addEventListener("visibilitychange", () => app.keep());
  window.addEventListener("pagehide", () => app.keep());

  let waiting: ServiceWorker | null = null;
  const offer = (worker: ServiceWorker | null) => {
    if (!import.meta.env.PROD || !worker || !navigator.serviceWorker.controller) return;
    waiting = worker;
    app.dispatch({
      type: "notice",
      notice: {
        tone: "info",
        text: "A new version of passlab is ready.",
        action: "reload",
        label: "Reload",
      },
    });
  };
  if ("serviceWorker" in navigator) {
    navigator.serviceWorker.register("./sw.js").then(
      (registration) => {
        offer(registration.waiting);
        registration.addEventListener("updatefound", () => {
          const fresh = registration.installing;
          fresh?.addEventListener("statechange", () => {
            if (fresh.state === "installed") offer(fresh);
          });
        });
      },
      // Without it the page works, only not offline.
      () => {},
    );
  }
  const update = () => {
    app.keep();
    navigator.serviceWorker.addEventListener("controllerchange", () => location.reload(), {
      once: true,
    });
    waiting?.postMessage("activate");
  };

  return (
    <AppContext.Provider value={app}>
      <App onUpdate={update} />
    </AppContext.Provider>
  );
};

if (alone(root)) render(start, root);
