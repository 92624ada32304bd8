import type { Sharp, SharpOptions } from 'sharp';
import { packageMissing } from '../errors.js';

export type SharpModule = (input: Uint8Array, options: SharpOptions) => Sharp;

/**
 * Loads the package `sharp`, which programs install that decode images.
 *
 * @param what What needs it, for the message.
 * @throws AccError `ACC_DATA_PACKAGE`.
 */
export async function loadSharp(what: string): Promise<SharpModule> {
  try {
    return (await import('sharp')).default;
  } catch (cause) {
    throw packageMissing('sharp', what, cause);
  }
}
