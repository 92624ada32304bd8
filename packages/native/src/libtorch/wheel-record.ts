import { AccError } from '@acc/contract';

/** The list of files in a wheel: path in the wheel → SHA-256 in base64url, as in `RECORD`. */
export type WheelRecord = ReadonlyMap<string, string>;

/** Reads a wheel's `RECORD` (CSV of path, hash, size). Files without a sha256 (`RECORD` itself) are left out. */
export function parseWheelRecord(text: string): WheelRecord {
  const record = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const match = /^(?:"((?:[^"]|"")*)"|([^,]*)),sha256=([\w-]+)=*,\d*$/.exec(line);
    if (match) record.set(match[1]?.replaceAll('""', '"') ?? match[2]!, match[3]!);
  }
  return record;
}

/**
 * Compares the SHA-256 of a file with the wheel's list.
 *
 * @throws AccError `ACC_CHECKSUM_MISMATCH`, also for a file that is not in the list.
 */
export function checkAgainstRecord(record: WheelRecord, path: string, sha256: Buffer): void {
  const expected = record.get(path);
  const found = sha256.toString('base64url');
  if (found === expected) return;
  throw new AccError(
    'ACC_CHECKSUM_MISMATCH',
    expected === undefined
      ? `The wheel's RECORD does not list ${path}.`
      : `${path} in the wheel has sha256 ${found}, but its RECORD says ${expected}.`,
    { help: 'The wheel is damaged or was changed. Fetch it again.', details: { path, expected, found } },
  );
}
