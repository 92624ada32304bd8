import { AccError } from '@acc/contract';
import type { CommandOption } from '@acc/config';
import { nameOfFlag } from './flags.js';

/**
 * Checks each value that is given by itself. Options that depend on each other are checked where they are
 * used.
 *
 * @throws AccError `ACC_BAD_OPTION`.
 */
export function checkValues(table: Readonly<Record<string, CommandOption>>, given: object): void {
  for (const [name, option] of Object.entries(table)) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined) checkValue(name, option, value);
  }
}

function checkValue(name: string, option: CommandOption, value: unknown): void {
  const flag = nameOfFlag(option);
  if (option.kind === 'choice' && !option.choices.includes(value as never)) {
    throw badOption(flag, value, option.choices.join(' or '));
  }
  if (option.kind === 'whole' && !option.words?.includes(value as never)) {
    requireInteger(flag, value, option.least);
  }
  // Only a program can give these a value of another type. The flag of a switch may say the opposite.
  if (option.kind === 'switch' && typeof value !== 'boolean') throw badOption(name, value, 'true or false');
  if (option.kind === 'text' && typeof value !== 'string') throw badOption(name, value, 'a string');
}

/** @throws AccError `ACC_BAD_OPTION`. */
export function requireInteger(option: string, value: unknown, from: number, to = Infinity): void {
  if (Number.isInteger(value) && (value as number) >= from && (value as number) <= to) return;
  throw badOption(option, value, `a whole number from ${from}${to === Infinity ? '' : ` to ${to}`}`);
}

export function badOption(option: string, value: unknown, expected: string): AccError {
  return new AccError('ACC_BAD_OPTION', `${option} must be ${expected}, not '${String(value)}'.`, {
    help: 'npx acc launch --help lists the options.',
    details: { option, value },
  });
}
