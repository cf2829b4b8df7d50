/** The bytes of CPython that have come; a signal, so that any panel can show it. */
import { createSignal } from "solid-js";

/** All its files before compression, roughly: what a bar is filled to. */
export const PYTHON_BYTES = 13_800_000;

const [bytes, setBytes] = createSignal<number | null>(null);

/** The bytes that have come; null while nothing is loaded. */
export const pythonLoading = bytes;

/** Says how many bytes have come, and with null that all have, or that it went wrong. */
export function loading(now: number | null): void {
  setBytes(now);
}
