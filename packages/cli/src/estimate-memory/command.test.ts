import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runAcc } from '../../fixtures/run-acc.js';
import type { EstimateFlags } from './options.js';
import { formatReport, report } from './report.js';

const FLAGS: EstimateFlags = { optimizer: 'adamw', mixedPrecision: ['no'], ranks: [2] };
const GPT2 = { model_type: 'gpt2', n_embd: 8, n_head: 2, n_layer: 2, n_positions: 4, vocab_size: 16 };

let folder = '';
beforeAll(async () => {
  // Takes seconds, which are not those of a test.
  await import('@acc/checkpoint');
  folder = await mkdtemp(join(tmpdir(), 'estimate-memory-'));
  await write('config.json', GPT2);
});
afterAll(() => rm(folder, { recursive: true }));

/** The path of a new file below the folder. */
async function write(name: string, content: object | string): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(
    path,
    typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content),
  );
  return path;
}

/** A safetensors file of float32 zeros. */
function safetensors(shapes: Readonly<Record<string, readonly number[]>>): Buffer {
  let end = 0;
  const entries = Object.entries(shapes).map(([name, shape]) => {
    const start = end;
    end += 4 * shape.reduce((count, size) => count * size, 1);
    return [name, { dtype: 'F32', shape, data_offsets: [start, end] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(end)]);
}

const SHAPES = { 'h.0.mlp.weight': [8, 32], 'h.0.attn.bias': [1, 1, 4, 4], 'wte.weight': [16, 8] };
const modelOf = async (path: string) => (await report(path, FLAGS)).model;

describe('a model is read from', () => {
  it('a config.json', async () => {
    expect(await modelOf(join(folder, 'config.json'))).toMatchObject({ kind: 'gpt2', parameters: 1920 });
  });

  it('a safetensors file', async () => {
    const path = await write('alone.safetensors', safetensors(SHAPES));
    expect(await modelOf(path)).toMatchObject({ kind: null, parameters: 8 * 32 + 16 * 8 });
  });

  it('a folder with an index, and the sizes of its config.json', async () => {
    await write('sharded/a.safetensors', safetensors({ 'wte.weight': [16, 8], 'lm_head.weight': [16, 8] }));
    await write('sharded/b.safetensors', safetensors({ 'h.0.mlp.weight': [8, 32] }));
    const map = { 'wte.weight': 'a.safetensors', 'h.0.mlp.weight': 'b.safetensors' };
    await write('sharded/model.safetensors.index.json', { weight_map: map });
    await write('sharded/config.json', GPT2);
    const path = join(folder, 'sharded');
    // The tied head is not counted again.
    expect(await modelOf(path)).toMatchObject({ kind: 'gpt2', parameters: 8 * 32 + 16 * 8 });
  });

  it('a folder with weights and a config.json of another kind', async () => {
    await write('bert/model.safetensors', safetensors(SHAPES));
    await write('bert/config.json', { model_type: 'bert' });
    expect(await modelOf(join(folder, 'bert'))).toMatchObject({ kind: null, parameters: 384 });
  });

  it('a model.json, with its weights or with safetensors beside it', async () => {
    const weightsManifest = [{ paths: [], weights: [{ name: 'dense/kernel', shape: [3, 5] }] }];
    const own = await write('tfjs/model.json', { modelTopology: {}, weightsManifest });
    expect(await modelOf(own)).toMatchObject({ parameters: 15 });
    expect(await modelOf(join(folder, 'tfjs'))).toMatchObject({ parameters: 15 });
    await write('saved/model.safetensors', safetensors({ 'dense/kernel': [3, 5] }));
    const topology = await write('saved/model.json', { modelTopology: {} });
    expect(await modelOf(topology)).toMatchObject({ parameters: 15 });
  });

  it('numbers', async () => {
    const numbers = { ...FLAGS, parameters: 110e6, layers: 12, hidden: 768, heads: 12, vocab: 30000 };
    const { model, batch } = await report(undefined, { ...numbers, sequence: 128, batch: 2 });
    expect(model).toEqual({ path: null, kind: 'gpt2', parameters: 110e6, trainable: 110e6 });
    expect(batch).toEqual({ batch: 2, sequence: 128 });
  });
});

describe('refused:', () => {
  it.each([
    ['a path that does not exist', () => 'none/at/all', 'ACC_MODEL_NOT_FOUND'],
    ['a file of another kind', () => write('notes.txt', 'a'), 'ACC_MODEL_UNKNOWN'],
    ['JSON of another kind', () => write('package.json', { name: 'a' }), 'ACC_MODEL_UNKNOWN'],
    [
      'a truncated config.json',
      () => write('torn/config.json', '{"model_type": "gp'),
      'ACC_MODEL_CONFIG_INVALID',
    ],
    ['a truncated model.json', () => write('torn/model.json', '{"modelTop'), 'ACC_MODEL_JSON_INVALID'],
    [
      'a safetensors file whose header is truncated',
      () => write('short.safetensors', safetensors(SHAPES).subarray(0, 40)),
      'ACC_SAFETENSORS_INVALID',
    ],
    [
      'a safetensors file whose last weight is truncated',
      () => write('shorter.safetensors', safetensors(SHAPES).subarray(0, -1)),
      'ACC_SAFETENSORS_INVALID',
    ],
    [
      'a truncated index',
      () => write('torn/model.safetensors.index.json', '{"weight_map": {'),
      'ACC_SAFETENSORS_INVALID',
    ],
    [
      'an index of a file that is missing',
      () => write('lost/model.safetensors.index.json', { weight_map: { a: 'a.safetensors' } }),
      'ACC_WEIGHTS_NOT_FOUND',
    ],
    ['a file without parameters', () => write('none.safetensors', safetensors({})), 'ACC_MODEL_UNKNOWN'],
    [
      'a folder without weights',
      async () => join(await write('empty/notes.txt', 'a'), '..'),
      'ACC_WEIGHTS_NOT_FOUND',
    ],
  ])('%s', async (_, path, code) => {
    await expect(report(await path(), FLAGS)).rejects.toMatchObject({ code });
  });

  it.each([
    ['an unknown optimizer', { optimizer: 'adamv' }, 'ACC_BAD_OPTION'],
    ['other bits of state', { stateBits: 16 }, 'ACC_BAD_OPTION'],
    ['bits of state that is not packed', { optimizer: 'lamb', stateBits: 8 }, 'ACC_BAD_OPTION'],
    ['an unknown precision', { mixedPrecision: ['bf8'] }, 'ACC_BAD_OPTION'],
    ['a number of ranks below 2', { ranks: [1] }, 'ACC_BAD_OPTION'],
    ['more tokens than the model takes', { sequence: 5 }, 'ACC_BAD_OPTION'],
    ['numbers beside a model', { parameters: 100 }, 'ACC_USAGE'],
  ])('%s', async (_, flags, code) => {
    const path = join(folder, 'config.json');
    await expect(report(path, { ...FLAGS, ...flags })).rejects.toMatchObject({ code });
  });

  it.each([
    ['neither model nor numbers', {}, 'ACC_USAGE'],
    ['some sizes of several', { parameters: 100, layers: 2 }, 'ACC_MISSING_OPTION'],
    [
      'an embedding larger than the model',
      { parameters: 100, layers: 2, hidden: 8, heads: 2, vocab: 16, sequence: 4 },
      'ACC_BAD_OPTION',
    ],
    [
      'heads that do not divide the width',
      { parameters: 1e4, layers: 2, hidden: 8, heads: 3, vocab: 16, sequence: 4 },
      'ACC_BAD_OPTION',
    ],
  ])('%s', async (_, flags, code) => {
    await expect(report(undefined, { ...FLAGS, ...flags })).rejects.toMatchObject({ code });
  });
});

describe('acc estimate-memory', () => {
  it('prints a table, with numbers of ranks that take the same in one row', async () => {
    const config = { ...FLAGS, ranks: [2, 4], batch: 3 };
    const text = formatReport(await report(join(folder, 'config.json'), config));
    expect(text).toContain('1,920 parameters, kind gpt2, batch 3 a rank, sequence 4, adamw');
    expect(text).toMatch(/^ {2}single +1 +7\.7 KB +7\.7 KB +15\.4 KB +16\.0 B .*$/m);
    const table = text.split('\n').filter((line) => /^ {2}\S/.test(line));
    const columns = table.map((line) => line.trim().split(/ {2,}/).length);
    expect(new Set(columns)).toEqual(new Set([10]));
    expect(text).toMatch(/optimizer +a parameter +activations +gathered +peak +peak at$/m);
    expect(text).toMatch(/^ {2}ddp +2, 4 /m);
    expect(text).toMatch(/^ {2}zero-3 +2 /m);
    expect(text).toContain('what the stages of fsdp hold, with its default units');
    expect(text.split('\n').every((line) => line === line.trimEnd())).toBe(true);
  });

  it('prints JSON', async () => {
    const args = ['--parameters', '110e6', '--ranks', '2,8', '--mixed-precision', 'no,fp16', '--json'];
    const { code, stdout, stderr } = await runAcc(['estimate-memory', ...args]);
    expect([code, stderr]).toEqual([0, '']);
    const { model, optimizer, estimates } = JSON.parse(stdout) as Awaited<ReturnType<typeof report>>;
    expect(model).toMatchObject({ path: null, parameters: 110e6 });
    expect(optimizer).toBe('adamw');
    // In each precision: one process, then ddp and three stages on 2 and 8 ranks.
    expect(estimates.map(({ precision }) => precision)).toEqual([
      ...Array<string>(9).fill('float32'),
      ...Array<string>(9).fill('fp16'),
    ]);
  });

  it('refuses a text in place of a number', async () => {
    const { code, stderr } = await runAcc(['estimate-memory', '--parameters', 'many']);
    expect(code).toBe(2);
    expect(stderr).toContain('ACC_BAD_OPTION');
  });
});
