// ours.ts
import { readFileSync, writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { memory } from "@tensorflow/tfjs";

// training.ts
import { Accelerator } from "@acc/core";
import { numThreads, torchVersion } from "@acc/native";
import * as tf from "@tensorflow/tfjs";

// models/model.ts
function countParameters(model) {
  return model.variables.reduce((sum, variable) => sum + variable.size, 0);
}
function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = state + 1831565813 >>> 0;
    let mixed = Math.imul(state ^ state >>> 15, state | 1);
    mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61);
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}
function randomIds(count, classes, random) {
  return Int32Array.from({ length: count }, () => Math.floor(random() * classes));
}

// models/classifier.ts
function classifier(tf2, model, options) {
  const { inputShape, classes } = options;
  const inputSize = inputShape.reduce((product, length) => product * length, 1);
  return {
    trainable: model,
    variables: options.variables ?? model.trainableWeights.map((weight) => weight.read()),
    makeBatch: (batch, random) => ({
      xs: tf2.tensor(Float32Array.from({ length: batch * inputSize }, random), [batch, ...inputShape]),
      ys: tf2.tidy(() => tf2.oneHot(randomIds(batch, classes, random), classes).toFloat())
    }),
    loss: ({ xs, ys }, training2) => tf2.tidy(() => {
      const logits = model.apply(xs, { training: training2 });
      return tf2.losses.softmaxCrossEntropy(ys, logits);
    })
  };
}

// models/convnet.ts
function createConvnet(tf2, sizes) {
  const { image, channels, kernel: kernelSize, hidden, classes } = sizes;
  const inputShape = [image, image, 1];
  const conv = { kernelSize, padding: "same", activation: "relu" };
  const model = tf2.sequential({
    layers: [
      tf2.layers.conv2d({ ...conv, filters: channels[0], inputShape }),
      tf2.layers.maxPooling2d({ poolSize: 2 }),
      tf2.layers.conv2d({ ...conv, filters: channels[1] }),
      tf2.layers.maxPooling2d({ poolSize: 2 }),
      tf2.layers.dropout({ rate: 0.25 }),
      tf2.layers.flatten(),
      tf2.layers.dense({ units: hidden, activation: "relu" }),
      tf2.layers.dropout({ rate: 0.5 }),
      tf2.layers.dense({ units: classes })
    ]
  });
  return classifier(tf2, model, { inputShape, classes });
}

// models/gpt.ts
import { checkpoint, gelu, layerNorm, scaledDotProductAttention } from "@acc/core";
function createGpt(tf2, sizes) {
  const { sequence: T, vocabulary: V } = sizes;
  const { variables, weights } = createWeights(tf2, sizes);
  function logitsOf(ids) {
    const [B] = ids.shape;
    const embed = () => tf2.add(tf2.gather(weights.tokens, ids.toInt()), weights.positions);
    let x = tf2.tidy(() => embed().reshape([B * T, -1]));
    for (const block of weights.blocks) {
      const layer = (h) => layerOf(tf2, sizes, block, h);
      const before = x;
      x = sizes.checkpointed ? checkpoint(layer, [x]) : layer(x);
      before.dispose();
    }
    return tf2.matMul(normalized(x, weights.finalNorm), weights.head);
  }
  return {
    trainable: variables,
    variables,
    makeBatch: (batch, random) => ({
      xs: tf2.tensor2d(randomIds(batch * T, V, random), [batch, T], "int32"),
      ys: tf2.tensor2d(randomIds(batch * T, V, random), [batch, T], "int32")
    }),
    loss: ({ xs, ys }) => tf2.tidy(() => {
      const oneHot = tf2.oneHot(ys.flatten().toInt(), V).toFloat();
      return tf2.losses.softmaxCrossEntropy(oneHot, logitsOf(xs));
    })
  };
}
function createWeights(tf2, { layers, width: C, sequence: T, vocabulary: V }) {
  const variables = [];
  const keep = (value) => {
    const variable = tf2.variable(value);
    value.dispose();
    variables.push(variable);
    return variable;
  };
  const matrix = (rows, columns) => keep(tf2.randomNormal([rows, columns], 0, 0.02));
  const norm = () => ({ gain: keep(tf2.ones([C])), bias: keep(tf2.zeros([C])) });
  const dense = (inputs, outputs) => ({
    weight: matrix(inputs, outputs),
    bias: keep(tf2.zeros([outputs]))
  });
  const block = () => ({
    attentionNorm: norm(),
    qkv: dense(C, 3 * C),
    projection: dense(C, C),
    mlpNorm: norm(),
    expand: dense(C, 4 * C),
    contract: dense(4 * C, C)
  });
  const weights = {
    tokens: matrix(V, C),
    positions: matrix(T, C),
    blocks: Array.from({ length: layers }, block),
    finalNorm: norm(),
    head: matrix(C, V)
  };
  return { variables, weights };
}
function layerOf(tf2, sizes, block, x) {
  const attended = tf2.tidy(
    () => x.add(attention(tf2, sizes, block, normalized(x, block.attentionNorm)))
  );
  const y = tf2.tidy(() => attended.add(mlp(tf2, block, normalized(attended, block.mlpNorm))));
  attended.dispose();
  return y;
}
function mlp(tf2, { expand, contract }, x) {
  return linear(tf2, gelu(linear(tf2, x, expand)), contract);
}
function linear(tf2, x, { weight, bias }) {
  return tf2.fused.matMul({ a: x, b: weight, bias });
}
var normalized = (x, { gain, bias }) => layerNorm(x, gain, bias);
function attention(tf2, sizes, block, x) {
  const { width: C, heads: H, sequence: T } = sizes;
  const B = x.shape[0] / T;
  const D = C / H;
  const [q, k, v] = tf2.split(linear(tf2, x, block.qkv), 3, -1).map((part) => part.reshape([B, T, H, D]).transpose([0, 2, 1, 3]));
  const mixed_BHTD = scaledDotProductAttention(q, k, v, { isCausal: true });
  return linear(tf2, mixed_BHTD.transpose([0, 2, 1, 3]).reshape([B * T, C]), block.projection);
}

