import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { s3Storage, type S3StorageOptions } from '@acc/checkpoint';
import { runRanks, storageCases } from '@acc/testkit';
import { S3Server } from './s3-server.js';

const MIB = 1024 * 1024;

let server: S3Server;
beforeAll(async () => void (server = await S3Server.start('runs')), 600_000);
afterAll(() => server.stop());

let count = 0;
const storage = (more: Partial<S3StorageOptions> = {}) => {
  const { endpoint, credentials } = server;
  return s3Storage({ bucket: 'runs', prefix: `test-${count++}`, endpoint, credentials, ...more });
};
const error = (code: string): Error => expect.objectContaining({ code }) as Error;

describe('a bucket', () => {
  it.each(storageCases)('$name', ({ run }) => run(storage()));

  it('stores large objects in parts, and returns ranges of them', async () => {
    const bucket = storage({ partBytes: 5 * MIB });
    async function* pieces() {
      for (let i = 0; i < 13; i++) {
        await Promise.resolve();
        yield new Uint8Array(MIB).fill(i);
      }
    }
    await bucket.put('large', pieces());
    expect(await bucket.list('')).toEqual([{ key: 'large', bytes: 13 * MIB }]);
    const into = new Uint8Array(2);
    await bucket.get('large', { start: 5 * MIB - 1, into });
    expect([...into]).toEqual([4, 5]);
  });

  it('keeps no parts of an object whose source fails', async () => {
    const bucket = storage({ partBytes: 5 * MIB });
    async function* pieces() {
      yield new Uint8Array(11 * MIB);
      await Promise.resolve();
      throw new Error('no more');
    }
    await expect(bucket.put('large', pieces())).rejects.toThrowError('no more');
    expect(await bucket.list('')).toEqual([]);
  });

  it('lists more objects than one answer contains', async () => {
    const bucket = storage();
    const keys = Array.from({ length: 1_005 }, (_, i) => `many/${i}`);
    for (let i = 0; i < keys.length; i += 50) {
      await Promise.all(keys.slice(i, i + 50).map((key) => bucket.put(key, new Uint8Array(1))));
    }
    expect((await bucket.list('')).map(({ key }) => key).sort()).toEqual([...keys].sort());
  });

  it('asks for credentials each time', async () => {
    let asked = 0;
    const { credentials } = server;
    const bucket = storage({
      credentials: () => {
        asked++;
        return Promise.resolve(credentials);
      },
    });
    await bucket.put('x', new Uint8Array(1));
    await bucket.get('x');
    expect(asked).toBe(2);
  });

  it('reports refused credentials and missing buckets', async () => {
    const wrong = storage({ credentials: { ...server.credentials, secretAccessKey: 'wrong' } });
    await expect(wrong.put('x', new Uint8Array(1))).rejects.toThrowError(error('ACC_STORAGE_DENIED'));
    await expect(storage({ bucket: 'none' }).list('')).rejects.toThrowError(error('ACC_STORAGE_NOT_FOUND'));
  });
});

const run = async <R>(name: string): Promise<R[]> => {
  const { endpoint, credentials } = server;
  const script = new URL(`./ranks/${name}.ts`, import.meta.url);
  const args = [endpoint, credentials.accessKeyId, credentials.secretAccessKey];
  const results = await runRanks<R>({ script, ranks: 2, args, env: { OMP_NUM_THREADS: '1' } });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  return results.map(({ result }) => result!);
};

it('two ranks save to a bucket while training continues, and resume from it', async () => {
  const ranks = await run<{ step: number; expected: number[]; values: number[]; keys: string[] }>('bucket');
  for (const { step, expected, values, keys } of ranks) {
    expect(step).toBe(2);
    expect(values).toEqual([expected[0]]);
    expect(new Set(keys.map((key) => key.split('/')[0]))).toEqual(new Set(['step-00000002']));
  }
});

it('both ranks get the error of a bucket, and no incomplete checkpoint is loaded', async () => {
  const failed = (ranks: Record<string, string>) => {
    const reasons = Object.entries(ranks).map(([rank, part]) => [rank, expect.stringContaining(part)]);
    return { code: 'ACC_CHECKPOINT_SAVE_FAILED', ranks: Object.fromEntries(reasons) as object };
  };
  const refused = 'SignatureDoesNotMatch';
  for (const outcome of await run('bucket-failing')) {
    expect(outcome).toEqual({
      'one rank refused': { saved: failed({ 1: refused }), loaded: null },
      'all refused': {
        saved: failed({ 0: refused, 1: refused }),
        loaded: { code: 'ACC_STORAGE_DENIED', ranks: null },
      },
      'no bucket': {
        saved: failed({ 0: 'NoSuchBucket', 1: 'NoSuchBucket' }),
        loaded: { code: 'ACC_STORAGE_NOT_FOUND', ranks: null },
      },
      'out of reach': {
        saved: failed({ 0: 'does not answer', 1: 'does not answer' }),
        loaded: { code: 'ACC_STORAGE_FAILED', ranks: null },
      },
      'nothing left': [],
    });
  }
});
