import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { TemporaryFolder } from '../testing/temporary-folder.js';
import { packedTokens } from './packed-tokens.js';
import { tokenizeText } from './tokenize-text.js';

const error = (code: string): Error => expect.objectContaining({ code }) as Error;

/** A token for each character: its code. */
const characters = {
  vocabularySize: 128,
  encode: (text: string) => Array.from(text, (sign) => sign.charCodeAt(0)),
  tokenId: (token: string) => (token === '<end>' ? 0 : undefined),
};
const codes = (text: string) => Int32Array.from(characters.encode(text));

async function tokenized(texts: readonly string[]) {
  const folder = await TemporaryFolder.create({
    'a.jsonl': texts.map((text) => `${JSON.stringify({ text })}\n`).join(''),
  });
  const options = { tokenizer: characters, documents: 'jsonl', indexFolder: folder.join('index') } as const;
  return {
    folder,
    write: (more = {}) => tokenizeText(folder.join('a.jsonl'), folder.join('t'), { ...options, ...more }),
  };
}

describe('packed tokens', () => {
  it('have labels, and the bounds of documents', async () => {
    const { folder, write } = await tokenized(['abc', '', 'defgh', 'ij']);
    await using _ = folder;
    expect(await write({ endOfDocument: '<end>' })).toEqual({
      path: folder.join('t'),
      documents: 4,
      tokens: 14,
      dtype: 'uint16',
    });
    const plain = await packedTokens(folder.join('t'), { sequenceLength: 6 });
    expect(plain.length).toBe(2);
    expect(await plain.get(0)).toEqual({ inputs: codes('abc\0\0d'), labels: codes('bc\0\0de') });
    const dataset = await packedTokens(folder.join('t.bin'), { sequenceLength: 6, boundaries: 'segments' });
    expect(await dataset.get(0)).toMatchObject({
      segmentIds: Int32Array.of(0, 0, 0, 0, 1, 2),
      positions: Int32Array.of(0, 1, 2, 3, 0, 0),
      lossMask: Float32Array.of(1, 1, 1, 0, 0, 1),
    });
    expect(await dataset.get(1)).toEqual({
      inputs: codes('efgh\0i'),
      labels: codes('fgh\0ij'),
      segmentIds: Int32Array.of(0, 0, 0, 0, 0, 1),
      positions: Int32Array.of(0, 1, 2, 3, 4, 0),
      lossMask: Float32Array.of(1, 1, 1, 1, 0, 1),
    });
  });

  it('are read from a file without an index, too, and the index must fit', async () => {
    await using folder = await TemporaryFolder.create({
      'a.bin': new Uint8Array(Uint16Array.of(1, 2, 3, 4).buffer),
    });
    const dataset = await packedTokens(folder.join('a.bin'), { sequenceLength: 3, dtype: 'uint16' });
    expect(await dataset.get(0)).toEqual({ inputs: Int32Array.of(1, 2, 3), labels: Int32Array.of(2, 3, 4) });
    const open = (options = {}) => packedTokens(folder.join('a'), { sequenceLength: 3, ...options });
    await expect(open()).rejects.toThrow(error('ACC_DATA_NOT_FOUND'));
    await expect(open({ dtype: 'uint16', boundaries: 'segments' })).rejects.toThrow(
      error('ACC_INVALID_OPTION'),
    );
    const longer = open({ sequenceLength: 4, dtype: 'uint16' });
    await expect(longer).rejects.toThrow('it has 4 tokens, and a sequence of 4 needs 5');
    await writeFile(folder.join('a.idx'), 'no index');
    await expect(open()).rejects.toThrow(error('ACC_DATA_FORMAT'));
  });

  it.each([
    ['a negative length', { at: 34, int32: -3 }, /sequence 0: it has -3 tokens/],
    [
      'another length',
      { at: 38, int32: 1 },
      /sequence 2: it has 2 tokens from byte 16, and .* ends at byte 8/,
    ],
    ['another place', { at: 54, int32: 7 }, /sequence 1: it has 5 tokens from byte 7/],
    ['documents that descend', { at: 78, int32: 9 }, /document 1: it starts with sequence 9 of 3/],
    ['no first document', { at: 70, int32: 1 }, /document 0: it starts with sequence 1/],
    ['no last document', { at: 94, int32: 2 }, /document 3: it starts with sequence 2 of 3/],
    ['very many sequences', { at: 22, int32: 2 ** 20 }, /cut off, or of another version/],
  ])('are refused if their index has %s', async (_, { at, int32 }, message) => {
    const { folder, write } = await tokenized(['abc', 'defgh', 'ij']);
    await using __ = folder;
    await write();
    const index = await readFile(folder.join('t.idx'));
    index.writeInt32LE(int32, at);
    await writeFile(folder.join('t.idx'), index);
    const opened = packedTokens(folder.join('t'), { sequenceLength: 2, boundaries: 'segments' });
    await expect(opened).rejects.toThrow(error('ACC_DATA_FORMAT'));
    await expect(opened).rejects.toThrow(message);
    await expect(opened).rejects.toThrow(folder.join('t.idx'));
  });
});

describe('tokenizing', () => {
  it('goes on where it was interrupted, and returns at once if it was done', async () => {
    // More tokens than are kept before they are written.
    const texts = Array.from({ length: 40 }, (_, i) => String.fromCharCode(65 + i).repeat(60_000 + i));
    const { folder, write } = await tokenized(texts);
    await using _ = folder;
    const encoded: string[] = [];
    const stopAfter = (count: number) => ({
      ...characters,
      encode(text: string) {
        if (encoded.push(text[0]!) > count) throw new Error('stopped');
        return characters.encode(text);
      },
    });
    await expect(write({ tokenizer: stopAfter(25) })).rejects.toThrow('stopped');
    await expect(packedTokens(folder.join('t'), { sequenceLength: 8 })).rejects.toThrow(
      error('ACC_DATA_NOT_FOUND'),
    );
    encoded.length = 0;
    const { tokens } = await write({ tokenizer: stopAfter(1000) });
    // 18 documents were on the disk.
    expect([encoded[0], encoded.length]).toEqual([String.fromCharCode(65 + 18), 22]);
    const all = texts.join('');
    expect(tokens).toBe(all.length);
    const dataset = await packedTokens(folder.join('t'), { sequenceLength: tokens - 1 });
    const { inputs, labels } = await dataset.get(0);
    expect(String.fromCharCode(inputs[0]!)).toBe('A');
    expect(labels.every((label, i) => label === all.charCodeAt(i + 1))).toBe(true);
    encoded.length = 0;
    await write({ tokenizer: stopAfter(0) });
    expect(encoded).toEqual([]);
  });

  it('refuses tokens that the tokenizer does not have, and documents without a text', async () => {
    const { folder, write } = await tokenized(['a']);
    await using _ = folder;
    await expect(write({ endOfDocument: '</s>' })).rejects.toThrow(error('ACC_INVALID_OPTION'));
    await expect(write({ tokenizer: { ...characters, vocabularySize: 8 } })).rejects.toThrow(
      error('ACC_INVALID_OPTION'),
    );
    await expect(write({ key: 'content' })).rejects.toThrow(error('ACC_DATA_COLUMN'));
    await expect(write({ tokenizer: folder.join('none.json') })).rejects.toThrow(error('ACC_DATA_NOT_FOUND'));
    const noTokenizer = write({ tokenizer: folder.join('index') });
    await expect(noTokenizer).rejects.toThrow(error('ACC_DATA_READ'));
  });
});
