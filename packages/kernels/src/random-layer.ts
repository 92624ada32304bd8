import type { RandomLayer, TensorBridge } from '@acc/contract';
import { libtorchTensor, operator, setSeed } from '@acc/native';

const state = operator('acc::random_state');
const exchange = operator('acc::exchange_random_state');

/**
 * libtorch's random generator of the device, for any active backend. Its state is read and set by
 * operators, so that a recorded step repeats these calls.
 */
export function randomLayer(bridge: TensorBridge): RandomLayer {
  return {
    seed: setSeed,
    state: () => bridge.fromNative(state(), 'int32'),
    exchange(given) {
      using next = libtorchTensor(bridge.toNative(given));
      return bridge.fromNative(exchange(next), 'int32');
    },
  };
}
