// Trains float32 layers beside packed ones by each strategy, and saves in the middle; or goes on from
// every save by another strategy.
import { existsSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, setSeed, type AcceleratorOptions } from '@acc/core';
import { memoryStats } from '@acc/native';
import { quantizeVariable, type QuantizeVariableOptions } from '@acc/quantization';
import { llama, loadPretrained, lora, savePretrained } from '@acc/transformer';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { calibrated, type Calibrated } from './calibrated.js';
import { qat, type Qat } from './qat.js';

const WAYS = {
  ddp: () => ({}),
  stage2: () => ({ strategy: 'fsdp', fsdp: { stage: 2 } }),
  stage3: () => ({ strategy: 'fsdp', fsdp: { bucketBytes: 6000 } }),
  offload: () => ({
    strategy: 'fsdp',
    fsdp: { offload: { params: true, to: mkdtempSync(join(tmpdir(), 'acc-quantized-')) } },
  }),
} satisfies Record<string, () => AcceleratorOptions>;
export type Way = keyof typeof WAYS;

/** The shapes and formats of the packed weights. Three ranks divide none of them evenly. */
export const PACKED: Readonly<Record<string, readonly [[number, number], QuantizeVariableOptions]>> = {
  nf4: [[64, 160], { weights: 'nf4' }],
  int4: [[160, 64], { weights: 'int4', granularity: { group: 32 } }],
  byRow: [[64, 35], { weights: 'int8' }],
  byTensor: [[35, 96], { weights: 'int8', granularity: 'tensor' }],
  table: [[32, 64], { weights: 'nf4', axis: 'first' }],
  fp16: [[96, 64], { weights: 'fp16' }],
};
const MIDDLE = 2;
const STEPS = 4;
const ROWS = 12;
const world = process.env.WORLD_SIZE!;

export interface Trained {
  /** Of the trained weights after the last step. */
  readonly last: number[];
  readonly losses: number[];
  /** Of the packed weights, by name. */
  readonly packed: Record<string, number[]>;
}

/** The training of adapters on an nf4 base. */
export interface Qlora {
  readonly losses: number[];
  readonly adapters: number[];
  /** Whether all weights of the base have the bits from before, and the adapters were saved and loaded. */
  readonly isSame: boolean;
}

/** Features of quantization-aware training, one with each strategy. */
const WITH: Readonly<Record<Way, AcceleratorOptions>> = {
  ddp: { gradientAccumulationSteps: 2 },
  stage2: { mixedPrecision: 'bf16' },
  stage3: { gradientAccumulationSteps: 2 },
  offload: {},
};

export interface Saved extends Trained {
  readonly qlora: Qlora;
  readonly qat: Qat;
  readonly calibrated: Calibrated;
  /** The packed weights of `getStateDict`. */
  readonly stateDict: Record<string, number[]>;
  /** The product of rows and a packed weight outside of a gradient. */
  readonly predicted: number[];
  /** The bytes of this rank that `prepare` has freed. */
  readonly freedBytes: number;
  readonly fileBytes: number;
  readonly modelBytes: number;
}

function values(shape: number[], seed: number): tf.Tensor {
  const size = tf.util.sizeFromShape(shape);
  return tf.tidy(() => tf.sin(tf.range(0, size).mul(1.7).add(seed)).reshape(shape));
}

