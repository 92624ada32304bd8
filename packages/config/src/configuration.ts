import { AccError, isRecord } from '@acc/contract';
import { ACCELERATOR_FIELDS } from './accelerator-fields.js';
import type { Field, FieldValue } from './field.js';
import { findFile, type FoundFile, type Variables } from './find-file.js';
import { LAUNCH_FIELDS } from './launch-fields.js';
import { loadConfigFile } from './load-file.js';
import type { FileContent } from './read-file.js';
import { readVariables, variableOf } from './variables.js';

/** An option with the value that holds where the program does not give it, and its origin. */
export interface ConfiguredOption {
  readonly section: 'launch' | 'accelerator';
  readonly name: string;
  /** Undefined: the default holds. */
  readonly value: FieldValue | undefined;
  /** The name of a variable, `file:line`, or `default`. */
  readonly origin: string;
  readonly fallback: string;
}

/** The options that files and variables give. */
export interface Configuration {
  readonly file: FoundFile | undefined;
  readonly options: readonly ConfiguredOption[];
}

/**
 * Reads variables and the config file. Variables take precedence over the file.
 *
 * @param given The file of the command line.
 * @throws AccError of {@link findFile}, {@link loadConfigFile} and {@link readVariables}.
 */
export async function readConfiguration(env: Variables, cwd: string, given?: string): Promise<Configuration> {
  const file = findFile(env, cwd, given);
  const content = file && (await loadConfigFile(file.path));
  const variables = readVariables(env);
  const optionsOf = (section: ConfiguredOption['section'], fields: readonly Field[]) =>
    fields.map((field): ConfiguredOption => {
      const { name, fallback } = field;
      const fromVariable = section === 'accelerator' ? variables.get(name) : undefined;
      if (fromVariable !== undefined)
        return { section, name, value: fromVariable, origin: variableOf(field), fallback };
      const fromFile = content?.[section].get(name);
      return { section, name, value: fromFile?.value, origin: fromFile?.place ?? 'default', fallback };
    });
  const options = [...optionsOf('launch', LAUNCH_FIELDS), ...optionsOf('accelerator', ACCELERATOR_FIELDS)];
  return { file, options };
}

/** The options of a file for `acc launch`, by the names of `LaunchOptions`. */
export function launchOptions(content: FileContent | undefined): Record<string, FieldValue> {
  return Object.fromEntries([...(content?.launch ?? [])].map(([name, { value }]) => [name, value]));
}

/** Options of the program that stand in place of an option of a file. */
const INSTEAD: Readonly<Record<string, string>> = {
  'checkpoint.dir': 'checkpoint.storage',
  'ddp.batchNorm': 'ddp.syncBatchNorm',
  'fsdp.cpuOffload': 'fsdp.offload',
};

function insteadOf({ name }: ConfiguredOption): string | undefined {
  // A collective of the program, which has this member, stands in place of all its options.
  return name.startsWith('collective.') ? 'collective.subgroup' : INSTEAD[name];
}

/**
 * Adds to the program's options what variables and the config file give. The program's own options
 * take precedence, one by one: of `dataLoader`, a program may give one and a file another.
 *
 * @throws AccError of {@link readConfiguration}; `ACC_OPTIONS_DISAGREE` if the program and the
 * command line of `acc launch` give different values.
 */
export async function withConfiguration<O extends object>(
  options: O,
  env: Variables,
  cwd: string,
): Promise<O> {
  // What is no record is refused with the other options.
  if (!isRecord(options)) return options;
  const commandLine = (env['ACC_COMMAND_LINE'] ?? '').split(',');
  const merged: Record<string, unknown> = { ...options };
  for (const option of (await readConfiguration(env, cwd)).options) {
    if (option.section !== 'accelerator' || option.value === undefined) continue;
    if (commandLine.includes(option.origin)) refuseDisagreement(options, option);
    const instead = insteadOf(option);
    if (instead !== undefined && isGiven(options, instead)) continue;
    addOption(merged, option.name.split('.'), option.value);
  }
  return merged as O;
}

/** Sets an option that is not given. Records on the way are copied. */
function addOption(
  record: Record<string, unknown>,
  [key, ...rest]: readonly string[],
  value: FieldValue,
): void {
  const inner = record[key!];
  if (rest.length === 0) {
    if (inner === undefined) record[key!] = value;
    return;
  }
  if (inner !== undefined && !isRecord(inner)) return;
  const copy: Record<string, unknown> = { ...inner };
  addOption(copy, rest, value);
  record[key!] = copy;
}

/** A word in place of a record, such as `mesh: 'auto'`, stands for each option of the record. */
function given(options: object, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>((at, key) => (isRecord(at) ? (at as Record<string, unknown>)[key] : at), options);
}

const isGiven = (options: object, name: string) => given(options, name) !== undefined;

function refuseDisagreement(options: object, { name, value, origin }: ConfiguredOption): void {
  const inCode = given(options, name);
  if (inCode === undefined || JSON.stringify(inCode) === JSON.stringify(value)) return;
  throw new AccError(
    'ACC_OPTIONS_DISAGREE',
    `${name} is ${JSON.stringify(inCode)} in the program, and ${JSON.stringify(value)} on the command line of acc launch.`,
    {
      help: 'Leave it out in one of them.',
      details: { name, inCode, onCommandLine: value, variable: origin },
    },
  );
}
