import { readFileSync } from 'node:fs';
import { defaultText, LAUNCH_OPTIONS, type CommandOption } from '@acc/config';
import { describe, expect, it } from 'vitest';
import { fullName } from '../usage.js';
import { withSubcommands } from '../examples.js';
import { createProgram } from '../program.js';
import { PRINT_OPTIONS } from './cluster/print-options.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The cells of each row of the first table after a heading. */
function tableAfter(heading: string): string[][] {
  const [, rest] = readme.split(`\n## ${heading}`);
  const [table] = /^\|(?:.*\n\|)+.*/m.exec(rest!)!;
  return table
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** The row of an option in a document. Words that `--help` quotes are code there. */
function rowOf(option: CommandOption): string[] {
  const flags = option.flag.split(', ').map((flag) => `\`${flag.replace(/[<>]/g, '')}\``);
  const isWord = option.kind === 'choice' && option.default !== undefined;
  const otherwise = isWord ? `\`${defaultText(option)}\`` : defaultText(option);
  return [flags.join(', '), option.help.replace(/'([\w:,. -]+?)'(?!\w)/g, '`$1`'), otherwise];
}

describe('the README', () => {
  it('has a row for each option of acc launch, as --help has it', () => {
    const options: readonly CommandOption[] = Object.values({ ...LAUNCH_OPTIONS, ...PRINT_OPTIONS });
    expect(tableAfter('`acc launch')).toEqual(options.map(rowOf));
  });

  it('names each option of each command', () => {
    const commands = withSubcommands(createProgram(() => {}));
    const missing = commands.flatMap((command) =>
      command.options
        .filter(({ long }) => long !== '--version' && !new RegExp(`${long}(?![\\w-])`).test(readme))
        .map(({ long }) => `${fullName(command)} ${long}`),
    );
    expect(missing).toEqual([]);
  });
});