/** @param seed Of the values before they are packed. */
async function start(way: Way, seed: number, others: Partial<Record<string, QuantizeVariableOptions>> = {}) {
  const accelerator = await Accelerator.create(WAYS[way]() as AcceleratorOptions);
  const { processIndex: rank, numProcesses: size } = accelerator;
  const packed = Object.entries(PACKED).map(([name, [shape, options]], i) => {
    const variable = tf.tidy(() => tf.variable(values(shape, seed + i), true, name));
    quantizeVariable(variable, others[name] ?? options);
    return variable as tf.Variable<tf.Rank.R2>;
  });
  const [nf4, int4, byRow, byTensor, table, fp16] = packed;
  const trained = [[64], [160], [96, 3]].map((shape, i) =>
    tf.tidy(() => tf.variable(values(shape, i), true, `trained${i}`)),
  );
  const optimizer = tf.train.adam(0.05);
  const before = memoryStats().allocatedBytes;
  accelerator.prepare([...packed, ...trained], optimizer);
  const freedBytes = before - memoryStats().allocatedBytes;
  const forward = (ids: tf.Tensor1D) => {
    const x = tf.add(tf.gather(table!, ids), trained[0]!) as tf.Tensor2D;
    const hidden = tf.tanh(tf.add(tf.matMul(x, nf4!), trained[1]!)) as tf.Tensor2D;
    const back = tf.tanh(tf.matMul(hidden, int4!)) as tf.Tensor2D;
    const wide = tf.matMul(tf.matMul(back, byRow!), byTensor!);
    return tf.matMul(
      tf.tanh(tf.matMul(tf.matMul(wide, fp16!), fp16!, false, true)) as tf.Tensor2D,
      trained[2] as tf.Tensor2D,
    );
  };
  const losses: number[] = [];
  const train = (from: number, to: number) => {
    for (let step = from; step < to; step++) {
      const rows = ROWS / size;
      tf.tidy(() => {
        const all = Array.from({ length: ROWS }, (_, i) => (7 * i + step) % 32);
        const ids = tf.tensor1d(all.slice(rank * rows, (rank + 1) * rows), 'int32');
        const loss = () => forward(ids).sub(1).square().mean() as tf.Scalar;
        const ofRank = optimizer.minimize(loss, true, trained)!;
        losses.push(accelerator.reduce(ofRank, 'mean').dataSync()[0]!);
      });
    }
  };
  const read = () => Object.fromEntries(packed.map((each) => [each.name, [...each.dataSync()]]));
  const predict = () => tf.tidy(() => [...forward(tf.tensor1d([1, 5], 'int32')).dataSync()]);
  const end = (): Trained => {
    const last = trained.flatMap((each) => [...each.dataSync()]);
    const result = { last, losses, packed: read() };
    accelerator.freeMemory(...packed, ...trained, optimizer);
    disposeOptimizers(optimizer);
    tf.dispose([...packed, ...trained]);
    return result;
  };
  return { accelerator, variables: [...packed, ...trained], train, read, predict, end, freedBytes };
}

function bytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return files.reduce((sum, each) => sum + statSync(join(each.parentPath, each.name)).size, 0);
}

const LLAMA = {
  ...{ vocab_size: 32, hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2 },
  ...{ num_attention_heads: 4, num_key_value_heads: 2, max_position_embeddings: 16 },
  tie_word_embeddings: false,
};

async function qlora(folder: string, way: Way): Promise<Qlora> {
  const accelerator = await Accelerator.create(WAYS[way]() as AcceleratorOptions);
  const { processIndex: rank, numProcesses: size } = accelerator;
  const place = join(folder, 'llama');
  if (accelerator.isMainProcess && !existsSync(place)) {
    const whole = llama(LLAMA);
    await savePretrained(whole, place);
    whole.dispose();
  }
  accelerator.waitForEveryone();
  setSeed(5);
  const model = lora(await loadPretrained(place, { weights: 'nf4' }), { rank: 2, targets: ['**/q_proj'] });
  const optimizer = tf.train.sgd(0.5);
  const valuesOf = (isAdapter: boolean) =>
    model.weights
      .filter((weight) => weight.originalName.includes('lora_') === isAdapter)
      .map((weight) => [...weight.read().dataSync()]);
  const before = valuesOf(false);
  accelerator.prepare(model, optimizer);
  const losses: number[] = [];
  for (let step = 0; step < 3; step++) {
    const rows = ROWS / size;
    tf.tidy(() => {
      const all = Array.from({ length: ROWS }, (_, i) =>
        [0, 1, 2, 3].map((at) => (5 * i + 3 * at + step) % 32),
      );
      const x = tf.tensor2d(all.slice(rank * rows, (rank + 1) * rows), undefined, 'int32');
      const logits = () => model.apply(x, { training: true }) as tf.Tensor;
      const ofRank = optimizer.minimize(() => logits().sub(1).square().mean() as tf.Scalar, true)!;
      losses.push(accelerator.reduce(ofRank, 'mean').dataSync()[0]!);
    });
  }
  const adapters = valuesOf(true);
  const state = join(folder, 'qlora', `${world}-${way}`);
  await accelerator.saveState(state);
  const logits = () => model.apply(tf.zeros([1, 4], 'int32')) as tf.Tensor;
  tf.tidy(() => void optimizer.minimize(() => logits().mean() as tf.Scalar));
  const moved = valuesOf(true);
  await accelerator.loadState(state);
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const isSame = same(valuesOf(false), before) && same(valuesOf(true), adapters) && !same(moved, adapters);
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  model.dispose();
  return { losses, adapters: adapters.flat(), isSame };
}

