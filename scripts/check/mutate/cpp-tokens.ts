// C++ as tokens, without comments, texts and lines of the preprocessor.

export interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The first alternatives are left out: comments, texts, and directives with their continued lines. */
const PATTERN = new RegExp(
  [
    String.raw`(?<skipped>\/\/[^\n]*|\/\*[\s\S]*?\*\/`,
    String.raw`R"(?<mark>[^(\s]*)\([\s\S]*?\)\k<mark>"`,
    String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'`,
    String.raw`^[ \t]*#(?:\\\n|[^\n])*)`,
    String.raw`(?<number>\d(?:'?[\w.])*)`,
    String.raw`(?<word>[A-Za-z_]\w*)`,
    String.raw`(?<operator>->\*?|::|<=>|<<=|>>=|<<|[-+*/%&|^=!<>]=|&&|\|\||\+\+|--|[^\s\w])`,
  ]
    .join('|')
    .replaceAll('|R"', '|R"'),
  'gm',
);

/** The tokens in their order. Texts are tokens `""`, so that a statement keeps its parts. */
export function cppTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(PATTERN)) {
    const [found] = match;
    const { skipped } = match.groups!;
    const isText = skipped !== undefined && /^(R?"|')/.test(skipped);
    if (skipped !== undefined && !isText) continue;
    tokens.push({ text: isText ? '""' : found, start: match.index, end: match.index + found.length });
  }
  return tokens;
}