// models/lstm.ts
function createLstm(tf2, { inputs, hidden, sequence, classes }) {
  const inputShape = [sequence, inputs];
  const model = tf2.sequential({
    layers: [
      tf2.layers.lstm({
        ...{ units: hidden, inputShape, recurrentActivation: "sigmoid" },
        // The default of tfjs, orthogonal, takes seconds to draw at this size.
        recurrentInitializer: "glorotUniform"
      }),
      tf2.layers.dense({ units: classes })
    ]
  });
  return classifier(tf2, model, { inputShape, classes });
}

// models/mlp.ts
function createMlp(tf2, { inputs, hidden, classes }) {
  const model = tf2.sequential({
    layers: [
      tf2.layers.dense({ units: hidden, activation: "relu", inputShape: [inputs] }),
      tf2.layers.dense({ units: classes })
    ]
  });
  return classifier(tf2, model, { inputShape: [inputs], classes });
}

// models/resnet.ts
function createResnet(tf2, { image, widths, blocksPerStage, classes }) {
  const withWeights = [];
  function convolve(x2, filters, kernelSize, strides) {
    const isPaddedApart = strides > 1 && kernelSize > 1;
    const conv = tf2.layers.conv2d({
      ...{ filters, kernelSize, strides, useBias: false, kernelInitializer: "heNormal" },
      padding: isPaddedApart ? "valid" : "same"
    });
    const norm = tf2.layers.batchNormalization({ momentum: 0.9, epsilon: 1e-5 });
    withWeights.push(conv, norm);
    const padded = isPaddedApart ? tf2.layers.zeroPadding2d({ padding: 1 }).apply(x2) : x2;
    return norm.apply(conv.apply(padded));
  }
  const relu = (x2) => tf2.layers.reLU().apply(x2);
  function block(x2, filters, strides) {
    const inner = relu(convolve(x2, filters, 3, strides));
    const residual = convolve(inner, filters, 3, 1);
    const shortcut = strides > 1 ? convolve(x2, filters, 1, strides) : x2;
    return relu(tf2.layers.add().apply([residual, shortcut]));
  }
  const inputShape = [image, image, 3];
  const inputs = tf2.input({ shape: inputShape });
  let x = relu(convolve(inputs, widths[0], 3, 1));
  widths.forEach((filters, stage) => {
    for (let i = 0; i < blocksPerStage; i++) x = block(x, filters, stage > 0 && i === 0 ? 2 : 1);
  });
  const head = tf2.layers.dense({ units: classes });
  const pooled = tf2.layers.globalAveragePooling2d({}).apply(x);
  const model = tf2.model({ inputs, outputs: head.apply(pooled) });
  return classifier(tf2, model, { inputShape, classes, variables: inOrder([...withWeights, head]) });
}
function inOrder(made) {
  return made.flatMap(({ trainableWeights }) => trainableWeights.map((weight) => weight.read()));
}