async function save(folder: string): Promise<Record<Way, Saved>> {
  const result = {} as Record<Way, Saved>;
  for (const way of Object.keys(WAYS) as Way[]) {
    // Ranks quantize different values. Those of rank 0 count.
    const run = await start(way, Number(process.env.RANK) * 100);
    const { accelerator, variables, train, predict, end, freedBytes } = run;
    train(0, MIDDLE);
    const [state, model] = ['runs', 'models'].map((kind) => join(folder, kind, `${world}-${way}`));
    await accelerator.saveState(state!);
    await accelerator.saveModel(variables, model!);
    accelerator.waitForEveryone();
    const whole = accelerator.getStateDict(variables);
    const names = Object.keys(PACKED);
    const stateDict = Object.fromEntries(names.map((name) => [name, [...whole[name]!.dataSync()]]));
    tf.dispose(whole);
    const predicted = predict();
    train(MIDDLE, STEPS);
    const sizes = { fileBytes: bytesIn(state!), modelBytes: bytesIn(model!) };
    result[way] = {
      ...{ ...end(), ...sizes, stateDict, predicted, freedBytes },
      qlora: await qlora(folder, way),
      qat: await qat({ ...(WAYS[way]() as AcceleratorOptions), ...WITH[way] }),
      calibrated: await calibrated(
        WAYS[way]() as AcceleratorOptions,
        join(folder, 'models', `${world}-${way}`),
      ),
    };
  }
  return result;
}

export interface Loaded extends Trained {
  readonly ofModel: Record<string, number[]>;
  /** Of a checkpoint and a model of another format, and of other refusals, once. */
  readonly codes: string[];
}

const codeOf = (error: unknown) => (isAccError(error) ? error.code : String(error));

/** Tries what packed weights refuse where ranks have shares of them. Returns the codes of the errors. */
async function refused({ accelerator, variables }: Awaited<ReturnType<typeof start>>): Promise<string[]> {
  const [nf4] = variables as [tf.Variable];
  const attempt = (act: () => void) => {
    try {
      act();
      return 'done';
    } catch (error) {
      return codeOf(error);
    }
  };
  const optimizer = accelerator.prepare(tf.train.sgd(1));
  const grads = [tf.ones(nf4.shape), tf.ones([nf4.size])];
  const codes = grads.map((grad) => attempt(() => optimizer.applyGradients({ nf4: grad })));
  const second = tf.variable(nf4, false, 'second');
  codes.push(attempt(() => accelerator.prepare([second])));
  second.dispose();
  // A read gathers all shares, so another backend can have the values.
  nf4.dataSync();
  await tf.setBackend('cpu');
  tf.tidy(() => void tf.add(nf4, 1));
  await tf.setBackend('acc');
  codes.push(attempt(() => accelerator.getStateDict(variables)));
  tf.dispose(grads);
  disposeOptimizers(optimizer);
  return codes;
}

/** Tries a model whose first weight has another format, and what {@link refused} tries. Returns the codes. */
async function loadOther(state: string, model: string): Promise<string[]> {
  const run = await start('stage3', 7, {
    nf4: { weights: 'int4', granularity: { group: 64 } },
  });
  const { accelerator, variables, end } = run;
  const codes = [
    await accelerator.loadState(state).then(() => 'loaded', codeOf),
    await accelerator.loadModel(variables, model).then(() => 'loaded', codeOf),
    ...(await refused(run)),
  ];
  end();
  return codes;
}

/** The saves of the next smaller number of ranks, by another way than theirs; 1 continues what 3 saved. */
async function load(folder: string): Promise<Record<string, Loaded>> {
  const result: Record<string, Loaded> = {};
  const ways = Object.keys(WAYS) as Way[];
  const saves = readdirSync(join(folder, 'runs')).filter(
    (from) => (Number(from[0]) % 3) + 1 === Number(world),
  );
  for (const from of saves) {
    const saver = from.split('-')[1] as Way;
    const way = ways[(ways.indexOf(saver) + Number(world)) % ways.length]!;
    const [state, model] = ['runs', 'models'].map((kind) => join(folder, kind, from));
    const codes = saver === 'stage3' ? await loadOther(state!, model!) : [];
    const { accelerator, variables, train, read, end } = await start(way, 7);
    await accelerator.loadModel(variables, model!);
    const ofModel = read();
    train(0, 1);
    await accelerator.loadState(state!);
    train(MIDDLE, STEPS);
    result[from] = { ...end(), ofModel, codes };
  }
  return result;
}

interface Args {
  readonly phase: 'save' | 'load';
  readonly folder: string;
}

export default function quantized({ phase, folder }: Args): Promise<Record<string, Saved | Loaded>> {
  return phase === 'save' ? save(folder) : load(folder);
}
