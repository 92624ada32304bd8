/**
 * Which package may import which: only those of a lower layer. Features (layer 3) so never import each other, nor core.
 * A package is written down here before it is created.
 */
export const LAYERS: Readonly<Record<string, number>> = {
  '@acc/contract': 0,
  '@acc/tfjs-internals': 1,
  '@acc/native': 1,
  '@acc/transpile': 1,
  '@acc/kernels': 2,
  '@acc/collective': 2,
  '@acc/ddp': 3,
  '@acc/fsdp': 3,
  '@acc/amp': 3,
  '@acc/deterministic': 3,
  '@acc/grad-accumulation': 3,
  '@acc/schedule': 3,
  '@acc/checkpoint': 3,
  '@acc/data': 3,
  '@acc/tracker': 3,
  '@acc/monitor': 3,
  '@acc/testkit': 3,
  '@acc/tracker-mlflow': 3,
  '@acc/tracker-wandb': 3,
  '@acc/tracker-tensorboard': 3,
  'acc-tracker-prometheus': 3,
  'acc-tracker-trackio': 3,
  '@acc/cli': 4,
  '@acc/core': 5,
  'create-acc-tracker': 5,
};

/** The layer of programs: `bench/` and `examples/` import what they like. */
export const PROGRAM_LAYER = 6;

/** What tests of every package may import, whatever its layer. */
export const FOR_TESTS = '@acc/testkit';

/** Installed once by whoever uses the packages: two copies are two engines. */
export const PEER_ONLY = /^@tensorflow\//;
