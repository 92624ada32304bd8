import { AccError, type Storage } from '@acc/contract';

/** The record of a rank that could not write its part. A full disk has room for an empty file. */
const FAILED = new Uint8Array();

/** Puts that record, if the storage still takes one. */
export async function sayFailed(storage: Storage, key: string): Promise<void> {
  await storage.put(key, FAILED).catch(() => {});
}

/**
 * @param records The records of the ranks from 1 on, as bytes.
 * @throws AccError `ACC_STORAGE_FAILED` with the detail `failedRank` if one of them could not write.
 */
export function requireWritten(records: readonly Uint8Array[]): void {
  const failedRank = 1 + records.findIndex(({ length }) => length === FAILED.length);
  if (failedRank === 0) return;
  throw new AccError('ACC_STORAGE_FAILED', `Rank ${failedRank} could not write its part.`, {
    help: `The error of rank ${failedRank} says why.`,
    details: { failedRank },
  });
}
