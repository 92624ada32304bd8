import { addition } from './addition.js';
import { widening } from './cast.js';
import { concat } from './concat.js';
import type { Special } from './context.js';
import { dropout } from './dropout.js';
import { embedding, embeddingGradient } from './embedding.js';
import { fusedProduct } from './fused-product.js';
import { crossEntropy, crossEntropyGradient } from './cross-entropy.js';
import { argMaximum, maximum, softmax, softmaxGradient } from './softmax.js';
import { elementwiseOfLazy, oneHot } from './lazy-one-hot.js';

export type { Special, SpecialContext } from './context.js';

/** By kernel. */
export const SPECIAL: ReadonlyMap<string, Special> = new Map([
  ['AccCast', widening],
  ['AccDropout', dropout],
  ['Add', { ...addition, ...elementwiseOfLazy('Add') }],
  ['Cast', elementwiseOfLazy('Cast')],
  ['Concat', concat],
  ['_FusedMatMul', fusedProduct],
  ['GatherV2', embedding],
  ['Multiply', elementwiseOfLazy('Multiply')],
  ['OneHot', oneHot],
  ['UnsortedSegmentSum', embeddingGradient],
  ['Max', maximum],
  ['ArgMax', argMaximum],
  ['Softmax', softmax],
  ['SoftmaxGrad', softmaxGradient],
  ['SoftmaxCrossEntropy', crossEntropy],
  ['SoftmaxCrossEntropyGrad', crossEntropyGradient],
]);
