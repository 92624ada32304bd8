import { AccError } from '@acc/contract';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { isPublishedSha256, publishedSha256 } from './sources.js';

/** The SHA-256 of a file, in hexadecimal. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

export interface ChecksumRequest {
  /** The file name at the source. It determines the published checksum. */
  readonly fileName: string;
  readonly kind: 'archive' | 'wheel';
  /** The checksum that the user or an index gave, in hexadecimal. The file must also match it. */
  readonly given: string | undefined;
}

/**
 * Decides whether a fetched file may be used. It must have the given and the published checksum. A wheel
 * may be used without either, because its files are then checked against its own RECORD.
 *
 * @returns How the file was verified: `checksum`, or `record` for a wheel that is not a published
 * one.
 * @throws AccError `ACC_CHECKSUM_MISMATCH`, `ACC_CHECKSUM_MISSING` for an archive without a known
 * checksum.
 */
export function judgeChecksum(sha256: string, request: ChecksumRequest): 'checksum' | 'record' {
  const { fileName, kind, given } = request;
  const all = [publishedSha256(fileName), given?.toLowerCase()].filter((each) => each !== undefined);
  const expected = all.find((each) => each !== sha256);
  if (expected !== undefined) {
    throw new AccError(
      'ACC_CHECKSUM_MISMATCH',
      `${fileName} has sha256 ${sha256}, but ${expected} was expected.`,
      {
        help: 'The file is damaged, or it is a different file. Fetch it again, or give the right --sha256.',
        details: { fileName, found: sha256, expected },
      },
    );
  }
  if (all.length > 0 || isPublishedSha256(sha256)) return 'checksum';
  if (kind === 'wheel') return 'record';
  throw new AccError(
    'ACC_CHECKSUM_MISSING',
    `No published checksum is known for ${fileName}, so it cannot be verified.`,
    { help: `If you trust it: npx acc setup … --sha256 ${sha256}`, details: { fileName, found: sha256 } },
  );
}
