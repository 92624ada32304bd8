/** A small change of one place in a source, which a test should notice. */
export interface Mutant {
  /** From the root of the repository. */
  readonly path: string;
  readonly kind: MutantKind;
  /** The characters that are replaced. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

export type MutantKind = 'sign' | 'bound' | 'branch' | 'call';

export const MUTANT_KINDS: readonly MutantKind[] = ['sign', 'bound', 'branch', 'call'];

export const applied = (text: string, { start, end, replacement }: Mutant): string =>
  text.slice(0, start) + replacement + text.slice(end);

/** A text with several mutants, which must not overlap. */
export function appliedAll(text: string, mutants: readonly Mutant[]): string {
  return [...mutants].sort((a, b) => b.start - a.start).reduce(applied, text);
}

/** The changed lines, as a diff shows them. */
export function diffOf(text: string, mutant: Mutant): string {
  const line = text.slice(0, mutant.start).split('\n').length;
  const from = text.lastIndexOf('\n', mutant.start - 1) + 1;
  const behind = text.indexOf('\n', mutant.end);
  const to = behind < 0 ? text.length : behind;
  const before = text.slice(from, to);
  const after = applied(text.slice(0, to), mutant).slice(from);
  const lines = (sign: string, part: string): string[] => part.split('\n').map((each) => `${sign}${each}`);
  return [`${mutant.path}:${line} (${mutant.kind})`, ...lines('-', before), ...lines('+', after)].join('\n');
}

/** Other operators for an operator: those that make a defect which a person would make. */
export const OPERATORS: ReadonlyMap<string, readonly [kind: MutantKind, replacement: string]> = new Map([
  ['+', ['sign', '-']],
  ['-', ['sign', '+']],
  ['<', ['bound', '<=']],
  ['<=', ['bound', '<']],
  ['>', ['bound', '>=']],
  ['>=', ['bound', '>']],
  ['===', ['branch', '!==']],
  ['!==', ['branch', '===']],
  ['==', ['branch', '!=']],
  ['!=', ['branch', '==']],
  ['&&', ['branch', '||']],
  ['||', ['branch', '&&']],
]);
