import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const ACC = join(import.meta.dirname, '../../packages/cli/bin/acc.js');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'acc-completion-'));
  for (const shell of ['zsh', 'fish']) {
    const script = execFileSync(process.execPath, [ACC, 'completion', shell], { encoding: 'utf8' });
    writeFileSync(join(folder, `acc.${shell}`), script);
  }
  writeFileSync(join(folder, 'train.ts'), '');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The completions that fish offers for a line. */
function offered(line: string): string[] {
  const env = { ...process.env, HOME: folder };
  const args = ['--no-config', '-c', `source acc.fish; complete -C '${line}'`];
  const output = execFileSync('fish', args, { cwd: folder, env, encoding: 'utf8' });
  return output.split('\n').flatMap((text) => (text ? [text.split('\t')[0]!] : []));
}

it('fish completes commands, options, values and files', () => {
  expect(offered('acc co')).toEqual(['completion', 'config', 'convert-config']);
  expect(offered('acc setup tf')).toEqual(['tfjs-node']);
  expect(offered('acc launch --strat')).toEqual(['--strategy']);
  expect(offered('acc launch --cpu-bind ')).toEqual(['cores', 'none', 'numa']);
  expect(offered('acc test --engine gl')).toEqual(['gloo']);
  expect(offered('acc launch tr')).toEqual(['train.ts']);
});

it('the script for zsh is one that zsh reads', () => {
  execFileSync('zsh', ['-n', join(folder, 'acc.zsh')]);
  const shown = 'autoload -U +X compinit; compinit -u -d none; source ./acc.zsh; print -r -- $_comps[acc]';
  const output = execFileSync('zsh', ['-f', '-c', shown], { cwd: folder, encoding: 'utf8' });
  expect(output).toContain('_acc');
});
