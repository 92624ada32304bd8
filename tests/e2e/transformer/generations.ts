// Models that generate, and how, for one process and for several.
import * as tf from '@tensorflow/tfjs';
import { setSeed } from '@acc/core';
import { gpt2, llama, tokenEmbedding, transformerBlock, type GenerateOptions } from '@acc/transformer';
import { GPT2, LLAMA, tokensOf } from './models.js';

export const VOCABULARY = 60;

export type Kind = 'gpt2' | 'llama' | 'experts';

/** A model whose weights are the same in every process. */
export function modelOf(kind: Kind): tf.LayersModel {
  setSeed(5);
  if (kind === 'experts') return withExperts();
  const sizes = { vocab_size: VOCABULARY, initializer_range: 0.4 };
  return kind === 'gpt2' ? gpt2({ ...GPT2, ...sizes }) : llama({ ...LLAMA, ...sizes });
}

function withExperts(): tf.LayersModel {
  const input = tf.input({ shape: [null], dtype: 'int32' });
  const embedding = tokenEmbedding({ vocabularySize: VOCABULARY, units: 12, initializerRange: 0.6 });
  const block = transformerBlock({
    ...{ heads: 2, causal: true, rotary: true, innerUnits: 16, initializerRange: 0.6 },
    moe: { experts: 4, topK: 2 },
  });
  const x = block.apply(embedding.apply(input) as tf.SymbolicTensor) as tf.SymbolicTensor;
  return tf.model({ inputs: input, outputs: embedding.apply(x) as tf.SymbolicTensor });
}

export const PROMPTS = tokensOf(4, 4, VOCABULARY);

/** By name. All continue {@link PROMPTS}. */
export const WAYS: Readonly<Record<string, GenerateOptions>> = Object.fromEntries(
  Object.entries({
    greedy: {},
    temperature: { temperature: 1.5, seed: 3 },
    topK: { topK: 5, seed: 4 },
    topP: { topP: 0.8, temperature: 2, seed: 5 },
  }).flatMap(([name, options]) =>
    [true, false].map((useCache) => [
      `${name}, ${useCache ? 'with' : 'without'} the cache`,
      { maxNewTokens: 8, useCache, ...options },
    ]),
  ),
);

/** With logits that differ between ranks. */
export const UNEQUAL: GenerateOptions = { maxNewTokens: 6, temperature: 2, seed: 9 };

/** Options whose draws differ in each call in one process. */
export const UNSEEDED: GenerateOptions = { maxNewTokens: 10, temperature: 3 };

/** Calls of one rank that differ from those of the others: name, prompts, options. */
export function waysOf(rank: number, eosToken: number): [string, number[][], GenerateOptions][] {
  const own = tokensOf(4 - rank, 3 + 4 * rank, VOCABULARY - rank);
  return [
    // The first is the first call, before any weight was gathered.
    ['own numbers of tokens', PROMPTS, { maxNewTokens: 3 * rank }],
    ['own prompts', own, { maxNewTokens: 12, eosToken }],
    ['own prompts, without the cache', own, { maxNewTokens: 12, eosToken, useCache: false }],
    ['own seeds', PROMPTS, { maxNewTokens: 5, temperature: 2, seed: rank }],
  ];
}
