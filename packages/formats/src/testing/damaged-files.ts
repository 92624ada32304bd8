import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

/** The path of a file in the folder `damaged`. */
export const damaged = (name: string): string => fileURLToPath(new URL(`damaged/${name}`, import.meta.url));

/** Matches the error for a damaged file. */
export const badFormat = (file: string, place: RegExp): Error =>
  expect.objectContaining({
    code: 'ACC_DATA_FORMAT',
    message: expect.stringMatching(place) as string,
    details: expect.objectContaining({ file }) as object,
  }) as Error;
