import * as tf from '@tensorflow/tfjs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { modelFiles } from '../index.js';

let folder: string;
let accelerator: Accelerator;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-model-'));
  accelerator = await Accelerator.create();
});
afterEach(async () => {
  accelerator.freeMemory();
  await rm(folder, { recursive: true });
});

const network = () =>
  tf.sequential({
    layers: [
      tf.layers.conv2d({ filters: 4, kernelSize: 3, inputShape: [8, 8, 2], name: 'conv' }),
      tf.layers.batchNormalization({ name: 'norm' }),
      tf.layers.flatten({ name: 'flat' }),
      tf.layers.dense({ units: 5, name: 'dense' }),
    ],
  });
const values = (model: tf.LayersModel) => model.getWeights().map((w) => [...w.dataSync()]);
const error = (code: string): Error => expect.objectContaining({ code }) as Error;

describe('saveModel', () => {
  it.each([
    ['safetensors', {}, ['model.json', 'model.safetensors']],
    [
      'safetensors in several files',
      { maxShardSize: 400 },
      [
        'model-00001-of-00003.safetensors',
        'model-00002-of-00003.safetensors',
        'model-00003-of-00003.safetensors',
        'model.json',
        'model.safetensors.index.json',
      ],
    ],
    ["tfjs's own files", { format: 'tfjs' }, ['group1-shard1of1.bin', 'model.json']],
  ] as const)('writes %s, and loading it restores the same model', async (_, options, files) => {
    const model = accelerator.prepare(network());
    await accelerator.saveModel(model, folder, options);
    expect((await readdir(folder)).sort()).toEqual(files);
    const loaded = await tf.loadLayersModel(modelFiles(folder));
    expect(values(loaded)).toEqual(values(model));
    const other = accelerator.prepare(network());
    expect(values(other)).not.toEqual(values(model));
    const { loaded: names } = await accelerator.loadModel(other, folder);
    expect(values(other)).toEqual(values(model));
    expect(names).toContain('conv/kernel');
  });

  it('replaces a previous model with another number of files', async () => {
    const model = accelerator.prepare(network());
    await accelerator.saveModel(model, folder, { maxShardSize: 400 });
    await accelerator.saveModel(model, folder);
    expect((await readdir(folder)).sort()).toEqual(['model.json', 'model.safetensors']);
  });

  it('reads what tfjs saves, and tfjs reads what it saves', async () => {
    const model = accelerator.prepare(network());
    await model.save(modelFiles(join(folder, 'saved')));
    const other = accelerator.prepare(network());
    await accelerator.loadModel(other, join(folder, 'saved', 'model.json'));
    expect(values(other)).toEqual(values(model));
  });

  it("tfjs's own files may have weights without elements, and no weights", async () => {
    class Scaled extends tf.layers.Layer {
      static readonly className = 'ScaledOfModelWeights';
      override build(): void {
        this.addWeight('none', [0], 'float32', tf.initializers.zeros());
        this.addWeight('scale', [3], 'float32', tf.initializers.randomNormal({}));
        super.build([]);
      }
    }
    const make = () => {
      const input = tf.input({ shape: [3] });
      const output = new Scaled({ name: 'scaled' }).apply(input) as tf.SymbolicTensor;
      return accelerator.prepare(tf.model({ inputs: input, outputs: output }));
    };
    const [model, other] = [make(), make()];
    await accelerator.saveModel(model, folder, { format: 'tfjs' });
    await accelerator.loadModel(other, folder);
    expect(values(other)).toEqual(values(model));
    const flat = tf.sequential({ layers: [tf.layers.flatten({ inputShape: [2, 2], name: 'flat' })] });
    await accelerator.saveModel(flat, folder, { format: 'tfjs' });
    expect((await tf.loadLayersModel(modelFiles(folder))).countParams()).toBe(0);
  });

  it("tfjs reads weights of fewer bits, of each type, as tfjs's decodeWeights does", async () => {
    const model = accelerator.prepare(network());
    const named = () => model.weights.map((weight) => [weight.originalName, weight.read()] as const);
    for (const [name, weight] of named())
      if (name.startsWith('norm')) (weight as tf.Variable).assign(tf.randomNormal(weight.shape));
    const quantization = { uint8: ['conv/*'], uint16: ['dense/kernel'], float16: true } as const;
    await accelerator.saveModel(model, folder, { format: 'tfjs', quantization });
    const file = await readFile(join(folder, 'model.json'), 'utf8');
    const { weightsManifest } = JSON.parse(file) as tf.io.ModelJSON;
    const specs = weightsManifest[0]!.weights;
    expect(
      specs.map(({ name, dtype, quantization: { dtype: stored } = { dtype: 'none' } }) => [
        name,
        dtype,
        stored,
      ]),
    ).toEqual(
      named().map(([name]) => {
        const stored = name.startsWith('conv') ? 'uint8' : name === 'dense/kernel' ? 'uint16' : 'float16';
        return [name, 'float32', stored];
      }),
    );
    const bytes = await readFile(join(folder, 'group1-shard1of1.bin'));
    const decoded = tf.io.decodeWeights(Uint8Array.from(bytes).buffer, specs);
    const steps = { uint8: 1 / 255, uint16: 1 / 65_535, float16: 2 ** -10 };
    for (const [name, weight] of named()) {
      const error = tf.max(tf.abs(tf.sub(decoded[name]!, weight))).dataSync()[0]!;
      const range =
        tf.sub(tf.max(weight), tf.min(weight)).dataSync()[0]! + tf.max(tf.abs(weight)).dataSync()[0]!;
      const step = steps[specs.find((spec) => spec.name === name)!.quantization!.dtype];
      expect(error, name).toBeLessThanOrEqual(step * range);
      if (name.endsWith('kernel')) expect(error, name).toBeGreaterThan(0);
    }
    const expected = named().map(([name]) => [name, ...decoded[name]!.dataSync()]);
    const read = (of: tf.LayersModel) => of.weights.map((w) => [w.originalName, ...w.read().dataSync()]);
    const loaded = await tf.loadLayersModel(modelFiles(folder));
    expect(read(loaded)).toEqual(expected);
    const other = accelerator.prepare(network());
    await accelerator.loadModel(other, folder);
    expect(read(other)).toEqual(expected);
  });

  it('weights that quantization does not name stay as they are', async () => {
    const model = accelerator.prepare(network());
    const options = { format: 'tfjs', quantization: { uint8: ['norm/*'] } } as const;
    await accelerator.saveModel(model, folder, options);
    const other = accelerator.prepare(network());
    await accelerator.loadModel(other, folder);
    const kernels = (of: tf.LayersModel) =>
      of
        .getLayer('dense')
        .getWeights()
        .map((w) => [...w.dataSync()]);
    expect(kernels(other)).toEqual(kernels(model));
  });

  it('refuses quantization of weights that no type holds, and of other formats', async () => {
    const model = accelerator.prepare(network());
    const save = (options: object) => accelerator.saveModel(model, folder, options);
    await expect(save({ quantization: 'uint8' })).rejects.toThrowError(error('ACC_INVALID_OPTION'));
    const wrong = { format: 'tfjs', quantization: { uint8: ['dens/*'] } };
    await expect(save(wrong)).rejects.toThrowError(error('ACC_INVALID_OPTION'));
    (model.getLayer('dense').weights[0]!.read() as tf.Variable).assign(tf.fill([144, 5], NaN));
    const numbers = { format: 'tfjs', quantization: 'float16' };
    await expect(save(numbers)).rejects.toThrowError(error('ACC_QUANTIZE_VALUES'));
    expect(await readdir(folder)).toEqual([]);
    const tensors = accelerator.save([tf.zeros([2])], folder, { quantization: 'uint8' } as object);
    await expect(tensors).rejects.toThrowError(error('ACC_UNKNOWN_OPTION'));
  });

  it('refuses contradicting options', async () => {
    const w = [tf.variable(tf.zeros([2]))];
    await expect(accelerator.saveModel(w, folder, { format: 'tfjs' })).rejects.toThrowError(
      error('ACC_INVALID_OPTION'),
    );
    await expect(accelerator.saveModel(w, folder, { maxShardSize: 0 })).rejects.toThrowError(
      error('ACC_INVALID_OPTION'),
    );
    await expect(accelerator.saveModel(w, folder, { shards: 1 } as object)).rejects.toThrowError(
      error('ACC_UNKNOWN_OPTION'),
    );
    await expect(accelerator.saveModel({}, folder)).rejects.toThrowError(error('ACC_INVALID_ARGUMENT'));
  });
});

