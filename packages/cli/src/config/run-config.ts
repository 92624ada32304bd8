import { resolve } from 'node:path';
import { AccError } from '@acc/contract';
import {
  configText,
  findFile,
  loadConfigFile,
  parseConfig,
  PROJECT_FILE,
  userFile,
  type ConfigValues,
  type FieldValue,
} from '@acc/config';
import type { ConfigCommandFlags, SetOption } from './command-flags.js';
import { suggestFor, type Suggested } from './machine.js';
import { requireAbsent, requireNoFolder, writeConfig } from './write-config.js';

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
  requireNoFolder(path);
  if (!flags.force) requireAbsent(path);
  const given = givenOptions(flags);
  const isAsked = !flags.default && given.length === 0;
  if (isAsked && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw new AccError('ACC_NOT_INTERACTIVE', 'Questions need a terminal.', {
      help: 'Give --default, or options, for example: npx acc config --nproc 2 --mixed-precision bf16',
    });
  }
  const suggested = await suggestFor();
  await write(path, isAsked ? await asked(suggested) : withGiven(suggested, given));
}

/**
 * Writes a config file again, with its values, the given ones in their place, and all options of this
 * version as comments. Comments of the user are lost.
 *
 * @throws AccError `ACC_CONFIG_MISSING`, `ACC_CONFIG_INVALID`, `ACC_CONFIG_NOT_WRITABLE`, `ACC_BAD_OPTION`.
 */
export async function updateConfig(
  flags: ConfigCommandFlags,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<void> {
  if (flags.default || flags.force) {
    const option = flags.default ? '--default' : '--force';
    const anew = flags.default ? '--default --force' : '--force';
    throw new AccError('ACC_BAD_OPTION', `acc config update takes no ${option}.`, {
      help: `Leave ${option} out, or replace the file: npx acc config ${anew}`,
      details: { option },
    });
  }
  const { path } = findFile({}, cwd, pathFor(flags, env, cwd))!;
  const { launch, accelerator } = await loadConfigFile(path);
  const valuesOf = (section: ReadonlyMap<string, { readonly value: FieldValue }>) =>
    Object.fromEntries(Array.from(section, ([name, { value }]) => [name, value]));
  const present = { launch: valuesOf(launch), accelerator: valuesOf(accelerator) };
  await write(path, withGiven(present, givenOptions(flags)));
}

async function write(path: string, values: ConfigValues): Promise<void> {
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
