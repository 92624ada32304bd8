import { defaultText, type CommandOption } from './command-option.js';
import type { Field } from './field.js';
import { LAUNCH_OPTIONS } from './launch-options.js';

type Options = typeof LAUNCH_OPTIONS;
type NameInFile = {
  [Name in keyof Options]: Options[Name] extends { readonly inFile: unknown } ? Name : never;
}[keyof Options];
type LaunchField = Field & { readonly name: NameInFile };

/** The options of `acc launch` that a file can give. Names are those of `LaunchOptions`. */
export const LAUNCH_FIELDS: readonly LaunchField[] = Object.entries<CommandOption>(LAUNCH_OPTIONS).flatMap(
  ([name, option]) => fieldOf(name as NameInFile, option),
);

function fieldOf(name: NameInFile, option: CommandOption): LaunchField[] {
  const inFile = option.inFile === true ? option : option.inFile;
  if (inFile === undefined || inFile.kind === 'hosts' || inFile.kind === 'ranks') return [];
  const { help: meaning, ...kind } = inFile;
  return [{ ...kind, name, meaning, fallback: defaultText(option) }];
}
