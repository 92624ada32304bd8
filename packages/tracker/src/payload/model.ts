import type { TrackedModel } from '@acc/contract';
import { invalidValue } from '../errors.js';
import { show } from './values.js';

export interface RegistrationOptions {
  /**
   * The name in the tracker's registry of models, of which the model becomes the next version. Default: it is
   * not registered.
   */
  readonly registeredName?: string;
  /**
   * Names such as `champion` that then point to this version, and no longer to an earlier one. They need
   * `registeredName`.
   */
  readonly aliases?: readonly string[];
}

/** @throws AccError `ACC_INVALID_ARGUMENT` if a name is none. */
export function takeRegistration(
  name: string,
  { registeredName, aliases = [] }: RegistrationOptions,
): Pick<TrackedModel, 'registeredName' | 'aliases'> {
  // The name is that of a folder, too.
  if (typeof name !== 'string' || !/^\w[\w.-]*$/.test(name)) {
    throw invalidValue(
      'logModel',
      `the name is ${show(name)}`,
      "Begin with a letter, a digit or '_'; then '-' and '.' may follow, too.",
    );
  }
  if (registeredName !== undefined && !isName(registeredName)) {
    throw invalidValue('logModel', `registeredName is ${show(registeredName)}`, 'Give a name.');
  }
  if (!Array.isArray(aliases) || !aliases.every(isName)) {
    throw invalidValue('logModel', `aliases is ${show(aliases)}`, "Give a list of names: ['champion'].");
  }
  if (aliases.length > 0 && registeredName === undefined) {
    throw invalidValue('logModel', 'aliases need a registered model', 'Give registeredName, too.');
  }
  return { registeredName, aliases: [...aliases] };
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';
