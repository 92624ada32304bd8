import type { FusedLayerCall, FusedLayerCalls } from '@acc/contract';
import type { Kwargs, LayerInternals } from '@acc/tfjs-internals';
import type { AccBackend } from '../backend.js';
import { callConv2d, callDense } from '../layers/affine.js';
import { callBatchNormalization } from '../layers/batch-normalization.js';
import { callDropout } from '../layers/dropout.js';
import type { AccLayerCall } from '../layers/acc-layer-call.js';
import { callLayerNormalization } from '../layers/layer-normalization.js';
import { callRecurrent } from '../layers/recurrent.js';

export function accLayerCalls(backend: AccBackend): FusedLayerCalls {
  const on =
    <Layer extends LayerInternals>(call: AccLayerCall<Layer>): FusedLayerCall =>
    (layer, x, kwargs) =>
      call(layer as Layer, x, kwargs as Kwargs, backend);
  return {
    BatchNormalization: on(callBatchNormalization),
    Conv2D: on(callConv2d),
    Dense: on(callDense),
    Dropout: on(callDropout),
    GRU: on(callRecurrent),
    LayerNormalization: on(callLayerNormalization),
    LSTM: on(callRecurrent),
  };
}