// models/create-model.ts
var creators = {
  convnet: createConvnet,
  gpt: createGpt,
  lstm: createLstm,
  mlp: createMlp,
  resnet: createResnet
};
function createModel(tf2, name, sizes) {
  const create = creators[name];
  if (!create)
    throw new Error(`There is no model '${name}'. The models are ${Object.keys(creators).join(", ")}.`);
  return create(tf2, sizes);
}

// training.ts
async function startTraining(job2) {
  const { device, seed, precision } = job2;
  const mixedPrecision = precision === "fp32" ? "no" : precision;
  const accelerator2 = await Accelerator.create({
    engine: "acc",
    device,
    seed,
    mixedPrecision,
    ...job2.strategy
  });
  const bench = createModel(tf, job2.model, job2.sizes);
  const parameterCount = countParameters(bench);
  if (parameterCount !== job2.parameterCount) {
    throw new Error(`${job2.model}: ${parameterCount} parameters, expected ${job2.parameterCount}`);
  }
  const [, optimizer] = accelerator2.prepare(bench.trainable, tf.train.adam(job2.learningRate));
  const random = seededRandom(seed + accelerator2.processIndex);
  const plain = (xs, ys) => optimizer.minimize(() => bench.loss({ xs, ys }, true), true);
  const compiled = job2.compile ? accelerator2.compile(plain) : void 0;
  const takeStep = compiled ?? plain;
  function stepsOn(batch) {
    const batches = Array.from({ length: job2.batches }, () => bench.makeBatch(batch, random));
    return (count) => {
      let loss = null;
      for (let step = 0; step < count; step++) {
        loss?.dispose();
        const { xs, ys } = batches[step % batches.length];
        loss = takeStep(xs, ys);
      }
      const value = loss.dataSync()[0];
      loss.dispose();
      return value;
    };
  }
  const runSteps2 = stepsOn(job2.batch);
  const firstLoss2 = runSteps2(1);
  runSteps2(job2.warmupSteps);
  if (compiled && compiled.replays === 0) throw new Error(`${job2.model} is not replayed: ${compiled.reason}`);
  return { accelerator: accelerator2, parameterCount, firstLoss: firstLoss2, runSteps: runSteps2, stepsOn };
}
function reportOf({ accelerator: accelerator2, parameterCount, firstLoss: firstLoss2 }, measured) {
  return JSON.stringify({
    ranks: accelerator2.numProcesses,
    threads: numThreads(),
    device: accelerator2.device,
    engine: accelerator2.backendName,
    parameterCount,
    firstLoss: firstLoss2,
    ...measured,
    versions: versions()
  });
}
function versions() {
  return { node: process.versions.node, tfjs: tf.version["tfjs-core"], libtorch: torchVersion() };
}

// ours.ts
var job = JSON.parse(readFileSync(process.argv[2], "utf8"));
var training = await startTraining(job);
var { accelerator, firstLoss, runSteps } = training;
var tensorsBefore = memory().numTensors;
var blockMs = [];
var cpuMs = [];
var lastLoss = firstLoss;
for (let block = 0; block < job.blocks; block++) {
  accelerator.waitForEveryone();
  const start = performance.now();
  const cpuStart = process.cpuUsage();
  lastLoss = runSteps(job.steps);
  accelerator.waitForEveryone();
  blockMs.push(performance.now() - start);
  const cpu = process.cpuUsage(cpuStart);
  cpuMs.push((cpu.user + cpu.system) / 1e3);
}
var tensorsLeaked = memory().numTensors - tensorsBefore;
if (tensorsLeaked !== 0) throw new Error(`${job.model}: ${tensorsLeaked} tensors leaked in the timed steps`);
if (accelerator.isMainProcess) {
  writeFileSync(job.resultPath, reportOf(training, { blockMs, cpuMs, lastLoss }));
}
await accelerator.endTraining();
