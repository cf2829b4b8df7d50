/** The language of a script, decided by its text alone, so that a link needs to say nothing of it. */

export type Language = "javascript" | "python";

/** A first line that says the language where the text does not tell, or tells the wrong one. */
const SAID = /^\s*(?:#|\/\/)\s*language:\s*(javascript|python)\s*$/im;

/** Lines that begin no statement of JavaScript. */
const PYTHON =
  /^\s*(?:def \w+\(|class \w+(?:\(.*\))?:|@[\w.]+(?:\(.*\))?\s*$|from [\w.]+ import |import \w[\w.]*(?: as \w+)?\s*$|with .+:\s*$|(?:for|if|while|elif|else|try|except)\b.*:\s*(?:#.*)?$|print\(.*\)\s*$|#\s)/;
/** Lines that begin no statement of Python. */
const JAVASCRIPT =
  /^\s*(?:(?:const|let|var|function|export|async)\b|class \w+[^:]*\{|\/\/|\/\*|.*(?:=>|;\s*$)|\}\s*\)?;?\s*$)/;

/**
 * Returns the language that a first line names (`# language: python`), or that of more of the lines that can only be one;
 * JavaScript for a text without any.
 */
export function languageOf(script: string): Language {
  const [first = ""] = script.trimStart().split("\n", 1);
  const said = SAID.exec(first)?.[1]?.toLowerCase();
  if (said) return said as Language;
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
