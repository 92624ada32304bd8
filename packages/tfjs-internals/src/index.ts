export {
  aroundGradient,
  besideTape,
  countIdsFrom,
  engineInternals,
  gradientDepth,
  replaceData,
  reviveWith,
  type CustomOperator,
  type EngineInternals,
  type EngineScope,
  type EngineState,
  type GradientsFunction,
  type GradientsResult,
  type KernelInvocation,
  type RunKernel,
  type RunKernelFunc,
  type TapeNode,
} from './engine.js';
export { callsOf, type GraphCall } from './layers/calls.js';
export type { Callback, History } from './layers/callbacks.js';
export { isTfjsClass, overrides, tfjsClassName } from './layers/classes.js';
export type { Apply, GraphLayer, GraphModel, GraphNode, LayerGraph, SymbolicTensor } from './layers/graph.js';
export { layerPrototype, type LayerPrototype } from './layers/layer-class.js';
export type {
  ActivationObject,
  BatchNormalizationLayer,
  Conv2DLayer,
  DenseLayer,
  DropoutLayer,
  Kwargs,
  LayerCall,
  LayerInternals,
  LayerNormalizationLayer,
  LayerVariable,
  LayerWithBuffers,
  RecurrentCell,
  RecurrentLayer,
} from './layers/layer.js';
export {
  isModel,
  type FitDatasetArguments,
  type FitLoopArguments,
  type LossOrMetric,
  type ModelInternals,
  type StepFunction,
} from './layers/model.js';
export { buffersOf } from './layers/buffers.js';
export { layersOfModels, nestedLayers, type LayerNesting } from './layers/nested-layers.js';
export { addWeightTo, buildPart, freezeWeight, removeWeightsFrom, takeWeightsOf } from './layers/parts.js';
export { lossTable, type Loss } from './losses.js';
export {
  optimizerInternals,
  type AdadeltaInternals,
  type AdagradInternals,
  type AdamaxInternals,
  type AdamInternals,
  type MomentumInternals,
  type OptimizerInternals,
  type OptimizerVariable,
  type RmsPropInternals,
  type SgdInternals,
} from './optimizer.js';
export {
  isPatched,
  isReplaced,
  livePatches,
  patch,
  patchProperty,
  replaceForGood,
  type MethodName,
  type Undo,
} from './patch.js';
export { PATCH_LAYERS, type PatchLayer } from './patch-layers.js';
export { replaceGradient, replaceKernel } from './registry.js';
export {
  bufferInternals,
  tensorInternals,
  type TensorBufferInternals,
  type TensorInternals,
} from './tensor.js';
export { mendTfjsNode } from './tfjs-node.js';
