import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import { describe, expect, it } from 'vitest';
import { newFolder } from '../testing/bus.js';
import { takeArtifact } from './artifact.js';
import { takeConfig } from './config.js';
import { takeHistogram } from './histogram.js';
import { takeImages } from './images.js';
import { takeMetrics } from './metrics.js';
import type { Picture } from './picture.js';
import { takeTable } from './table.js';

const invalid = expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }) as Error;

describe('metrics', () => {
  it('are numbers, or tensors of one element, which the caller still owns', () => {
    const loss = tf.tensor([[0.5]]);
    expect(takeMetrics({ loss, n: 3 })).toEqual({ loss: 0.5, n: 3 });
    expect(loss.isDisposed).toBe(false);
    expect(() => takeMetrics({ x: tf.tensor([1, 2]) })).toThrow(invalid);
  });

  it('that are disposed are named', () => {
    const x = tf.zeros([1]);
    const image = tf.zeros([2, 2]);
    tf.dispose([x, image]);
    const named = (key: string) =>
      expect.objectContaining({
        code: 'ACC_INVALID_ARGUMENT',
        message: expect.stringContaining(`'${key}' is a tensor that is disposed`) as unknown,
      }) as Error;
    expect(() => takeMetrics({ loss: x })).toThrow(named('loss'));
    expect(() => takeHistogram('weights', x, 3)).toThrow(named('weights'));
    expect(() => takeImages({ input: image })).toThrow(named('input'));
  });
});

describe('a config', () => {
  it('is a copy of its JSON values', () => {
    const shared = { lr: 1 };
    const config = { a: [1, 'b', null, { c: true }], d: { e: undefined, f: NaN }, one: shared, two: shared };
    const taken = takeConfig(config);
    expect(taken).toEqual(config);
    expect(taken['one']).not.toBe(shared);
  });

  it.each<[string, string, unknown]>([
    ['a function', 'f', { f: () => 1 }],
    ['a symbol', 'a[0]', { a: [Symbol('s')] }],
    ['a bigint', 'n', { n: 1n }],
    ['a tensor', 'm.x', { m: { x: tf.scalar(1) } }],
    ['a promise', 'p', { p: Promise.resolve() }],
  ])('names %s', (_, key, config) => {
    expect(() => takeConfig(config as never)).toThrow(
      expect.objectContaining({
        code: 'ACC_INVALID_ARGUMENT',
        message: expect.stringContaining(`'${key}' is`) as unknown,
      }) as Error,
    );
  });

  it('must be a record, and must not contain itself', () => {
    const config: Record<string, unknown> = {};
    config['self'] = { config };
    for (const wrong of [config, 'x', [1], null]) expect(() => takeConfig(wrong as never)).toThrow(invalid);
  });
});

/** Header, colour type and lines of a PNG with one IDAT chunk. */
function decode(picture: Picture) {
  const { png, width, height } = picture.getNow();
  const file = Buffer.from(png);
  const size = file.readUInt32BE(33);
  const data = inflateSync(file.subarray(41, 41 + size));
  const row = data.length / height;
  const pixels = Array.from({ length: height }, (_, y) => [...data.subarray(y * row + 1, (y + 1) * row)]);
  return { width, height, type: file[25], pixels };
}

describe('images', () => {
  it('come from tensors of floats and integers, with 1 to 4 channels', () => {
    const grey = tf.tensor2d([
      [0, 0.5],
      [1, 2],
    ]);
    const colour = tf.tensor3d([1, 2, 3, 4, 5, 300], [1, 2, 3], 'int32');
    const pictures = Object.fromEntries(takeImages({ grey, colour, alpha: tf.ones([1, 1, 4]) }));
    expect(decode(pictures['grey']!)).toEqual({
      width: 2,
      height: 2,
      type: 0,
      pixels: [
        [0, 128],
        [255, 255],
      ],
    });
    expect(decode(pictures['colour']!)).toEqual({
      width: 2,
      height: 1,
      type: 2,
      pixels: [[1, 2, 3, 4, 5, 255]],
    });
    expect(decode(pictures['alpha']!).type).toBe(6);
  });

  it('several of a batch are numbered', () => {
    expect(
      takeImages({ digits: tf.zeros([3, 2, 2, 1]), one: [tf.zeros([2, 2])] }).map(([key]) => key),
    ).toEqual(['digits/0', 'digits/1', 'digits/2', 'one']);
  });

  it('can be pixels and PNG files, and large ones are compressed on another thread', async () => {
    const data = Uint8ClampedArray.from({ length: 512 * 512 * 4 }, (_, i) => i);
    const [[, picture]] = takeImages({ big: { width: 512, height: 512, data } }) as [[string, Picture]];
    const image = await picture.get();
    const [[, again]] = takeImages({ again: image.png }) as [[string, Picture]];
    expect(again.getNow()).toMatchObject({ width: 512, height: 512 });
    expect(decode(again).pixels[0]!.slice(0, 8)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it.each([
    ['a number', 3],
    ['bytes of no PNG', Uint8Array.of(1, 2)],
    ['five channels', tf.zeros([2, 2, 5])],
    ['too few bytes', { width: 2, height: 2, data: new Uint8Array(3) }],
  ])('cannot be %s', (_name, value) => {
    expect(() => takeImages({ x: value as never })).toThrow(invalid);
    expect(() => takeImages(value as never)).toThrow(invalid);
  });
});

describe('a histogram', () => {
  it('counts all values, including the bounds, and NaN separately', () => {
    const values = [0, 1, 2, 3, 4, 4, NaN, Infinity];
    const histogram = takeHistogram('h', values, 4);
    expect(histogram).toEqual({
      edges: [0, 1, 2, 3, 4],
      counts: [1, 1, 1, 3],
      min: 0,
      max: 4,
      sum: 14,
      sumSquares: 46,
      nonFinite: 2,
    });
  });

  it('can have one value, no values, or a tensor', () => {
    expect(takeHistogram('h', [5, 5], 4).counts).toEqual([2]);
    expect(takeHistogram('h', [], 4).counts).toEqual([0]);
    expect(takeHistogram('h', tf.range(0, 100), 10).counts).toEqual(new Array(10).fill(10));
    expect(() => takeHistogram('h', [1], 0)).toThrow(invalid);
    expect(() => takeHistogram('h', 1 as never, 3)).toThrow(invalid);
  });
});

describe('a table', () => {
  it('can be columns and rows, or records', () => {
    expect(takeTable('t', [{ a: 1 }, { b: 'x' }])).toEqual({
      columns: ['a', 'b'],
      rows: [
        [1, null],
        [null, 'x'],
      ],
    });
    expect(() => takeTable('t', { columns: ['a'], rows: [[1, 2]] })).toThrow(invalid);
    expect(() => takeTable('t', { columns: ['a'], rows: [[{} as never]] })).toThrow(invalid);
  });
});

describe('an artifact', () => {
  it('can be a file, or all files of a folder', () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'sub'));
    writeFileSync(join(folder, 'a.bin'), 'abc');
    writeFileSync(join(folder, 'sub', 'b.bin'), 'de');
    const files = takeArtifact('m', folder, 'model').files.map(({ name, bytes }) => [name, bytes]);
    expect(files).toEqual([
      ['a.bin', 3],
      ['sub/b.bin', 2],
    ]);
    expect(takeArtifact('m', join(folder, 'a.bin'), 'file').files[0]!.name).toBe('a.bin');
    expect(() => takeArtifact('m', join(folder, 'none'), 'file')).toThrow(
      expect.objectContaining({ code: 'ACC_ARTIFACT_MISSING' }) as Error,
    );
  });
});
