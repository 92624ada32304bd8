import { tidy } from '@tensorflow/tfjs-core';
import { requireAcc } from '@acc/kernels';
import type { ModelInternals } from '@acc/tfjs-internals';
import type { Batches } from './calibration/batches.js';
import { visitInputs } from './calibration/layer-inputs.js';
import { Hessian } from './gptq/hessian.js';
import { factorsOf } from './gptq/patches.js';
import type { QuantizableLayer } from './quantizable-layers.js';
import { ChannelStatistics } from './scaling/channel-statistics.js';

export interface StatisticsOptions {
  readonly hasHessian: boolean;
  readonly hasChannels: boolean;
}

/** Facts of the rows with which a layer multiplies. */
export interface LayerStatistics {
  readonly hessian: Hessian | undefined;
  readonly channels: ChannelStatistics | undefined;
}

export interface Statistics<L> extends Disposable {
  of(layer: L): LayerStatistics;
}

/** The statistics of layers, from the inputs that they get in the model as it is. */
export function statisticsOf<L extends QuantizableLayer>(
  model: ModelInternals,
  batches: Batches,
  layers: readonly L[],
  { hasHessian, hasChannels }: StatisticsOptions,
): Statistics<L> {
  const found = new Map<L, LayerStatistics>(
    layers.map((each) => [
      each,
      {
        hessian: hasHessian ? new Hessian() : undefined,
        channels: hasChannels ? new ChannelStatistics() : undefined,
      },
    ]),
  );
  const dispose = () => {
    for (const { hessian, channels } of found.values()) {
      hessian?.[Symbol.dispose]();
      channels?.[Symbol.dispose]();
    }
  };
  const see = (layer: L, x: Parameters<typeof factorsOf>[1]) =>
    tidy(() => {
      const rows = requireAcc().native(factorsOf(layer, x));
      const { hessian, channels } = found.get(layer)!;
      hessian?.add(rows);
      channels?.add(rows);
    });
  try {
    visitInputs(model, batches, layers, see);
  } catch (error) {
    dispose();
    throw error;
  }
  return { of: (layer) => found.get(layer)!, [Symbol.dispose]: dispose };
}
