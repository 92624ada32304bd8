import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../program.js';
import { completionScript } from './script.js';
import { wordsOf } from './words.js';

const program = createProgram(() => {});
const names = program.commands.map((command) => command.name());

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'acc-completion-'));
  for (const name of ['train.ts', 'my train.ts', 'acc.yaml']) writeFileSync(join(folder, name), '');
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'acc.bash'), completionScript(program, 'bash'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The completions that bash offers for the last word. Words are split as bash splits them, at = too. */
const offered = (...words: readonly string[]): string[] => offeredBy('_acc', ['acc', ...words]);

function offeredBy(completes: string, typed: readonly string[], setup = 'source acc.bash'): string[] {
  const script = [
    setup,
    `COMP_WORDS=(${typed.map((word) => `'${word}'`).join(' ')})`,
    `COMP_CWORD=${typed.length - 1}`,
    completes,
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n');
  const args = ['--norc', '--noprofile', '-c', script];
  return execFileSync('bash', args, { cwd: folder, encoding: 'utf8' }).split('\n').filter(Boolean).sort();
}

describe('acc completion bash', () => {
  it('offers commands, and those of commands', () => {
    expect(offered('')).toEqual([...names, 'help'].sort());
    expect(offered('co')).toEqual(['completion', 'config', 'convert-config']);
    expect(offered('setup', 'tf')).toEqual(['tfjs-node']);
    expect(offered('completion', '')).toEqual(['bash', 'fish', 'zsh']);
  });

  it('offers the same after npx acc, and leaves other words after npx alone', () => {
    const afterNpx = (...words: readonly string[]) => offeredBy('_acc_npx', ['npx', ...words]);
    expect(afterNpx('acc', 'co')).toEqual(['completion', 'config', 'convert-config']);
    expect(afterNpx('acc', 'launch', '-n', '2', 'tr')).toEqual(['train.ts']);
    expect([afterNpx('acc'), afterNpx('tsx', '')]).toEqual([[], []]);
  });

  it('leaves other words after npx to the completion that npx had, with its options', () => {
    const own = '_own() { COMPREPLY=("own $2"); }; complete -o nospace -F _own npx';
    const setup = `${own}; source acc.bash; source acc.bash`;
    const afterNpx = (...words: readonly string[]) => offeredBy('_acc_npx npx x', ['npx', ...words], setup);
    expect(afterNpx('tsx', '')).toEqual(['own x']);
    expect(afterNpx('acc', 'co')).toEqual(['completion', 'config', 'convert-config']);
    expect(offeredBy('complete -p npx', [], setup)).toEqual(['complete -o nospace -F _acc_npx npx']);
    const listed = offeredBy('complete -p npx', [], 'complete -W "a b" npx; source acc.bash');
    expect(listed).toEqual(["complete -W 'a b' npx"]);
  });

  it('offers each option of each command', () => {
    for (const { path, options } of wordsOf(program, {})) {
      const expected = options.flatMap((option) => option.names).sort();
      expect(offered(...path, '-'), path.join(' ')).toEqual([...new Set(expected)]);
    }
  });

  it('offers the values of options, files where they are files, and nothing for numbers', () => {
    expect(offered('launch', '--cpu-bind', '')).toEqual(['cores', 'none', 'numa']);
    expect(offered('launch', '--rdzv-backend', '')).toEqual(['c10d', 'etcd']);
    expect(offered('launch', '--strategy', 'f')).toEqual(['fsdp']);
    expect(offered('test', '--engine', '=', 'gl')).toEqual(['gloo']);
    expect(offered('launch', '--config-file', 'a')).toEqual(['acc.bash', 'acc.yaml']);
    expect(offered('launch', '--log-dir', 'd')).toEqual(['data']);
    expect(offered('launch', '-n', '')).toEqual([]);
    expect(offered('plan', '--cluster', 'a')).toEqual([
      ...['a100-slingshot', 'a100-sxm', 'a100-sxm-40gb'],
      ...['acc.bash', 'acc.yaml'],
    ]);
  });

  it('offers files for a script, and for the arguments of the program after it', () => {
    expect(offered('launch', '-n', '2', 'tr')).toEqual(['train.ts']);
    expect(offered('launch', 'my')).toEqual(['my train.ts']);
    expect(offered('launch', '-n', '2', 'train.ts', '-')).toEqual([]);
    expect(offered('launch', 'train.ts', 'tr')).toEqual(['train.ts']);
    expect(offered('env', '')).toEqual([]);
  });
});

it.each(['zsh', 'fish'] as const)('acc completion %s has a script of its own', (shell) => {
  const script = completionScript(program, shell);
  for (const name of names) expect(script).toContain(name);
  // fish shows what follows a tab beside a value, in place of the meaning of the option.
  if (shell === 'fish') expect(script).toMatch(/-x -a '\(printf "%s\\\\t\\\\n" none /);
});
