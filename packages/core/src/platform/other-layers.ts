import { registeredKernelLayer, registerKernelLayer } from '@acc/contract';
import { TENSORFLOW_LAYER } from '@acc/engine-tfjs-node';

/** Registers the kernel layers of backends other than ours. A layer that the program has registered stays. */
export function registerOtherLayers(): void {
  const { backendName } = TENSORFLOW_LAYER;
  if (!registeredKernelLayer(backendName)) registerKernelLayer(TENSORFLOW_LAYER);
}
