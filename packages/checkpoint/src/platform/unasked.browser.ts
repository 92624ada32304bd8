import type { Storage } from '@acc/contract';
import type { StartedSave } from '../write/save.js';

/** A page may end at any time, without notice. So a failure is reported when it happens. */
export function reportAtEnd({ committed }: StartedSave, _rank: number): void {
  void committed?.then((error) => error && console.warn(`acc: ${error.message}`));
}

export function wasAsked(_save: StartedSave): void {}

/** A page has one rank. */
export function requireWritten(_records: readonly Uint8Array[]): void {}

export const sayFailed = (_storage: Storage, _key: string): Promise<void> => Promise.resolve();
