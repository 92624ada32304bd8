import { PRESETS } from '@acc/planner';
import type { Command } from 'commander';
import { bashScript } from './bash.js';
import type { SHELLS } from './shells.js';
import { fishScript } from './fish.js';
import { wordsOf } from './words.js';

/** The names of the options that also take a file. */
const NAMED = { '--cluster': Object.keys(PRESETS) };

/** A script that completes the words of the program in a shell. */
export function completionScript(program: Command, shell: (typeof SHELLS)[number]): string {
  const commands = wordsOf(program, NAMED);
  if (shell === 'fish') return fishScript(commands);
  const script = bashScript(commands);
  if (shell === 'bash') return script;
  return `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${script}`;
}