describe('loadModel', () => {
  /** Writes weights as PyTorch stores them: kernels transposed, in bfloat16, under other names. */
  async function writeTorch(name: string): Promise<Buffer> {
    const bits = (list: readonly number[]) =>
      Buffer.from(Uint16Array.from(list, (x) => f32Bits(x) >>> 16).buffer);
    const weight = bits([1, 2, 3, 4, 5, 6]);
    const bias = bits([0.5, -0.5]);
    const header = JSON.stringify({
      __metadata__: { format: 'pt' },
      'fc.bias': { dtype: 'BF16', shape: [2], data_offsets: [12, 16] },
      'fc.weight': { dtype: 'BF16', shape: [2, 3], data_offsets: [0, 12] },
    });
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const file = Buffer.concat([length, Buffer.from(header), weight, bias]);
    await writeFile(join(folder, name), file);
    return file;
  }
  const f32Bits = (x: number) => new Uint32Array(Float32Array.of(x).buffer)[0]!;
  const dense = () =>
    tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3], name: 'head' })] });

  it('loads weights of the Hugging Face Hub with a map of names', async () => {
    await writeTorch('pytorch.safetensors');
    const names = { 'fc.weight': { name: 'head/kernel', permute: [1, 0] }, 'fc.bias': 'head/bias' };
    const model = accelerator.prepare(dense());
    const report = await accelerator.loadModel(model, folder, { names });
    expect(report).toEqual({ loaded: ['head/kernel', 'head/bias'], missing: [], unused: [] });
    expect(model.layers[0]!.getWeights().map((w) => w.arraySync())).toEqual([
      [
        [1, 4],
        [2, 5],
        [3, 6],
      ],
      [0.5, -0.5],
    ]);
  });

  it('accepts a function for names, and ignores weights for which it returns undefined', async () => {
    await writeTorch('pytorch.safetensors');
    const model = accelerator.prepare(dense());
    const before = values(model);
    const report = await accelerator.loadModel(model, join(folder, 'pytorch.safetensors'), {
      names: (name) => (name === 'fc.bias' ? 'head/bias' : undefined),
      allowMissing: true,
    });
    expect(report).toEqual({ loaded: ['head/bias'], missing: ['head/kernel'], unused: ['fc.weight'] });
    expect(values(model)).toEqual([before[0], [0.5, -0.5]]);
  });

  it('changes nothing if names or shapes do not fit', async () => {
    await writeTorch('pytorch.safetensors');
    const model = accelerator.prepare(dense());
    const before = values(model);
    const maps: Record<string, string>[] = [
      { 'fc.weight': 'head/kernel', 'fc.bias': 'head/bias' },
      { 'fc.bias': 'head/offset' },
    ];
    for (const options of [{}, ...maps.map((names) => ({ names }))]) {
      await expect(accelerator.loadModel(model, folder, options)).rejects.toThrowError(
        error('ACC_WEIGHTS_MISMATCH'),
      );
    }
    expect(values(model)).toEqual(before);
  });

  it('refuses a file that has no weights', async () => {
    const model = accelerator.prepare(dense());
    const load = (name: string) => accelerator.loadModel(model, join(folder, name));
    await expect(load('')).rejects.toThrowError(error('ACC_WEIGHTS_NOT_FOUND'));
    await expect(load('none.safetensors')).rejects.toThrowError(error('ACC_WEIGHTS_NOT_FOUND'));
    await writeFile(join(folder, 'model.json'), 'not JSON');
    await expect(load('model.json')).rejects.toThrowError(error('ACC_MODEL_JSON_INVALID'));
    const file = await writeTorch('a.safetensors');
    await writeFile(join(folder, 'b.safetensors'), file.subarray(0, 30));
    await expect(load('')).rejects.toThrowError(error('ACC_WEIGHTS_NOT_FOUND'));
    await expect(load('b.safetensors')).rejects.toThrowError(error('ACC_SAFETENSORS_INVALID'));
  });

  it('loads the weights of a checkpoint', async () => {
    const model = network();
    accelerator.prepare(model, tf.train.adam());
    await accelerator.saveState(join(folder, 'run'));
    const saved = values(model);
    model.setWeights(model.getWeights().map((w) => tf.onesLike(w)));
    await accelerator.loadModel(model, join(folder, 'run'));
    expect(values(model)).toEqual(saved);
  });
});

