/** Takes parts out of Python's standard library, which `pyodide` brings as a zip archive. */

/** Terminals, servers and clients: there is neither a terminal nor a network in the sandbox. Modules for Windows and macOS alone. */
const ABSENT =
  /^(_pyrepl\/(?!__init__|trace|types|utils)|wsgiref\/|xmlrpc\/|http\/server|socketserver|imaplib|mailbox|smtplib|poplib|ftplib|nntplib|telnetlib|webbrowser|asyncio\/(proactor|windows)_|ctypes\/(macholib\/|wintypes)|multiprocessing\/popen_spawn_win32)/;

const END = 0x06054b50;
const ENTRY = 0x02014b50;

/** Returns the archive without these files; what it keeps stays as it is compressed. */
export function smallLibrary(zip: Buffer): Buffer {
  let end = zip.length - 22;
  while (end > 0 && zip.readUInt32LE(end) !== END) end--;
  if (end <= 0) throw new Error("python_stdlib.zip is no archive");
  const files: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (zip.readUInt32LE(at) !== ENTRY) throw new Error("python_stdlib.zip is damaged");
    const nameEnd = at + 46 + zip.readUInt16LE(at + 28);
    const next = nameEnd + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
    const name = zip.toString("utf8", at + 46, nameEnd);
    if (!ABSENT.test(name)) {
      const local = zip.readUInt32LE(at + 42);
      const data = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const file = Buffer.from(zip.subarray(local, data + zip.readUInt32LE(at + 20)));
      const entry = Buffer.from(zip.subarray(at, next));
      // Sizes may stand behind the data; here they stand before it.
      const flags = entry.readUInt16LE(8) & ~8;
      entry.writeUInt16LE(flags, 8);
      file.writeUInt16LE(flags, 6);
      entry.copy(file, 14, 16, 28);
      entry.writeUInt32LE(offset, 42);
      offset += file.length;
      files.push(file);
      entries.push(entry);
    }
    at = next;
  }
  const directory = Buffer.concat(entries);
  const tail = Buffer.from(zip.subarray(end, end + 22));
  tail.writeUInt16LE(entries.length, 8);
  tail.writeUInt16LE(entries.length, 10);
  tail.writeUInt32LE(directory.length, 12);
  tail.writeUInt32LE(offset, 16);
  tail.writeUInt16LE(0, 20);
  return Buffer.concat([...files, directory, tail]);
}
