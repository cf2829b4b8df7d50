/**
 * Keeps the memory of a CPython that has just started, from where the next one goes on: that takes a tenth of a second
 * instead of two. It is made before any script is there, so that none can change what later ones begin with.
 */
import asmWasmUrl from "passlab-python/wasm";

/** One for each place that the site is served from. The name of the file says of which CPython the memory is. */
const cacheName = () => `passlab-python ${new URL(".", location.href)}`;
const key = () => new URL(asmWasmUrl, location.href).href;

/** Returns the memory that an earlier visit kept. */
export async function startedMemory(): Promise<ArrayBuffer | undefined> {
  try {
    const found = await (await caches.open(cacheName())).match(key());
    const stream = found?.body?.pipeThrough(new DecompressionStream("gzip"));
    return stream && (await new Response(stream).arrayBuffer());
  } catch {
    // Without storage, or with a damaged one, CPython starts from nothing.
    return undefined;
  }
}

/** Keeps it for later visits, in place of that of another version. */
export async function keepStartedMemory(memory: ArrayBuffer): Promise<void> {
  try {
    const cache = await caches.open(cacheName());
    for (const other of await cache.keys()) if (other.url !== key()) await cache.delete(other);
    const packed = new Blob([memory]).stream().pipeThrough(new CompressionStream("gzip"));
    await cache.put(key(), new Response(await new Response(packed).blob()));
  } catch {
    // Only time is lost.
  }
}
