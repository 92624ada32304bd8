import { describe, expect, it } from 'vitest';
import { tensorsOf, type Architecture } from './architecture.js';
import { estimateMemory, type Estimate, type EstimateOptions } from './estimate.js';
import { sizesOf, type ModelSizes } from './model-sizes.js';
import type { StrategyName } from './layouts.js';

const OPTIONS: EstimateOptions = {
  ...{ optimizer: 'adamw', precisions: ['float32', 'bf16'], ranks: [64] },
  ...{ ranksPerHost: undefined, batch: undefined },
};

/** 1 GB is 10⁹ bytes, as in the papers. */
const gigabytes = (bytes: number) => Number((bytes / 1e9).toFixed(1));

const statesOf = ({ parameterBytes, gradientBytes, optimizerBytes }: Estimate) =>
  gigabytes(parameterBytes + gradientBytes + optimizerBytes);

function find(estimates: readonly Estimate[], strategy: StrategyName, precision = 'float32', ranks?: number) {
  return estimates.find(
    (each) =>
      each.strategy === strategy &&
      each.precision === precision &&
      (ranks === undefined || each.ranks === ranks),
  )!;
}

describe('7.5 G parameters on 64 ranks', () => {
  const model: ModelSizes = {
    ...{ parameters: 7.5e9, trainable: 7.5e9, architecture: undefined },
    ...{ layerSizes: undefined, largestTensor: undefined, factored: undefined },
  };
  const estimates = estimateMemory(model, OPTIONS);

  // Whole weights are 30 GB; their shards, those of gradients and of both moments 0.47 GB each.
  it.each([
    ['zero-1', 31.4],
    ['zero-2', 31.4],
    ['zero-3', 1.9],
  ] as const)('%s', (strategy, expected) => {
    for (const precision of ['float32', 'bf16'])
      expect(statesOf(find(estimates, strategy, precision))).toBe(expected);
  });

  it.each(['float32', 'bf16'])('one process with %s takes 16 bytes a parameter', (precision) => {
    const estimate = find(estimates, 'single', precision);
    expect(statesOf(estimate)).toBe(120);
    expect(estimate.bytesPerParameter).toBe(16);
  });

  // The moments have 260 bytes a block of 256 elements, or 68 a block of 128.
  it.each([
    [8, 4 + 4 + (2 * 260) / 256],
    [4, 4 + 4 + (2 * 68) / 128],
  ] as const)('state in %i bits', (stateBits, expected) => {
    const single = find(estimateMemory(model, { ...OPTIONS, stateBits }), 'single');
    expect(single.bytesPerParameter).toBeCloseTo(expected, 6);
  });

  it('stage 3 takes 16 / N bytes a parameter', () => {
    expect(find(estimates, 'zero-3').bytesPerParameter).toBeCloseTo(16 / 64, 6);
  });

  it('says what it does not know', () => {
    expect(find(estimates, 'zero-3')).toMatchObject({ activationBytes: null, gatheredBytes: null });
  });
});

describe('whole units', () => {
  const MIB = 2 ** 20;
  const ofLayers = (...layerSizes: number[]): Estimate[] => {
    const parameters = layerSizes.reduce((sum, size) => sum + size, 0);
    const model: ModelSizes = {
      ...{ parameters, trainable: parameters, layerSizes },
      ...{ architecture: undefined, largestTensor: undefined, factored: undefined },
    };
    return estimateMemory(model, { ...OPTIONS, ranks: [2] });
  };

  it('are the three largest of gradients, and in stage 3 the two largest of weights', () => {
    const all = ofLayers(7 * MIB, 8 * MIB, 10 * MIB, 9 * MIB);
    for (const strategy of ['zero-1', 'zero-2'] as const)
      expect(find(all, strategy).gatheredBytes).toBe(4 * 27 * MIB);
    expect(find(all, 'zero-3').gatheredBytes).toBe(4 * (27 + 19) * MIB);
  });

  it('are layers that follow each other, up to 25 MiB, in stage 3 to 4 MiB', () => {
    const all = ofLayers(...Array<number>(20).fill(MIB / 2));
    // 12 layers have 24 MiB; 2 have 4.
    expect(find(all, 'zero-2').gatheredBytes).toBe(4 * 10 * MIB);
    expect(find(all, 'zero-3').gatheredBytes).toBe(4 * (3 + 2) * MIB);
  });
});

