// The functions that tests call in a page.
import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-webgpu';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import wasm from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm.wasm?url';
import simd from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm?url';
import threaded from '@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-threaded-simd.wasm?url';
import {
  Accelerator,
  download,
  indexedDbStorage,
  isAccError,
  opfsStorage,
  type AcceleratorOptions,
  type Tracker,
} from '@acc/core';
import { storageCases } from '@acc/testkit/storages';
import { prepareTraining, train, type Trained } from './training.js';

setWasmPaths({
  'tfjs-backend-wasm.wasm': wasm,
  'tfjs-backend-wasm-simd.wasm': simd,
  'tfjs-backend-wasm-threaded-simd.wasm': threaded,
});

/** The code of the error of `work`, or what is wrong with that. */
async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return 'no error';
  } catch (error) {
    return isAccError(error) ? error.code : String(error);
  }
}

async function created<T>(
  options: AcceleratorOptions,
  use: (accelerator: Accelerator) => T | Promise<T>,
): Promise<T> {
  const accelerator = await Accelerator.create(options);
  try {
    return await use(accelerator);
  } finally {
    accelerator.freeMemory();
  }
}

const storages = {
  opfs: (name: string) => opfsStorage(`cases/${name}`),
  indexeddb: (name: string) => indexedDbStorage(`cases/${name}`),
};

/** The text of a file in OPFS. */
async function textAt(path: string): Promise<string> {
  const parts = path.split('/').filter(Boolean);
  const name = parts.pop()!;
  let folder = await navigator.storage.getDirectory();
  for (const part of parts) folder = await folder.getDirectoryHandle(part);
  return (await (await folder.getFileHandle(name)).getFile()).text();
}

