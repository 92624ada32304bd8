import type { Option } from 'commander';
import { shellWord, shellWords } from './shell-word.js';

/** A command line of `acc launch`, whose arguments after the script are passed to the program. */
interface Given {
  /** The words between `launch` and the script. */
  readonly before: readonly string[];
  readonly script: string;
  readonly args: readonly string[];
  /** The options of `acc launch`. */
  readonly options: readonly Option[];
}

/**
 * The warning for options of `acc launch` that stand after the script, where they become arguments of
 * the program. Undefined if there are none, or if `--` stands before the script, so that they are meant
 * for the program.
 */
export function optionsAfterScript({ before, script, args, options }: Given): string | undefined {
  if (before.at(-1) === '--') return undefined;
  const { own, others } = divided(args, options);
  if (own.length === 0) return undefined;
  const line = (words: readonly string[]) => `npx acc launch ${shellWords([...before, ...words])}`;
  const names = own.filter((word) => word.startsWith('-')).map((word) => word.split('=')[0]);
  const [is, it] = names.length === 1 ? ['is', 'an option'] : ['are', 'options'];
  return (
    `acc: ${names.join(', ')} ${is} ${it} of acc launch, but after the script ${is} only passed to ${shellWord(script)}.\n` +
    `  Write: ${line([...own, script, ...others])}\n` +
    `  If the program is meant: ${line(['--', script, ...args])}\n`
  );
}

/** The options of the command with their values, and the other arguments. */
function divided(args: readonly string[], options: readonly Option[]): Record<'own' | 'others', string[]> {
  const [own, others]: [string[], string[]] = [[], []];
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  for (let at = 0; at < end; at++) {
    const word = args[at]!;
    const option = options.find((each) => isOption(word, each));
    if (!option) {
      others.push(word);
      continue;
    }
    own.push(word);
    const hasValue = word.includes('=') || !(word === option.short || word === option.long);
    if (option.required && !hasValue && at + 1 < end) own.push(args[++at]!);
  }
  return { own, others: [...others, ...args.slice(end)] };
}

/**
 * The command line in which unknown words are arguments of the program, after `--`, for commands that
 * take their own options on both sides of the script.
 *
 * @param words The words after the name of the command.
 */
export function withProgramOptions(words: readonly string[], options: readonly Option[]): string {
  const { own, others } = divided(words, options);
  const named = others.findIndex((word) => /\.[cm]?[jt]sx?$/.test(word));
  const at = named < 0 ? others.findIndex((word) => !word.startsWith('-')) : named;
  const args = others.filter((word, i) => i !== at && word !== '--');
  return shellWords([...own, others[at] ?? 'train.ts', '--', ...args]);
}

/** `-n`, `-n4`, `--nproc` and `--nproc=4` are the option `-n, --nproc`. */
function isOption(word: string, { short, long, required }: Option): boolean {
  if (long && word.split('=')[0] === long) return true;
  if (!short) return false;
  return word === short || (required && word.startsWith(short) && /^\d+$/.test(word.slice(short.length)));
}