it('getStateDict returns copies that the caller owns', () => {
  const model = accelerator.prepare(network());
  const before = tf.memory().numTensors;
  const state = accelerator.getStateDict(model);
  expect(Object.keys(state)[0]).toBe('conv/kernel');
  expect(state['dense/kernel']!.shape).toEqual([144, 5]);
  tf.dispose(state);
  expect(tf.memory().numTensors).toBe(before);
  expect(() => accelerator.getStateDict({})).toThrowError(error('ACC_INVALID_ARGUMENT'));
});

describe('skipFirstBatches', () => {
  const batches = async (data: AsyncIterable<{ x: tf.Tensor }>) => {
    const seen: number[][] = [];
    for await (const { x } of data) {
      seen.push([...x.dataSync()]);
      x.dispose();
    }
    return seen;
  };

  it('skips the first batches of each epoch of prepared data', async () => {
    const list = [1, 2, 3, 4, 5].map((x) => ({ x: tf.tensor1d([x]) }));
    const rows = tf.data.array([1, 2, 3, 4, 5].map((x) => ({ x })));
    const dataset = rows.batch(1) as unknown as tf.data.Dataset<{ x: tf.Tensor }>;
    const [fromList, fromDataset] = accelerator.prepare(list, dataset);
    for (const data of [fromList, fromDataset]) {
      const rest = accelerator.skipFirstBatches(data, 3);
      expect(await batches(rest)).toEqual([[4], [5]]);
      expect(await batches(rest)).toEqual([[4], [5]]);
      expect(await batches(data)).toHaveLength(5);
    }
    expect(() => accelerator.skipFirstBatches({}, 1)).toThrowError(error('ACC_INVALID_ARGUMENT'));
    expect(() => accelerator.skipFirstBatches(fromList, -1)).toThrowError(error('ACC_INVALID_ARGUMENT'));
  });
});

