// Data and packages that replace those that examples download and draw with.
const { EventEmitter } = require('node:events');
const { Transform } = require('node:stream');

/** Numbers in [0, 1) that are the same in every process. */
function draws(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A table of `rows` rows. A column is a function of the random draw and of the columns before it.
 */
function csv(columns, rows, seed) {
  const draw = draws(seed);
  const names = Object.keys(columns);
  const lines = Array.from({ length: rows }, () => {
    const row = {};
    for (const name of names) row[name] = columns[name](draw, row);
    return names.map((name) => row[name]).join(',');
  });
  return [names.join(','), ...lines].join('\n');
}

const uniform = (from, to) => (draw) => (from + (to - from) * draw()).toFixed(4);
const whole = (below) => (draw) => Math.floor(draw() * below);
const record = (names, column) => Object.fromEntries(names.map((name) => [name, column]));

const abalone = {
  sex: (draw) => 'FMI'[Math.floor(draw() * 3)],
  ...record(
    ['length', 'diameter', 'height', 'whole_weight', 'shucked_weight', 'viscera_weight', 'shell_weight'],
    uniform(0.05, 0.95),
  ),
  rings: (draw, row) => Math.round(3 + 12 * row.length * row.diameter + 3 * draw()),
};
const pitch = {
  vx0: uniform(-18, 18),
  vy0: uniform(-150, -90),
  vz0: uniform(-15, 9),
  ax: uniform(-48, 30),
  ay: uniform(10, 49),
  az: uniform(-49, 2),
  start_speed: uniform(60, 104),
  left_handed_pitcher: whole(2),
};
const pitchType = { ...pitch, pitch_code: (_, row) => Math.floor(((+row.vx0 + 18) / 36.01) * 7) };
const strikeZone = {
  px: uniform(-2, 2),
  pz: uniform(0, 5),
  sz_top: uniform(3, 4),
  sz_bot: uniform(1, 2),
  left_handed_batter: whole(2),
  is_strike: (_, row) => Number(Math.abs(row.px) < 0.9 && +row.pz > row.sz_bot && +row.pz < row.sz_top),
};
const housing = record(
  ['crim', 'zn', 'indus', 'chas', 'nox', 'rm', 'age', 'dis', 'rad', 'tax', 'ptratio', 'lstat'],
  uniform(0, 10),
);
const phishing = record(
  Array.from({ length: 30 }, (_, i) => `f${String(i).padStart(2, '0')}`),
  (draw) => Math.floor(draw() * 3) - 1,
);
const california = {
  ...record(
    ['longitude', 'latitude', 'housing_median_age', 'total_rooms', 'total_bedrooms', 'population'],
    uniform(0, 100),
  ),
  ...record(['households', 'median_income', 'median_house_value'], uniform(0, 100)),
};
const jenaColumns = [
  'p',
  'T (degC)',
  'Tpot',
  'Tdew',
  'rh',
  'VPmax',
  'VPact',
  'VPdef',
  'sh',
  'H2OC',
  'rho',
  'wv',
  'maxwv',
  'wd',
];
const jena = {
  'Date Time': (() => {
    let minutes = 0;
    const two = (n) => String(n).padStart(2, '0');
    return () => {
      const at = new Date(Date.UTC(2009, 0, 1) + 600_000 * minutes++);
      const day = `${two(at.getUTCDate())}.${two(at.getUTCMonth() + 1)}.${at.getUTCFullYear()}`;
      return `${day} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:00`;
    };
  })(),
  ...record(jenaColumns, uniform(-5, 20)),
};

const sentences = ['the cat sat on the mat', 'a dog ran over the hill', 'rain falls and the river grows'];
/** Text for character models. */
function text(length, seed) {
  const draw = draws(seed);
  let all = '';
  while (all.length < length) all += `${sentences[Math.floor(draw() * 3)]}. `;
  return all.slice(0, length);
}

/** By the end of the URL. */
const files = {
  'abalone.csv': () => csv(abalone, 700, 1),
  'pitch_type_training_data.csv': () => csv(pitchType, 500, 2),
  'pitch_type_test_data.csv': () => csv(pitchType, 100, 3),
  'strike_zone_training_data.csv': () => csv(strikeZone, 500, 4),
  'strike_zone_test_data.csv': () => csv(strikeZone, 100, 5),
  'multivariate-linear-regression/data/train-data.csv': () => csv(housing, 333, 6),
  'multivariate-linear-regression/data/train-target.csv': () => csv({ medv: uniform(5, 50) }, 333, 7),
  'multivariate-linear-regression/data/test-data.csv': () => csv(housing, 173, 8),
  'multivariate-linear-regression/data/test-target.csv': () => csv({ medv: uniform(5, 50) }, 173, 9),
  '19/train-data.csv': () => csv(phishing, 700, 10),
  '19/train-target.csv': () => csv({ y: whole(2) }, 700, 11),
  '19/test-data.csv': () => csv(phishing, 200, 12),
  '19/test-target.csv': () => csv({ y: whole(2) }, 200, 13),
  'jena_climate_2009_2016.csv': () =>
    csv(jena, 1200, 14).replace(/^.*/, (head) => head.replace(/[^,]+/g, '"$&"')),
  'california_housing_train_10k.csv': () => csv(california, 300, 15),
};

/** The result of a download. */
function served(url) {
  const name = Object.keys(files).find((end) => url.endsWith(end));
  if (!name) throw new Error(`No stand-in for ${url}`);
  return files[name]();
}

/** The parts of argparse 1 and 2 that examples use. */
class Parser {
  #options = [];
  addArgument(names, { type, defaultValue, default: otherDefault, action } = {}) {
    const name = [names].flat().find((one) => one.startsWith('--'));
    const key = (name ?? [names].flat()[0]).trim().replace(/^--/, '');
    const isFlag = action === 'storeTrue' || action === 'store_true';
    this.#options.push({
      key,
      isPositional: !name,
      isFlag,
      type,
      value: defaultValue ?? otherDefault ?? (isFlag ? false : null),
    });
  }
  add_argument(...args) {
    this.addArgument(...args);
  }
  parseArgs() {
    const given = process.argv.slice(2);
    const args = {};
    const positional = this.#options.filter(({ isPositional }) => isPositional);
    for (const { key, value } of this.#options) args[key] = value;
    while (given.length > 0) {
      const word = given.shift();
      const option = word.startsWith('--')
        ? this.#options.find(({ key }) => `--${key}` === word)
        : positional.shift();
      if (!option) throw new Error(`No option ${word}`);
      const text = option.isPositional ? word : option.isFlag ? true : given.shift();
      args[option.key] = ['int', 'float'].includes(option.type) ? Number(text) : text;
    }
    return args;
  }
  parse_args() {
    return this.parseArgs();
  }
  parseKnownArgs() {
    return [this.parseArgs(), []];
  }
}

