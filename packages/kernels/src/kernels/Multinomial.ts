import {
  Multinomial,
  randomUniform,
  type MultinomialAttrs,
  type MultinomialInputs,
} from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const softmax = operator('aten::softmax.int');
const narrow = operator('aten::narrow');
const cumulate = operator('aten::cumsum');
const repeat = operator('aten::repeat');
const search = operator('aten::searchsorted.Tensor');

/**
 * Draws outcomes by inversion of each row's cumulative probabilities. As in tfjs's cpu backend, all
 * rows use the same uniform numbers from tfjs's own generator, so a seed gives the same outcomes on
 * both backends.
 */
export const multinomial = kernel<MultinomialInputs, MultinomialAttrs>(
  Multinomial,
  ({ inputs: { logits }, attrs: { numSamples, seed, normalized }, backend }) => {
    const [numRows, numOutcomes] = logits.shape as [number, number];
    const given = backend.native(logits);
    using probabilities = normalized ? given.alias() : softmax(given, 1, 'float32');
    // The last outcome needs no bound: it takes all remaining draws.
    using others = narrow(probabilities, 1, 0, numOutcomes - 1);
    using cumulative = cumulate(others, 1, 'float32');
    const uniform = randomUniform([1, numSamples], 0, 1, 'float32', seed);
    using draws = repeat(backend.native(uniform), [numRows, 1]);
    uniform.dispose();
    return backend.wrap(search(cumulative, draws, true, true), 'int32');
  },
);
