import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pagesFolder } from '../repository.mjs';

// How the pages of the API are divided: names by what readers use them for.

/** The pages of @acc/core in their order, each with a pattern for `source#name` of its names. */
const CORE = [
  ['Accelerator', /core\/src\/accelerator\.ts#Accelerator$/],
  [
    'Options',
    /core\/src\/([\w-]*options|pipelined\/options)\.ts|(?:compile|monitor|context-parallel)\/src\/options/,
  ],
  ['Data', /data\/src\//],
  ['Training steps', /core\/src\/(step|find-batch-size|nested|random)|compile\/src\/compile|tape\/src\//],
  ['Local steps', /core\/src\/local-steps\//],
  ['Optimizers', /optimizers\/src\//],
  ['Learning rates', /schedule\/src\//],
  ['Layers and functions', /kernels\/src\/|core\/src\/layer-hooks/],
  [
    'Checkpoints and storages',
    /core\/src\/state\/run-checkpoints|(checkpoint|platform)\/src\/|contract\/src\/storage\//,
  ],
  ['Large models', /big-model\/src\/|core\/src\/state\//],
  ['Parallel parts', /tensor-parallel\/src\//],
  ['Communication', /ddp\/src\/|contract\/src\/(collective|comm-hooks|mesh)|#MeshView$/],
  [
    'Trackers and logging',
    /tracker\/src\/|contract\/src\/tracker\/|(monitor|profile|records)\/src\/|core\/src\/logger/,
  ],
  ['Errors', /contract\/src\/errors\//],
  ['Plugins and strategies', /contract\/src\/(plugin|strategy)\//],
];

/** The members of classes in the order of their tables, by what a program does with them. */
export const MEMBERS = {
  Accelerator: [
    ['Start and prepare', ['create', 'prepare', 'unwrapModel', 'freeMemory', 'endTraining', '[dispose]']],
    [
      'Train',
      [
        'accumulate',
        'noSync',
        'backward',
        'clipGradNorm',
        'clipGradValue',
        'autocast',
        'weighLoss',
        'compile',
        'pipelined',
        'joinUnevenInputs',
      ],
    ],
    ['Data', ['skipFirstBatches', 'localBatchSize', 'splitBetweenProcesses']],
    [
      'Checkpoints and models',
      [
        'saveState',
        'loadState',
        'registerForCheckpointing',
        'registerSaveStatePreHook',
        'registerLoadStatePreHook',
        'save',
        'waitForCheckpoint',
        'checkPreemption',
        'saveModel',
        'loadModel',
        'getStateDict',
      ],
    ],
    [
      'Trackers and output',
      [
        'initTrackers',
        'log',
        'logText',
        'logTable',
        'logImages',
        'logHistogram',
        'logArtifact',
        'getTracker',
        'print',
      ],
    ],
    [
      'Exchange between processes',
      [
        'gather',
        'gatherForMetrics',
        'gatherObject',
        'reduce',
        'broadcast',
        'broadcastObject',
        'padAcrossProcesses',
        'waitForEveryone',
        'setTrigger',
        'checkTrigger',
      ],
    ],
    [
      'Run on some processes',
      [
        'onMainProcess',
        'onLocalMainProcess',
        'onLastProcess',
        'onProcess',
        'onLocalProcess',
        'mainProcessFirst',
        'localMainProcessFirst',
      ],
    ],
    ['Measure', ['profile', 'communication', 'resetPeakMemory']],
  ],
};

/** Packages with more names than this have a page for each use. */
const MOST_NAMES = 40;
/** More names than this are too many for a page. */
const MOST_NAMES_OF_USE = 25;
const FEWEST_NAMES_OF_FILE = 4;
/** Types with more methods than this have a page of their own. */
const MOST_METHODS = 12;

/**
 * The uses of a package's names: `[title, names]`. Undefined for packages that have one page.
 *
 * @param folder The folder of the package.
 * @param names `{ name, source, methods }`: `source` is a path from `packages`, `methods` a number.
 */
export function usesOf(folder, names) {
  const hasLarge = names.some(({ methods }) => methods > MOST_METHODS);
  if (names.length <= MOST_NAMES && !hasLarge) return undefined;
  const uses = new Map();
  for (const { name, source, methods } of names) {
    const title = folder === 'core' ? useInCore(name, source) : useIn(folder, { name, source, methods });
    uses.set(title, [...(uses.get(title) ?? []), name]);
  }
  if (folder === 'core') return [...uses];
  return merged([...uses].flatMap((use) => dividedByFile(use, names)));
}

/** A use with many names has a page for each file of the sources that has several of them. */
function dividedByFile([title, own], names) {
  if (own.length <= MOST_NAMES_OF_USE) return [[title, own]];
  const files = new Map();
  for (const name of new Set(own)) {
    const { source } = names.find((one) => one.name === name);
    const file = inWords(source.split('/').at(-1).replace(/\.ts$/, ''));
    files.set(file, [...(files.get(file) ?? []), name]);
  }
  const large = [...files].filter(([, some]) => some.length >= FEWEST_NAMES_OF_FILE);
  const rest = own.filter((name) => !large.some(([, some]) => some.includes(name)));
  return [[title, rest], ...large];
}

/** Uses of one file name become one. */
function merged(uses) {
  const byFile = new Map();
  for (const [title, names] of uses) {
    const [first, known] = byFile.get(fileOf(title)) ?? [title, []];
    byFile.set(fileOf(title), [first, [...known, ...names]]);
  }
  return [...byFile.values()];
}

/** 'kernel-layer' as 'Kernel layer'. */
const inWords = (file) => (file[0].toUpperCase() + file.slice(1)).replaceAll('-', ' ');

/** The pages of @acc/core: `{ title, file }`. */
export const usesOfCore = CORE.map(([title]) => ({ title, file: fileOf(title) }));

/** The path of the first page of a package's API. Packages with many names have a folder of pages. */
export const apiLink = (folder) =>
  existsSync(join(pagesFolder, 'api', folder)) ? `/api/${folder}/` : `/api/${folder}`;

const ORDER = CORE.map(([title]) => title);

/** The order of pages: by use in @acc/core, by title in others. */
export function compareUses(a, b) {
  return ORDER.indexOf(a) - ORDER.indexOf(b) || (a < b ? -1 : 1);
}

/** The file of the page of a use. */
export function fileOf(title) {
  return title
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll(' ', '-')
    .toLowerCase();
}

/** The use of a page. `names` are those on it. */
export function titleOf(file, names) {
  const title = [...ORDER, ...names].find((one) => fileOf(one) === file);
  return title ?? inWords(file);
}

function useInCore(name, source) {
  const use = CORE.find(([, sources]) => sources.test(`${source}#${name}`));
  if (!use) {
    throw new Error(
      `The API has no page for ${name} of @acc/core. Add ${source} in site/scripts/api/uses.mjs.`,
    );
  }
  return use[0];
}

/** A large type by itself, others by the folder of their source: 'Kernel layer'. */
function useIn(folder, { name, source, methods }) {
  if (methods > MOST_METHODS) return name;
  const [owner, , feature, file] = source.split('/');
  return inWords(owner === folder && file !== undefined ? feature : 'general');
}