export const calls = {
  async train(backend: string, epochs: number): Promise<Trained & { leaked: number }> {
    if (!(await tf.setBackend(backend))) throw new Error(`there is no backend ${backend}`);
    await train(1);
    const before = tf.memory().numTensors;
    const trained = await train(epochs);
    return { ...trained, leaked: tf.memory().numTensors - before };
  },

  /** The outcome of each case of the storage's conformance suite. */
  async storage(kind: keyof typeof storages): Promise<Record<string, string>> {
    const outcomes: Record<string, string> = {};
    for (const { name, run } of storageCases) {
      outcomes[name] = await run(storages[kind](name.replaceAll(/\W/g, '-'))).then(() => 'passed', String);
    }
    return outcomes;
  },

  /** Trains three epochs, and saves after each. */
  async trainAndSave(dir: string): Promise<string[]> {
    await tf.setBackend('cpu');
    const { accelerator, epoch } = await prepareTraining({ checkpoint: { dir, keepLast: 2 } });
    const saved: string[] = [];
    for (let i = 0; i < 3; i++) {
      await epoch();
      saved.push((await accelerator.saveState())!);
    }
    accelerator.freeMemory();
    return saved;
  },

  /** Loads the newest checkpoint and trains on. */
  async trainOn(dir: string, epochs: number): Promise<Trained & { path: string; step: number }> {
    await tf.setBackend('cpu');
    const { accelerator, losses, epoch, weights } = await prepareTraining({
      checkpoint: { dir, keepLast: 2 },
    });
    const { path, step } = (await accelerator.loadState('latest'))!;
    for (let i = 0; i < epochs; i++) await epoch();
    const trained = { backend: 'cpu', losses, weights: await weights(), path, step };
    accelerator.freeMemory();
    return trained;
  },

  async codeOfDamaged(dir: string, path: string): Promise<string> {
    const { accelerator } = await prepareTraining({ checkpoint: { dir } });
    const code = await codeOf(() => accelerator.loadState(path));
    accelerator.freeMemory();
    return code;
  },

  /** Saves a model as a download, and predicts with it. */
  async saveModel(): Promise<number[]> {
    await tf.setBackend('cpu');
    const { accelerator, model, epoch } = await prepareTraining();
    await epoch();
    await accelerator.saveModel(model, 'downloads://digits');
    const predicted = Array.from(await (model.predict(tf.ones([1, 5])) as tf.Tensor).data());
    accelerator.freeMemory();
    return predicted;
  },

  /** Records a run, and gives its folder. */
  async record(isEnded: boolean): Promise<string> {
    await tf.setBackend('cpu');
    const accelerator = await Accelerator.create({
      logWith: ['jsonl', 'console', 'csv'],
      projectDir: 'runs of a page',
    });
    await accelerator.initTrackers('digits', { lr: 0.1 });
    accelerator.log({ loss: 0.5 }, { step: 1 });
    accelerator.log({ loss: NaN, accuracy: 0.25 }, { step: 2 });
    accelerator.logText({ note: 'from a page' }, { step: 2 });
    const pixels = new Uint8ClampedArray([255, 0, 0, 255]);
    accelerator.logImages({ dot: { width: 1, height: 1, data: pixels } }, { step: 3 });
    const dir = accelerator.runDir!;
    if (isEnded) await accelerator.endTraining();
    return dir;
  },

  text: textAt,
  download,

  /** Whether files of a page reach its storage after one of them could not be written. */
  async writeAgain(): Promise<{ code: string; text: string }> {
    const accelerator = await Accelerator.create({ logWith: ['jsonl'], projectDir: 'again' });
    await accelerator.initTrackers('again');
    const { createWritable } = FileSystemFileHandle.prototype;
    FileSystemFileHandle.prototype.createWritable = () =>
      Promise.reject(new DOMException('no', 'QuotaExceededError'));
    accelerator.log({ loss: 1 }, { step: 1 });
    const code = await codeOf(() => accelerator.endTraining());
    FileSystemFileHandle.prototype.createWritable = createWritable;
    // Downloads wait until everything is stored.
    await codeOf(() => download('nothing'));
    const path = `${accelerator.runDir}/metrics.jsonl`;
    return { code, text: await textAt(path) };
  },

  /** The code of each use of files that the browser refuses. */
  async refusedFiles(): Promise<Record<string, string>> {
    const denied = () => Promise.reject(new DOMException('denied', 'SecurityError'));
    const { getDirectory } = StorageManager.prototype;
    const { request, query } = LockManager.prototype;
    StorageManager.prototype.getDirectory = denied;
    LockManager.prototype.request = LockManager.prototype.query = denied as never;
    const codes = {
      save: await codeOf(() => opfsStorage('refused').put('a', new Uint8Array(1))),
      track: await codeOf(() => created({ logWith: ['jsonl'] }, (one) => one.initTrackers('refused'))),
    };
    StorageManager.prototype.getDirectory = getDirectory;
    Object.assign(LockManager.prototype, { request, query });
    return codes;
  },

  /** The artifact that a tracker gets of a model that this page saved. */
  async artifact(): Promise<{ names: string[]; missing: string }> {
    await tf.setBackend('cpu');
    const artifacts: { files: readonly { name: string; bytes: number }[] }[] = [];
    const keeper: Tracker = {
      name: 'keeper',
      start: () => Promise.resolve(),
      log: () => {},
      logArtifact: (_step, artifact) => void artifacts.push(artifact),
      finish: () => Promise.resolve(),
    };
    const { accelerator, model } = await prepareTraining({ logWith: [keeper] });
    await accelerator.initTrackers('artifacts');
    await accelerator.saveModel(model, 'opfs://models/digits');
    accelerator.logArtifact('digits', '/models/digits');
    const missing = await codeOf(() => accelerator.logArtifact('digits', '/models/other'));
    await accelerator.endTraining();
    const names = artifacts.flatMap(({ files }) =>
      files.filter(({ bytes }) => bytes > 0).map(({ name }) => name),
    );
    return { names, missing };
  },

  /** Losses of `fitDataset` with validation, while gradients are accumulated. */
  async fitDataset(): Promise<number[]> {
    await tf.setBackend('cpu');
    const { fitDataset, free } = await prepareTraining();
    const losses = await fitDataset();
    free();
    return losses;
  },

  /** The reports of `fit`, with accumulation, clipping and automatic figures. */
  async fit(): Promise<{ losses: number[]; second: string; figures: string[] }> {
    await tf.setBackend('cpu');
    const tracked = { autoLog: { every: 1 }, logWith: ['jsonl'], projectDir: 'fit' } as const;
    const { accelerator, model, fit } = await prepareTraining(tracked);
    await accelerator.initTrackers('fit');
    const other = tf.sequential({ layers: [tf.layers.dense({ units: 3, inputShape: [5] })] });
    other.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
    accelerator.prepare(other);
    let second = '';
    const losses = await fit(model, async () => {
      second = await codeOf(() => fit(other));
    });
    const dir = accelerator.runDir!;
    await accelerator.endTraining();
    const lines = (await textAt(`${dir}/metrics.jsonl`)).trim().split('\n');
    const figures = new Set(lines.flatMap((line) => Object.keys(JSON.parse(line) as object)));
    return { losses, second, figures: [...figures].sort() };
  },

  /** The code of each refusal, by what was asked for. */
  async refusals(): Promise<Record<string, string>> {
    await tf.setBackend('cpu');
    const options: Record<string, AcceleratorOptions> = {
      "engine 'acc'": { engine: 'acc' },
      "device 'cuda'": { device: 'cuda' },
      collective: { collective: { engine: 'gloo' } },
      'a mesh of two': { mesh: { data: 2 } },
      deterministic: { deterministic: true },
      'a hook of communication': { ddp: { commHook: 'fp16' } },
      'offload to a folder': { strategy: 'fsdp', fsdp: { offload: { params: true, to: 'folder' } } },
      'offload to the host': { strategy: 'fsdp', fsdp: { cpuOffload: true } },
      preemption: { checkpoint: { preemption: true } },
      'mixed precision of 8 bits': { mixedPrecision: 'fp8' },
      'mixed precision of 16 bits': { mixedPrecision: 'bf16' },
      'an unknown option': { gradientClip: 1 } as AcceleratorOptions,
    };
    const codes: Record<string, string> = {};
    for (const [what, given] of Object.entries(options))
      codes[what] = await codeOf(() => created(given, () => {}));
    codes['a tracker by the name of its package'] = await codeOf(() =>
      created({ logWith: ['mlflow'] }, (accelerator) => accelerator.initTrackers('x')),
    );
    codes['saving a run to a download'] = await codeOf(() =>
      created({}, (accelerator) => accelerator.saveState('downloads://run')),
    );
    codes['a download of nothing'] = await codeOf(() => download('not/there'));
    codes['a key outside of a storage'] = await codeOf(() => opfsStorage('a').get('../b'));
    return codes;
  },

  /** The features that work in a page as in a process. */
  async alone(): Promise<object> {
    return created({ strategy: 'ddp' }, (accelerator) => {
      const { numProcesses, processIndex, isMainProcess, device, backendName } = accelerator;
      const sum = accelerator.reduce(tf.tensor1d([1, 2])).dataSync();
      const objects = accelerator.gatherObject([{ a: new Uint8Array([1, 2]) }]);
      return {
        numProcesses,
        processIndex,
        isMainProcess,
        device,
        backendName,
        sum: [...sum],
        objects: objects.length,
      };
    });
  },

  /** Whether a synchronous read on this backend gives the values, or is refused. */
  async syncRead(backend: string): Promise<string> {
    await tf.setBackend(backend);
    return created({}, async () => {
      const sum = tf.add(tf.fill([4096], 1), tf.fill([4096], 2));
      const asynchronous = Array.from(await sum.clone().data());
      const code = await codeOf(() => {
        const read = tf.add(tf.fill([4096], 1), tf.fill([4096], 2)).dataSync();
        if (!read.every((value) => value === 3)) throw new Error('wrong values');
      });
      return asynchronous.every((value) => value === 3) ? code : 'wrong values of data()';
    });
  },
};

Object.assign(globalThis, { calls });
