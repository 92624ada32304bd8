import { nearestName } from '@acc/contract';
import { Argument, InvalidArgumentError, type Command } from 'commander';
import { ACCELERATOR_FIELDS, expected, LAUNCH_FIELDS, workingFolder, type Field } from '@acc/config';
import type { ConfigAction, ConfigCommandFlags, SetOption } from './command-flags.js';
import { flagOf, ON_COMMAND_LINE, parsed } from './launch-flags.js';

/** Options of `acc launch` that have a flag of their own. Others are given by `--set`. */
const LAUNCH_FLAGS: readonly string[] = ['nproc', 'nnodes'];
const ACCELERATOR_FLAGS: readonly string[] = ON_COMMAND_LINE;

/** More than sixty: too many for a message. */
const ALL_OPTIONS = 'A file that npx acc config --default writes has all options, with their meaning.';

/** Adds the command `config` to the program. */
export function addConfigCommand(program: Command): void {
  const command = program
    .command('config')
    .description('write a config file for acc launch and Accelerator.create')
    .addArgument(
      new Argument(
        '[update]',
        'keep the values of an existing file, change those given, add new options; your comments are lost',
      ).choices(['update']),
    )
    .optionsGroup('File:')
    .option('--config-file <FILE>', 'where to write (default: ACC_CONFIG_FILE, else acc.yaml here)')
    .option('--user', "write the user's file, which applies where no acc.yaml is")
    .option('--default', 'ask nothing: defaults that fit this machine')
    .option('--force', 'replace an existing file');
  command.optionsGroup('Values:');
  addFlags(
    command,
    'launch',
    LAUNCH_FIELDS.filter(({ name }) => LAUNCH_FLAGS.includes(name)),
  );
  addFlags(
    command,
    'accelerator',
    ACCELERATOR_FIELDS.filter(({ name }) => ACCELERATOR_FLAGS.includes(name)),
  );
  command
    .option('--set <NAME=VALUE>', 'any other option: gradientClipping.norm=1 (repeatable)', parseSet)
    .action(async (action: ConfigAction | undefined, flags: ConfigCommandFlags) => {
      const { runConfig, updateConfig } = await import('./run-config.js');
      await (action === 'update' ? updateConfig : runConfig)(flags, process.env, workingFolder());
    });
}

function addFlags(command: Command, section: SetOption['section'], fields: readonly Field[]): void {
  for (const field of fields) {
    const parse = (text: string): SetOption => ({ section, name: field.name, value: parsed(field, text) });
    command.option(`${flagOf(field.name)} <VALUE>`, `${field.meaning}: ${expected(field)}`, parse);
  }
}

function parseSet(text: string, before: readonly SetOption[] = []): SetOption[] {
  const at = text.indexOf('=');
  if (at <= 0)
    throw new InvalidArgumentError('Expected NAME=VALUE with the name of an option, as in acc.yaml.');
  const [name, value] = [text.slice(0, at), text.slice(at + 1)];
  for (const [section, fields] of [
    ['launch', LAUNCH_FIELDS],
    ['accelerator', ACCELERATOR_FIELDS],
  ] as const) {
    const field = fields.find((one) => one.name === name);
    if (field) return [...before, { section, name, value: parsed(field, value) }];
  }
  const names = [...LAUNCH_FIELDS, ...ACCELERATOR_FIELDS].map((field) => field.name);
  const nearest = nearestName(name, names);
  throw new InvalidArgumentError(
    `There is no option ${name}. ${nearest ? `Did you mean ${nearest}?` : ALL_OPTIONS}`,
  );
}
