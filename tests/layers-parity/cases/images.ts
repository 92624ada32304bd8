import type { LayerCase, LayerCases } from '../layer-case.js';
import { Scale } from '../scale.js';
import { Unlisted } from '../unlisted.js';

/** Layers that prepare images and categories. */
export const PREPARATIONS: LayerCases = {
  rescaling: { inputs: [[4, 4, 2]], make: (l) => l.rescaling({ scale: 0.5, offset: 1 }) },
  // Square images and single samples, because the gradients of tfjs's cpu backend are right for no
  // others.
  resizing: {
    inputs: [[4, 4, 2]],
    make: (l) => new Unlisted(l.resizing({ height: 6, width: 3 }), [null, 6, 3, 2]),
  },
  'resizing, nearest': {
    inputs: [[4, 5, 2]],
    batch: 1,
    make: (l) => new Unlisted(l.resizing({ height: 8, width: 3, interpolation: 'nearest' }), [null, 8, 3, 2]),
  },
  // tfjs has no gradient of CropAndResize.
  centerCrop: {
    inputs: [[6, 5, 2]],
    scaled: false,
    make: (l) => [new Unlisted(l.centerCrop({ height: 3, width: 4 }), [null, 3, 4, 2]), new Scale()],
  },
  'centerCrop, larger than the image': {
    inputs: [[3, 3, 2]],
    make: (l) => new Unlisted(l.centerCrop({ height: 5, width: 4 }), [null, 5, 4, 2]),
  },
  ...Object.fromEntries(
    (['bilinear', 'nearest'] as const).map((interpolation): [string, LayerCase] => [
      `randomWidth, ${interpolation}`,
      {
        inputs: [[4, 4, 2]],
        batch: 1,
        make: (l) => [
          new Unlisted(l.randomWidth({ factor: [0.2, 0.8], seed: 3, interpolation }), [null, 4, null, 2]),
          l.globalAveragePooling2d({}),
        ],
      },
    ]),
  ),
  ...Object.fromEntries(
    (['multiHot', 'oneHot', 'count'] as const).map((outputMode): [string, LayerCase] => [
      `categoryEncoding, ${outputMode}`,
      {
        inputs: [[outputMode === 'oneHot' ? 1 : 5]],
        holds: 'ids',
        make: (l) => [new Unlisted(l.categoryEncoding({ numTokens: 8, outputMode }), [null, 8]), new Scale()],
      },
    ]),
  ),
};
