import fs from 'node:fs';
import { freemem } from 'node:os';
import { AccError } from '@acc/contract';
import { byteLengthOf, type RunSnapshot } from './run-snapshot.js';

/** The memory that the ranks of a host need to keep their state, and what its folder has. */
export interface RescueMemory {
  readonly neededBytes: number;
  readonly freeBytes: number;
}

export interface RanksOfHost {
  readonly folder: string;
  /** The number of ranks of the host. They hold about as much as this one. */
  readonly ranks: number;
  /** Whether all ranks have the same parameters. One rank of a host then writes them. */
  readonly isReplicated: boolean;
}

export function rescueMemory(held: RunSnapshot, { folder, ranks, isReplicated }: RanksOfHost): RescueMemory {
  const common = byteLengthOf(held.common) * (isReplicated ? 1 : ranks);
  return { neededBytes: common + byteLengthOf(held.own) * ranks, freeBytes: freeBytesOf(folder) };
}

/** The number of bytes that files in a folder may still take. */
export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = fs.statfsSync(folder);
  return Math.min(bavail * bsize, freemem());
}

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

export function memoryLacks(folder: string, { neededBytes, freeBytes }: RescueMemory): AccError {
  return new AccError(
    'ACC_RESCUE_FAILED',
    `The state needs ${megabytes(neededBytes)}, but ${folder} has only ${megabytes(freeBytes)} free.`,
    { help: 'Use a host with more memory, or a greater /dev/shm.', details: { neededBytes, freeBytes } },
  );
}
