// The environment of an example of tfjs-examples: a page without display, packages that only draw
// or parse arguments, and downloads that return data made here. Loads the example and reports its
// training.
//   node page.cjs <example's file> <arguments…>, with FIELD_TASK: JSON, see run.mjs
const { writeFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, resolve } = require('node:path');

const task = JSON.parse(process.env.FIELD_TASK);
require(task.tsx);
const tf = require('@tensorflow/tfjs');
const { setSeed } = require('@acc/core');
const { keepSaved, packages, served } = require('./stand-ins.cjs');

/** Accepts every use and does nothing. */
function nothing(own = {}) {
  return new Proxy(function () {}, {
    get(_, key) {
      if (key in own) return own[key];
      if (key === 'then' || key === '__esModule') return undefined;
      if (key === 'length') return 0;
      if (key === 'firstChild' || key === 'lastChild') return null;
      if (key === Symbol.toPrimitive) return () => 0;
      if (key === Symbol.iterator) return () => [][Symbol.iterator]();
      return (own[key] = nothing());
    },
    set: (_, key, value) => ((own[key] = value), true),
    apply: () => nothing(),
    construct: () => nothing(),
  });
}

const listeners = new Map();
const elements = new Map();
function element(id) {
  if (!elements.has(id)) {
    const value = String(task.values?.[id] ?? 0);
    const addEventListener = (type, listener) => listeners.set(`${id} ${type}`, listener);
    elements.set(
      id,
      nothing({
        value,
        valueAsNumber: Number(value),
        width: 400,
        height: 400,
        checked: false,
        addEventListener,
        children: nothing(),
      }),
    );
  }
  return elements.get(id);
}

function buildPage() {
  const document = nothing({
    getElementById: element,
    querySelector: element,
    addEventListener: (type, listener) => listeners.set(`document ${type}`, listener),
  });
  const window = nothing({
    addEventListener: (type, listener) => listeners.set(`window ${type}`, listener),
    location: { href: '', hash: '', search: '' },
  });
  Object.assign(globalThis, { document, window, self: globalThis, alert() {} });
  globalThis.addEventListener = (type, listener) => listeners.set(`self ${type}`, listener);
  globalThis.postMessage = () => {};
  globalThis.localStorage = nothing();
  globalThis.ImageData = nothing();
  if (!globalThis.tf) globalThis.tf = tf;
  globalThis.fetch = async (url) => new Response(served(String(url.url ?? url)));
}

/** Replaces packages that are not installed. `tfjs-node` is tfjs. */
function replacePackages() {
  const load = Module._load;
  const tools = { tf, nothing, served };
  Module._load = function (name, parent, isMain) {
    if (Object.hasOwn(packages, name)) return packages[name](tools);
    try {
      return load.call(Module, name, parent, isMain);
    } catch (error) {
      const isPackage = !name.startsWith('.') && !name.startsWith('/');
      if (error.code !== 'MODULE_NOT_FOUND' || !isPackage) throw error;
      return nothing();
    }
  };
}

const report = { histories: [], costs: [], tensors: [], seconds: 0, backend: '' };
const models = [];

/**
 * Makes randomness the same in every mode: rows keep their order, tf.data shuffles with a seed, and
 * dropout is off.
 */
function recordTraining() {
  const { LayersModel, Optimizer } = tf;
  const wrap = (prototype, name, wrapped) => {
    const original = prototype[name];
    prototype[name] = function (...args) {
      return wrapped.call(this, original, ...args);
    };
  };
  wrap(LayersModel.prototype, 'compile', function (compile, args) {
    if (!models.includes(this)) models.push(this);
    const withoutDropout = (layer) => {
      if (layer.getClassName() === 'Dropout') layer.rate = 0;
      layer.layers?.forEach(withoutDropout);
    };
    this.layers.forEach(withoutDropout);
    return compile.call(this, args);
  });
  wrap(LayersModel.prototype, 'fit', async function (fit, x, y, args) {
    const trained = await fit.call(this, x, y, { ...args, shuffle: false });
    report.histories.push(structuredClone(trained.history));
    return trained;
  });
  wrap(LayersModel.prototype, 'fitDataset', async function (fitDataset, ...args) {
    const trained = await fitDataset.apply(this, args);
    report.histories.push(structuredClone(trained.history));
    return trained;
  });
  wrap(LayersModel.prototype, 'makeTrainFunction', function (make) {
    const train = make.call(this);
    return (ins) => {
      report.tensors.push(tf.memory().numTensors);
      return train(ins);
    };
  });
  wrap(LayersModel.prototype, 'trainOnBatch', async function (trainOnBatch, ...args) {
    const losses = await trainOnBatch.apply(this, args);
    report.costs.push([losses].flat()[0]);
    return losses;
  });
  wrap(Optimizer.prototype, 'minimize', function (minimize, ...args) {
    report.tensors.push(tf.memory().numTensors);
    const cost = minimize.apply(this, args);
    if (cost) report.costs.push(cost.dataSync()[0]);
    return cost;
  });
  wrap(tf.data.Dataset.prototype, 'shuffle', function (shuffle, size, seed = 'field', again) {
    return shuffle.call(this, size, seed, again);
  });
}

process.on('exit', (code) => {
  const weightsOf = (variables) => variables.map((variable) => [...variable.dataSync()]);
  const ofModels = new Set(models.flatMap((model) => model.weights.map((weight) => weight.read())));
  const others = Object.values(tf.engine().registeredVariables).filter(
    (variable) => variable.trainable && !ofModels.has(variable) && !variable.isDisposed,
  );
  report.backend = tf.getBackend();
  report.weights = [...weightsOf([...ofModels].filter((v) => !v.isDisposed)), ...weightsOf(others)];
  report.seconds = (performance.now() - begin) / 1000;
  report.code = code;
  writeFileSync(`${task.out}.${process.env.RANK ?? 0}.json`, JSON.stringify(report));
});

async function act([id, type = 'click', event = nothing()]) {
  const key = `${id} ${type}`;
  while (!listeners.has(key)) await new Promise((turn) => setTimeout(turn, 10));
  await listeners.get(key)(event);
}

recordTraining();
keepSaved(tf);
replacePackages();
buildPage();
setSeed(7);
const { log } = console;
if (!process.env.FIELD_VERBOSE) console.log = console.table = () => {};
const main = resolve(process.argv[2]);
process.argv.splice(1, 2, main);
process.chdir(dirname(main));
let begin = performance.now();
(task.mode === 'plain' ? tf.setBackend('cpu') : Promise.resolve()).then(async () => {
  begin = performance.now();
  Module._load(main, null, true);
  for (const action of task.actions ?? []) await act(action);
});
process.on('unhandledRejection', (error) => {
  log(error);
  process.exit(1);
});
