import { describe, expect, it } from 'vitest';
import type { S3Credentials } from './options.js';
import { s3Storage } from './s3-storage.js';
import { elementIn, parseXml, textIn } from '@acc/platform/s3';

const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
const error = (code: string): Error => expect.objectContaining({ code }) as Error;

describe('s3Storage', () => {
  it.each<[string, object, string]>([
    ['an unknown option', { buckets: 'a' }, 'ACC_UNKNOWN_OPTION'],
    ['a name that no bucket has', { bucket: 'Runs!' }, 'ACC_INVALID_OPTION'],
    ['parts that are too small', { partBytes: 1 }, 'ACC_INVALID_OPTION'],
    ['no credentials', { credentials: undefined }, 'ACC_INVALID_OPTION'],
    ['half of them', { credentials: { accessKeyId: 'id' } }, 'ACC_INVALID_OPTION'],
    ['an invalid address', { endpoint: 'localhost:9000' }, 'ACC_INVALID_OPTION'],
  ])('refuses %s', (_, options, code) => {
    expect(() => s3Storage({ bucket: 'runs', credentials, ...options })).toThrowError(error(code));
  });

  it('states its location', () => {
    expect(s3Storage({ bucket: 'runs', credentials }).location).toBe('s3://runs');
    expect(s3Storage({ bucket: 'runs', prefix: '/a/b/', credentials }).location).toBe('s3://runs/a/b');
  });

  it('reports a server that does not answer', async () => {
    const storage = s3Storage({ bucket: 'runs', endpoint: 'http://127.0.0.1:1', credentials });
    await expect(storage.get('x')).rejects.toThrowError(error('ACC_STORAGE_FAILED'));
  });

  it('reports a credentials function that returns nothing', async () => {
    const storage = s3Storage({ bucket: 'runs', credentials: () => ({}) as S3Credentials });
    await expect(storage.get('x')).rejects.toThrowError(error('ACC_STORAGE_DENIED'));
  });
});

describe('answers of S3', () => {
  it('are parsed with their entities and spaces, and never as numbers', async () => {
    const object = '<Contents><Key> a&amp;b&#228;&#xe4;&lt; </Key><Size>007</Size></Contents>';
    const xml = `<?xml version="1.0"?>\n<ListBucketResult xmlns="x">\n${object}</ListBucketResult>`;
    const page = elementIn(await parseXml(xml), 'ListBucketResult');
    expect(page['Contents']).toEqual([{ Key: ' a&bää< ', Size: '007' }]);
    expect([textIn(page, 'None'), elementIn(page, 'None')]).toEqual([undefined, {}]);
  });

  it('may contain very many entities', async () => {
    const objects = `<Contents><Key>${'&amp;'.repeat(1_000)}</Key></Contents>`.repeat(1_000);
    const { L } = await parseXml(`<L>${objects}</L>`);
    expect((L as { Contents: object[] }).Contents.at(-1)).toEqual({ Key: '&'.repeat(1_000) });
  });

  it.each(['', 'no', '<a', '<html><br></html>'])(
    'without the XML of S3 have no S3 elements: %j',
    async (text) => {
      expect(elementIn(await parseXml(text), 'ListBucketResult')).toEqual({});
    },
  );
});
