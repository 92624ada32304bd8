import { AccError } from '@acc/contract';
import {
  ACCELERATOR_FIELDS,
  expected,
  findFile,
  launchOptions,
  loadConfigFile,
  valueFrom,
  variableOf,
  type Field,
  type FieldValue,
} from '@acc/config';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { LaunchOptions } from '../launch/options.js';

/** The options of `acc launch` that this module adds. */
export interface ConfigFlags {
  readonly configFile?: string;
  readonly mixedPrecision?: string;
  readonly gradientAccumulationSteps?: string;
  readonly strategy?: string;
}

/** Options of the Accelerator that have a flag of their own. */
export const ON_COMMAND_LINE = ['mixedPrecision', 'gradientAccumulationSteps', 'strategy'] as const;

/** Adds the config file and options of the Accelerator to `acc launch`. */
export function addConfigOptions(command: Command): Command {
  command
    .optionsGroup('Training:')
    .option(
      '--config-file <FILE>',
      "options of this command and of Accelerator.create, or 'none' (default: acc.yaml here, else the user's)",
    );
  for (const name of ON_COMMAND_LINE) {
    command.addOption(optionOf(fieldOf(name)));
  }
  return command;
}

/** The option of a command for an option of the Accelerator. It stays a text, for the ranks. */
function optionOf(field: Field): Option {
  const isChoice = field.kind === 'choice';
  const meaning = isChoice ? field.meaning : `${field.meaning}: ${expected(field)}`;
  const option = new Option(`${flagOf(field.name)} <VALUE>`, meaning);
  if (isChoice) option.choices(field.choices.map(String));
  return option.argParser((text: string) => {
    parsed(field, text);
    return text;
  });
}

/**
 * Adds to the flags of `acc launch` what the config file says. The ranks read the same file.
 *
 * @throws AccError of `findFile` and `loadConfigFile`; `ACC_BAD_OPTION` for options that a printed
 * job cannot have.
 */
export async function withConfigFile<F extends ConfigFlags & { readonly print?: string }>(
  { configFile, mixedPrecision, gradientAccumulationSteps, strategy, ...flags }: F,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<Omit<F, keyof ConfigFlags> & Pick<LaunchOptions, 'env'>> {
  const given = { mixedPrecision, gradientAccumulationSteps, strategy };
  const file = findFile(env, cwd, configFile);
  const { threads, ...fromFile } = launchOptions(file && (await loadConfigFile(file.path)));
  const isForThreads = threads !== undefined && !env['OMP_NUM_THREADS'];
  const options = { ...fromFile, ...(isForThreads && { threads }), ...flags };
  const variables = Object.fromEntries(
    ON_COMMAND_LINE.flatMap((name) => {
      const value = given[name];
      return value === undefined ? [] : [[variableOf({ name }), value]];
    }),
  ) as Record<string, string>;
  if (flags.print !== undefined) {
    refuseForPrint({ configFile: configFile === 'none' ? undefined : configFile, ...given });
    return { ...options, ...(configFile === 'none' && { env: { ACC_CONFIG_FILE: 'none' } }) } as never;
  }
  const names = Object.keys(variables);
  return {
    ...options,
    env: {
      ...variables,
      ...(names.length > 0 && { ACC_COMMAND_LINE: names.join() }),
      ...(file && { ACC_CONFIG_FILE: file.path }),
      ...(configFile === 'none' && { ACC_CONFIG_FILE: 'none' }),
    },
  } as never;
}

/** @throws AccError `ACC_BAD_OPTION` that names all options that were given. */
function refuseForPrint(given: ConfigFlags): void {
  const names = Object.keys(given).filter((name) => given[name as keyof ConfigFlags] !== undefined);
  const [option, ...others] = names.map(flagOf);
  if (option === undefined) return;
  const what = others.length > 0 ? `${[option, ...others].join(', ')} are` : `${option} is`;
  throw new AccError('ACC_BAD_OPTION', `${what} not written into the file that --print prints.`, {
    help: 'Put the options into acc.yaml beside the program, which ranks of the cluster read.',
    details: { option },
  });
}

const fieldOf = (name: string): Field => ACCELERATOR_FIELDS.find((field) => field.name === name)!;

/** The value that a flag spells. @throws InvalidArgumentError if the option does not take it. */
export function parsed(field: Field, text: string): FieldValue {
  const value = valueFrom(field, text);
  if (value === undefined) throw new InvalidArgumentError(`Expected ${expected(field)}.`);
  return value;
}

/** `gradientAccumulationSteps` is `--gradient-accumulation-steps`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
