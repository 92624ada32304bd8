import type { CommandWords, OptionWords, Values } from './words.js';

/** Declarations for fish, one for each word. */
export function fishScript(commands: readonly CommandWords[]): string {
  const names = commands.find(({ path }) => path.length === 0)!.subcommands;
  const lines = commands.flatMap((command) => {
    const condition = conditionOf(command, names);
    const inner = commands.filter(
      ({ path }) =>
        path.length === command.path.length + 1 && path.slice(0, -1).join() === command.path.join(),
    );
    return [
      ...inner.map(({ path, meaning }) => line(condition, `-a ${path.at(-1)} -d ${quoted(meaning)}`)),
      ...command.options.map((option) => line(condition, optionFlags(option))),
      ...(command.argument ? [line(condition, argumentFlags(command.argument))] : []),
    ];
  });
  const first = ['# Completion of acc. Written by: acc completion fish', 'complete -c acc -f'];
  return [...first, ...lines, ...NPX, ''].join('\n');
}

/** Completes the words after `npx acc` as those after `acc`. */
const NPX = [
  `complete -c npx -n 'test (count (commandline -opc)) -ge 2; and test (commandline -opc)[2] = acc' -f -a '(complete -C (string join " " -- (commandline -opc)[2..-1] (commandline -ct)))'`,
];

const line = (condition: string, flags: string): string => `complete -c acc -n ${quoted(condition)} ${flags}`;

function conditionOf({ path }: CommandWords, names: readonly string[]): string {
  if (path.length === 0) return `not __fish_seen_subcommand_from ${names.join(' ')}`;
  return path.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ');
}

function optionFlags({ names, meaning, values }: OptionWords): string {
  const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = values ? ` ${valueFlags(values)}` : '';
  return `${flags.join(' ')}${value} -d ${quoted(meaning)}`;
}

function valueFlags(values: Values): string {
  if ('words' in values)
    return `${values.kind === 'words' ? '-x' : '-r -F'} -a ${quoted(listed(values.words))}`;
  return values.kind === 'file' ? '-r -F' : '-x';
}

const argumentFlags = (values: Values): string =>
  values.kind === 'words' ? `-a ${quoted(values.words.join(' '))}` : '-F';

/** The words with nothing after a tab: fish would show the meaning of the option beside each. */
const listed = (words: readonly string[]): string => `(printf "%s\\t\\n" ${words.join(' ')})`;

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
