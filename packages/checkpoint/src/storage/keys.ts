import { AccError } from '@acc/contract';

/**
 * The names of a key, for storages that are made of folders.
 *
 * @throws AccError `ACC_STORAGE_DENIED` for a key that leaves its storage.
 */
export function namesOf(key: string, location: string): string[] {
  const names = key.split('/');
  if (names.every((name) => name !== '' && name !== '.' && name !== '..')) return names;
  throw new AccError('ACC_STORAGE_DENIED', `'${key}' lies outside of ${location}.`, {
    help: "Use names of files below that folder, without '..'.",
  });
}
