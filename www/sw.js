/*
 * The service worker: after one visit the page works without a network.
 * The build fills in the version and the list of files. One version is one cache, filled completely before
 * the worker counts as installed, so a page never mixes files of two builds. A new version waits until
 * the page asks for it ("reload" in the notice) or every tab of the old one is closed.
 * From the development server there is no list: the network is asked first, and what it said is kept for later.
 */
const VERSION = "__VERSION__";
const FILES = ["__FILES__"];
const BUILT = FILES[0] !== "__FILES__";

const scope = self.registration.scope;
const prefix = `passlab ${scope} `;
const cacheName = prefix + VERSION;

self.addEventListener("install", (event) => {
  if (!BUILT) self.skipWaiting();
  event.waitUntil(
    caches
      .open(cacheName)
      .then((cache) =>
        cache.addAll(
          (BUILT ? FILES : []).map(
            (file) => new Request(new URL(file, scope), { cache: "no-cache" }),
          ),
        ),
      ),
  );
});

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
      // A page by its name first: an embed is another page than the one that any other address gives.
      const hit =
        (await cache.match(request, { ignoreSearch: true })) ??
        (request.mode === "navigate" ? await cache.match(new URL("index.html", scope)) : undefined);
      return hit ?? fetch(request);
    })(),
  );
});

async function networkFirst(request, cache) {
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put(request, answer.clone());
    return answer;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: request.mode === "navigate" });
    if (kept) return kept;
    throw error;
  }
}
