import { cast, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import { tfjsClassName, patch } from '@acc/tfjs-internals';
import type { InitialValues } from './empty-weight.js';
import { drawsDiffer } from '../errors.js';
import { keptValues } from './kept-values.js';

/** An initializer of tfjs-layers. */
export interface Initializer {
  apply(shape: number[], dtype?: DataType): Tensor;
}

/**
 * Initializers of tfjs-layers. Their values depend on shape, dtype and configuration, and on the
 * random numbers that seed tfjs's generators: as many for each shape.
 */
const REPEATABLE = [
  ...['Zeros', 'Ones', 'Constant', 'Identity', 'Orthogonal', 'VarianceScaling'],
  ...['RandomUniform', 'RandomNormal', 'TruncatedNormal', 'GlorotUniform', 'GlorotNormal'],
  ...['HeUniform', 'HeNormal', 'LeCunUniform', 'LeCunNormal'],
];

/**
 * The values of an initializer. One of tfjs-layers runs when they are needed; only its seeds are
 * drawn now, so that random numbers which are drawn later are those of a model with memory. Others
 * run now, and their values are kept as {@link keptValues}.
 */
export function valuesOf(initializer: Initializer, shape: number[], dtype: DataType): InitialValues {
  const name = tfjsClassName(initializer);
  if (name === undefined || !REPEATABLE.includes(name)) return keptValues(initializer.apply(shape, dtype));
  const seeds: number[] = [];
  const drawNoting = (draw: () => number) => {
    const seed = draw();
    seeds.push(seed);
    return seed;
  };
  const smallest = shape.map(() => 1);
  withRandom(drawNoting, () => initializer.apply(smallest, dtype)).dispose();
  return {
    shape,
    dtype,
    make() {
      let next = 0;
      const drawAgain = () => {
        const seed = seeds[next++];
        if (seed === undefined) throw drawsDiffer(name);
        return seed;
      };
      return converted(
        withRandom(drawAgain, () => initializer.apply(shape, dtype)),
        dtype,
      );
    },
    drop() {},
  };
}

/** The values as `dtype`. Disposes `values` if that is another tensor. */
export function converted(values: Tensor, dtype: DataType): Tensor {
  if (values.dtype === dtype) return values;
  const created = cast(values, dtype);
  values.dispose();
  return created;
}

function withRandom<T>(draw: (own: () => number) => number, run: () => T): T {
  const undo = patch(Math, 'random', 'initializers', (own) => () => draw(own));
  try {
    return run();
  } finally {
    undo();
  }
}
