import type { RandomLayer, TensorBridge } from '@acc/contract';
import { libtorchTensor, operator, setSeed } from '@acc/native';

const state = operator('acc::random_state');
const exchange = operator('acc::exchange_random_state');

/**
 * libtorch's generator of the device, whatever backend is active. As operators, so that a recorded step repeats what is done
 * with it.
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
