import { parameterCountOf, workloads } from '../harness/workloads.mjs';

/** A GPT with the sizes of GPT-2 and a smaller vocabulary. */
export const LARGE = {
  title: 'GPT, 110 M parameters: 12 layers, width 768, 12 heads, sequence 128, vocabulary 16,384, batch 2',
  sizes: { layers: 12, width: 768, heads: 12, sequence: 128, vocabulary: 16_384 },
  parameterCount: 110_320_128,
  batch: 2,
  warmupSteps: 2,
  steps: 2,
};

/** The GPT of the other measurements. */
export const SMALL = { ...workloads.gpt, parameterCount: parameterCountOf('gpt', 'ours') };