describe('the optimizer', () => {
  const shapes = [
    [10, 20],
    [7, 1],
  ];
  const tensors = shapes.map((shape, i) => ({ name: `${i}`, shape, unit: `${i}`, isTrainable: i === 0 }));
  const model = sizesOf(tensors, undefined);

  it.each([
    ['sgd', 0, 0],
    ['momentum', 200, 0],
    ['adam', 400, 0],
    ['lion', 200, 200],
    ['lamb', 400, 400],
    ['adafactor', 30, 600],
  ] as const)('%s holds %i and makes %i float32 elements', (optimizer, state, temporary) => {
    const { optimizerBytes, peakBytes } = find(estimateMemory(model, { ...OPTIONS, optimizer }), 'single');
    expect(optimizerBytes).toBe(4 * state);
    expect(peakBytes).toBe(4 * (207 + 200 + state + temporary));
  });

  it.each([
    ['adam', 200],
    ['adafactor', 30],
  ] as const)('with %s, a rank of two holds %i elements of state', (optimizer, elements) => {
    const estimates = estimateMemory(model, { ...OPTIONS, ranks: [2], optimizer });
    for (const stage of ['zero-1', 'zero-2', 'zero-3'] as const) {
      expect(find(estimates, stage).optimizerBytes).toBe(4 * elements);
    }
  });

  it('adafactor needs shapes', () => {
    const numbers = { ...model, factored: undefined };
    expect(() => estimateMemory(numbers, { ...OPTIONS, optimizer: 'adafactor' })).toThrowError(
      expect.objectContaining({ code: 'ACC_BAD_OPTION' }),
    );
  });
});

