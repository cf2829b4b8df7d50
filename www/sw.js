/*
 * The service worker: after one visit the page works without a network.
 * The build fills in the version and the list of files. One version is one cache, filled completely before
 * the worker counts as installed, so a page never mixes files of two builds. A new version waits until
 * the page asks for it ("reload" in the notice) or every tab of the old one is closed.
 * From the development server there is no list: the network is asked first, and what it said is kept for later.
 */
const VERSION = "__VERSION__";
const FILES = ["__FILES__"];
/** Files that most visits never need: kept once they were asked for. */
const LATER = ["__LATER__"];
const BUILT = FILES[0] !== "__FILES__";

const scope = self.registration.scope;
const prefix = `passlab ${scope} `;
const cacheName = prefix + VERSION;

self.addEventListener("install", (event) => {
  if (!BUILT) self.skipWaiting();
  event.waitUntil(fill());
});

async function fill() {
  const cache = await caches.open(cacheName);
  await Promise.all(
    (BUILT ? FILES : []).map(async (file) => {
      const address = new URL(file, scope);
      const answer = await fetch(address, { cache: "no-cache" });
      if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
      await cache.put(address, plain(answer));
    }),
  );
}

/**
 * Hosts with clean addresses send `index.html` on to the folder. A browser opens no page from an answer that says that it was
 * sent on, so what is kept does not say it.
 */
function plain(answer) {
  if (!answer.redirected) return answer;
  const type = answer.headers.get("content-type");
  return new Response(answer.body, { headers: type ? { "content-type": type } : {} });
}

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) {
        if (name.startsWith(prefix) && name !== cacheName) await caches.delete(name);
      }
      await self.clients.claim();
    })(),
  );
});

self.addEventListener("message", (event) => {
  if (event.data === "activate") self.skipWaiting();
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || !url.href.startsWith(scope)) return;
  event.respondWith(
    (async () => {
      const cache = await caches.open(cacheName);
      if (!BUILT) return networkFirst(request, cache);
      const hit = await cache.match(request, { ignoreSearch: true });
      if (!hit && LATER.some((file) => url.href === new URL(file, scope).href))
        return networkFirst(request, cache);
      return (
        hit ?? (request.mode === "navigate" ? await page(url, cache) : undefined) ?? fetch(request)
      );
    })(),
  );
});

/** A page by its name first, also without its ending: an embed is another page than the one that any other address gives. */
async function page(url, cache) {
  const named = await cache.match(`${url.origin}${url.pathname}.html`);
  return named ?? cache.match(new URL("index.html", scope));
}

async function networkFirst(request, cache) {
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put(request, plain(answer.clone()));
    return answer;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: request.mode === "navigate" });
    if (kept) return kept;
    throw error;
  }
}
