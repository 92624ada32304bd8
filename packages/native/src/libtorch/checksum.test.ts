import { describe, expect, it } from 'vitest';
import { judgeChecksum } from './checksum.js';
import { publishedSha256 } from './sources.js';

const FILE = 'libtorch-shared-with-deps-2.13.0+cpu.zip';
const OTHER = 'f'.repeat(64);

describe('judgeChecksum', () => {
  const archive = { fileName: FILE, kind: 'archive', given: undefined } as const;

  it('accepts the published build under any file name', () => {
    const sha256 = publishedSha256(FILE)!;
    expect(judgeChecksum(sha256, archive)).toBe('checksum');
    expect(judgeChecksum(sha256, { ...archive, fileName: 'renamed.zip' })).toBe('checksum');
  });

  it('refuses another file with a published name', () => {
    const mismatch = expect.objectContaining({ code: 'ACC_CHECKSUM_MISMATCH' });
    expect(() => judgeChecksum(OTHER, archive)).toThrow(mismatch);
    expect(() => judgeChecksum(OTHER, { ...archive, given: 'e'.repeat(64) })).toThrow(mismatch);
    expect(() => judgeChecksum(OTHER, { ...archive, given: OTHER })).toThrow(mismatch);
    expect(() => judgeChecksum(publishedSha256(FILE)!, { ...archive, given: OTHER })).toThrow(mismatch);
  });

  it('accepts a given checksum, also in capitals', () => {
    expect(judgeChecksum(OTHER, { ...archive, fileName: 'x.zip', given: OTHER.toUpperCase() })).toBe(
      'checksum',
    );
  });

  it('leaves an unknown wheel to its RECORD and refuses an unknown archive', () => {
    expect(judgeChecksum(OTHER, { fileName: 'torch-2.12.0.whl', kind: 'wheel', given: undefined })).toBe(
      'record',
    );
    expect(() => judgeChecksum(OTHER, { ...archive, fileName: 'x.zip' })).toThrow(
      expect.objectContaining({ code: 'ACC_CHECKSUM_MISSING' }),
    );
  });
});