describe("'file://' in Node.js, without tfjs-node", () => {
  it('saves a model, and loads it from a model.json of any name', async () => {
    const model = network();
    const { modelArtifactsInfo } = await model.save(`file://${folder}/saved`);
    expect(modelArtifactsInfo).toMatchObject({ modelTopologyType: 'JSON', weightDataBytes: 3268 });
    expect((await readdir(join(folder, 'saved'))).sort()).toEqual(['group1-shard1of1.bin', 'model.json']);
    const named = `file://${folder}/named/own.json`;
    await model.save(named);
    for (const address of [`file://${folder}/saved/model.json`, named])
      expect(values(await tf.loadLayersModel(address))).toEqual(values(model));
  });

  it('takes a path from the working directory, as tfjs-node does', async () => {
    const model = network();
    await model.save(`file://${relative(process.cwd(), folder)}`);
    expect(values(await tf.loadLayersModel(`file://${folder}/model.json`))).toEqual(values(model));
  });

  it('leaves the address to the handler of another library', async () => {
    const saved: unknown[] = [];
    const handler = {
      save: (artifacts: tf.io.ModelArtifacts) => {
        saved.push(artifacts.weightSpecs?.length);
        return Promise.resolve({ modelArtifactsInfo: undefined as never });
      },
    };
    // Routers cannot be removed. This one is of one test.
    tf.io.registerSaveRouter((url) => (url === 'file://of-another' ? handler : (null as never)));
    await network().save('file://of-another');
    expect(saved).toEqual([8]);
  });

  it('a missing file is named', async () => {
    await expect(tf.loadLayersModel(`file://${folder}/absent/model.json`)).rejects.toThrow(
      expect.objectContaining({
        code: 'ACC_STORAGE_NOT_FOUND',
        message: expect.stringContaining(`${folder}/absent/model.json`) as string,
      }),
    );
  });
});