describe('a transformer', () => {
  const gpt2: Architecture = {
    ...{ kind: 'gpt2', layers: 2, hidden: 8, heads: 2, kvHeads: 2, headDim: 4, intermediate: 32 },
    ...{ vocabulary: 16, positions: 4, isTied: false, hasAttentionBias: true, hasMlpBias: true },
  };
  const estimates = (architecture: Architecture, tokens: number, more: Partial<EstimateOptions> = {}) =>
    estimateMemory(sizesOf(tensorsOf(architecture), architecture), {
      ...{ ...OPTIONS, ranks: [2, 4], batch: { batch: tokens, sequence: 1 } },
      ...more,
    });
  // A layer: 12 · 8² weights of matrices, 4 · 8 of norms, 9 · 8 of biases; the last norm, the head.
  const LAYER = 872;
  const PARAMETERS = 16 * 8 + 4 * 8 + 2 * LAYER + 16 + 16 * 8;

  it('keeps in float32 what backward needs', () => {
    const { activationBytes, peakBytes, peakAt } = find(estimates(gpt2, 4000), 'single');
    // A token in a layer: 16 · 8 elements, 4 of statistics, 2 heads; then the loss: input and result
    // of the last norm, and four of the vocabulary. GELU's gradient takes less: 8 + 32 + 16.
    const token = 4 * (2 * (16 * 8 + 6) + 2 * 8 + 4 * 16);
    expect(activationBytes).toBe(4000 * token);
    expect(peakBytes).toBe(12 * PARAMETERS + 4000 * token);
    expect(peakAt).toBe('loss');
  });

  it('keeps 16 bits in mixed precision, and copies of weights', () => {
    const { activationBytes, peakAt } = find(estimates(gpt2, 4000), 'single', 'bf16');
    // A layer: 16 · 8 elements of 16 bits, 4 of statistics; then the loss.
    const token = 2 * (32 * 8 + 4 * 4) + (12 * 8 + 18 * 16);
    expect(activationBytes).toBe(4000 * token + 2 * (2 * LAYER + 16 * 8));
    expect(peakAt).toBe('loss');
  });

  it('has gradients and no activations left at the end', () => {
    const { peakBytes, peakAt } = find(estimates(gpt2, 1), 'single');
    // The gradient of the embedding, and the labels.
    expect(peakBytes).toBe(16 * PARAMETERS + 4 * (8 + 16));
    expect(peakAt).toBe('end of backward');
  });

  it('has two terms more of the gradient of a tied embedding', () => {
    const { peakBytes } = find(estimates({ ...gpt2, isTied: true }, 1), 'single');
    expect(peakBytes).toBe(16 * (PARAMETERS - 16 * 8) + 4 * (8 + 16) + 2 * 4 * 16 * 8);
  });

  it('takes as much on many ranks of one host', () => {
    const all = estimates(gpt2, 1);
    const { strategy, ranks, ...single } = find(all, 'single');
    expect([strategy, ranks]).toEqual(['single', 1]);
    for (const count of [2, 4]) expect(find(all, 'ddp', 'float32', count)).toMatchObject(single);
  });

  it('has a packed bucket more between hosts', () => {
    const all = estimates(gpt2, 1, { ranksPerHost: 2 });
    const [on1, on2] = [2, 4].map((count) => find(all, 'ddp', 'float32', count));
    // All gradients fit into one bucket.
    expect(on2!.peakBytes - on1!.peakBytes).toBe(4 * PARAMETERS);
  });

  it('has its weights whole in stage 3 while the loss is computed', () => {
    const estimate = find(estimates({ ...gpt2, vocabulary: 4096 }, 4000), 'zero-3', 'float32', 4);
    const { parameterBytes, optimizerBytes, activationBytes, peakBytes, peakAt } = estimate;
    const parameters = PARAMETERS + 2 * (4096 - 16) * 8;
    expect(parameterBytes).toBe(parameters);
    expect(peakAt).toBe('loss');
    // All layers are one unit.
    expect(peakBytes).toBe(parameterBytes + optimizerBytes + activationBytes! + 4 * parameters);
  });

  it('has no weights beside the whole ones in stage 2', () => {
    const estimate = find(estimates({ ...gpt2, vocabulary: 4096 }, 4000), 'zero-2', 'float32', 4);
    const { parameterBytes, optimizerBytes, activationBytes, peakBytes } = estimate;
    const parameters = PARAMETERS + 2 * (4096 - 16) * 8;
    expect(parameterBytes).toBe(4 * parameters);
    expect(peakBytes).toBe(parameterBytes + optimizerBytes + activationBytes!);
  });

  it('has its gradients whole, and their shards, when backward ends in stage 2', () => {
    const { peakBytes, peakAt } = find(estimates(gpt2, 1), 'zero-2', 'float32', 4);
    expect(peakAt).toBe('end of backward');
    // Weights; shards of gradients and moments; gradients; the embedding's gradient and labels.
    expect(peakBytes).toBe(4 * PARAMETERS + 3 * PARAMETERS + 4 * PARAMETERS + 4 * (8 + 16));
  });

  it('is shared inside a host in the hybrid stage', () => {
    const all = estimates(gpt2, 1, { ranks: [2, 3, 4], ranksPerHost: 2 });
    const hybrid = all.filter(({ strategy }) => strategy === 'zero-3-hybrid');
    expect(hybrid.map(({ ranks }) => ranks)).toEqual([4, 4]);
    const { parameterBytes, peakBytes } = find(all, 'zero-3', 'float32', 2);
    expect(hybrid[0]).toMatchObject({ parameterBytes, peakBytes });
  });
});
