/*
 * The script of the sandbox's frame, which stands between the page and the user's code. It starts one worker from
 * the text that the page sends and passes messages on: questions to the worker, and for each question one
 * answer back. Any other message of the worker ends it.
 *
 * The build puts this text into a page of its own whose policy names its hash, so that no other script runs there.
 */

// Opened by itself, or framed without the sandbox, this page would have the origin of the site, and with it its storage.
if (self.origin !== "null" || parent === self) {
  throw new Error("the sandbox runs in a sandboxed frame only");
}

addEventListener("message", function start(event) {
  if (event.source !== parent || event.data?.type !== "start") return;
  removeEventListener("message", start);
  const { harness, engine, python, longest } = event.data;
  const [page] = event.ports;
  const worker = new Worker(URL.createObjectURL(new Blob([harness], { type: "text/javascript" })));
  let ready = false;
  /** True until the memory of a CPython came, which is sent once and before anything of the user's runs. */
  let starting = Boolean(python && !python.memory);
  /** Messages that the worker still owes; the first is that it is ready. */
  let owed = 1;

  const end = (message) => {
    worker.onmessage = null;
    worker.terminate();
    page.postMessage(JSON.stringify({ type: "ended", message }));
    page.close();
  };
  worker.onmessage = ({ data }) => {
    if (starting && !ready && data instanceof ArrayBuffer) {
      starting = false;
      return page.postMessage(data, [data]);
    }
    if (owed === 0) return end("they sent messages that nobody asked for");
    if (typeof data !== "string") return end("they sent something that is not an answer");
    if (data.length > longest) return end("their answer is too large");
    owed--;
    ready = true;
    page.postMessage(data);
  };
  // Once it is ready, an error outside of a question is the user's, and told with the next answer.
  worker.onerror = (error) => {
    error.preventDefault();
    if (!ready) end(error.message || "the worker did not start");
  };
  page.onmessage = ({ data }) => {
    owed++;
    worker.postMessage(data);
  };
  worker.postMessage({ engine, python }, [...engine, ...Object.values(python ?? {})]);
});
