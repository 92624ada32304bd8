import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AcceleratorOptions } from '@acc/core';
import { registerAccBackend } from '@acc/kernels';
import { setNumThreads } from '@acc/native';
import { generate, type GenerateOptions } from '@acc/transformer';
import { onRanks } from '../on-ranks.js';
import { modelOf, PROMPTS, UNEQUAL, WAYS, waysOf, type Kind } from './generations.js';
import type { Args, Made } from './ranks/generate.js';

interface Job {
  readonly kind: Kind;
  readonly ranks: number;
  readonly options: AcceleratorOptions;
  /** The number of ranks that compute the same rows together, neighbours. */
  readonly sameRows: number;
  /** Whether the strategy is given as an object, and no mesh says over which ranks it shards. */
  readonly isObject?: boolean;
}

/** Several units. */
const FSDP: AcceleratorOptions = { strategy: 'fsdp', fsdp: { bucketBytes: 4096 } };

const JOBS: Readonly<Record<string, Job>> = {
  'tensor 2': { kind: 'llama', ranks: 2, options: { mesh: { tensor: 2 } }, sameRows: 2 },
  'tensor 3': { kind: 'gpt2', ranks: 3, options: { mesh: { tensor: 3 } }, sameRows: 3 },
  'pipeline 2': { kind: 'gpt2', ranks: 2, options: { mesh: { pipeline: 2 } }, sameRows: 2 },
  'expert 2': { kind: 'experts', ranks: 2, options: { mesh: { expert: 2 } }, sameRows: 1 },
  'fsdp 2': { kind: 'gpt2', ranks: 2, options: FSDP, sameRows: 1 },
  'fsdp 2 as an object': { kind: 'gpt2', ranks: 2, options: {}, sameRows: 1, isObject: true },
  'fsdp 2 with tensor 2': {
    kind: 'llama',
    ranks: 4,
    options: { ...FSDP, mesh: { fsdp: 2, tensor: 2 } },
    sameRows: 2,
  },
};

beforeAll(async () => {
  registerAccBackend();
  setNumThreads(1);
  await tf.setBackend('acc');
});

const known = new Map<string, number[][]>();
/** The tokens that one process generates, computed once for all jobs. */
function aloneOf(kind: Kind, prompts: number[][], way: GenerateOptions): number[][] {
  const key = JSON.stringify([kind, prompts, way]);
  const tokens = known.get(key) ?? generatedBy(kind, prompts, way);
  known.set(key, tokens);
  return tokens;
}

function generatedBy(kind: Kind, prompts: number[][], way: GenerateOptions): number[][] {
  const model = modelOf(kind);
  const tokens = generate(model, prompts, way).arraySync();
  model.dispose();
  return tokens;
}

describe.each(Object.entries(JOBS))('%s', (_, { kind, ranks, options, sameRows, isObject = false }) => {
  let results: Made[];
  let eosToken: number;
  const alone = (prompts: number[][], way: GenerateOptions) => aloneOf(kind, prompts, way);

  beforeAll(async () => {
    eosToken = alone(PROMPTS, { maxNewTokens: 12 })[0]![6]!;
    const args: Args = { kind, options, sameRows, eosToken, isObject };
    results = await onRanks<Made>({
      module: new URL('./ranks/generate.ts', import.meta.url),
      ...{ ranks, args, env: { OMP_NUM_THREADS: '1' } },
    });
  });

  it.each(Object.entries(WAYS))('%s', (name, way) => {
    const expected = alone(PROMPTS, way);
    for (const { tokens } of results) expect(tokens[name]).toEqual(expected);
  });

  it('ends rows at different steps', () => {
    for (const useCache of [true, false]) {
      const expected = alone(PROMPTS, { maxNewTokens: 12, eosToken, useCache });
      const ends = expected.map((row) => row.indexOf(eosToken, 4));
      expect(new Set(ends).size).toBeGreaterThan(1);
      for (const { tokens } of results) expect(tokens[`ends ${useCache}`]).toEqual(expected);
    }
  });

  it('draws the same tokens on all ranks without a seed, and others in the next call', () => {
    for (const { tokens } of results) {
      expect(tokens['no seed']).toEqual(results[0]!.tokens['no seed']);
      expect(tokens['no seed again']).toEqual(results[0]!.tokens['no seed again']);
      expect(tokens['no seed again']).not.toEqual(tokens['no seed']);
    }
  });

  it('continues prompts and options of each rank with rows of its own', () => {
    results.forEach(({ tokens }, rank) => {
      const rows = Math.floor(rank / sameRows);
      for (const [name, prompts, way] of waysOf(rows, eosToken)) {
        expect(tokens[name]).toEqual(alone(prompts, way));
      }
    });
  });

  if (sameRows > 1) {
    it('refuses other prompts and options on ranks with the same rows', () => {
      for (const { errors } of results) {
        for (const [name] of waysOf(0, eosToken)) {
          const code = name.startsWith('own prompts') ? 'ACC_BATCHES_DIFFER' : 'ACC_OPTIONS_DIFFER';
          expect(errors[`${name} on each rank`]).toMatchObject({ code });
        }
        expect(errors['another token']).toMatchObject({
          code: 'ACC_BATCHES_DIFFER',
          message: expect.stringContaining('rank 1: token 9 at [2, 1]') as unknown,
        });
      }
    });

    it('takes the tokens of one rank where logits differ', () => {
      const expected = alone(PROMPTS, UNEQUAL);
      for (const { tokens } of results) expect(tokens['other logits']).toEqual(expected);
    });
  }

  it('refuses on every rank what one refuses, and goes on afterwards', () => {
    const codes = results.map(({ errors }) => errors['refused']?.code);
    expect(codes).toEqual(
      results.map((_, rank) => (rank === 1 ? 'ACC_INVALID_OPTION' : 'ACC_GENERATION_REFUSED')),
    );
    expect(results[0]!.errors['refused']!.message).toContain('rank 1 did not begin: ACC_INVALID_OPTION');
    const expected = alone(PROMPTS, { maxNewTokens: 3 });
    for (const { tokens, leaked, kept } of results) {
      expect(tokens['nothing']).toEqual(PROMPTS);
      expect(tokens['after all that']).toEqual(expected);
      expect(leaked).toBe(0);
      expect(kept).toBe(0);
    }
    expect(results[0]!.tokens['alone']).toEqual(expected);
  });
});