/** Called with and without `new`. */
function ArgumentParser() {
  return new Parser();
}

const parseCsv = (text) => {
  const [head, ...lines] = text.split('\n');
  const names = head.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, i) => [names[i], cell])));
};

/** Models that are saved are kept in memory. */
const saved = new Map();
function keepSaved(tf) {
  const handler = (url) => ({
    save: async (artifacts) => (saved.set(url, artifacts), { modelArtifactsInfo: {} }),
    load: async () => saved.get(url.replace(/\/model\.json$/, '')),
  });
  const route = (url) => (/^(file|indexeddb):/.test(url) ? handler(String(url)) : null);
  tf.io.registerSaveRouter(route);
  tf.io.registerLoadRouter(route);
}

const packages = {
  '@tensorflow/tfjs-node': ({ tf, nothing }) => ({ ...tf, node: nothing() }),
  '@tensorflow/tfjs-vis': ({ nothing }) => ({
    metrics: nothing(),
    render: nothing(),
    show: nothing({ fitCallbacks: () => ({}) }),
    visor: nothing(),
  }),
  'invert-kv': () => (object) =>
    Object.fromEntries(Object.entries(object).map(([key, value]) => [value, key])),
  lodash: () => ({
    chunk: (list, size) =>
      Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size)),
  }),
  mkdirp: () => Object.assign(() => {}, { sync() {} }),
  shelljs: () => ({ mkdir() {}, rm() {} }),
  ndjson: () => ({
    parse() {
      const lines = new Transform({ readableObjectMode: true });
      let text = '';
      lines._transform = (chunk, _, done) => ((text += chunk), done());
      lines._flush = (done) => {
        for (const line of text.trim().split('\n')) lines.push(JSON.parse(line));
        done();
      };
      return lines;
    },
  }),
  'zip-array': () => ({ zip: (a, b) => a.map((x, i) => [x, b[i]]) }),
  argparse: () => ({ ArgumentParser }),
  papaparse: ({ served: get }) => ({
    parse: (url, { complete }) => complete({ data: parseCsv(get(url)) }),
  }),
  https: ({ served: get }) => ({
    get(url, answer) {
      const response = new EventEmitter();
      response.setEncoding = () => {};
      response.pipe = (file) => {
        file.end(get(url));
        return file;
      };
      answer(response);
      setImmediate(() => {
        response.emit('data', Buffer.from(get(url)));
        response.emit('end');
      });
      return response;
    },
  }),
  'node-fetch': () => globalThis.fetch,
};

module.exports = { keepSaved, packages, served, text };
