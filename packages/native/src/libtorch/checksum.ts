import { AccError } from '@acc/contract';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { isPublishedSha256, publishedSha256 } from './sources.js';

/** sha256 of a file, in hexadecimal. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

export interface ChecksumRequest {
  /** As the source calls it; decides which published checksum it must have. */
  readonly fileName: string;
  readonly kind: 'archive' | 'wheel';
  /** What the user gave, in hexadecimal; it is binding when there. */
  readonly given: string | undefined;
}

/**
 * Decides whether a fetched file may be used: it has the checksum that was given or published, or it is a wheel,
 * whose files are then checked against its own RECORD.
 *
 * @returns How far it is verified: `checksum`, or `record` for a wheel that is not one of the published ones.
 * @throws AccError `ACC_CHECKSUM_MISMATCH`, `ACC_CHECKSUM_MISSING` for an archive that nothing vouches for.
 */
export function judgeChecksum(sha256: string, request: ChecksumRequest): 'checksum' | 'record' {
  const { fileName, kind, given } = request;
  const expected = given?.toLowerCase() ?? publishedSha256(fileName);
  if (sha256 === expected) return 'checksum';
  if (expected !== undefined) {
    throw new AccError(
      'ACC_CHECKSUM_MISMATCH',
      `${fileName} has sha256 ${sha256}; expected is ${expected}.`,
      {
        help: 'The file is damaged or is another one. Fetch it again, or give the right --sha256.',
        details: { fileName, found: sha256, expected },
      },
    );
  }
  if (isPublishedSha256(sha256)) return 'checksum';
  if (kind === 'wheel') return 'record';
  throw new AccError(
    'ACC_CHECKSUM_MISSING',
    `No published checksum is known for ${fileName}, so nothing vouches for it.`,
    { help: `If you trust it: npx acc setup … --sha256 ${sha256}`, details: { fileName, found: sha256 } },
  );
}
