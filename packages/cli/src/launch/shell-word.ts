/** The text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The texts as words of a POSIX shell. */
export function shellWords(texts: readonly string[]): string {
  return texts.map(shellWord).join(' ');
}
