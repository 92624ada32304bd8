import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkAgainstRecord, parseWheelRecord } from './wheel-record.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest();

describe('a wheel RECORD', () => {
  const record = parseWheelRecord(
    [
      `torch/version.py,sha256=${sha256('a').toString('base64url')},1`,
      `"torch/a, ""b"".h",sha256=${sha256('b').toString('base64url')},1`,
      'torch-1.dist-info/RECORD,,',
      '',
    ].join('\r\n'),
  );

  it('is parsed, also with quoted names', () => {
    expect([...record.keys()]).toEqual(['torch/version.py', 'torch/a, "b".h']);
  });

  it('accepts exactly the files that it lists', () => {
    const mismatch = expect.objectContaining({ code: 'ACC_CHECKSUM_MISMATCH' });
    expect(() => checkAgainstRecord(record, 'torch/version.py', sha256('a'))).not.toThrow();
    expect(() => checkAgainstRecord(record, 'torch/version.py', sha256('x'))).toThrow(mismatch);
    expect(() => checkAgainstRecord(record, 'torch/other.py', sha256('a'))).toThrow(mismatch);
  });
});
