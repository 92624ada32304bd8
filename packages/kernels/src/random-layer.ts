import { engine } from '@tensorflow/tfjs-core';
import type { RandomLayer } from '@acc/contract';
import { operator, setSeed, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from './backend.js';

const state = operator('acc::random_state');
const exchange = operator('acc::exchange_random_state');

/** libtorch's generator of the device. As operators, so that a recorded step repeats what is done with it. */
export function randomLayer(backend: AccBackend): RandomLayer {
  const made = (native: NativeTensor) => engine().makeTensorFromTensorInfo(backend.wrap(native, 'int32'));
  return {
    seed: setSeed,
    state: () => made(state()),
    exchange: (given) => made(exchange(backend.native(given))),
  };
}
