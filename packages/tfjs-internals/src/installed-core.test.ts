import * as tf from '@tensorflow/tfjs';
import { afterAll } from 'vitest';
import {
  bufferInternals,
  engineInternals,
  lossTable,
  optimizerInternals,
  tensorInternals,
  type AdadeltaInternals,
  type AdagradInternals,
  type AdamaxInternals,
  type AdamInternals,
  type EngineInternals,
  type EngineScope,
  type EngineState,
  type MomentumInternals,
  type OptimizerInternals,
  type OptimizerVariable,
  type RmsPropInternals,
  type SgdInternals,
  type TapeNode,
  type TensorBufferInternals,
  type TensorInternals,
} from './index.js';
import { describeViews, type Look, type Members } from './testing/views.js';

// Compares the views of tfjs-core with the installed version.

const ENGINE: Members<EngineInternals> = {
  gradients: 'function(4)',
  startTape: 'function(0)',
  endTape: 'function(0)',
  isTapeOn: 'function(0)',
  tidy: 'function(2)',
  scopedRun: 'function(3)',
  startScope: 'function(1)',
  endScope: 'function(1)',
  runKernel: 'function(3)',
  runKernelFunc: 'function(1)',
  addTapeNode: 'function(6)',
  clone: 'function(1)',
  getTensorsForGradient: 'function(3)',
  saveTensorsForBackwardMode: 'function(1)',
  makeTensorFromTensorInfo: 'function(2)',
  incRef: 'function(2)',
  trackTensor: 'function(2)',
  makeVariable: 'function(4)',
  disposeVariable: 'function(1)',
  keep: 'function(1)',
  disposeTensor: 'function(1)',
  moveData: 'function(2)',
  setBackend: 'function(1)',
  initializeBackend: 'function(1)',
  backendInstance: 'object',
  registry: 'object',
  state: 'object',
};

const STATE: Members<EngineState> = {
  activeTape: 'array',
  nextTapeNodeId: 'number',
  gradientDepth: 'number',
  kernelDepth: 'number',
  profiling: 'boolean',
  numTensors: 'number',
  registeredVariables: 'object',
  scopeStack: 'array',
  activeScope: 'object',
  tensorInfo: 'WeakMap',
};

const SCOPE: Members<EngineScope> = { id: 'number', name: 'string', track: 'array' };

const TAPE_NODE: Members<TapeNode> = {
  id: 'number',
  kernelName: 'string',
  inputs: 'object',
  outputs: 'array',
  saved: 'array',
  gradient: 'function(1)',
};

const TENSOR: Members<TensorInternals> = {
  isDisposedInternal: 'boolean',
  dataId: 'object',
  scopeId: 'number',
};

const BUFFER: Members<TensorBufferInternals> = {
  values: 'object',
  shape: 'array',
  toTensor: 'function(0)',
};

const LOSSES = [
  'absoluteDifference',
  'computeWeightedLoss',
  'cosineDistance',
  'hingeLoss',
  'huberLoss',
  'logLoss',
  'meanSquaredError',
  'sigmoidCrossEntropy',
  'softmaxCrossEntropy',
] as const;

