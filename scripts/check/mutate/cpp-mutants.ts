// The mutants of a C++ file. It is not parsed: what looks like another thing is left alone.
import { cppTokens, type Token } from './cpp-tokens.js';
import { OPERATORS, type Mutant } from './mutant.js';

/** Statements that end in an error or a text for people, or that only save time. */
const TELLS =
  /^(throw|_mm_prefetch|__builtin_prefetch|reserve|shrink_to_fit|static_assert|fail|fprintf|printf|warn|explain|describe|(TORCH_|ACC_)\w*CHECK\w*|assert|\w*[eE]rror\w*|\w*message\w*)$/;
const NOT_CALLS =
  /^(if|for|while|switch|return|sizeof|catch|delete|new|using|else|do|case|goto|co_await|decltype|alignas|[A-Z][A-Z0-9_]+)$/;

export function cppMutants(path: string, text: string): Mutant[] {
  const tokens = cppTokens(text);
  const mutants: Mutant[] = [];
  let begin = 0;
  tokens.forEach((token, at) => {
    if (!/^[;{}]$/.test(token.text)) return;
    const statement = tokens.slice(begin, at);
    begin = at + 1;
    if (statement.some((each) => TELLS.test(each.text))) return;
    mutants.push(...operatorMutants(path, text, statement), ...conditionMutants(path, text, statement));
    if (token.text === ';') mutants.push(...callMutants(path, statement));
  });
  return mutants.sort((a, b) => a.start - b.start || a.end - b.end);
}

/**
 * An operator between spaces compares or computes. Without them it may be a template, a reference or
 * a sign.
 */
function operatorMutants(path: string, text: string, statement: readonly Token[]): Mutant[] {
  const isTemplate = statement.some(({ text: word }) => ['template', 'typename', 'operator'].includes(word));
  if (isTemplate) return [];
  return statement.flatMap(({ text: operator, start, end }) => {
    const found = OPERATORS.get(operator);
    if (!found || text[start - 1] !== ' ' || !/\s/.test(text[end]!)) return [];
    return [{ path, kind: found[0], start, end, replacement: found[1] }];
  });
}

/** `if (ready)` becomes `if (!(ready))`. A comparison is mutated by its operator. */
function conditionMutants(path: string, text: string, statement: readonly Token[]): Mutant[] {
  return statement.flatMap((token, at) => {
    if (token.text !== 'if' || statement[at + 1]?.text !== '(') return [];
    const close = closing(statement, at + 1);
    if (close < 0) return [];
    const inner = statement.slice(at + 2, close);
    const isPlain = inner.every(({ text: word }) => !OPERATORS.has(word) && !/^(=|auto|const|;)$/.test(word));
    if (!isPlain || inner.length === 0) return [];
    const [start, end] = [inner[0]!.start, inner.at(-1)!.end];
    return [
      { path, kind: 'branch', start, end, replacement: `!(${text.slice(start, end)})` },
    ] satisfies Mutant[];
  });
}

/** `a.b(c);` alone in a statement does nothing. A declaration has two words before its parenthesis. */
function callMutants(path: string, statement: readonly Token[]): Mutant[] {
  let at = 0;
  while (/^\w+$/.test(statement[at]?.text ?? '') && /^(\.|->|::)$/.test(statement[at + 1]?.text ?? ''))
    at += 2;
  const name = statement[at]?.text ?? '';
  const isCall = /^[a-z_]\w*$/.test(name) && statement[at + 1]?.text === '(';
  if (!isCall || statement.some(({ text }) => NOT_CALLS.test(text))) return [];
  if (closing(statement, at + 1) !== statement.length - 1) return [];
  return [{ path, kind: 'call', start: statement[0]!.start, end: statement.at(-1)!.end, replacement: '' }];
}

/** The index of the parenthesis that closes the one at `at`, or -1. */
function closing(tokens: readonly Token[], at: number): number {
  let depth = 0;
  for (let index = at; index < tokens.length; index++) {
    if (tokens[index]!.text === '(') depth++;
    if (tokens[index]!.text === ')' && --depth === 0) return index;
  }
  return -1;
}
