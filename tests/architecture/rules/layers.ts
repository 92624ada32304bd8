/**
 * The packages and their layers. A package may import only packages of a lower layer. So features
 * (layer 3) never import each other or core. A package is added here before it is created.
 */
export const LAYERS: Readonly<Record<string, number>> = {
  '@acc/contract': 0,
  '@acc/tfjs-internals': 1,
  '@acc/platform': 1,
  '@acc/config': 1,
  '@acc/native': 1,
  '@acc/sharding-rules': 1,
  '@acc/transpile': 1,
  '@acc/planner': 1,
  '@acc/kernels': 2,
  '@acc/collective': 2,
  '@acc/formats': 2,
  '@acc/records': 2,
  '@acc/optimizers': 3,
  '@acc/context-parallel': 3,
  '@acc/compile': 3,
  '@acc/tape': 3,
  '@acc/placement': 3,
  '@acc/ddp': 3,
  '@acc/amp': 3,
  '@acc/quantization': 3,
  '@acc/deterministic': 3,
  '@acc/grad-accumulation': 3,
  '@acc/schedule': 3,
  '@acc/checkpoint': 3,
  '@acc/data': 3,
  '@acc/tracker': 3,
  '@acc/monitor': 3,
  '@acc/profile': 3,
  '@acc/testkit': 3,
  '@acc/tracker-mlflow': 3,
  '@acc/tracker-wandb': 3,
  '@acc/tracker-tensorboard': 3,
  'acc-tracker-clearml': 3,
  'acc-tracker-comet': 3,
  'acc-tracker-dvclive': 3,
  'acc-tracker-prometheus': 3,
  'acc-tracker-trackio': 3,
  '@acc/engine-tfjs-node': 4,
  '@acc/fsdp': 4,
  '@acc/experts': 4,
  '@acc/tensor-parallel': 4,
  '@acc/pipeline': 4,
  '@acc/big-model': 4,
  '@acc/federated': 4,
  '@acc/transformer': 4,
  '@acc/cli': 4,
  '@acc/core': 5,
  'create-acc-tracker': 5,
};

/** The layer of programs. `bench/` and `examples/` may import every package. */
export const PROGRAM_LAYER = 6;

/** Packages that the tests of every package may import, whatever its layer. */
export const FOR_TESTS = '@acc/testkit';

/** Packages that the user installs once, because two copies are two engines. */
export const PEER_ONLY = /^@tensorflow\//;