const OPTIMIZER: Members<OptimizerInternals> = {
  iterations_: 'number',
  learningRate: 'number',
  setLearningRate: 'function(1)',
  incrementIterations: 'function(0)',
};
const SGD: Members<SgdInternals> = { c: 'Tensor' };
const MOMENTUM: Members<MomentumInternals> = {
  ...SGD,
  m: 'Tensor',
  useNesterov: 'boolean',
  accumulations: 'array',
};
const ADAGRAD: Members<AdagradInternals> = {
  learningRate: 'number',
  initialAccumulatorValue: 'number',
  accumulatedGrads: 'array',
};
const ADADELTA: Members<AdadeltaInternals> = {
  learningRate: 'number',
  rho: 'number',
  epsilon: 'number',
  accumulatedGrads: 'array',
  accumulatedUpdates: 'array',
};
const RMSPROP: Members<RmsPropInternals> = {
  learningRate: 'number',
  decay: 'number',
  momentum: 'number',
  epsilon: 'number',
  centered: 'boolean',
  accumulatedMeanSquares: 'array',
  accumulatedMoments: 'array',
  accumulatedMeanGrads: 'array',
};
const ADAM: Members<AdamInternals> = {
  learningRate: 'number',
  beta1: 'number',
  beta2: 'number',
  epsilon: 'number',
  accBeta1: 'Variable',
  accBeta2: 'Variable',
  accumulatedFirstMoment: 'array',
  accumulatedSecondMoment: 'array',
};
const ADAMAX: Members<AdamaxInternals> = {
  learningRate: 'number',
  beta1: 'number',
  beta2: 'number',
  epsilon: 'number',
  decay: 'number',
  iteration: 'Variable',
  accBeta1: 'Variable',
  accumulatedFirstMoment: 'array',
  accumulatedWeightedInfNorm: 'array',
};
const OPTIMIZER_VARIABLE: Members<OptimizerVariable> = { originalName: 'string', variable: 'Variable' };

const EXPECTED = {
  'engine()': ENGINE,
  'engine().state': STATE,
  'engine().state.activeScope': SCOPE,
  'engine().state.activeTape[0]': TAPE_NODE,
  Tensor: TENSOR,
  TensorBuffer: BUFFER,
  'tf.losses': Object.fromEntries(LOSSES.map((name) => [name, 'function(0)'])),
  Optimizer: OPTIMIZER,
  SGDOptimizer: SGD,
  MomentumOptimizer: MOMENTUM,
  AdagradOptimizer: ADAGRAD,
  AdadeltaOptimizer: ADADELTA,
  RMSPropOptimizer: RMSPROP,
  AdamOptimizer: ADAM,
  AdamaxOptimizer: ADAMAX,
  'AdamOptimizer.accumulatedFirstMoment[0]': OPTIMIZER_VARIABLE,
};

function lookAtEngine(look: Look<typeof EXPECTED>): void {
  const engine = engineInternals();
  const compute = (x: tf.Tensor) => {
    const y = tf.square(x);
    look('Tensor', tensorInternals(y));
    look('engine()', engine);
    look('engine().state', engine.state);
    look('engine().state.activeScope', engine.state.activeScope);
    look('engine().state.activeTape[0]', engine.state.activeTape?.[0]);
    return y;
  };
  tf.grad(compute)(tf.scalar(3)).dispose();
  look('TensorBuffer', bufferInternals(tf.buffer([1])));
  look('tf.losses', lossTable());
}

function lookAtOptimizers(look: Look<typeof EXPECTED>): void {
  const weight = tf.variable(tf.scalar(2));
  const stepped = <O extends tf.Optimizer>(optimizer: O): O => {
    optimizer.minimize(() => tf.square(weight));
    return optimizer;
  };
  const adam = stepped(tf.train.adam(0.1));
  look('Optimizer', optimizerInternals(stepped(tf.train.sgd(0.1))));
  look('SGDOptimizer', stepped(tf.train.sgd(0.1)));
  look('MomentumOptimizer', stepped(tf.train.momentum(0.1, 0.9)));
  look('AdagradOptimizer', stepped(tf.train.adagrad(0.1)));
  look('AdadeltaOptimizer', stepped(tf.train.adadelta(0.1)));
  look('RMSPropOptimizer', stepped(tf.train.rmsprop(0.1)));
  look('AdamOptimizer', adam);
  look('AdamaxOptimizer', stepped(tf.train.adamax(0.1)));
  look('AdamOptimizer.accumulatedFirstMoment[0]', viewOfAdam(adam).accumulatedFirstMoment[0]);
}

const viewOfAdam = (adam: tf.Optimizer) => adam as unknown as AdamInternals;

describeViews(EXPECTED, async (look) => {
  await tf.setBackend('cpu');
  lookAtEngine(look);
  lookAtOptimizers(look);
});

afterAll(() => tf.disposeVariables());
