/** The language of a script, decided by its text alone, so that a link needs to say nothing of it. */
import type { Problem } from "../engine/protocol";

export type Language = "javascript" | "python";

/** A first line that says the language where the text does not tell, or tells the wrong one. */
const SAID = /^\s*(?:#|\/\/)\s*language:\s*(.*?)\s*$/im;
const LANGUAGES: readonly string[] = ["javascript", "python"];

/** Lines that begin no statement of JavaScript. */
const PYTHON =
  /^\s*(?:def \w+\(|class \w+(?:\(.*\))?:|@[\w.]+(?:\(.*\))?\s*$|from [\w.]+ import |import \w[\w.]*(?: as \w+)?\s*$|with .+:\s*$|(?:for|if|while|elif|else|try|except)\b.*:\s*(?:#.*)?$|print\(.*\)\s*$|#\s)/;
/** Lines that begin no statement of Python. */
const JAVASCRIPT =
  /^\s*(?:(?:const|let|var|function|export|async)\b|class \w+[^:]*\{|\/\/|\/\*|.*(?:=>|;\s*$)|\}\s*\)?;?\s*$)/;

/** Returns the word after `language:` in the first line. */
function saidIn(script: string): string | undefined {
  const [first = ""] = script.trimStart().split("\n", 1);
  return SAID.exec(first)?.[1]?.toLowerCase();
}

/** Returns a warning for a first line that names a language which is not here. */
export function languageProblems(script: string): Problem[] {
  const said = saidIn(script);
  if (said === undefined || LANGUAGES.includes(said)) return [];
  const from = script.length - script.trimStart().length;
  const end = script.indexOf("\n", from);
  const close = LANGUAGES.find((name) => name[0] === said[0]) ?? "javascript or python";
  return [
    {
      severity: "warning",
      code: "user-language",
      message: `there is no language "${said}" here: ${close}? The script is taken for ${languageOf(script)}`,
      from,
      to: end < 0 ? script.length : end,
      line: script.slice(0, from).split("\n").length,
      column: 1,
      notes: [],
    },
  ];
}

/**
 * Returns the language that a first line names (`# language: python`), or that of more of the lines that can only be one;
 * JavaScript for a text without any.
 */
export function languageOf(script: string): Language {
  const said = saidIn(script);
  if (said && LANGUAGES.includes(said)) return said as Language;
  let balance = 0;
  for (const line of script.slice(0, 20_000).split("\n", 400)) {
    if (JAVASCRIPT.test(line)) balance--;
    else if (PYTHON.test(line)) balance++;
  }
  return balance > 0 ? "python" : "javascript";
}

/** Returns the text with a first line that says the language, where the text would be taken for the other one. */
export function inLanguage(script: string, language: Language): string {
  const bare = script.replace(/^\s*(?:#|\/\/)\s*language:.*\n?/i, "");
  if (languageOf(bare) === language) return bare;
  return `${language === "python" ? "#" : "//"} language: ${language}\n${bare}`;
}
