import { resolve } from 'node:path';
import { AccError } from '@acc/contract';
import { configText, parseConfig, PROJECT_FILE, userFile, type ConfigValues } from '@acc/config';
import type { ConfigCommandFlags, SetOption } from './command-flags.js';
import { suggestFor, type Suggested } from './machine.js';
import { requireAbsent, writeConfig } from './write-config.js';

/**
 * Writes a config file, from answers on the terminal or from flags.
 *
 * @throws AccError `ACC_CONFIG_EXISTS`, `ACC_CONFIG_NOT_WRITABLE`, `ACC_NOT_INTERACTIVE`,
 * `ACC_CANCELLED`, `ACC_BAD_OPTION`.
 */
export async function runConfig(
  flags: ConfigCommandFlags,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<void> {
  const path = pathFor(flags, env, cwd);
  if (!flags.force) requireAbsent(path);
  const given = givenOptions(flags);
  const isAsked = !flags.default && given.length === 0;
  if (isAsked && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new AccError('ACC_NOT_INTERACTIVE', 'Questions need a terminal.', {
      help: 'Give --default, or options, for example: npx acc config --nproc 2 --mixed-precision bf16',
    });
  }
  const suggested = await suggestFor();
  const values = isAsked ? await asked(suggested) : withGiven(suggested, given);
  const text = configText(values);
  // What is written can be read.
  await parseConfig(text, path);
  writeConfig(path, text);
  process.stdout.write(`${path}\n`);
}

function pathFor({ configFile, user }: ConfigCommandFlags, env: NodeJS.ProcessEnv, cwd: string): string {
  if (user && configFile !== undefined) {
    throw new AccError('ACC_BAD_OPTION', '--user and --config-file name two files.', {
      help: 'Give one of them.',
    });
  }
  if (user) return userFile(env);
  return resolve(cwd, configFile ?? (env['ACC_CONFIG_FILE'] || PROJECT_FILE));
}

function givenOptions({ set = [], ...flags }: ConfigCommandFlags): SetOption[] {
  const own = Object.values(flags).filter((flag): flag is SetOption => typeof flag === 'object');
  return [...own, ...set];
}

async function asked(suggested: Suggested): Promise<ConfigValues> {
  const { askOptions } = await import('./questions.js');
  return askOptions(suggested);
}

function withGiven(suggested: ConfigValues, given: readonly SetOption[]): ConfigValues {
  const values = { launch: { ...suggested.launch }, accelerator: { ...suggested.accelerator } };
  for (const { section, name, value } of given) values[section][name] = value;
  return values;
}
